//! The folder that a training writes: what it resumes from, its history, and in the end its result.

use std::path::Path;

use ken_model::decoder::{SETTINGS_FILE, remove_model};
use ken_storage::{StorageError, create_dir_all, names, remove, replace, sync_dir};
use ken_train::History;
use serde_json::json;

use super::error::TuneError;
use crate::training_page::training_to_html;

/// What a training resumes from.
pub const CHECKPOINT: &str = "training.safetensors";
/// The same of each of the stages that a training may have.
pub(super) const STATES: [&str; 2] = [CHECKPOINT, "second-training.safetensors"];
/// Without it there is no model.
const CONFIG: &str = "config.json";
/// A line of JSON for each step and each validation.
const HISTORY: &str = "history.jsonl";
/// The same as a page with curves.
const PAGE: &str = "history.html";

/// Makes the folder, or refuses one that holds something else than a training.
pub(super) fn prepare(out: &Path, overwrite: bool) -> Result<(), TuneError> {
    create_dir_all(out)?;
    if overwrite {
        return Ok(forget(out)?);
    }
    // A training that was killed while it wrote its first checkpoint leaves part of that.
    let unfinished = format!("{CHECKPOINT}.tmp");
    let held = names(out)?;
    let is_training = held.iter().any(|name| name == CHECKPOINT);
    if !is_training && held.iter().any(|name| *name != unfinished) {
        let out = out.to_owned();
        return Err(TuneError::OutNotEmpty { out });
    }
    Ok(())
}

/// Removes the model or adapter in a folder of which a checkpoint holds all that takes its place:
/// first the files without which it is none, so that what is half removed is not opened; and all of
/// it for good before anything new is there, so that parts of two are never together.
pub(super) fn clear(folder: &Path) -> Result<(), TuneError> {
    for name in [CONFIG, SETTINGS_FILE] {
        remove(&folder.join(name))?;
    }
    sync_dir(folder)?;
    remove_model(folder)?;
    Ok(sync_dir(folder)?)
}

/// Removes what a training in the folder resumes from.
pub(super) fn forget(folder: &Path) -> Result<(), StorageError> {
    for state in STATES {
        remove(&folder.join(state))?;
    }
    sync_dir(folder)
}

/// A training that was stopped, to be resumed from its folder. `began_anew` says whether it was told
/// to begin anew there.
#[must_use]
pub fn stopped(history: &History, out: &Path, began_anew: bool) -> TuneError {
    TuneError::Stopped {
        steps: history.steps.len(),
        out: out.to_owned(),
        began_anew,
    }
}

/// Writes the steps and validations into a folder: a line each, and as a page.
///
/// # Errors
/// A file that cannot be written.
pub fn write_history(folder: &Path, history: &History) -> Result<(), StorageError> {
    let steps = history.steps.iter().map(|step| json!(step));
    let validations = history.validations.iter();
    let validations = validations.map(|one| json!({"step": one.step, "validation_loss": one.loss}));
    let lines: String = steps
        .chain(validations)
        .map(|line| format!("{line}\n"))
        .collect();
    replace(&folder.join(HISTORY), lines.as_bytes())?;
    let page = training_to_html(&format!("Training of {}", folder.display()), history);
    replace(&folder.join(PAGE), page.as_bytes())
}
