//! The folder that a training writes: its checkpoints, its history, and finally its result.

use std::path::Path;

use ken_model::decoder::{SETTINGS_FILE, remove_model};
use ken_storage::{StorageError, create_dir_all, names, remove, replace, sync_dir};
use ken_train::History;
use serde_json::json;

use super::error::TuneError;
use crate::training_page::training_to_html;

/// The checkpoint of a training.
pub const CHECKPOINT: &str = "training.safetensors";
/// The checkpoints by stage.
pub(super) const STATES: [&str; 2] = [CHECKPOINT, "second-training.safetensors"];
/// The file without which a folder holds no model.
const CONFIG: &str = "config.json";
/// The history: a JSON line for each step and each validation.
const HISTORY: &str = "history.jsonl";
/// The history as a page with curves.
const PAGE: &str = "history.html";

/// Creates the folder, or refuses one that holds anything but a training.
pub(super) fn prepare(out: &Path, overwrite: bool) -> Result<(), TuneError> {
    create_dir_all(out)?;
    if overwrite {
        return Ok(forget(out)?);
    }
    // A training that was killed while writing its first checkpoint leaves a partial file.
    let unfinished = format!("{CHECKPOINT}.tmp");
    let held = names(out)?;
    let is_training = held.iter().any(|name| name == CHECKPOINT);
    if !is_training && held.iter().any(|name| *name != unfinished) {
        let out = out.to_owned();
        return Err(TuneError::OutNotEmpty { out });
    }
    Ok(())
}

/// Removes the model or adapter in a folder, which a checkpoint can replace. The files without which it cannot be
/// opened go first, so that nothing opens a half-removed model; and the removal is durable before anything new is
/// written, so that parts of two models never mix.
pub(super) fn clear(folder: &Path) -> Result<(), TuneError> {
    for name in [CONFIG, SETTINGS_FILE] {
        remove(&folder.join(name))?;
    }
    sync_dir(folder)?;
    remove_model(folder)?;
    Ok(sync_dir(folder)?)
}

/// Removes the checkpoints in a folder.
pub(super) fn forget(folder: &Path) -> Result<(), StorageError> {
    for state in STATES {
        remove(&folder.join(state))?;
    }
    sync_dir(folder)
}

/// A stopped training, to be resumed from its folder. `began_anew` says whether it was started with `overwrite`.
pub fn stopped(history: &History, out: &Path, began_anew: bool) -> TuneError {
    TuneError::Stopped {
        steps: history.steps.len(),
        out: out.to_owned(),
        began_anew,
    }
}

/// Writes the steps and validations into a folder, as JSON lines and as a page.
///
/// # Errors
/// A file that cannot be written.
pub fn write_history(folder: &Path, history: &History) -> Result<(), StorageError> {
    let steps = history.steps.iter().map(|step| json!(step));
    let validations = history
        .validations
        .iter()
        .map(|validation| json!({"step": validation.step, "validation_loss": validation.loss}));
    let lines: String = steps
        .chain(validations)
        .map(|line| format!("{line}\n"))
        .collect();
    replace(&folder.join(HISTORY), lines.as_bytes())?;
    let page = training_to_html(&format!("Training of {}", folder.display()), history);
    replace(&folder.join(PAGE), page.as_bytes())
}
