//! The names of OpenTelemetry's conventions for generative AI, which are young and change (version 1.41), in one
//! place, with ken's own; and the attributes of each span of a question.

use opentelemetry::KeyValue;
use serde_json::{Value, json};

use super::stages::{Stage, Timed};
use super::{Outcome, QuestionSpan};
use crate::wire::chat::finish_reason;
use crate::wire::ken::Trace;

const OPERATION: &str = "gen_ai.operation.name";
const PROVIDER: &str = "gen_ai.provider.name";

/// The operation of a whole question.
const CHAT: &str = "chat";

/// The operation of finding passages.
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

/// The attributes of a question's span.
pub(super) fn of_question(asked: &QuestionSpan<'_>, content: bool) -> Vec<KeyValue> {
    let mut attributes = vec![
        KeyValue::new(OPERATION, CHAT),
        KeyValue::new(PROVIDER, "ken"),
        KeyValue::new("gen_ai.request.model", asked.model.to_owned()),
        KeyValue::new("gen_ai.response.id", asked.request_id.to_owned()),
    ];
    match asked.outcome {
        Outcome::Failed(code) => attributes.push(KeyValue::new("error.type", code)),
        Outcome::Answered {
            text,
            truncated,
            tokens: [read, written],
            trace,
            ..
        } => {
            let finish = finish_reason(truncated, trace.lack.as_deref());
            let finished = opentelemetry::Array::String(vec![finish.into()]);
            attributes.extend([
                KeyValue::new("gen_ai.response.model", format!("ken/{}", trace.policy)),
                KeyValue::new(
                    "gen_ai.response.finish_reasons",
                    opentelemetry::Value::Array(finished),
                ),
                KeyValue::new("gen_ai.usage.input_tokens", whole(read)),
                KeyValue::new("gen_ai.usage.output_tokens", whole(written)),
                KeyValue::new("ken.policy", trace.policy.clone()),
                KeyValue::new("ken.searches", whole(trace.searches)),
                KeyValue::new("ken.model_calls", whole(trace.model_calls)),
            ]);
            attributes.extend(decided(trace));
            if let Some(corpus) = &trace.corpus {
                attributes.extend(searched(corpus.name.clone(), corpus.generation));
            }
            if let Some(guarantee) = &trace.guarantee {
                attributes.push(KeyValue::new("ken.guarantee", guarantee.standing.clone()));
            }
            if trace.withheld.is_some() {
                attributes.push(KeyValue::new("ken.withheld", true));
            }
            if let Some(propensity) = trace.drawn {
                attributes.push(KeyValue::new("ken.drawn", propensity));
            }
            if content {
                let part = |text: &str| json!([{ "type": "text", "content": text }]);
                let question = json!([{ "role": "user", "parts": part(&trace.question) }]);
                let answer = json!([{
                    "role": "assistant", "parts": part(text), "finish_reason": finish,
                }]);
                attributes.push(KeyValue::new("gen_ai.input.messages", question.to_string()));
                attributes.push(KeyValue::new("gen_ai.output.messages", answer.to_string()));
            }
        }
    }
    attributes
}

/// The attributes of a stage's span.
pub(super) fn of_stage(timed: &Timed, trace: &Trace, k: usize, content: bool) -> Vec<KeyValue> {
    let steps = timed.steps.iter();
    let steps =
        steps.map(|(name, ms)| KeyValue::new(format!("ken.{}_ms", name.replace(' ', "_")), *ms));
    let mut attributes: Vec<KeyValue> = steps.collect();
    match timed.stage {
        Stage::Route => attributes.extend(decided(trace)),
        Stage::Retrieve => {
            attributes.push(KeyValue::new(OPERATION, RETRIEVAL));
            attributes.push(KeyValue::new(PROVIDER, "ken"));
            attributes.push(KeyValue::new("gen_ai.retrieval.top_k", whole(k)));
            if let Some(corpus) = &trace.corpus {
                attributes.push(KeyValue::new("gen_ai.data_source.id", corpus.name.clone()));
                attributes.extend(searched(corpus.name.clone(), corpus.generation));
            }
            if content {
                attributes.push(KeyValue::new(
                    "gen_ai.retrieval.query.text",
                    trace.question.clone(),
                ));
                attributes.push(KeyValue::new(
                    "gen_ai.retrieval.documents",
                    documents(trace).to_string(),
                ));
            }
        }
        Stage::Wait | Stage::Rewrite | Stage::Review | Stage::Generate => {}
    }
    attributes
}

/// How the route was decided.
fn decided(trace: &Trace) -> Vec<KeyValue> {
    let mut attributes = vec![
        KeyValue::new("ken.route", trace.route.clone()),
        KeyValue::new("ken.reason", trace.reason.clone()),
    ];
    attributes.extend(trace.score.map(|score| KeyValue::new("ken.score", score)));
    if trace.cannot_tell {
        attributes.push(KeyValue::new("ken.cannot_tell", true));
    }
    let threshold = trace.threshold;
    attributes.extend(threshold.map(|threshold| KeyValue::new("ken.threshold", threshold)));
    attributes
}

fn searched(corpus: String, generation: u64) -> [KeyValue; 2] {
    let generation = i64::try_from(generation).unwrap_or(i64::MAX);
    [
        KeyValue::new("ken.corpus", corpus),
        KeyValue::new("ken.corpus.generation", generation),
    ]
}

/// The passages found; their texts stay in the corpus.
fn documents(trace: &Trace) -> Value {
    let hits = trace.retrieved.iter().flatten();
    hits.map(|hit| match hit.score {
        Some(score) => json!({ "id": hit.passage_id, "score": score }),
        None => json!({ "id": hit.passage_id }),
    })
    .collect()
}

fn whole(count: usize) -> i64 {
    i64::try_from(count).unwrap_or(i64::MAX)
}
