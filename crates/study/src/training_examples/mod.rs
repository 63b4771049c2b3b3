//! What a language model is to be trained on: prompts as the pipeline words them, and what is to be
//! written after each. Trains nothing.

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

use crate::dataset::Question;

/// A prompt, and what is to be written after it.
#[derive(Debug, Clone, PartialEq)]
pub struct TrainingExample {
    /// The question's id.
    pub id: String,
    /// What kind of training example it is.
    pub kind: ExampleKind,
    /// What the model reads.
    pub prompt: Prompt,
    /// What it is to write.
    pub output: String,
    /// How much its loss counts, in `(0, 1]`: less than 1 where other training examples with the same prompt
    /// teach to write something else.
    pub weight: f32,
}

/// What a training example teaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ExampleKind {
    /// To answer from memory.
    FromMemory,
    /// To answer from passages of which one holds the answer.
    WithEvidence,
    /// To answer although no passage holds the answer.
    WithNoise,
    /// To predict whether another model knows the answer.
    #[serde(rename = "boundary")]
    Assessor,
    /// The same, where that one reads evidence.
    #[serde(rename = "boundary_with_evidence")]
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

/// Where a question stands in `[0, 1)`, as if drawn: by its words alone, so that splits stay the same
/// in whatever file and order questions come. Those below a share are held out, see
/// [`is_held_out`].
#[must_use]
pub fn place_in_split(question: &str) -> f64 {
    let words = question.trim().to_lowercase();
    let digest = ken_language::fingerprint_of_texts(&[&words]);
    let number = u32::from_str_radix(&digest[..digest.len().min(8)], 16).unwrap_or(0);
    f64::from(number) / (f64::from(u32::MAX) + 1.0)
}

/// Whether a question is among the share that no model is trained on.
#[must_use]
pub fn is_held_out(question: &Question, share: f64) -> bool {
    place_in_split(&question.question) < share
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn questions_are_split_by_their_words() {
        let placed = |n: usize| place_in_split(&format!("who is {n}"));
        let held = (0..2000).filter(|&n| placed(n) < 0.25).count();
        assert!((440..560).contains(&held), "{held}");
        for n in 0..50 {
            assert_eq!(place_in_split(&format!(" Who IS {n} ")), placed(n));
            assert!((0.0..1.0).contains(&placed(n)));
        }
    }
}
