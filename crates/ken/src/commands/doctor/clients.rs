//! `ken doctor --bench --clients`: how many questions with evidence a model answers a second, and how long the
//! first token takes, while several clients ask at the same time.

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ken_language::{GenerateOptions, Sampling};
use ken_model::decoder::{Decoder, DecoderError};
use serde::Serialize;

use crate::failure::Result;

/// Questions asked by all clients together.
const ASKED: usize = 64;
/// Passages with each question.
const EVIDENCE: usize = 3;
const ANSWER_TOKENS: usize = 24;

/// The texts, so that the same can be asked by other means.
#[derive(Debug, Serialize)]
pub(super) struct Asked {
    shared: &'static str,
    prompts: Vec<String>,
    max_tokens: usize,
    stop: Vec<String>,
}

/// What clients see that ask at the same time, each one question after the other.
#[derive(Debug, Serialize)]
pub(super) struct Company {
    pub(super) clients: usize,
    pub(super) questions_per_s: f64,
    /// Milliseconds from a question to the first token of its answer.
    pub(super) first_token_ms_p50: f64,
    pub(super) first_token_ms_p99: f64,
}

impl Asked {
    /// Questions, each with its own passages after the shared start.
    pub(super) fn new(shared: &'static str, questions: &[String], contexts: &[String]) -> Self {
        let mut contexts = contexts.iter().cycle();
        let prompts = questions.iter().cycle().take(ASKED).map(|question| {
            let passages = contexts.by_ref().take(EVIDENCE).enumerate();
            let passages = passages.map(|(at, text)| format!("[{}] {text}\n", at + 1));
            format!("{}{question}", passages.collect::<String>())
        });
        Self {
            shared,
            prompts: prompts.collect(),
            max_tokens: ANSWER_TOKENS,
            stop: vec!["\n".to_owned()],
        }
    }

    /// Has clients ask all questions.
    pub(super) fn ask(&self, model: &Decoder, clients: usize) -> Result<Company> {
        let options = GenerateOptions {
            sampling: Sampling::Greedy,
            max_tokens: self.max_tokens,
            stop: self.stop.clone(),
            schema: None,
        };
        let next = AtomicUsize::new(0);
        let client = || {
            let mut waits = Vec::new();
            while let Some(question) = self.prompts.get(next.fetch_add(1, Ordering::Relaxed)) {
                let started = Instant::now();
                let mut first = None;
                let prompt = model.prompt(self.shared, question)?;
                model.generate(&prompt, &options, &mut |_| {
                    first.get_or_insert_with(|| started.elapsed());
                    ControlFlow::Continue(())
                })?;
                // An answer without text ends with its first token.
                waits.push(first.unwrap_or_else(|| started.elapsed()));
            }
            Ok::<_, DecoderError>(waits)
        };
        let started = Instant::now();
        let waits = std::thread::scope(|scope| {
            let clients: Vec<_> = (0..clients).map(|_| scope.spawn(client)).collect();
            let joined = clients.into_iter().map(|client| match client.join() {
                Ok(waits) => waits,
                Err(panic) => std::panic::resume_unwind(panic),
            });
            joined.collect::<Result<Vec<_>, _>>()
        })?;
        let time = started.elapsed();
        let mut waits: Vec<Duration> = waits.into_iter().flatten().collect();
        waits.sort_unstable();
        let ms = |share: f64| {
            let rank = (share * waits.len() as f64).ceil() as usize;
            let wait = waits.get(rank.saturating_sub(1)).copied();
            wait.unwrap_or_default().as_secs_f64() * 1000.0
        };
        Ok(Company {
            clients,
            questions_per_s: waits.len() as f64 / time.as_secs_f64(),
            first_token_ms_p50: ms(0.5),
            first_token_ms_p99: ms(0.99),
        })
    }
}
