//! Training examples for language models: prompts in the words of the pipeline, with the outputs to learn. `tuning`
//! trains on them.

mod assessor;
mod error;
mod formats;
mod noise_tolerant;
mod self_routing;

use std::fmt;

use ken_language::Prompt;
use serde::Serialize;

pub use assessor::{AssessorExampleOptions, AssessorExamples, Labels, assessor_examples};
pub use error::ExamplesError;
pub use formats::{
    ExampleFormat, LLAMA_FACTORY_FILE, LLAMA_FACTORY_LIST, example_as, llama_factory_list,
    text_example_as,
};
pub use noise_tolerant::{NoiseTolerant, noise_tolerant};
pub use self_routing::{
    LabelRule, Routing, RoutingExample, RoutingExampleOptions, RoutingStage, TextExample,
    routing_examples,
};

/// A prompt and the output to learn.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingExample {
    /// The question's id.
    pub id: String,
    /// Its kind.
    pub kind: ExampleKind,
    /// What the model reads.
    pub prompt: Prompt,
    /// The output to learn.
    pub output: String,
    /// The weight of its loss, in `(0, 1]`: less than 1 if other training examples with the same prompt have other
    /// outputs.
    pub weight: f32,
}

/// What a training example teaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExampleKind {
    /// To answer from memory.
    FromMemory,
    /// To answer from passages, one of which contains the answer.
    WithEvidence,
    /// To answer although no passage contains the answer.
    WithNoise,
    /// To predict whether another model knows the answer.
    Assessor,
    /// To predict whether another model answers right with evidence.
    AssessorWithEvidence,
}

impl fmt::Display for ExampleKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::FromMemory => "from memory",
            Self::WithEvidence => "with evidence",
            Self::WithNoise => "with noise",
            Self::Assessor => "for the assessor",
            Self::AssessorWithEvidence => "for the assessor, with evidence",
        })
    }
}
