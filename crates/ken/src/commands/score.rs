//! `ken model score` and `ken model embed`: what a model computes, for looking at it and for
//! comparing it with other implementations.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_hub::ModelReference;
use ken_language::Role;
use ken_model::Precision;
use ken_model::decoder::{Decoder, LoadOptions};
use ken_model::encoder::Encoder;
use ken_setup::fetched;
use serde_json::json;

use crate::failure::Result;
use crate::output;
use crate::session::fetch_progress;

/// Prints the natural-log probability of each token of `continuation` after `prompt`. Special
/// tokens written in either are read as such.
pub(crate) fn score(
    model: &ModelReference,
    prompt: &str,
    continuation: &str,
    json: bool,
    stop: &Arc<AtomicBool>,
) -> Result<()> {
    let model = Decoder::load(
        &fetched(model, &fetch_progress, stop)?,
        &LoadOptions::default(),
    )?;
    let prompt = model.raw_prompt(prompt)?;
    for score in model.score(&prompt, &[continuation])? {
        if json {
            output::json(&json!({
                "prompt_tokens": prompt.tokens(),
                "continuation_tokens": score.tokens,
                "logprobs": score.logprobs,
            }))?;
        } else {
            for (token, logprob) in score.tokens.iter().zip(&score.logprobs) {
                output::line(format!("{token:>7}  {logprob:.6}"))?;
            }
            output::line(format!("    sum  {:.6}", score.sum()))?;
        }
    }
    Ok(())
}

/// Prints the embedding of a text.
pub(crate) fn embed(
    model: &ModelReference,
    text: &str,
    json: bool,
    stop: &Arc<AtomicBool>,
) -> Result<()> {
    let model = Encoder::load(&fetched(model, &fetch_progress, stop)?, Precision::Auto)?;
    for embedding in model.embed(&[text], Role::Passage)? {
        if json {
            output::json(&json!({ "embedding": embedding }))?;
        } else {
            let numbers: Vec<String> = embedding.iter().map(f32::to_string).collect();
            output::line(numbers.join(" "))?;
        }
    }
    Ok(())
}
