//! Questions with right answers, collected while people ask: a set on which models and policies can be
//! evaluated.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use super::collection::{Collection, Item};
use super::traces::trace_record::TraceRecord;

/// All such questions.
pub(crate) type Evals = Collection<EvalQuestion>;

/// A question in the form in which evaluations read it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub(crate) struct EvalQuestion {
    /// The id of the request, if the question is from one.
    pub(crate) id: String,
    pub(crate) question: String,
    /// Right answers, if any were given.
    pub(crate) golden_answers: Vec<String>,
    /// Where it comes from, and how it was answered.
    pub(crate) metadata: Map<String, Value>,
}

impl EvalQuestion {
    /// The question of a trace; `None` if it is not kept, or is only a greeting.
    pub(crate) fn asked(past: &TraceRecord) -> Option<Self> {
        let question = past.question().filter(|_| !past.trace.small_talk)?;
        let feedback = past.feedback.clone().unwrap_or_default();
        let trace = &past.trace;
        let mut metadata = Map::new();
        metadata.insert("policy".to_owned(), json!(trace.policy));
        metadata.insert("route".to_owned(), json!(trace.route));
        let mut add = |name: &str, value: Option<Value>| {
            if let Some(value) = value {
                metadata.insert(name.to_owned(), value);
            }
        };
        add("score", trace.score.map(|score| json!(score)));
        add("answer", past.answer.as_ref().map(|answer| json!(answer)));
        add("rating", feedback.rating.map(|rating| json!(rating)));
        Some(Self {
            id: past.id().to_owned(),
            question: question.to_owned(),
            golden_answers: feedback.answers,
            metadata,
        })
    }
}

impl Item for EvalQuestion {
    fn id(&self) -> &str {
        &self.id
    }

    fn bytes(&self) -> usize {
        let answers = self.golden_answers.iter().map(String::len);
        self.question.len() + answers.sum::<usize>()
    }
}
