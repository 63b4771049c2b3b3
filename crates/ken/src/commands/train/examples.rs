//! `ken train examples`: a language model learns from a file of prompts and what follows them.

use std::io::{BufRead, BufReader};
use std::path::Path;

use ken_model::decoder::Checkpoint;
use ken_train::{Objective, Preference, Sequence};
use serde::Deserialize;

use super::fit::{Curriculum, Stage, check, fit};
use crate::arguments::TrainExamplesArguments;
use crate::failure::{Context, Refusal, Result};
use crate::session::Session;

/// What is wanted of the file.
const LINES: &str =
    "each line is {\"prompt\", \"completion\"} or {\"prompt\", \"chosen\", \"rejected\"}";

/// A line of the file: TRL's formats.
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

pub(crate) fn run(arguments: &TrainExamplesArguments, session: &Session<'_>) -> Result<()> {
    check(&arguments.tuning, session)?;
    let checkpoint = session.setup().checkpoint()?;
    let all = read(&arguments.examples, &checkpoint, arguments.beta)?;
    // Lines have no id; every so manieth one validates.
    let share = arguments.tuning.validation;
    let every = if share > 0.0 {
        (1.0 / share).round().max(2.0) as usize
    } else {
        usize::MAX
    };
    let (validation, training): (Vec<_>, Vec<_>) = all
        .into_iter()
        .enumerate()
        .partition(|(place, _)| (place + 1) % every == 0);
    let stage = Stage::of(
        &arguments.tuning,
        training.into_iter().map(|(_, example)| example).collect(),
        validation.into_iter().map(|(_, example)| example).collect(),
    );
    let training_examples = Curriculum::new("examples", checkpoint.prompt_form(), vec![stage]);
    fit(&checkpoint, &training_examples, &arguments.tuning, session)
}

fn read(path: &Path, checkpoint: &Checkpoint, beta: f64) -> Result<Vec<Objective>> {
    let file = std::fs::File::open(path)
        .context(|| format!("cannot read the examples in {}", path.display()))?;
    let mut examples = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.context(|| format!("cannot read {}", path.display()))?;
        if line.trim().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_str(&line).map_err(|_| {
            Refusal::new(
                "not_an_example",
                format!("{}, line {}: not an example", path.display(), number + 1),
            )
            .hinting(LINES)
        })?;
        let sequence = |prompt: &str, following: &str| -> Result<Sequence> {
            let (prompt, following) = checkpoint.continued(prompt, following)?;
            Ok(Sequence::completion(&prompt, &following))
        };
        examples.push(match line {
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
        });
    }
    if examples.is_empty() {
        let message = format!("{} holds no examples", path.display());
        return Err(Refusal::new("no_examples", message).hinting(LINES).into());
    }
    Ok(examples)
}
