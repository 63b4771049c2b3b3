//! How fast the usable models run here: a few seconds of real work on made-up text.

use std::path::Path;

use ken_model::Precision;
use ken_model::decoder::{Decoder, LoadOptions};
use ken_model::encoder;
use serde::Serialize;

use super::bench;
use crate::failure::Result;

/// Text to read, embed and continue.
const TEXT: &str = "The keeper of the lighthouse wrote down the wind, the weather and the ships \
that passed, every evening for thirty years, and nobody ever asked to see the books. ";

/// Tokens a second; `None` if the model is not ready or failed.
#[derive(Debug, Default, Serialize)]
pub(super) struct Speed {
    pub(super) read_tokens_per_s: Option<f64>,
    pub(super) write_tokens_per_s: Option<f64>,
    pub(super) embed_tokens_per_s: Option<f64>,
}

/// Runs the models at these paths for a moment.
pub(super) fn measure(model: Option<&Path>, embedder: Option<&Path>) -> Speed {
    let generation = model.and_then(|path| decode(path).ok());
    Speed {
        read_tokens_per_s: generation.map(|[read, _]| read),
        write_tokens_per_s: generation.map(|[_, write]| write),
        embed_tokens_per_s: embedder.and_then(|path| embed(path).ok()),
    }
}

/// Tokens read and written a second, at a prompt of about 250 tokens and one stream.
fn decode(path: &Path) -> Result<[f64; 2]> {
    let model = Decoder::load(path, &LoadOptions::default())?;
    bench::stream(&model, &TEXT.repeat(8), 32)
}

/// Tokens embedded a second, at texts of about 100 tokens.
fn embed(path: &Path) -> Result<f64> {
    let embedder = encoder::open(path, Precision::Auto)?;
    let text = TEXT.repeat(3);
    let [tokens_per_s, _] = bench::embed(&*embedder, &[text.as_str(); 32])?;
    Ok(tokens_per_s)
}
