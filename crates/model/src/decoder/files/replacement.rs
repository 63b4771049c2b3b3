//! Replaces the files of a model or an adapter in a folder, so that the folder opens as the old one or as the new
//! one, or is refused as incomplete, wherever the writing stops.

use std::io::{Error, Write};
use std::path::{Path, PathBuf};

use ken_storage::{AtomicFile, StorageError};
use safetensors::tensor::{Dtype, TensorView};

use crate::decoder::error::DecoderError;
use crate::decoder::files::file_names::{
    CONFIG_FILE, COPIED, INDEX_END, ORIGIN_FILE, SETTINGS_FILE, TENSORS_FILE, WEIGHTS_FILE,
};

/// The files that make a folder a model or an adapter; without them it does not open.
const NAMING: [&str; 2] = [CONFIG_FILE, SETTINGS_FILE];

/// New files for a folder, written beside the old ones.
///
/// [`Replacement::stage`] writes each file under another name and syncs it to disk; the old files still open.
/// [`Replacement::commit`] then does the following in this order, each part durable before the next:
///
/// 1. `config.json` and `adapter_config.json` are removed. From here on the folder is refused as
///    incomplete ([`DecoderError::IncompleteModel`]).
/// 2. The other new files get their names, and old ones without a successor are removed.
/// 3. The new `config.json` or `adapter_config.json` gets its name: the folder opens as the new model.
///
/// Between 1 and 3 there are only renames, so everything slow happens before. Dropping it without a commit leaves the
/// old files unchanged.
#[derive(Debug)]
pub struct Replacement {
    folder: PathBuf,
    staged: Vec<(String, AtomicFile)>,
    kept: Vec<String>,
}

impl Replacement {
    /// Starts to write into a folder, creating it if necessary.
    ///
    /// # Errors
    /// A folder that cannot be created.
    pub fn begin(folder: &Path) -> Result<Self, DecoderError> {
        ken_storage::create_dir_all(folder)?;
        Ok(Self {
            folder: folder.to_path_buf(),
            staged: Vec::new(),
            kept: Vec::new(),
        })
    }

    /// Writes a file under a temporary name and syncs it to disk.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn stage(&mut self, name: &str, contents: &[u8]) -> Result<(), DecoderError> {
        self.stage_by(name, |file| file.write_all(contents))
    }

    /// As [`Replacement::stage`], with the content from `write`.
    ///
    /// # Errors
    /// As [`Replacement::stage`].
    pub fn stage_by(
        &mut self,
        name: &str,
        write: impl FnOnce(&mut AtomicFile) -> std::io::Result<()>,
    ) -> Result<(), DecoderError> {
        let path = self.folder.join(name);
        let mut file = AtomicFile::create(&path)?;
        write(&mut file).map_err(StorageError::new("write", &path))?;
        file.sync()?;
        self.staged.push((name.to_owned(), file));
        Ok(())
    }

    /// Stages weights, each a name, a shape and little-endian numbers.
    ///
    /// # Errors
    /// As [`Replacement::stage`].
    pub(in crate::decoder) fn stage_weights(
        &mut self,
        dtype: Dtype,
        tensors: &[(String, Vec<usize>, Vec<u8>)],
    ) -> Result<(), DecoderError> {
        let views = tensors.iter().map(|(name, shape, bytes)| {
            TensorView::new(dtype, shape.clone(), bytes).map(|view| (name, view))
        });
        let metadata = [("format".to_owned(), "pt".to_owned())].into();
        let content = views
            .collect::<Result<Vec<_>, _>>()
            .and_then(|views| safetensors::serialize(views, Some(metadata)))
            .map_err(|error| DecoderError::io(Path::new(WEIGHTS_FILE), Error::other(error)))?;
        self.stage(WEIGHTS_FILE, &content)
    }

    /// Keeps an old file.
    pub(in crate::decoder) fn keep(&mut self, name: &str) {
        self.kept.push(name.to_owned());
    }

    /// Replaces the old files with the new ones.
    ///
    /// # Errors
    /// Files that cannot be removed, renamed or synced.
    pub fn commit(self) -> Result<(), DecoderError> {
        let Self {
            folder,
            staged,
            kept,
        } = self;
        for name in NAMING {
            ken_storage::remove(&folder.join(name))?;
        }
        ken_storage::sync_dir(&folder)?;
        let (naming, others): (Vec<_>, Vec<_>) = staged
            .into_iter()
            .partition(|(name, _)| NAMING.contains(&name.as_str()));
        let mut new = kept;
        for (name, file) in others {
            file.rename()?;
            new.push(name);
        }
        for name in ken_storage::names(&folder)? {
            if is_of_model(&name) && !new.contains(&name) {
                ken_storage::remove(&folder.join(name))?;
            }
        }
        ken_storage::sync_dir(&folder)?;
        for (_, file) in naming {
            file.commit()?;
        }
        Ok(())
    }
}

/// Large models are several files, and an index of them.
fn is_weights(name: &str) -> bool {
    name.starts_with("model") && (name.ends_with(".safetensors") || name.ends_with(INDEX_END))
}

/// Whether a file of this name belongs to a model or an adapter.
fn is_of_model(name: &str) -> bool {
    is_weights(name)
        || NAMING.contains(&name)
        || COPIED.contains(&name)
        || [ORIGIN_FILE, TENSORS_FILE].contains(&name)
}

/// Whether a folder without `config.json` holds a model that lacks only that file, or that was being replaced.
pub(in crate::decoder) fn is_begun(folder: &Path) -> bool {
    let names = ken_storage::names(folder).unwrap_or_default();
    let staged = format!("{CONFIG_FILE}.tmp");
    names.iter().any(|name| *name == staged || is_weights(name))
}

/// Removes the files of a model or an adapter from a folder, so that the next one does not mix with them. The file
/// that makes the folder a model goes first. [`Replacement`] keeps the old model until the new one is complete.
///
/// # Errors
/// A folder that cannot be read, a file that cannot be removed.
pub fn remove_model(folder: &Path) -> Result<(), DecoderError> {
    let nothing = Replacement {
        folder: folder.to_path_buf(),
        staged: Vec::new(),
        kept: Vec::new(),
    };
    nothing.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_of_models_and_adapters_are_removed_and_no_others() {
        let folder = tempfile::tempdir().unwrap();
        let removed = [
            "config.json",
            "ken.json",
            "model.safetensors",
            "model-00001-of-00002.safetensors",
            "model.safetensors.index.json",
            "tokenizer.json",
            "adapter_config.json",
            "adapter_model.safetensors",
        ];
        let kept = ["training.safetensors", "history.jsonl", "notes.txt"];
        for name in removed.iter().chain(&kept) {
            std::fs::write(folder.path().join(name), "x").unwrap();
        }
        remove_model(folder.path()).unwrap();
        let is_there = |name: &&str| folder.path().join(name).exists();
        assert!(!removed.iter().any(is_there));
        assert!(kept.iter().all(is_there));
    }

    #[test]
    fn old_files_stand_until_the_new_ones_do() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let old = [
            "config.json",
            "model.safetensors.index.json",
            "model-1.safetensors",
            "ken.json",
        ];
        for name in old {
            std::fs::write(path(name), "old").unwrap();
        }
        std::fs::write(path("history.jsonl"), "kept").unwrap();
        let mut dropped = Replacement::begin(folder.path()).unwrap();
        dropped.stage("config.json", b"new").unwrap();
        drop(dropped);
        let mut new = Replacement::begin(folder.path()).unwrap();
        new.stage("adapter_config.json", b"new").unwrap();
        new.stage("adapter_model.safetensors", b"new").unwrap();
        for name in old {
            assert_eq!(std::fs::read(path(name)).unwrap(), b"old");
        }
        new.commit().unwrap();
        assert_eq!(
            ken_storage::names(folder.path()).unwrap(),
            [
                "adapter_config.json",
                "adapter_model.safetensors",
                "history.jsonl"
            ]
        );
    }
}
