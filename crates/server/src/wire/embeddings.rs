//! `/v1/embeddings`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A request for embeddings.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct EmbeddingsRequest {
    /// `ken/embedder`.
    pub(crate) model: String,
    /// The texts.
    pub(crate) input: Input,
    /// How vectors are written.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) encoding_format: Encoding,
    /// The length of a vector; only that of the embedder.
    pub(crate) dimensions: Option<usize>,
    /// Whether to embed the start of a text that is longer than the embedder reads, and mark it; otherwise it is
    /// refused.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) truncate: bool,
    /// For abuse reports elsewhere; not read.
    #[serde(default, rename = "user")]
    pub(crate) _user: Option<String>,
    /// ken's own parameters.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) ken: EmbeddingOptions,
}

/// ken's own parameters.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct EmbeddingOptions {
    /// The role of the texts: embedders may treat the two differently.
    #[serde(default, deserialize_with = "super::field::or_default")]
    pub(crate) role: Role,
    /// The corpus whose embedder to use; by default the first.
    pub(crate) corpus: Option<String>,
}

/// The role of a text.
#[derive(Debug, Default, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Role {
    /// A question.
    Query,
    /// A text to search.
    #[default]
    Passage,
}

/// The texts to embed.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "a text or a list of texts; tokens are not taken"
)]
pub(crate) enum Input {
    /// One text.
    One(String),
    /// Several texts.
    Many(Vec<String>),
}

/// How a vector is written.
#[derive(Debug, Default, Clone, Copy, PartialEq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Encoding {
    /// Numbers.
    #[default]
    Float,
    /// Little-endian 32-bit floats, in base64: what OpenAI's clients ask for.
    Base64,
}

/// The embeddings.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EmbeddingsResponse {
    object: &'static str,
    data: Vec<Embedding>,
    model: String,
    usage: EmbeddingsUsage,
}

/// One of them.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct Embedding {
    object: &'static str,
    /// The text's index in the input.
    index: usize,
    embedding: Vector,
    /// Present, and true, if only the start of the text was read.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
}

/// A vector.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(untagged)]
pub(crate) enum Vector {
    /// As numbers.
    Float(Vec<f32>),
    /// In base64.
    Base64(String),
}

/// Tokens that the embedder read.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct EmbeddingsUsage {
    prompt_tokens: usize,
    total_tokens: usize,
}

impl EmbeddingsResponse {
    /// # Shapes
    /// `vectors`: `[texts][dimensions]`; `read`: `[texts]`, the tokens of each and whether there were more.
    pub(crate) fn new(
        model: String,
        vectors: Vec<Vec<f32>>,
        encoding: Encoding,
        read: &[(usize, bool)],
    ) -> Self {
        let tokens = read.iter().map(|(tokens, _)| tokens).sum();
        let written = |vector: Vec<f32>| match encoding {
            Encoding::Float => Vector::Float(vector),
            Encoding::Base64 => {
                let bytes: Vec<u8> = vector.iter().flat_map(|x| x.to_le_bytes()).collect();
                Vector::Base64(STANDARD.encode(bytes))
            }
        };
        let vectors = vectors.into_iter().zip(read).enumerate();
        let data = vectors.map(|(index, (vector, (_, truncated)))| Embedding {
            object: "embedding",
            index,
            embedding: written(vector),
            truncated: *truncated,
        });
        Self {
            object: "list",
            data: data.collect(),
            model,
            usage: EmbeddingsUsage {
                prompt_tokens: tokens,
                total_tokens: tokens,
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn vectors_in_base64_are_the_bytes_of_their_numbers() {
        let vectors = vec![vec![1.0, -2.5]];
        let response = EmbeddingsResponse::new("m".into(), vectors, Encoding::Base64, &[(3, true)]);
        let value = serde_json::to_value(response).unwrap();
        let text = value["data"][0]["embedding"].as_str().unwrap();
        let bytes = STANDARD.decode(text).unwrap();
        assert_eq!(bytes, [0, 0, 128, 63, 0, 0, 32, 192]);
        assert_eq!(value["usage"]["total_tokens"], 3);
        assert_eq!(value["data"][0]["truncated"], true);
    }

    #[test]
    fn tokens_are_refused_with_what_is_expected() {
        let read = serde_json::from_str::<EmbeddingsRequest>;
        let error = read(r#"{"model": "m", "input": [1, 2]}"#).unwrap_err();
        assert!(error.to_string().contains("a list of texts"), "{error}");
        assert!(read(r#"{"model": "m", "input": "a", "ken": {"rule": "query"}}"#).is_err());
        let nulls = r#"{"model": "m", "input": "a", "encoding_format": null, "truncate": null, "ken": null}"#;
        assert!(read(nulls).is_ok());
        let floats = read(r#"{"model": "m", "input": "a"}"#).unwrap();
        assert_eq!(floats.encoding_format, Encoding::Float);
    }
}
