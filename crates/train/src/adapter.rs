//! Writes trained adapters in PEFT's format.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;

use ken_model::decoder::{AdapterSettings, Origin, SETTINGS_FILE, TENSORS_FILE};
use ken_storage::{create_dir_all, remove, replace, sync_dir};
use serde_json::json;

use crate::checkpoint::write_tensors;
use crate::decoder::{Trainable, Tuning};
use crate::error::TrainError;

/// Writes a trained adapter into a folder, which is created if missing. `base_name` names the base
/// model. The settings are written last, so that a folder that has them is complete; everything is
/// durable when this returns.
///
/// # Errors
/// A model with full fine-tuning; a file that cannot be written.
pub fn write_adapter(
    model: &Trainable,
    base_name: &str,
    origin: &Origin,
    folder: &Path,
) -> Result<(), TrainError> {
    let Tuning::Lora(settings) = &model.tuning else {
        return Err(TrainError::Setting {
            setting: "tuning",
            received: "full".to_owned(),
            expected: "LoRA, to write an adapter",
        });
    };
    create_dir_all(folder)?;
    // Without its settings there is no adapter, so parts of an old one are never mistaken for one.
    remove(&folder.join(SETTINGS_FILE))?;
    sync_dir(folder)?;
    let tensors: BTreeMap<String, candle_core::Tensor> = model
        .variables
        .iter()
        .map(|(name, variable)| {
            let name = format!("base_model.model.{name}");
            (name, variable.as_tensor().clone())
        })
        .collect();
    let modules: BTreeSet<&str> = model
        .variables
        .keys()
        .filter_map(|name| name.strip_suffix(".lora_A.weight"))
        .filter_map(|module| module.rsplit('.').next())
        .collect();
    let written = AdapterSettings {
        peft_type: "LORA".to_owned(),
        task_type: Some("CAUSAL_LM".to_owned()),
        base_model_name_or_path: Some(base_name.to_owned()),
        r: settings.rank,
        lora_alpha: settings.alpha,
        lora_dropout: settings.dropout,
        target_modules: json!(modules),
        bias: "none".to_owned(),
        trainable_token_indices: (!settings.tokens.is_empty()).then(|| settings.tokens.clone()),
        inference_mode: true,
        ..AdapterSettings::default()
    };
    let metadata = HashMap::from([("format".to_owned(), "pt".to_owned())]);
    write_tensors(&folder.join(TENSORS_FILE), &tensors, metadata)?;
    origin.write(folder)?;
    let path = folder.join(SETTINGS_FILE);
    let text = serde_json::to_string_pretty(&written)
        .map_err(|e| TrainError::io(&path, std::io::Error::other(e)))?;
    Ok(replace(&path, text.as_bytes())?)
}
