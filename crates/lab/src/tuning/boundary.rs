//! Tuning a model to report what a model knows (KBM, section 4.1).

use std::collections::{BTreeSet, HashSet};

use ken_answer::prompt;
use ken_eval::probe::ProbeRecord;
use ken_eval::split::Split;
use ken_model::decoder::{Checkpoint, LearnedBoundary, PromptForm};
use ken_policy::digest_of;
use ken_train::Objective;

use super::curriculum::{Curriculum, counted, objectives};
use super::error::TuneError;
use super::fine_tune::FineTuning;
use crate::examples::{AssessorExampleOptions, ExampleKind, TrainingExample, assessor_examples};
use crate::heads::LearnError;

/// Examples of the boundary of a model's knowledge.
pub struct TaughtBoundary {
    /// The training examples.
    pub training: Vec<TrainingExample>,
    validation: Vec<TrainingExample>,
    boundary: LearnedBoundary,
    without_evidence: usize,
    learned_from: Vec<u64>,
}

/// The training examples of the probed questions that are not held out.
///
/// # Errors
/// As of [`assessor_examples`]; records made with other prompts.
pub fn taught_boundary(
    mut records: Vec<ProbeRecord>,
    split: Split,
    making: AssessorExampleOptions<'_>,
) -> Result<TaughtBoundary, TuneError> {
    records.retain(|record| split.keeps(record));
    let learned_from = records.iter().map(|record| digest_of(&record.question));
    let taught = assessor_examples(&records, making)?;
    if taught.prompt != prompt::fingerprint() {
        return Err(LearnError::OtherPrompts.into());
    }
    let validates: HashSet<&str> = records
        .iter()
        .filter(|record| split.validates(*record))
        .map(|record| record.id.as_str())
        .collect();
    let (validation, training): (Vec<TrainingExample>, Vec<TrainingExample>) = taught
        .examples
        .into_iter()
        .partition(|example| validates.contains(example.id.as_str()));
    let with_evidence: HashSet<&str> = training
        .iter()
        .filter(|example| example.kind == ExampleKind::AssessorWithEvidence)
        .map(|example| example.id.as_str())
        .collect();
    let questions_with_evidence = with_evidence.len();
    Ok(TaughtBoundary {
        training,
        validation,
        boundary: LearnedBoundary {
            model: taught.model,
            prompt: taught.prompt,
            held_out: split.held_out,
            questions_with_evidence,
        },
        without_evidence: taught.without_evidence,
        learned_from: learned_from.collect(),
    })
}

/// The curriculum for these examples.
///
/// # Errors
/// As of [`objectives`].
pub fn boundary_curriculum(
    checkpoint: &Checkpoint,
    form: PromptForm,
    taught: TaughtBoundary,
    tuning: &FineTuning<'_>,
) -> Result<Curriculum, TuneError> {
    let training = objectives(checkpoint, form, &taught.training)?;
    let validation = objectives(checkpoint, form, &taught.validation)?;
    Ok(Curriculum {
        kinds: counted(&taught.training),
        boundary: Some(taught.boundary),
        without_evidence: taught.without_evidence,
        learned_from: taught.learned_from,
        // The model may never have written these tokens before.
        tokens: written(&training),
        ..Curriculum::new("kbm", form, vec![tuning.stage(training, validation)])
    })
}

/// The tokens with a loss, each once.
fn written(objectives: &[Objective]) -> Vec<u32> {
    let mut tokens = BTreeSet::new();
    for objective in objectives {
        if let Objective::Imitate(sequence) = objective {
            let learned = sequence.tokens.iter().zip(&sequence.weights);
            tokens.extend(
                learned
                    .filter(|(_, weight)| **weight > 0.0)
                    .map(|(token, _)| *token),
            );
        }
    }
    tokens.into_iter().collect()
}
