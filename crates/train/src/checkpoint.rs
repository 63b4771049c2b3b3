//! Checkpoints, from which a training resumes: one file, replaced atomically.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use candle_core::{DType, Device, Tensor, Var};
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::{Deserialize, Serialize};

use crate::error::TrainError;
use crate::history::History;
use crate::objective::References;
use crate::optimizer::Moments;

/// The metadata key of the training state.
const STATE: &str = "ken_training";

/// The state of a training, apart from its tensors.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct State {
    /// A fingerprint of model, settings and examples; only the same training may resume.
    pub(crate) identity: String,
    /// Steps done.
    pub(crate) step: usize,
    pub(crate) history: History,
    pub(crate) references: References,
}

/// Everything needed to resume a training.
pub(crate) struct Saved {
    pub(crate) state: State,
    pub(crate) variables: BTreeMap<String, Tensor>,
    /// The variables at the best validation.
    pub(crate) best: BTreeMap<String, Tensor>,
    pub(crate) moments: BTreeMap<String, Moments>,
}

/// Writes a checkpoint.
///
/// # Errors
/// A file that cannot be written; the old one is kept.
pub(crate) fn save(
    path: &Path,
    state: &State,
    variables: &BTreeMap<String, Var>,
    best: &BTreeMap<String, Tensor>,
    moments: &BTreeMap<String, Moments>,
) -> Result<(), TrainError> {
    let mut tensors: BTreeMap<String, Tensor> = BTreeMap::new();
    for (name, variable) in variables {
        tensors.insert(format!("now.{name}"), variable.as_tensor().clone());
    }
    for (name, tensor) in best {
        tensors.insert(format!("best.{name}"), tensor.clone());
    }
    for (name, moments) in moments {
        tensors.insert(format!("first.{name}"), moments.first.clone());
        tensors.insert(format!("second.{name}"), moments.second.clone());
    }
    let state =
        serde_json::to_string(state).map_err(|e| TrainError::io(path, std::io::Error::other(e)))?;
    write_tensors(path, &tensors, HashMap::from([(STATE.to_owned(), state)]))
}

/// Reads a checkpoint; `None` if there is none.
///
/// # Errors
/// A broken file, or the checkpoint of another training.
pub(crate) fn load(
    path: &Path,
    identity: &str,
    device: &Device,
) -> Result<Option<Saved>, TrainError> {
    let refuse = |reason: String| TrainError::Checkpoint {
        path: path.to_path_buf(),
        reason,
    };
    let bytes = match ken_storage::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.source.kind() == std::io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(error.into()),
    };
    let broken = || refuse("it is broken".to_owned());
    let (_, metadata) = SafeTensors::read_metadata(&bytes).map_err(|_| broken())?;
    let metadata = metadata.metadata().as_ref();
    let state = metadata.and_then(|metadata| metadata.get(STATE));
    let state = state.ok_or_else(broken)?;
    let state: State = serde_json::from_str(state).map_err(|_| broken())?;
    if state.identity != identity {
        return Err(refuse(
            "it belongs to a training with a different model, settings or examples".to_owned(),
        ));
    }
    let tensors = candle_core::safetensors::load_buffer(&bytes, device).map_err(|_| broken())?;
    let of = |kind: &str| -> BTreeMap<String, Tensor> {
        let named = tensors.iter().filter_map(|(name, tensor)| {
            Some((name.strip_prefix(kind)?.to_owned(), tensor.clone()))
        });
        named.collect()
    };
    let seconds = of("second.");
    let moments = of("first.")
        .into_iter()
        .filter_map(|(name, first)| {
            let second = seconds.get(&name)?.clone();
            Some((name, Moments { first, second }))
        })
        .collect();
    Ok(Some(Saved {
        state,
        variables: of("now."),
        best: of("best."),
        moments,
    }))
}

/// Writes a safetensors file, atomically and durably.
///
/// # Errors
/// A file that cannot be written; the old one is kept.
pub(crate) fn write_tensors(
    path: &Path,
    tensors: &BTreeMap<String, Tensor>,
    metadata: HashMap<String, String>,
) -> Result<(), TrainError> {
    let mut stored: Vec<(&str, Vec<usize>, Vec<u8>)> = Vec::new();
    for (name, tensor) in tensors {
        let numbers: Vec<f32> = tensor.to_dtype(DType::F32)?.flatten_all()?.to_vec1()?;
        let bytes = numbers.iter().flat_map(|x| x.to_le_bytes()).collect();
        stored.push((name, tensor.dims().to_vec(), bytes));
    }
    let bytes = stored
        .iter()
        .map(|(name, shape, bytes)| {
            TensorView::new(Dtype::F32, shape.clone(), bytes).map(|view| (*name, view))
        })
        .collect::<Result<Vec<_>, _>>()
        .and_then(|views| safetensors::serialize(views, Some(metadata)))
        .map_err(|e| TrainError::io(path, std::io::Error::other(e)))?;
    Ok(ken_storage::replace(path, &bytes)?)
}
