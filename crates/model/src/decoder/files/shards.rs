//! Safetensors files of a decoder or an adapter: which of them a folder has, and their tensors.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use candle_core::safetensors::Load;
use candle_core::{DType, Device, Tensor};
use safetensors::tensor::{TensorInfo, TensorView};

use crate::decoder::error::DecoderError;
use crate::decoder::files::file_names::WEIGHTS_FILE;
use crate::small_file::{self, MOST_SETTINGS_BYTES};
use crate::tensor_file::{TensorFile, TensorFileError};

/// A tensor of a file in 32 bits.
pub(in crate::decoder) fn loaded(
    file: &TensorFile,
    info: &TensorInfo,
) -> Result<Tensor, DecoderError> {
    let path = file.file().path();
    let bytes = file.bytes(info).map_err(|error| refusal(path, error))?;
    let view = TensorView::new(info.dtype, info.shape.clone(), &bytes)
        .map_err(|error| corrupt(path, error.to_string()))?;
    Ok(view.load(&Device::Cpu)?.to_dtype(DType::F32)?)
}

pub(in crate::decoder) fn refusal(path: &Path, error: TensorFileError) -> DecoderError {
    match error {
        TensorFileError::Storage(error) => DecoderError::io(&error.path, error.source),
        TensorFileError::Broken(reason) => corrupt(path, reason),
    }
}

fn corrupt(path: &Path, reason: String) -> DecoderError {
    DecoderError::corrupt(path, "safetensors", reason)
}

/// `model.safetensors`, or every shard that `model.safetensors.index.json` names.
pub(in crate::decoder) fn safetensors_files(folder: &Path) -> Result<Vec<PathBuf>, DecoderError> {
    let single = folder.join(WEIGHTS_FILE);
    if single.exists() {
        return Ok(vec![single]);
    }
    let index = folder.join("model.safetensors.index.json");
    if !index.exists() {
        return Err(DecoderError::NotAModel {
            path: folder.to_path_buf(),
        });
    }
    let text = small_file::text(&index, MOST_SETTINGS_BYTES)
        .map_err(|source| DecoderError::io(&index, source))?;
    let shards: BTreeSet<String> = serde_json::from_str::<serde_json::Value>(&text)
        .ok()
        .and_then(|value| {
            let map = value.get("weight_map")?.as_object()?;
            map.values()
                .map(|file| file.as_str().map(str::to_owned))
                .collect()
        })
        .ok_or_else(|| corrupt(&index, "it has no `weight_map` of file names".to_owned()))?;
    if let Some(other) = shards.iter().find(|name| name.contains(['/', '\\', ':'])) {
        let reason = format!("it names `{other}`, which is no file beside it");
        return Err(corrupt(&index, reason));
    }
    Ok(shards.into_iter().map(|file| folder.join(file)).collect())
}
