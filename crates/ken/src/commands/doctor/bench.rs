//! `ken doctor --bench`: how fast this machine does ken's main kinds of work, in every precision: loading, sampling
//! many answers of many questions, reading a long prompt, scoring an answer in many contexts, writing one stream,
//! embedding passages, and answering several clients. The texts are those of the demo.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use ken_language::{Embedder, GenerateOptions, Role, Sampling};
use ken_model::Precision;
use ken_model::decoder::{Decoder, GenerateRequest, LoadOptions, Prompt, ScoreRequest};
use ken_model::encoder;
use serde::Serialize;

use super::clients::{Asked, Company};
use crate::commands::demo;
use crate::failure::{Failure, Result};

/// Sampled questions, and samples of each.
const SAMPLED: usize = 16;
const SAMPLES: usize = 30;
const SAMPLE_TOKENS: usize = 16;
/// Words of the long prompt: a little fewer than 1,024 tokens of the default model.
const LONG_WORDS: usize = 770;
/// Questions whose answer is scored, and contexts of each.
const SCORED: usize = 8;
const CONTEXTS: usize = 10;
/// Words of a context.
const CONTEXT_WORDS: usize = 100;
/// The beginning of the single stream, and its tokens.
const STREAM: &str = "Once upon a time there was";
const STREAM_TOKENS: usize = 64;

/// The start of all prompts.
const SHARED: &str = "Answer the question with a name, a number or a short phrase.\n\n\
    Question: what is the tallest land animal\nAnswer: the giraffe\n\n\
    Question: when did the first world war end\nAnswer: 11 November 1918\n\n\
    Question: how many strings does a violin have\nAnswer: four\n\n";

/// The texts, so that the same work can be done by other means.
#[derive(Debug, Serialize)]
pub(super) struct Workload {
    shared: &'static str,
    sampled: Vec<String>,
    samples: usize,
    sample_tokens: usize,
    long: String,
    scored: Vec<Scored>,
    stream_tokens: usize,
    passages: Vec<String>,
    asked: Asked,
}

/// Contexts that an answer is scored in.
#[derive(Debug, Serialize)]
struct Scored {
    contexts: Vec<String>,
    question: String,
    answer: String,
}

/// All rates.
#[derive(Debug, Serialize)]
pub(super) struct Bench {
    pub(super) rates: Vec<Rates>,
    /// In the precision `auto`; empty if no clients are requested.
    pub(super) clients: Vec<Company>,
    workload: Workload,
}

/// The rates in a precision.
#[derive(Debug, Serialize)]
pub(super) struct Rates {
    pub(super) precision: String,
    /// Seconds from the file to the first token of an answer.
    pub(super) load_s: f64,
    /// Tokens written a second by all samples together, including the time for reading.
    pub(super) sample_tokens_per_s: f64,
    /// Tokens of a long prompt read a second.
    pub(super) read_tokens_per_s: f64,
    /// Contexts in which an answer is scored a second.
    pub(super) score_contexts_per_s: f64,
    /// Tokens of a single stream written a second.
    pub(super) stream_tokens_per_s: f64,
    /// Tokens of passages embedded a second.
    pub(super) embed_tokens_per_s: f64,
    /// Passages embedded a second.
    pub(super) embed_passages_per_s: f64,
}

/// Measures the models at these paths, the language model with an adapter if one is given, and answering with
/// each number of clients.
pub(super) fn measure(
    model: &Path,
    adapter: Option<&Path>,
    embedder: &Path,
    clients: &[NonZeroUsize],
) -> Result<Bench> {
    let workload = workload()?;
    let options = |precision| LoadOptions {
        precision,
        adapter: adapter.map(Path::to_path_buf),
        ..LoadOptions::default()
    };
    let rates = [Precision::F32, Precision::Int8]
        .into_iter()
        .map(|precision| rates(model, embedder, &options(precision), &workload))
        .collect::<Result<Vec<_>>>()?;
    let clients = match clients {
        [] => Vec::new(),
        clients => {
            let model = Decoder::load(model, &options(Precision::Auto))?;
            let asked = clients.iter();
            let asked = asked.map(|clients| workload.asked.ask(&model, clients.get()));
            asked.collect::<Result<Vec<_>>>()?
        }
    };
    Ok(Bench {
        rates,
        clients,
        workload,
    })
}

fn workload() -> Result<Workload> {
    let questions = demo::questions(None)?;
    let passages = demo::passages()?;
    let words: Vec<&str> = passages.iter().flat_map(|p| p.split_whitespace()).collect();
    let long = words[..LONG_WORDS.min(words.len())].join(" ");
    let contexts: Vec<String> = words.chunks(CONTEXT_WORDS).map(|w| w.join(" ")).collect();
    let mut next = contexts.iter().cycle().cloned();
    let scored = questions.iter().take(SCORED).map(|question| Scored {
        contexts: next.by_ref().take(CONTEXTS).collect(),
        question: question.question.clone(),
        answer: question.golden_answers.concat(),
    });
    let scored = scored.collect();
    let asked: Vec<String> = questions.iter().map(|q| ask(&q.question)).collect();
    Ok(Workload {
        asked: Asked::new(SHARED, &asked, &contexts),
        shared: SHARED,
        sampled: asked.iter().take(SAMPLED).cloned().collect(),
        samples: SAMPLES,
        sample_tokens: SAMPLE_TOKENS,
        long,
        scored,
        stream_tokens: STREAM_TOKENS,
        passages,
    })
}

fn ask(question: &str) -> String {
    format!("Question: {question}\nAnswer:")
}

fn rates(
    model: &Path,
    embedder: &Path,
    options: &LoadOptions,
    workload: &Workload,
) -> Result<Rates> {
    let (model, load) = timed(|| {
        let model = Decoder::load(model, options)?;
        stream(&model, STREAM, 1)?;
        Ok::<_, Failure>(model)
    })?;
    let embedder = encoder::open(embedder, options.precision)?;
    let texts: Vec<&str> = workload.passages.iter().map(String::as_str).collect();
    let [embed_tokens_per_s, embed_passages_per_s] = embed(&*embedder, &texts)?;
    let [_, stream_tokens_per_s] = stream(&model, STREAM, workload.stream_tokens)?;
    Ok(Rates {
        precision: options.precision.to_string(),
        load_s: load.as_secs_f64(),
        sample_tokens_per_s: sample(&model, workload)?,
        read_tokens_per_s: read(&model, workload)?,
        score_contexts_per_s: score(&model, workload)?,
        stream_tokens_per_s,
        embed_tokens_per_s,
        embed_passages_per_s,
    })
}

fn sample(model: &Decoder, workload: &Workload) -> Result<f64> {
    let options = GenerateOptions::new(Sampling::at(1.0, 0), workload.sample_tokens);
    let prompts = workload
        .sampled
        .iter()
        .map(|question| model.prompt(SHARED, question))
        .collect::<Result<Vec<_>, _>>()?;
    let requests: Vec<_> = prompts
        .iter()
        .map(|prompt| GenerateRequest::new(prompt, workload.samples, &options))
        .collect();
    let (answers, time) =
        timed(|| model.generate_many(&requests, &mut |_| ControlFlow::Continue(())))?;
    let tokens = answers.iter().flatten().map(|answer| answer.tokens.len());
    Ok(rate(tokens.sum(), time))
}

fn read(model: &Decoder, workload: &Workload) -> Result<f64> {
    let prompt = model.prompt("", &workload.long)?;
    let (_, time) = timed(|| model.score(&prompt, &[" the"]))?;
    Ok(rate(prompt.tokens().len(), time))
}

fn score(model: &Decoder, workload: &Workload) -> Result<f64> {
    let (mut prompts, mut answers): (Vec<Prompt>, Vec<String>) = (Vec::new(), Vec::new());
    for scored in &workload.scored {
        for context in &scored.contexts {
            let rest = format!("{context}\n{}", ask(&scored.question));
            prompts.push(model.prompt(SHARED, &rest)?);
            answers.push(format!(" {}", scored.answer));
        }
    }
    let answers: Vec<[&str; 1]> = answers.iter().map(|answer| [answer.as_str()]).collect();
    let requests: Vec<_> = prompts
        .iter()
        .zip(&answers)
        .map(|(prompt, continuations)| ScoreRequest::new(prompt, continuations))
        .collect();
    let (_, time) = timed(|| model.score_many(&requests))?;
    Ok(rate(requests.len(), time))
}

/// Tokens read and written a second, with a single stream that continues a text.
pub(super) fn stream(model: &Decoder, text: &str, max_tokens: usize) -> Result<[f64; 2]> {
    let prompt = model.prompt("", text)?;
    let options = GenerateOptions::new(Sampling::Greedy, max_tokens);
    let written = model.generate(&prompt, &options, &mut |_| ControlFlow::Continue(()))?;
    Ok([
        rate(written.prompt_tokens, written.prompt_time),
        rate(written.tokens.len(), written.write_time),
    ])
}

/// Tokens and texts embedded a second.
pub(super) fn embed(embedder: &dyn Embedder, texts: &[&str]) -> Result<[f64; 2]> {
    let tokens = texts
        .iter()
        .map(|text| embedder.token_spans(text).map(|spans| spans.len()))
        .sum::<Result<usize, _>>()?;
    let (_, time) = timed(|| embedder.embed(texts, Role::Passage))?;
    Ok([rate(tokens, time), rate(texts.len(), time)])
}

fn timed<T, E>(work: impl FnOnce() -> Result<T, E>) -> Result<(T, Duration), E> {
    let started = Instant::now();
    Ok((work()?, started.elapsed()))
}

/// How many a second.
fn rate(count: usize, time: Duration) -> f64 {
    count as f64 / time.as_secs_f64()
}
