//! The file of a head: one JSON object with its format, version and provenance, written atomically.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ken_diagnostic::{Remedy, remedy};
use serde::{Deserialize, Serialize};

use super::{Head, Purpose};

/// The format field of every file.
const FORMAT: &str = "ken-head";

/// The version written, and the only one read.
const VERSION: u32 = 1;

/// A head with its file's format and version.
#[derive(Serialize)]
struct Written<'a> {
    format: &'a str,
    version: u32,
    #[serde(flatten)]
    head: &'a Head,
}

/// The fields that are checked first.
#[derive(Deserialize)]
struct Opening {
    format: String,
    version: u32,
    purpose: Purpose,
}

/// Why a head cannot be read or written.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum HeadFileError {
    #[error("cannot {action} the {} {}: {source}", purpose.name(), path.display())]
    #[diagnostic(kind = "head_file", remedy = match *action { "write" => WRITABLE.into(), _ => make_one(*purpose) })]
    File {
        action: &'static str,
        purpose: Purpose,
        path: PathBuf,
        source: io::Error,
    },
    #[error("{} is not a {} file: {reason}", path.display(), purpose.name())]
    #[diagnostic(remedy = make_one(*purpose))]
    NotAHead {
        path: PathBuf,
        purpose: Purpose,
        reason: String,
    },
    #[error("{} has version {received}; this ken reads version {VERSION}", path.display())]
    #[diagnostic(kind = "other_head_version", remedy = make_one(*purpose))]
    OtherVersion {
        path: PathBuf,
        purpose: Purpose,
        received: u32,
    },
}

const WRITABLE: &str = "check that the folder exists, is writable and has space left";

fn make_one(purpose: Purpose) -> Remedy {
    remedy!("<*purpose.renewal()> makes one")
}

impl Head {
    /// Reads a head for a purpose.
    ///
    /// # Errors
    /// A file that is missing, damaged, or of another kind or version.
    pub fn read(path: &Path, purpose: Purpose) -> Result<Self, HeadFileError> {
        let text = fs::read(path).map_err(|source| HeadFileError::File {
            action: "read",
            purpose,
            path: path.to_owned(),
            source,
        })?;
        let not_a_head = |reason: String| HeadFileError::NotAHead {
            path: path.to_owned(),
            purpose,
            reason,
        };
        let opening: Opening =
            serde_json::from_slice(&text).map_err(|error| not_a_head(error.to_string()))?;
        if opening.format != FORMAT {
            return Err(not_a_head(format!("its format is {:?}", opening.format)));
        }
        if opening.version != VERSION {
            return Err(HeadFileError::OtherVersion {
                path: path.to_owned(),
                purpose,
                received: opening.version,
            });
        }
        if opening.purpose != purpose {
            return Err(not_a_head(format!("it is a {}", opening.purpose.name())));
        }
        let mut head: Self =
            serde_json::from_slice(&text).map_err(|error| not_a_head(error.to_string()))?;
        if let Some(reason) = head.bad_vocabulary() {
            return Err(not_a_head(reason.to_owned()));
        }
        head.sort();
        Ok(head)
    }

    /// Writes the head atomically.
    ///
    /// # Errors
    /// A file that cannot be written; the old one is kept.
    pub fn write(&self, path: &Path) -> Result<(), HeadFileError> {
        self.as_json()
            .and_then(|json| Ok(ken_storage::output(path, &json)?))
            .map_err(|source| HeadFileError::File {
                action: "write",
                purpose: self.purpose,
                path: path.to_owned(),
                source,
            })
    }

    /// Identifies the head, so that measurements with different heads are not mixed: 32 hex digits.
    pub fn fingerprint(&self) -> String {
        let json = self.as_json().unwrap_or_default();
        let mut hex = blake3::hash(&json).to_hex().to_string();
        hex.truncate(32);
        hex
    }

    fn as_json(&self) -> io::Result<Vec<u8>> {
        let written = Written {
            format: FORMAT,
            version: VERSION,
            head: self,
        };
        Ok(serde_json::to_vec(&written)?)
    }
}
