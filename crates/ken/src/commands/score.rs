//! `ken model score` and `ken model embed`: what a model computes, for inspection and for comparison with other
//! implementations.

use std::iter::zip;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_hub::ModelReference;
use ken_language::Role;
use ken_model::Precision;
use ken_model::decoder::{Decoder, LoadOptions, Prompt, Score, ScoreRequest};
use ken_model::encoder;
use ken_setup::fetched;
use serde::Deserialize;
use serde_json::json;

use crate::arguments::model::ScoreArguments;
use crate::failure::{Context, Failure, Result};
use crate::output;
use crate::session::fetch_progress;

/// Requests that are scored together.
const BATCH: usize = 16;

/// A line of a file of requests.
#[derive(Deserialize)]
struct Request {
    prompt: String,
    continuation: String,
}

/// Prints the natural-log probability of each token of continuations after their prompts. Special tokens written in
/// either are parsed as such.
pub(crate) fn score(arguments: &ScoreArguments, json: bool, stop: &Arc<AtomicBool>) -> Result<()> {
    let requests = match &arguments.requests {
        Some(file) => read(file)?,
        None => vec![Request {
            prompt: arguments.prompt.clone().unwrap_or_default(),
            continuation: arguments.continuation.clone().unwrap_or_default(),
        }],
    };
    let options = LoadOptions {
        precision: arguments.precision,
        ..LoadOptions::default()
    };
    let model = fetched(&arguments.model.model, &fetch_progress, stop)?;
    let model = Decoder::load(&model, &options)?;
    for requests in requests.chunks(BATCH) {
        let prompts = requests.iter().map(|given| model.raw_prompt(&given.prompt));
        let prompts = prompts.collect::<Result<Vec<_>, _>>()?;
        let continuations = requests.iter().map(|given| [given.continuation.as_str()]);
        let continuations: Vec<[&str; 1]> = continuations.collect();
        let batch: Vec<ScoreRequest<'_>> = zip(&prompts, &continuations)
            .map(|(prompt, continuations)| ScoreRequest::new(prompt, continuations))
            .collect();
        for (prompt, scores) in zip(&prompts, model.score_many(&batch)?) {
            for score in &scores {
                show(prompt, score, json)?;
            }
        }
    }
    Ok(())
}

fn read(path: &Path) -> Result<Vec<Request>> {
    let text =
        std::fs::read_to_string(path).context(|| format!("cannot read {}", path.display()))?;
    let lines = text.lines().enumerate();
    lines
        .map(|(line, text)| {
            serde_json::from_str(text)
                .map_err(Failure::other)
                .context(|| format!("cannot read line {} of {}", line + 1, path.display()))
        })
        .collect()
}

fn show(prompt: &Prompt, score: &Score, json: bool) -> Result<()> {
    if json {
        return output::json(&json!({
            "prompt_tokens": prompt.tokens(),
            "continuation_tokens": score.tokens,
            "logprobs": score.logprobs,
        }));
    }
    for (token, logprob) in zip(&score.tokens, &score.logprobs) {
        output::line(format!("{token:>7}  {logprob:.6}"))?;
    }
    output::line(format!("    sum  {:.6}", score.sum()))
}

/// Prints the embedding of a text.
pub(crate) fn embed(
    model: &ModelReference,
    text: &str,
    json: bool,
    stop: &Arc<AtomicBool>,
) -> Result<()> {
    let model = encoder::open(&fetched(model, &fetch_progress, stop)?, Precision::Auto)?;
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
