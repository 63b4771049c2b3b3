//! Tuning a model to answer right whatever passages its prompt contains (Zero-RAG, section 3.3).

use std::collections::{HashMap, HashSet};
use std::path::Path;

use ken_answer::prompt;
use ken_eval::dataset::Question;
use ken_eval::probe::ProbeRecord;
use ken_eval::split::Split;
use ken_model::decoder::{Checkpoint, PromptForm};

use super::curriculum::{Curriculum, counted, objectives};
use super::error::TuneError;
use super::fine_tune::FineTuning;
use crate::examples::TrainingExample;
use crate::heads::LearnError;

/// The least share of right answers from memory for a question to count as known.
const KNOWN: f64 = 0.5;

/// The questions that are not held out, for training and for validation.
pub fn split_noise_tolerant(mut questions: Vec<Question>, split: Split) -> [Vec<Question>; 2] {
    questions.retain(|question| split.keeps(question));
    let sides = questions.into_iter();
    let (validation, training) = sides.partition(|question| split.validates(question));
    [training, validation]
}

/// The ids of the questions that `model` answered right from memory at least half of the time, according to the probe
/// records of the file `path`.
///
/// # Errors
/// Records of another model or other prompts, or of a different question under the same id.
pub fn known_questions<'q>(
    records: Vec<ProbeRecord>,
    path: &Path,
    questions: impl Iterator<Item = &'q Question>,
    model: &str,
) -> Result<HashSet<String>, TuneError> {
    let asked: HashMap<&str, &str> = questions
        .map(|question| (question.id.as_str(), question.question.trim()))
        .collect();
    let mut known = HashSet::new();
    for record in records.into_iter().filter(|record| record.error.is_none()) {
        if record.fingerprint.model != model {
            let (expected, received) = (record.fingerprint.model, model.to_owned());
            return Err(LearnError::OtherModel { expected, received }.into());
        }
        if record.fingerprint.prompt != prompt::fingerprint() {
            return Err(LearnError::OtherPrompts.into());
        }
        let asked = asked.get(record.id.as_str());
        if asked.is_some_and(|question| *question != record.question.trim()) {
            return Err(TuneError::OtherQuestion {
                path: path.to_owned(),
                id: record.id,
                recorded: record.question,
            });
        }
        if record
            .confidence
            .from_self
            .is_some_and(|share| share >= KNOWN)
        {
            known.insert(record.id);
        }
    }
    Ok(known)
}

/// Examples of noise tolerance.
pub struct TaughtNoiseTolerance {
    /// The training examples.
    pub training: Vec<TrainingExample>,
    /// The validation examples.
    pub validation: Vec<TrainingExample>,
    /// The digests of all their questions.
    pub learned_from: Vec<u64>,
}

/// The curriculum for these examples.
///
/// # Errors
/// As of [`objectives`].
pub fn noise_tolerant_curriculum(
    checkpoint: &Checkpoint,
    form: PromptForm,
    taught: TaughtNoiseTolerance,
    tuning: &FineTuning<'_>,
) -> Result<Curriculum, TuneError> {
    let stage = tuning.stage(
        objectives(checkpoint, form, &taught.training)?,
        objectives(checkpoint, form, &taught.validation)?,
    );
    Ok(Curriculum {
        kinds: counted(&taught.training),
        learned_from: taught.learned_from,
        ..Curriculum::new("noise-tolerant", form, vec![stage])
    })
}
