//! Reading every byte of a generation against the hashes of its manifest.

use std::path::{Path, PathBuf};

use serde::Serialize;

use super::error::CorpusError;
use super::info;
use super::manifest::{self, FileManifest};

/// A file that does not hold what it held when it was published.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Damage {
    /// The file.
    pub file: PathBuf,
    /// What is wrong with it.
    pub reason: String,
    /// The segment that cannot be used because of it; `None` where the whole corpus cannot.
    #[serde(skip)]
    pub segment: Option<String>,
}

/// How far a check is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct VerifyProgress {
    /// Bytes checked.
    pub bytes: u64,
    /// All bytes.
    pub bytes_total: u64,
}

/// Checks all files of the current generation of the corpus at `dir` and returns the damaged ones.
///
/// # Errors
/// [`CorpusError::NotACorpus`]; [`CorpusError::OtherFormat`]; [`CorpusError::Io`] where nothing can
/// be said about the corpus at all.
pub fn verify(
    dir: &Path,
    progress: &mut dyn FnMut(VerifyProgress),
) -> Result<Vec<Damage>, CorpusError> {
    let manifest = match info::current(dir) {
        Ok(manifest) => manifest,
        Err(error) => return Ok(vec![damage(error, None)?]),
    };
    let files: Vec<_> = manifest
        .segments
        .iter()
        .flat_map(|segment| {
            let files = manifest::files_of(dir, segment);
            files.into_iter().map(|file| (segment.id.clone(), file))
        })
        .collect();
    let mut done = VerifyProgress {
        bytes: 0,
        bytes_total: files.iter().map(|(_, (_, file))| file.bytes).sum(),
    };
    progress(done);
    let mut damages = Vec::new();
    for (segment, (path, expected)) in files {
        match check(&path, &expected) {
            Ok(()) => {}
            Err(error) => damages.push(damage(error, Some(segment))?),
        }
        done.bytes += expected.bytes;
        progress(done);
    }
    Ok(damages)
}

fn check(path: &Path, expected: &FileManifest) -> Result<(), CorpusError> {
    expected.check_length(path)?;
    let folder = path.parent().unwrap_or(path);
    match FileManifest::of_file(folder, path)?.blake3 == expected.blake3 {
        true => Ok(()),
        false => Err(CorpusError::damaged(
            path,
            "its contents are not those that were published",
        )),
    }
}

/// What an error says about a file; other errors go on.
fn damage(error: CorpusError, segment: Option<String>) -> Result<Damage, CorpusError> {
    match error {
        CorpusError::Damaged { path, reason } => Ok(Damage {
            file: path,
            reason,
            segment,
        }),
        CorpusError::MissingFile { path } => Ok(Damage {
            file: path,
            reason: "it is missing".to_owned(),
            segment,
        }),
        // A disk that cannot read a file any more has lost it.
        CorpusError::Io { path, source, .. } if segment.is_some() => Ok(Damage {
            file: path,
            reason: source.to_string(),
            segment,
        }),
        other => Err(other),
    }
}
