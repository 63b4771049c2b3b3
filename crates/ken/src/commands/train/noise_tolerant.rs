//! `ken train noise-tolerant`: a language model learns to answer right whatever stands in its prompt.

use std::collections::{HashMap, HashSet};
use std::path::Path;

use ken_answer::prompt;
use ken_study::{
    LearnError, NoiseTolerant, ProbeRecord, Question, TrainingExample, noise_tolerant,
    place_in_split, read_results,
};

use super::fit::{Curriculum, Stage, check, counted, fit, objectives};
use crate::arguments::{NoiseTolerantFlags, TrainNoiseTolerantArguments};
use crate::commands::records;
use crate::failure::{Refusal, Result};
use crate::progress::Display;
use crate::session::Session;

pub(super) fn run(arguments: &TrainNoiseTolerantArguments, session: &Session<'_>) -> Result<()> {
    check(&arguments.tuning, session)?;
    let checkpoint = session.setup().checkpoint()?;
    let share = arguments.tuning.validation;
    let model = || Ok(checkpoint.fingerprint().to_owned());
    let (training, validation) = taught(&arguments.examples, share, model, session)?;
    let form = arguments.examples.form.prompt;
    let stage = Stage::of(
        &arguments.tuning,
        objectives(&checkpoint, form, &training)?,
        objectives(&checkpoint, form, &validation)?,
    );
    let examples = Curriculum {
        kinds: counted(&training),
        ..Curriculum::new("noise-tolerant", form, vec![stage])
    };
    fit(&checkpoint, &examples, &arguments.tuning, session)
}

/// The ids of the questions that `model` answered right from memory at least half of the time.
///
/// # Errors
/// Records of another model or other prompts, or of another question under the id of one of these.
fn known<'q>(
    path: &Path,
    questions: impl Iterator<Item = &'q Question>,
    model: &str,
) -> Result<HashSet<String>> {
    /// As for the known rate.
    const SHARE: f64 = 0.5;
    let records: Vec<ProbeRecord> = read_results(path)?;
    let asked: HashMap<&str, &str> = questions
        .map(|question| (question.id.as_str(), question.question.trim()))
        .collect();
    let mut known = HashSet::new();
    for record in records.into_iter().filter(|record| record.error.is_none()) {
        if !ken_storage::same_fingerprint(&record.fingerprint.model, model) {
            return Err(LearnError::OtherModel {
                expected: record.fingerprint.model,
                received: model.to_owned(),
            }
            .into());
        }
        if record.fingerprint.prompt != prompt::fingerprint() {
            return Err(LearnError::OtherPrompts.into());
        }
        let asked = asked.get(record.id.as_str());
        if asked.is_some_and(|question| *question != record.question.trim()) {
            let message = format!(
                "{} has another question under the id {:?}: {:?}",
                path.display(),
                record.id,
                record.question
            );
            return Err(Refusal::new("other_question", message)
                .hinting("probe these questions: `ken probe QUESTIONS --out RECORDS`")
                .into());
        }
        if record.confidence.from_self.is_some_and(|c| c >= SHARE) {
            known.insert(record.id);
        }
    }
    Ok(known)
}

/// The training examples of the questions that are not held out, and those of the share that validates. `model`
/// gives the fingerprint of the one to be taught, and is asked where records say what it knows.
pub(crate) fn taught(
    flags: &NoiseTolerantFlags,
    validation: f64,
    model: impl FnOnce() -> Result<String>,
    session: &Session<'_>,
) -> Result<(Vec<TrainingExample>, Vec<TrainingExample>)> {
    let mut questions = records::questions(&flags.questions, flags.limit, session.settings)?;
    let held_out = flags.held_out;
    questions.retain(|question| place_in_split(&question.question) >= held_out);
    let border = held_out + validation * (1.0 - held_out);
    let (validation, training): (Vec<Question>, Vec<Question>) = questions
        .into_iter()
        .partition(|question| place_in_split(&question.question) < border);
    let known = match &flags.records {
        Some(path) => {
            let asked = training.iter().chain(&validation);
            Some(known(path, asked, &model()?)?)
        }
        None => None,
    };
    let retriever = session.setup().retriever()?;
    let making = NoiseTolerant {
        mode: session.settings.mode,
        k: flags.k.get(),
        depth: flags.depth.get(),
        random: flags.random,
        known,
        seed: session.settings.seed,
    };
    let mut display = Display::new();
    let total = training.len() + validation.len();
    let mut examples = |questions: &[Question], before: usize| {
        noise_tolerant(questions, &retriever, &making, &mut |done| {
            display.show_items("passages found", before + done, total);
        })
    };
    let (training, validation) = (
        examples(&training, 0)?,
        examples(&validation, training.len())?,
    );
    Ok((training, validation))
}
