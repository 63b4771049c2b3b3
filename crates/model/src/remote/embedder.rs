//! An embedder behind an endpoint.

use std::ops::Range;

use ken_language::{Embedder, ModelError, Role, fingerprint_of_texts};
use serde_json::{Value, json};

use super::bounds::MOST_DIMENSIONS;
use super::client::Client;
use super::endpoint::Endpoint;
use super::error::RemoteError;
use super::flight::in_flight;
use crate::encoder::{Prefixes, normalize};

/// Texts in one request.
const BATCH_TEXTS: usize = 64;

/// An embedder behind an OpenAI-compatible endpoint.
#[derive(Debug)]
pub struct RemoteEmbedder {
    client: Client,
    name: String,
    prefixes: Prefixes,
    fingerprint: String,
    dimensions: usize,
}

impl RemoteEmbedder {
    /// Connects, and finds out the length of the embeddings by one. The prefixes are those of the
    /// family that the model's name tells, else none.
    ///
    /// # Errors
    /// As [`RemoteModel::connect`](super::RemoteModel::connect), and an endpoint that does not
    /// embed.
    pub fn connect(endpoint: Endpoint) -> Result<Self, RemoteError> {
        let (client, listed) = endpoint.connect()?;
        let prefixes = Prefixes::of_family(&listed.name).unwrap_or_default();
        Self::probed(client, listed.name, prefixes)
    }

    /// As [`RemoteEmbedder::connect`], with these prefixes.
    ///
    /// # Errors
    /// As [`RemoteEmbedder::connect`].
    pub fn connect_with_prefixes(
        endpoint: Endpoint,
        prefixes: Prefixes,
    ) -> Result<Self, RemoteError> {
        let (client, listed) = endpoint.connect()?;
        Self::probed(client, listed.name, prefixes)
    }

    fn probed(client: Client, name: String, prefixes: Prefixes) -> Result<Self, RemoteError> {
        let fingerprint = fingerprint_of_texts(&[
            "endpoint",
            client.base(),
            &name,
            &prefixes.query,
            &prefixes.passage,
        ]);
        let mut embedder = Self {
            client,
            name,
            prefixes,
            fingerprint,
            dimensions: 0,
        };
        let example = embedder.request(&["The sky is blue.".to_owned()])?;
        embedder.dimensions = example.first().map_or(0, Vec::len);
        if embedder.dimensions == 0 {
            return Err(embedder.unusable("an embedding has no numbers".to_owned()));
        }
        Ok(embedder)
    }

    /// One that was not connected to.
    pub(super) fn unconnected(client: Client) -> Self {
        Self {
            client,
            name: String::new(),
            prefixes: Prefixes::default(),
            fingerprint: String::new(),
            dimensions: 0,
        }
    }

    /// The model's name at its endpoint.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The prefixes put before queries and passages.
    #[must_use]
    pub fn prefixes(&self) -> &Prefixes {
        &self.prefixes
    }

    /// The embeddings of texts, several batches at a time.
    fn embed_all(&self, texts: &[&str], role: Role) -> Result<Vec<Vec<f32>>, RemoteError> {
        let prefix = self.prefixes.of_role(role);
        let batches: Vec<&[&str]> = texts.chunks(BATCH_TEXTS).collect();
        let mut embedded: Vec<Vec<Vec<f32>>> = batches.iter().map(|_| Vec::new()).collect();
        let work = |batch: usize| {
            let texts: Vec<String> = batches[batch]
                .iter()
                .map(|text| match format!("{prefix}{text}") {
                    // Endpoints refuse an empty text.
                    empty if empty.is_empty() => " ".to_owned(),
                    text => text,
                })
                .collect();
            self.request(&texts)
        };
        in_flight(
            self.client.concurrency(),
            batches.len(),
            &work,
            &mut |batch, embeddings| embedded[batch] = embeddings,
        )?;
        Ok(embedded.into_iter().flatten().collect())
    }

    /// The embeddings of one batch, of length 1.
    fn request(&self, texts: &[String]) -> Result<Vec<Vec<f32>>, RemoteError> {
        let url = self.client.api("embeddings");
        let body = json!({"model": self.name, "input": texts, "encoding_format": "float"});
        let answer = self.client.post(&url, &body)?;
        self.vectors(url, &answer, texts.len())
    }

    /// The embeddings of an answer.
    pub(super) fn vectors(
        &self,
        url: String,
        answer: &Value,
        texts: usize,
    ) -> Result<Vec<Vec<f32>>, RemoteError> {
        let data = answer
            .get("data")
            .and_then(Value::as_array)
            .ok_or(RemoteError::MissingField { url, field: "data" })?;
        if data.len() != texts {
            let detail = format!("{} came for {texts} texts", data.len());
            return Err(self.unusable(detail));
        }
        let mut embeddings = vec![None; texts];
        for (place, entry) in data.iter().enumerate() {
            let index = match entry.get("index") {
                Some(index) => index.as_u64().map(|index| index as usize),
                None => Some(place),
            };
            let slot = index.and_then(|index| embeddings.get_mut(index));
            match slot {
                Some(slot @ None) => *slot = Some(self.vector(entry)?),
                _ => {
                    let detail = "their indexes are not those of the texts".to_owned();
                    return Err(self.unusable(detail));
                }
            }
        }
        Ok(embeddings.into_iter().flatten().collect())
    }

    /// One embedding, of length 1.
    fn vector(&self, entry: &Value) -> Result<Vec<f32>, RemoteError> {
        let numbers: Option<Vec<f32>> =
            entry
                .get("embedding")
                .and_then(Value::as_array)
                .and_then(|numbers| {
                    let number = |value: &Value| Some(value.as_f64()? as f32);
                    numbers.iter().map(number).collect()
                });
        let mut vector =
            numbers.ok_or_else(|| self.unusable("one is not a list of numbers".to_owned()))?;
        // The first tells the length of all.
        if self.dimensions > 0 && vector.len() != self.dimensions {
            return Err(self.unusable(format!(
                "one has {} numbers, others {}",
                vector.len(),
                self.dimensions
            )));
        }
        if vector.len() > MOST_DIMENSIONS {
            return Err(self.unusable(format!(
                "one has {} numbers, and {MOST_DIMENSIONS} is the most",
                vector.len()
            )));
        }
        normalize(&mut vector);
        if vector.iter().any(|x| !x.is_finite()) {
            return Err(self.unusable("one is not made of finite numbers".to_owned()));
        }
        Ok(vector)
    }

    fn unusable(&self, detail: String) -> RemoteError {
        RemoteError::BadEmbeddings {
            url: self.client.base().to_owned(),
            detail,
        }
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
        Ok(self.embed_all(texts, role)?)
    }

    fn token_spans(&self, _text: &str) -> Result<Vec<Range<usize>>, ModelError> {
        Err(RemoteError::CannotShowTokens {
            url: self.client.base().to_owned(),
        }
        .into())
    }
}
