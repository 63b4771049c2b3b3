//! `ken train kbm`: a language model learns to say what a model knows, from probed questions; and what
//! it says of recorded ones.

use std::collections::{BTreeSet, HashSet};

use ken_answer::{QuestionPrompt, Signal, prompt};
use ken_model::decoder::LearnedBoundary;
use ken_study::{
    AssessorExampleOptions, Labels, LearnError, ProbeRecord, TrainingExample, assessor_examples,
    place_in_split, read_results,
};

use ken_train::Objective;

use super::fit::{Curriculum, Stage, check, counted, fit, objectives};
use crate::arguments::{KbmExampleFlags, TrainKbmArguments};
use crate::commands::batches::in_batches;
use crate::failure::Result;
use crate::session::Session;

/// Questions between two looks at whether to stop.
const BATCH: usize = 32;

pub(super) fn run(arguments: &TrainKbmArguments, session: &Session<'_>) -> Result<()> {
    check(&arguments.tuning, session)?;
    let share = arguments.tuning.validation;
    let labels = match arguments.soft {
        true => Labels::Soft,
        false => arguments.examples.labels(),
    };
    let taught = taught(&arguments.examples, labels, share, session)?;
    let checkpoint = session.setup().checkpoint()?;
    let form = arguments.examples.form.prompt;
    let training = objectives(&checkpoint, form, &taught.training)?;
    // A model may never have written these before.
    let tokens = written(&training);
    let validation = objectives(&checkpoint, form, &taught.validation)?;
    let stage = Stage::of(&arguments.tuning, training, validation);
    let examples = Curriculum {
        kinds: counted(&taught.training),
        boundary: Some(taught.boundary),
        without_evidence: taught.without_evidence,
        tokens,
        ..Curriculum::new("kbm", form, vec![stage])
    };
    fit(&checkpoint, &examples, &arguments.tuning, session)
}

/// The tokens that the model is to write, each once.
fn written(objectives: &[Objective]) -> Vec<u32> {
    let tokens: BTreeSet<u32> = objectives
        .iter()
        .flat_map(|objective| match objective {
            Objective::Imitate(sequence) => {
                let learned = sequence.tokens.iter().zip(&sequence.weights);
                learned
                    .filter(|(_, weight)| **weight > 0.0)
                    .map(|(token, _)| *token)
                    .collect()
            }
            Objective::Prefer { .. } => Vec::new(),
        })
        .collect();
    tokens.into_iter().collect()
}

/// What is taught of a boundary.
pub(crate) struct Taught {
    pub(crate) training: Vec<TrainingExample>,
    validation: Vec<TrainingExample>,
    boundary: LearnedBoundary,
    /// See [`Curriculum`].
    without_evidence: usize,
}

/// The training examples of the questions that are not held out, and those of the share that validates.
pub(crate) fn taught(
    flags: &KbmExampleFlags,
    labels: Labels,
    validation: f64,
    session: &Session<'_>,
) -> Result<Taught> {
    let mut records: Vec<ProbeRecord> = read_results(&flags.records)?;
    let held_out = flags.held_out;
    records.retain(|record| place_in_split(&record.question) >= held_out);
    let retriever = match session.settings.corpus {
        Some(_) => Some(session.setup().retriever()?),
        None => None,
    };
    let making = AssessorExampleOptions {
        retriever: retriever.as_ref(),
        mode: session.settings.mode,
        labels,
    };
    let taught = assessor_examples(&records, making)?;
    if taught.prompt != prompt::fingerprint() {
        return Err(LearnError::OtherPrompts.into());
    }
    let border = held_out + validation * (1.0 - held_out);
    let validates: HashSet<&str> = records
        .iter()
        .filter(|record| place_in_split(&record.question) < border)
        .map(|record| record.id.as_str())
        .collect();
    let (validation, training) = taught
        .examples
        .into_iter()
        .partition(|example| validates.contains(example.id.as_str()));
    Ok(Taught {
        training,
        validation,
        boundary: LearnedBoundary {
            model: taught.model,
            prompt: taught.prompt,
            held_out,
        },
        without_evidence: taught.without_evidence,
    })
}

/// What the model of the settings says of each recorded question from memory: `[records]`; `None` of
/// those that it was trained on.
pub(crate) fn scores(
    records: &[ProbeRecord],
    signal: Signal,
    session: &Session<'_>,
) -> Result<Vec<Option<f64>>> {
    let (assessor, held_out) = session.setup().assessor()?;
    let indicator = match signal == Signal::CERTITUDE {
        true => prompt::Indicator::Certainty,
        false => prompt::Indicator::Mastery,
    };
    let unknown: Vec<usize> = (0..records.len())
        .filter(|&at| place_in_split(&records[at].question) < held_out)
        .collect();
    if let Some(&first) = unknown.first() {
        assessor.check(&records[first].fingerprint.model)?;
    }
    let needs = in_batches(&unknown, BATCH, "assessed", session.stop, |batch| {
        let questions: Vec<&str> = batch
            .iter()
            .map(|&at| records[at].question.as_str())
            .collect();
        let asked: Vec<_> = questions
            .iter()
            .map(|question| prompt::from_memory(QuestionPrompt::open(question)))
            .collect();
        Ok(assessor.needs(&questions, &asked.iter().collect::<Vec<_>>(), indicator)?)
    })?;
    let mut scores = vec![None; records.len()];
    for (at, need) in unknown.into_iter().zip(needs) {
        scores[at] = Some(need);
    }
    Ok(scores)
}
