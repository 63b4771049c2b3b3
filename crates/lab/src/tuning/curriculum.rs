//! What a language model is taught, as token sequences with their weights.

use std::collections::BTreeMap;

use ken_model::decoder::{Checkpoint, LearnedBoundary, PromptForm, SourceTokens};
use ken_train::{MeanOver, Objective, Sequence};

use super::error::TuneError;
use crate::examples::{ExampleKind, TrainingExample};

/// What a language model is taught.
#[derive(Default)]
pub struct Curriculum {
    /// How many training examples of each kind there are; empty if they have no kinds.
    pub kinds: BTreeMap<ExampleKind, usize>,
    /// What it is for.
    pub purpose: String,
    /// How prompts are put before the model.
    pub prompt: PromptForm,
    /// Whose knowledge it is taught to report.
    pub boundary: Option<LearnedBoundary>,
    /// The tokens that mark sources, where choosing one is taught.
    pub sources: Option<SourceTokens>,
    /// The share of all questions whose source is not taught.
    pub held_out: Option<f64>,
    /// The digests of the questions that are taught or validate.
    pub learned_from: Vec<u64>,
    /// What the loss is a mean over.
    pub mean_over: MeanOver,
    /// Questions that were probed with evidence that was not found again, and are taught without it.
    pub without_evidence: usize,
    /// Tokens whose rows of the embedding are trained too.
    pub tokens: Vec<u32>,
    /// Of these those whose rows begin as the mean of others'.
    pub begin: Vec<(u32, Vec<u32>)>,
    /// The stages, in sequence.
    pub stages: Vec<Stage>,
}

/// A stage of a training.
pub struct Stage {
    /// What is learned.
    pub training: Vec<Objective>,
    /// What it is validated on.
    pub validation: Vec<Objective>,
    /// The highest learning rate.
    pub learning_rate: f64,
    /// Passes over what is learned.
    pub epochs: f64,
}

impl Curriculum {
    /// Outputs to imitate, and nothing about sources or tokens.
    #[must_use]
    pub fn new(purpose: &str, prompt: PromptForm, stages: Vec<Stage>) -> Self {
        Self {
            purpose: purpose.to_owned(),
            prompt,
            stages,
            ..Self::default()
        }
    }
}

/// How many training examples of each kind there are.
pub(super) fn counted(examples: &[TrainingExample]) -> BTreeMap<ExampleKind, usize> {
    let mut kinds = BTreeMap::new();
    for one in examples {
        *kinds.entry(one.kind).or_insert(0) += 1;
    }
    kinds
}

/// Examples that fit into the model, as token sequences. Each kind weighs as much as every other,
/// however many there are of it: the loss is the sum of the kinds' expectations (Zero-RAG, Eq. 6).
///
/// # Errors
/// A text that the model's tokenizer cannot read.
pub fn objectives(
    checkpoint: &Checkpoint,
    form: PromptForm,
    examples: &[TrainingExample],
) -> Result<Vec<Objective>, TuneError> {
    let context = checkpoint.config().context;
    let kinds = counted(examples);
    let even = examples.len() as f32 / kinds.len().max(1) as f32;
    let mut objectives = Vec::with_capacity(examples.len());
    for one in examples {
        let (prompt, output) = checkpoint.example(&one.prompt, form, &one.output)?;
        if prompt.len() + output.len() <= context {
            let weight = one.weight * even / kinds[&one.kind] as f32;
            let mut sequence = Sequence::completion(&prompt, &output);
            sequence.weights.iter_mut().for_each(|w| *w *= weight);
            objectives.push(Objective::Imitate(sequence));
        }
    }
    Ok(objectives)
}
