//! The names of OpenTelemetry's conventions for generative AI, which are young and change (version 1.41), in
//! one place, and ken's own beside them; and what each span says of a question.

use opentelemetry::KeyValue;
use serde_json::{Value, json};

use super::stages::{Stage, Timed};
use super::{Outcome, QuestionSpan};
use crate::wire::ken::Trace;

const OPERATION: &str = "gen_ai.operation.name";
const PROVIDER: &str = "gen_ai.provider.name";
const REQUEST_MODEL: &str = "gen_ai.request.model";
const RESPONSE_MODEL: &str = "gen_ai.response.model";
const RESPONSE_ID: &str = "gen_ai.response.id";
const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
const INPUT_MESSAGES: &str = "gen_ai.input.messages";
const OUTPUT_MESSAGES: &str = "gen_ai.output.messages";
const DATA_SOURCE: &str = "gen_ai.data_source.id";
const TOP_K: &str = "gen_ai.retrieval.top_k";
const QUERY: &str = "gen_ai.retrieval.query.text";
const DOCUMENTS: &str = "gen_ai.retrieval.documents";
const ERROR: &str = "error.type";

/// What the whole of a question is called.
const CHAT: &str = "chat";

/// What finding passages is called.
const RETRIEVAL: &str = "retrieval";

/// The name of a question's span.
pub(super) fn name(asked: &QuestionSpan<'_>) -> String {
    format!("{CHAT} {}", asked.model)
}

/// The name of a stage's span.
pub(super) fn stage_name(stage: Stage, trace: &Trace) -> String {
    match (stage, &trace.corpus) {
        (Stage::Wait, _) => "wait".to_owned(),
        (Stage::Rewrite, _) => "rewrite".to_owned(),
        (Stage::Route, _) => "route".to_owned(),
        (Stage::Retrieve, Some(corpus)) => format!("{RETRIEVAL} {}", corpus.name),
        (Stage::Retrieve, None) => RETRIEVAL.to_owned(),
        (Stage::Review, _) => "review".to_owned(),
        (Stage::Generate, _) => "generate".to_owned(),
    }
}

/// What the span of a question says.
pub(super) fn of_question(asked: &QuestionSpan<'_>, content: bool) -> Vec<KeyValue> {
    let mut said = vec![
        KeyValue::new(OPERATION, CHAT),
        KeyValue::new(PROVIDER, "ken"),
        KeyValue::new(REQUEST_MODEL, asked.model.to_owned()),
        KeyValue::new(RESPONSE_ID, asked.request_id.to_owned()),
    ];
    match asked.outcome {
        Outcome::Failed(code) => said.push(KeyValue::new(ERROR, code)),
        Outcome::Answered {
            text,
            truncated,
            tokens: [read, written],
            trace,
            ..
        } => {
            let finish = match trace.lack.as_deref() {
                _ if truncated => "length",
                Some("filtered") => "content_filter",
                _ => "stop",
            };
            let finished = opentelemetry::Array::String(vec![finish.into()]);
            said.extend([
                KeyValue::new(RESPONSE_MODEL, format!("ken/{}", trace.policy)),
                KeyValue::new(FINISH_REASONS, opentelemetry::Value::Array(finished)),
                KeyValue::new(INPUT_TOKENS, whole(read)),
                KeyValue::new(OUTPUT_TOKENS, whole(written)),
                KeyValue::new("ken.policy", trace.policy.clone()),
                KeyValue::new("ken.searches", whole(trace.searches)),
                KeyValue::new("ken.model_calls", whole(trace.model_calls)),
            ]);
            said.extend(decided(trace));
            if let Some(corpus) = &trace.corpus {
                said.extend(searched(corpus.name.clone(), corpus.generation));
            }
            if let Some(guarantee) = &trace.guarantee {
                said.push(KeyValue::new("ken.guarantee", guarantee.standing.clone()));
            }
            if trace.withheld.is_some() {
                said.push(KeyValue::new("ken.withheld", true));
            }
            if let Some(propensity) = trace.drawn {
                said.push(KeyValue::new("ken.drawn", propensity));
            }
            if content {
                let part = |text: &str| json!([{ "type": "text", "content": text }]);
                let question = json!([{ "role": "user", "parts": part(&trace.question) }]);
                let answer = json!([{
                    "role": "assistant", "parts": part(text), "finish_reason": finish,
                }]);
                said.push(KeyValue::new(INPUT_MESSAGES, question.to_string()));
                said.push(KeyValue::new(OUTPUT_MESSAGES, answer.to_string()));
            }
        }
    }
    said
}

/// What the span of a stage says.
pub(super) fn of_stage(timed: &Timed, trace: &Trace, k: usize, content: bool) -> Vec<KeyValue> {
    let steps = timed.steps.iter();
    let steps =
        steps.map(|(name, ms)| KeyValue::new(format!("ken.{}_ms", name.replace(' ', "_")), *ms));
    let mut said: Vec<KeyValue> = steps.collect();
    match timed.stage {
        Stage::Route => said.extend(decided(trace)),
        Stage::Retrieve => {
            said.push(KeyValue::new(OPERATION, RETRIEVAL));
            said.push(KeyValue::new(PROVIDER, "ken"));
            said.push(KeyValue::new(TOP_K, whole(k)));
            if let Some(corpus) = &trace.corpus {
                said.push(KeyValue::new(DATA_SOURCE, corpus.name.clone()));
                said.extend(searched(corpus.name.clone(), corpus.generation));
            }
            if content {
                said.push(KeyValue::new(QUERY, trace.question.clone()));
                said.push(KeyValue::new(DOCUMENTS, documents(trace).to_string()));
            }
        }
        Stage::Wait | Stage::Rewrite | Stage::Review | Stage::Generate => {}
    }
    said
}

/// How it was decided where knowledge comes from.
fn decided(trace: &Trace) -> Vec<KeyValue> {
    let mut said = vec![
        KeyValue::new("ken.route", trace.route.clone()),
        KeyValue::new("ken.reason", trace.reason.clone()),
    ];
    said.extend(trace.score.map(|score| KeyValue::new("ken.score", score)));
    if trace.cannot_tell {
        said.push(KeyValue::new("ken.cannot_tell", true));
    }
    let threshold = trace.threshold;
    said.extend(threshold.map(|threshold| KeyValue::new("ken.threshold", threshold)));
    said
}

fn searched(corpus: String, generation: u64) -> [KeyValue; 2] {
    let generation = i64::try_from(generation).unwrap_or(i64::MAX);
    [
        KeyValue::new("ken.corpus", corpus),
        KeyValue::new("ken.corpus.generation", generation),
    ]
}

/// Which passages were found; their texts stay in the corpus.
fn documents(trace: &Trace) -> Value {
    let found = trace.retrieved.iter().flatten();
    let found = found.map(|found| json!({ "id": found.passage_id, "score": found.score }));
    Value::Array(found.collect())
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
