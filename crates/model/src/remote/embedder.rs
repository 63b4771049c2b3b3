//! Embedders behind endpoints.

use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ken_language::{CancelToken, Embedder, ModelError, Role, fingerprint_of_texts};
use serde_json::{Value, json};

use super::client::Client;
use super::endpoint::Endpoint;
use super::error::{Failure, RemoteError};
use super::in_flight::{InFlight, map_concurrent};
use super::limits::MAX_DIMENSIONS;
use crate::encoder::{Prefixes, normalize};

/// The text that an embedder is tested with.
const EXAMPLE: &str = "The sky is blue.";

/// The least cosine of two vectors of one text by one model.
const SAME: f32 = 0.999;

/// Texts per request, unless the server takes fewer.
const BATCH_SIZE: usize = 64;

/// An embedder behind an OpenAI-compatible endpoint. Its prefixes are those of the family that the
/// model's name indicates, else none.
#[derive(Debug, Clone)]
pub struct RemoteEmbedder {
    pub(super) client: Client,
    /// Other endpoints of the model.
    replicas: Arc<[Client]>,
    /// Requests in flight at each endpoint, this one first.
    in_flight: Arc<InFlight>,
    /// Whether to request vectors as bytes in base64, which parse faster than decimal numbers.
    as_bytes: Arc<AtomicBool>,
    name: String,
    prefixes: Prefixes,
    fingerprint: String,
    /// 0 until it is known.
    dimensions: usize,
    /// The most texts per request, as far as the server has not refused them.
    batch_size: Arc<AtomicUsize>,
}

impl RemoteEmbedder {
    /// Connects, and embeds a text to learn the length of the embeddings.
    ///
    /// # Errors
    /// As [`RemoteModel::connect`](super::RemoteModel::connect), and an endpoint that does not
    /// embed.
    pub fn connect(endpoint: Endpoint) -> Result<Self, RemoteError> {
        let (client, model) = endpoint.connect()?;
        let mut embedder = Self::unconnected(client, model.name);
        let example = embedder.request(&embedder.client, &[EXAMPLE.to_owned()])?;
        embedder.dimensions = example.first().map_or(0, Vec::len);
        match embedder.dimensions {
            0 => Err(embedder.unusable("an embedding has no numbers")),
            _ => Ok(embedder),
        }
    }

    /// Divides the work among this and other endpoints of the same model.
    ///
    /// # Errors
    /// As [`RemoteEmbedder::connect`], and an endpoint with different embeddings.
    pub fn with_replicas(self, endpoints: Vec<Endpoint>) -> Result<Self, RemoteError> {
        if endpoints.is_empty() {
            return Ok(self);
        }
        let example = [EXAMPLE.to_owned()];
        let expected = self.request(&self.client, &example)?;
        let mut replicas = Vec::with_capacity(endpoints.len());
        for endpoint in endpoints {
            let (client, model) = endpoint.connect()?;
            let own = Self::unconnected(client.clone(), model.name).request(&client, &example)?;
            let pairs = expected.concat().into_iter().zip(own.concat());
            let cosine: f32 = pairs.map(|(a, b)| a * b).sum();
            if own.concat().len() != self.dimensions || cosine < SAME {
                let detail = "this endpoint embeds otherwise than the first";
                let failure = Failure::at(client.base_url(), detail);
                return Err(RemoteError::BadEmbeddings(failure));
            }
            replicas.push(client);
        }
        Ok(Self {
            in_flight: Arc::new(InFlight::at(1 + replicas.len(), self.client.concurrency())),
            replicas: replicas.into(),
            ..self
        })
    }

    /// Sends one batch to the endpoint with the fewest requests in flight.
    fn send(&self, texts: &[String], is_awaited: bool) -> Result<Vec<Vec<f32>>, RemoteError> {
        self.in_flight.with(is_awaited, |place| {
            let other = place.checked_sub(1).map(|other| &self.replicas[other]);
            self.request(other.unwrap_or(&self.client), texts)
        })
    }

    /// Requests in flight at all endpoints.
    fn concurrency(&self) -> usize {
        self.client.concurrency() * (1 + self.replicas.len())
    }

    /// An embedder by name, before any request.
    pub(super) fn unconnected(client: Client, name: String) -> Self {
        let prefixes = Prefixes::of_family(&name).unwrap_or_default();
        let fingerprint = fingerprint_of_texts(&[
            "endpoint",
            client.base_url(),
            &name,
            &prefixes.query,
            &prefixes.passage,
        ]);
        Self {
            in_flight: Arc::new(InFlight::at(1, client.concurrency())),
            client,
            replicas: Arc::default(),

            as_bytes: Arc::new(AtomicBool::new(true)),
            name,
            prefixes,
            fingerprint,
            dimensions: 0,
            batch_size: Arc::new(AtomicUsize::new(BATCH_SIZE)),
        }
    }

    /// The embeddings of texts, several batches at a time.
    fn embed_all(
        &self,
        texts: &[&str],
        role: Role,
        is_awaited: bool,
    ) -> Result<Vec<Vec<f32>>, RemoteError> {
        let prefix = self.prefixes.of_role(role);
        let batch_size = self.batch_size.load(Ordering::Relaxed);
        let batches: Vec<&[&str]> = texts.chunks(batch_size).collect();
        let work = |batch: usize| {
            let texts: Vec<String> = batches[batch]
                .iter()
                .map(|text| match format!("{prefix}{text}") {
                    // Endpoints reject an empty text.
                    empty if empty.is_empty() => " ".to_owned(),
                    text => text,
                })
                .collect();
            self.request_in_parts(&texts, is_awaited)
        };
        let embeddings = map_concurrent(self.concurrency(), batches.len(), work)?;
        Ok(embeddings.flatten().collect())
    }

    /// The embeddings of one batch, which is halved as long as the server seems to refuse its size.
    fn request_in_parts(
        &self,
        texts: &[String],
        is_awaited: bool,
    ) -> Result<Vec<Vec<f32>>, RemoteError> {
        match self.send(texts, is_awaited) {
            Err(error) if texts.len() > 1 && error.may_be_for_size() => {
                let (first, second) = texts.split_at(texts.len().div_ceil(2));
                let mut embeddings = self.request_in_parts(first, is_awaited)?;
                self.batch_size.fetch_min(first.len(), Ordering::Relaxed);
                embeddings.extend(self.request_in_parts(second, is_awaited)?);
                Ok(embeddings)
            }
            embeddings => embeddings,
        }
    }

    /// The embeddings of one batch from one endpoint, of length 1.
    fn request(&self, client: &Client, texts: &[String]) -> Result<Vec<Vec<f32>>, RemoteError> {
        let url = client.api_url("embeddings");
        loop {
            let as_bytes = self.as_bytes.load(Ordering::Relaxed);
            let format = if as_bytes { "base64" } else { "float" };
            let body = json!({"model": self.name, "input": texts, "encoding_format": format});
            match client.post(&url, &body) {
                Err(error) if as_bytes && error.rejects("encoding_format") => {
                    self.as_bytes.store(false, Ordering::Relaxed);
                }
                response => return self.vectors(&url, &response?, texts.len()),
            }
        }
    }

    /// The embeddings in a response.
    pub(super) fn vectors(
        &self,
        url: &str,
        response: &Value,
        texts: usize,
    ) -> Result<Vec<Vec<f32>>, RemoteError> {
        let data = response.get("data").and_then(Value::as_array);
        let data = data.ok_or_else(|| RemoteError::missing(url, "data"))?;
        if data.len() != texts {
            return Err(self.unusable(format!("{} came for {texts} texts", data.len())));
        }
        let mut embeddings = vec![None; texts];
        for (place, entry) in data.iter().enumerate() {
            let index = match entry.get("index") {
                Some(index) => index.as_u64().map(|index| index as usize),
                None => Some(place),
            };
            match index.and_then(|index| embeddings.get_mut(index)) {
                Some(slot @ None) => *slot = Some(self.vector(entry)?),
                _ => return Err(self.unusable("their indexes are not those of the texts")),
            }
        }
        Ok(embeddings.into_iter().flatten().collect())
    }

    /// One embedding, of length 1.
    fn vector(&self, entry: &Value) -> Result<Vec<f32>, RemoteError> {
        let mut vector = numbers(entry.get("embedding"))
            .ok_or_else(|| self.unusable("one is not a list of numbers"))?;
        let (length, others) = (vector.len(), self.dimensions);
        if others > 0 && length != others {
            return Err(self.unusable(format!("one has {length} numbers, others {others}")));
        }
        if length > MAX_DIMENSIONS {
            let detail = format!("one has {length} numbers, and {MAX_DIMENSIONS} is the most");
            return Err(self.unusable(detail));
        }
        normalize(&mut vector);
        if vector.iter().any(|x| !x.is_finite()) {
            return Err(self.unusable("one is not made of finite numbers"));
        }
        Ok(vector)
    }

    fn unusable(&self, detail: impl Into<String>) -> RemoteError {
        RemoteError::BadEmbeddings(Failure::at(self.client.base_url(), detail))
    }
}

/// The numbers of an embedding: decimal, or as little-endian bytes in base64.
fn numbers(embedding: Option<&Value>) -> Option<Vec<f32>> {
    match embedding? {
        Value::Array(numbers) => {
            let number = |value: &Value| Some(value.as_f64()? as f32);
            numbers.iter().map(number).collect()
        }
        Value::String(text) => {
            let bytes = STANDARD.decode(text).ok()?;
            let (numbers, rest) = bytes.as_chunks();
            let numbers = numbers.iter().map(|bytes| f32::from_le_bytes(*bytes));
            rest.is_empty().then(|| numbers.collect())
        }
        _ => None,
    }
}

impl Embedder for RemoteEmbedder {
    fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn max_tokens(&self) -> Option<usize> {
        None
    }

    fn embed(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(self.embed_all(texts, role, true)?)
    }

    /// All such calls together respect the limit of requests in flight.
    fn embed_in_background(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, ModelError> {
        Ok(self.embed_all(texts, role, false)?)
    }

    fn at_once(&self) -> usize {
        BATCH_SIZE * self.concurrency()
    }

    fn token_spans(&self, _text: &str) -> Result<Vec<Range<usize>>, ModelError> {
        Err(RemoteError::CannotShowTokens(self.client.base_url().to_owned()).into())
    }

    fn bound(&self, token: &CancelToken) -> Option<Arc<dyn Embedder>> {
        let replicas = self.replicas.iter().map(|replica| replica.bound(token));
        Some(Arc::new(Self {
            client: self.client.bound(token),
            replicas: replicas.collect(),
            ..self.clone()
        }))
    }
}
