//! Examples from a file of prompts and completions, in TRL's formats.

use std::path::Path;

use ken_eval::json_line;
use ken_model::decoder::Checkpoint;
use ken_train::{Objective, Preference, Sequence};
use serde::Deserialize;

use super::error::TuneError;

/// A line of the file.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Completion {
        prompt: String,
        completion: String,
    },
    Preference {
        prompt: String,
        chosen: String,
        rejected: String,
    },
}

/// Reads a file of examples, for training and for validation: since lines have no id, every n-th line validates.
/// `beta` is DPO's.
///
/// # Errors
/// A file that cannot be read or has no examples, or a line that is not an example.
pub fn read_examples(
    path: &Path,
    checkpoint: &Checkpoint,
    beta: f64,
    validation: f64,
) -> Result<[Vec<Objective>; 2], TuneError> {
    let lines = json_line::read("read the examples in", path, |line, _| {
        TuneError::NotAnExample {
            path: path.to_owned(),
            line,
        }
    })?;
    let every = match validation > 0.0 {
        true => (1.0 / validation).round().max(2.0) as usize,
        false => usize::MAX,
    };
    let [mut learned, mut validating] = [Vec::new(), Vec::new()];
    for (number, line) in (1..).zip(lines) {
        let objective = objective(checkpoint, line, beta)?;
        match usize::is_multiple_of(number, every) {
            true => validating.push(objective),
            false => learned.push(objective),
        }
    }
    match learned.is_empty() {
        true => Err(TuneError::NoExamples {
            path: path.to_owned(),
        }),
        false => Ok([learned, validating]),
    }
}

fn objective(checkpoint: &Checkpoint, line: Line, beta: f64) -> Result<Objective, TuneError> {
    let sequence = |prompt: &str, following: &str| -> Result<Sequence, TuneError> {
        let (prompt, following) = checkpoint.continued(prompt, following)?;
        Ok(Sequence::completion(&prompt, &following))
    };
    Ok(match line {
        Line::Completion { prompt, completion } => {
            Objective::Imitate(sequence(&prompt, &completion)?)
        }
        Line::Preference {
            prompt,
            chosen,
            rejected,
        } => Objective::Prefer {
            preference: Preference {
                chosen: sequence(&prompt, &chosen)?,
                rejected: sequence(&prompt, &rejected)?,
            },
            beta,
        },
    })
}
