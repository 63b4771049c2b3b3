//! What a language model is tuned on, as token sequences with their weights.

use std::collections::BTreeMap;

use ken_model::decoder::{Checkpoint, LearnedBoundary, PromptForm, SourceTokens};
use ken_train::{MeanOver, Objective, Sequence};

use super::error::TuneError;
use crate::examples::{ExampleKind, TrainingExample};

/// What a language model is tuned on.
#[derive(Default)]
pub struct Curriculum {
    /// The number of training examples by kind; empty if they have no kinds.
    pub kinds: BTreeMap<ExampleKind, usize>,
    /// The purpose of the tuning.
    pub purpose: String,
    /// The form of prompts.
    pub prompt: PromptForm,
    /// The boundary that the model learns to report.
    pub boundary: Option<LearnedBoundary>,
    /// The tokens that mark sources, if it learns to choose one.
    pub sources: Option<SourceTokens>,
    /// The share of all questions that is held out from learning to choose sources.
    pub held_out: Option<f64>,
    /// The digests of the questions for training and validation.
    pub learned_from: Vec<u64>,
    /// What the loss averages over.
    pub mean_over: MeanOver,
    /// Questions whose evidence at probing was not found again, so that they are taught without it.
    pub without_evidence: usize,
    /// Tokens whose embedding rows are trained too.
    pub tokens: Vec<u32>,
    /// Of these, the tokens whose rows start as the mean of other tokens' rows.
    pub begin: Vec<(u32, Vec<u32>)>,
    /// The stages, in order.
    pub stages: Vec<Stage>,
}

/// A stage of a training.
pub struct Stage {
    /// The training examples.
    pub training: Vec<Objective>,
    /// The validation examples.
    pub validation: Vec<Objective>,
    /// The peak learning rate.
    pub learning_rate: f64,
    /// Passes over the training examples.
    pub epochs: f64,
}

impl Curriculum {
    /// A curriculum of outputs to imitate, without sources or tokens.
    pub fn new(purpose: &str, prompt: PromptForm, stages: Vec<Stage>) -> Self {
        Self {
            purpose: purpose.to_owned(),
            prompt,
            stages,
            ..Self::default()
        }
    }
}

/// The number of training examples by kind.
pub(super) fn counted(examples: &[TrainingExample]) -> BTreeMap<ExampleKind, usize> {
    let mut kinds = BTreeMap::new();
    for example in examples {
        *kinds.entry(example.kind).or_insert(0) += 1;
    }
    kinds
}

/// Examples that fit into the model, as token sequences. All kinds have the same weight, however many examples they
/// have: the loss is the sum of the kinds' expectations (Zero-RAG, Eq. 6).
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
    for example in examples {
        let (prompt, output) = checkpoint.example(&example.prompt, form, &example.output)?;
        if prompt.len() + output.len() <= context {
            let weight = example.weight * even / kinds[&example.kind] as f32;
            let mut sequence = Sequence::completion(&prompt, &output);
            sequence.weights.iter_mut().for_each(|w| *w *= weight);
            objectives.push(Objective::Imitate(sequence));
        }
    }
    Ok(objectives)
}
