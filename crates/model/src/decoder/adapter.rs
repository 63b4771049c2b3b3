//! Adapters: changes to a model's weights in PEFT's files (`adapter_config.json`, `adapter_model.safetensors`). This
//! module reads and applies them; the crate `train` makes them.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use candle_core::Tensor;
use serde::{Deserialize, Serialize};

use crate::decoder::config::DecoderConfig;
use crate::decoder::error::{DecoderError, first_line};
use crate::decoder::files::file_names::{SETTINGS_FILE, TENSORS_FILE};
use crate::decoder::files::origin::Origin;
use crate::decoder::files::shards::loaded;
use crate::decoder::files::stored_weights::{Replaced, Stored, Update};
use crate::decoder::text::text_part;
use crate::fingerprint::{extended, of_files};
use crate::small_file::{self, MOST_SETTINGS_BYTES};
use crate::tensor_file::{TensorFile, TensorFileError};

/// The prefix of a module's name in an adapter's tensors.
const PREFIX: &str = "base_model.model.";
/// The tensor of the trained rows of the embedding, without the prefix.
const ROWS: &str = "model.embed_tokens.token_adapter.trainable_tokens_delta";

/// The keys of `adapter_config.json` that matter here.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct AdapterSettings {
    /// `LORA`.
    pub peft_type: String,
    /// The task of the model: `CAUSAL_LM`.
    pub task_type: Option<String>,
    /// The model that it was made for, by its maker's name.
    pub base_model_name_or_path: Option<String>,
    /// The rank of the update.
    pub r: usize,
    /// The update is multiplied by this over the rank.
    pub lora_alpha: f64,
    /// The dropout probability of inputs in training.
    #[serde(default)]
    pub lora_dropout: f64,
    /// The last parts of the names of the adapted modules, or a pattern.
    #[serde(default)]
    pub target_modules: serde_json::Value,
    /// `none`; other values are not supported.
    #[serde(default = "none")]
    pub bias: String,
    /// Whether the scale uses the root of the rank.
    #[serde(default)]
    pub use_rslora: bool,
    /// Not supported.
    #[serde(default)]
    pub use_dora: bool,
    /// Not supported.
    #[serde(default)]
    pub fan_in_fan_out: bool,
    /// Ranks of single modules. Not supported unless empty.
    #[serde(default)]
    pub rank_pattern: BTreeMap<String, usize>,
    /// Alphas of single modules. Not supported unless empty.
    #[serde(default)]
    pub alpha_pattern: BTreeMap<String, f64>,
    /// Modules that were trained in full. Not supported unless empty.
    pub modules_to_save: Option<Vec<String>>,
    /// The tokens whose rows of the embedding were trained.
    pub trainable_token_indices: Option<Vec<u32>>,
    /// The tokens from which on it applies (activated LoRA). Not supported.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub alora_invocation_tokens: Option<Vec<u32>>,
    /// Whether it was saved for inference.
    #[serde(default)]
    pub inference_mode: bool,
}

fn none() -> String {
    "none".to_owned()
}

impl AdapterSettings {
    /// Reads the settings of an adapter's folder, with their text.
    fn read(folder: &Path) -> Result<(Self, String), DecoderError> {
        let path = folder.join(SETTINGS_FILE);
        let text =
            small_file::text(&path, MOST_SETTINGS_BYTES).map_err(|source| match source.kind() {
                ErrorKind::NotFound if folder.join(TENSORS_FILE).exists() => {
                    DecoderError::IncompleteModel {
                        path: folder.to_path_buf(),
                        missing: SETTINGS_FILE,
                    }
                }
                ErrorKind::NotFound => refusal(folder, format!("it has no `{SETTINGS_FILE}`")),
                _ => DecoderError::io(&path, source),
            })?;
        let settings: Self = serde_json::from_str(&text)
            .map_err(|e| refusal(folder, format!("`{SETTINGS_FILE}` cannot be read: {e}")))?;
        if let Some(what) = settings.unsupported() {
            return Err(refusal(
                folder,
                format!("it has {what}, which is not supported"),
            ));
        }
        Ok((settings, text))
    }

    /// The factor of the product of the two matrices.
    pub fn scale(&self) -> f64 {
        let rank = self.r as f64;
        self.lora_alpha / if self.use_rslora { rank.sqrt() } else { rank }
    }

    /// Unsupported settings.
    fn unsupported(&self) -> Option<&'static str> {
        [
            (self.peft_type != "LORA", "a kind other than LORA"),
            (self.r == 0, "a rank of 0"),
            (self.bias != "none", "trained biases"),
            (self.use_dora, "DoRA"),
            (self.fan_in_fan_out, "transposed weights"),
            (
                self.alora_invocation_tokens.is_some(),
                "tokens that activate it",
            ),
            (!self.rank_pattern.is_empty(), "ranks of single modules"),
            (!self.alpha_pattern.is_empty(), "alphas of single modules"),
            (
                self.modules_to_save.as_ref().is_some_and(|m| !m.is_empty()),
                "modules trained whole",
            ),
        ]
        .into_iter()
        .find_map(|(is_present, what)| is_present.then_some(what))
    }
}

/// The two matrices of a module.
struct Pair {
    /// `[rank, inputs]`.
    down: Tensor,
    /// `[outputs, rank]`.
    up: Tensor,
}

/// An adapter in memory.
pub struct Adapter {
    folder: PathBuf,
    settings: AdapterSettings,
    origin: Option<Origin>,
    pairs: BTreeMap<String, Pair>,
    /// Tokens and their rows `[tokens, hidden]`.
    rows: Option<(Vec<u32>, Tensor)>,
    fingerprint: String,
}

impl Adapter {
    /// Reads an adapter's folder.
    ///
    /// # Errors
    /// Files that are missing or broken, settings that are not supported, a matrix without its
    /// other half.
    pub fn open(folder: &Path) -> Result<Self, DecoderError> {
        let (settings, text) = AdapterSettings::read(folder)?;
        let origin = Origin::read(folder)?;
        let tensors_path = folder.join(TENSORS_FILE);
        let file = TensorFile::open(&tensors_path).map_err(|error| match error {
            TensorFileError::Storage(error) => DecoderError::io(&tensors_path, error.source),
            TensorFileError::Broken(reason) => broken(folder, &reason),
        })?;
        let of_tensors = of_files(&[file.file()])?;
        // Of `ken.json` only what affects answers, not notes about the training.
        let of_origin = origin
            .as_ref()
            .map(|origin| (origin.prompt, origin.sources.as_ref()));
        let of_origin = format!("{of_origin:?}");
        let fingerprint = extended(&of_tensors, &[text.as_bytes(), of_origin.as_bytes()]);
        let (halves, rows) = load(&file, folder)?;
        file.file().check_unchanged()?;
        let pairs = halves
            .into_iter()
            .map(|(module, halves)| match halves {
                (Some(down), Some(up)) => Ok((module, Pair { down, up })),
                _ => Err(refusal(folder, format!("`{module}` has one matrix of two"))),
            })
            .collect::<Result<_, _>>()?;
        let rows = match (&settings.trainable_token_indices, rows) {
            (None, None) => None,
            (Some(tokens), Some(rows))
                if rows.dims().first() == Some(&tokens.len())
                    && tokens.iter().collect::<BTreeSet<_>>().len() == tokens.len() =>
            {
                Some((tokens.clone(), rows))
            }
            _ => {
                let reason = "its trained tokens and their rows do not fit";
                return Err(refusal(folder, reason.to_owned()));
            }
        };
        Ok(Self {
            folder: folder.to_path_buf(),
            settings,
            origin,
            pairs,
            rows,
            fingerprint,
        })
    }

    /// The settings that it was trained with.
    pub fn settings(&self) -> &AdapterSettings {
        &self.settings
    }

    /// Its record of training by ken; `None` if another program made it.
    pub fn origin(&self) -> Option<&Origin> {
        self.origin.as_ref()
    }

    /// Identifies its settings and numbers.
    pub(in crate::decoder) fn fingerprint(&self) -> &str {
        &self.fingerprint
    }

    /// Refuses a model that it was not made for.
    pub(in crate::decoder) fn check(
        &self,
        base: &str,
        modules: &[(String, [usize; 2])],
        config: &DecoderConfig,
    ) -> Result<(), DecoderError> {
        let other = |reason: String| {
            Err(DecoderError::OtherBase {
                path: self.folder.clone(),
                reason,
            })
        };
        if let Some(origin) = &self.origin
            && origin.base != base
        {
            return other(format!(
                "its fingerprint is {base}, the adapter's {}",
                origin.base
            ));
        }
        for (module, pair) in &self.pairs {
            let Some((_, [outputs, inputs])) = modules.iter().find(|(name, _)| name == module)
            else {
                return other(format!("it has no module `{module}`"));
            };
            let rank = self.settings.r;
            if pair.down.dims() != [rank, *inputs] || pair.up.dims() != [*outputs, rank] {
                return other(format!(
                    "`{module}` is {outputs} x {inputs}, the adapter's matrices are {:?} and {:?}",
                    pair.up.dims(),
                    pair.down.dims()
                ));
            }
        }
        if let Some((tokens, rows)) = &self.rows
            && (rows.dims().get(1) != Some(&config.hidden)
                || tokens.iter().any(|&t| t as usize >= config.vocabulary))
        {
            return other("its trained tokens do not fit into the embedding".to_owned());
        }
        Ok(())
    }

    /// The rank of its update of a module's weight; `None` without one.
    pub(in crate::decoder) fn rank_of(&self, module: &str) -> Option<usize> {
        self.pairs.contains_key(module).then_some(self.settings.r)
    }

    /// How many rows of the embedding it has.
    pub(in crate::decoder) fn rows(&self) -> usize {
        self.rows.as_ref().map_or(0, |(tokens, _)| tokens.len())
    }

    /// A module's weight with its update: `W + scale * B A` (LoRA, Eq. 3).
    ///
    /// # Shapes
    /// `weight`: `[outputs, inputs]`.
    pub(in crate::decoder) fn added_to(
        &self,
        weight: Stored,
        module: &str,
    ) -> Result<Stored, DecoderError> {
        match self.pairs.get(module) {
            None => Ok(weight),
            Some(pair) => weight.with_update(Update {
                first: 0,
                down: pair.down.clone(),
                up: (&pair.up * self.settings.scale())?,
            }),
        }
    }

    /// The embedding with its trained rows.
    ///
    /// # Shapes
    /// `table`: `[vocabulary, hidden]`.
    pub(in crate::decoder) fn with_rows(&self, table: Stored) -> Result<Stored, DecoderError> {
        let Some((tokens, rows)) = &self.rows else {
            return Ok(table);
        };
        table.with_rows(Replaced {
            rows: tokens.clone(),
            weights: rows.clone(),
        })
    }
}

/// The halves of each module's pair, by name: first the one to the lower rank.
type Halves = BTreeMap<String, (Option<Tensor>, Option<Tensor>)>;

/// Loads the halves of all pairs, and the trained rows of the embedding.
fn load(file: &TensorFile, folder: &Path) -> Result<(Halves, Option<Tensor>), DecoderError> {
    let mut halves = Halves::new();
    let mut rows = None;
    for name in file.names() {
        let Some(info) = file.info(&name) else {
            continue;
        };
        let tensor = loaded(file, info).map_err(|error| match error {
            DecoderError::Compute(error) => broken(folder, &first_line(&error)),
            other => other,
        })?;
        let plain = name.replace(".default", "");
        let plain = plain.strip_prefix(PREFIX).map(text_part::bare_name);
        if plain.as_deref() == Some(ROWS) {
            rows = Some(tensor);
            continue;
        }
        let half = plain.as_deref().and_then(|rest| {
            let down = rest.strip_suffix(".lora_A.weight").map(|m| (m, true));
            down.or_else(|| rest.strip_suffix(".lora_B.weight").map(|m| (m, false)))
        });
        let Some((module, is_down)) = half else {
            return Err(refusal(folder, format!("the tensor `{name}` is not known")));
        };
        let pair = halves.entry(module.to_owned()).or_default();
        *(if is_down { &mut pair.0 } else { &mut pair.1 }) = Some(tensor);
    }
    Ok((halves, rows))
}

fn refusal(folder: &Path, reason: String) -> DecoderError {
    DecoderError::Adapter {
        path: folder.to_path_buf(),
        reason,
    }
}

fn broken(folder: &Path, reason: &str) -> DecoderError {
    refusal(folder, format!("`{TENSORS_FILE}` is broken: {reason}"))
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn what_would_change_the_update_is_not_ignored() {
        let plain = json!({
            "peft_type": "LORA", "r": 8, "lora_alpha": 16, "target_modules": ["q_proj"], "bias": "none",
            "rank_pattern": {}, "modules_to_save": null, "alora_invocation_tokens": null, "use_qalora": false,
        });
        let refused = |name: &str, value: Value| {
            let mut settings = plain.clone();
            settings[name] = value;
            let settings: AdapterSettings = serde_json::from_value(settings).unwrap();
            settings.unsupported()
        };
        for (name, value, what) in cases![
            "r" => json!(4), None;
            "r" => json!(0), Some("a rank of 0");
            "use_dora" => json!(true), Some("DoRA");
            "rank_pattern" => json!({"q_proj": 4}), Some("ranks of single modules");
            "modules_to_save" => json!(["lm_head"]), Some("modules trained whole");
            "alora_invocation_tokens" => json!([1, 2]), Some("tokens that activate it");
        ] {
            assert_eq!(refused(name, value), what, "{name}");
        }
    }
}
