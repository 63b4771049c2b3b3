//! The file of a head: one JSON object that says what it is, in which version, and what it was
//! learned with. It is written whole or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ken_diagnostic::{Action, Remedy, remedy};
use serde::{Deserialize, Serialize};

use super::{Head, Input, MeasuredOn, Network, Purpose};

/// What the first field of every file says.
const FORMAT: &str = "ken-head";

/// The version that is written, and the only one that is read.
const VERSION: u32 = 1;

/// A head as it is written.
#[derive(Serialize, Deserialize)]
struct Written {
    format: String,
    version: u32,
    purpose: Purpose,
    input: Input,
    measured_on: MeasuredOn,
    learned_from: Vec<u64>,
    network: Network,
}

/// The fields that are looked at first.
#[derive(Deserialize)]
struct Opening {
    format: String,
    version: u32,
    purpose: Purpose,
}

/// Why a head cannot be read or written.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum HeadFileError {
    /// The system refused.
    #[error("cannot {action} the {} {}: {source}", purpose.name(), path.display())]
    #[diagnostic(kind = "head_file", remedy = match *action { "write" => WRITABLE.into(), _ => make_one(*purpose) })]
    File {
        /// What was tried.
        action: &'static str,
        /// What the file is to hold.
        purpose: Purpose,
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
    /// The file holds something else.
    #[error("{} is not the file of a {}: {reason}", path.display(), purpose.name())]
    #[diagnostic(remedy = make_one(*purpose))]
    NotAHead {
        /// The file.
        path: PathBuf,
        /// What was expected.
        purpose: Purpose,
        /// What is wrong with it.
        reason: String,
    },
    /// The file was written by another version of ken.
    #[error("{} is of version {received}; this ken reads version {VERSION}", path.display())]
    #[diagnostic(kind = "other_head_version", remedy = make_one(*purpose))]
    OtherVersion {
        /// The file.
        path: PathBuf,
        /// What was expected.
        purpose: Purpose,
        /// The version that the file names.
        received: u32,
    },
}

const WRITABLE: &str = "check that the folder exists, is writable and has space left";

fn make_one(purpose: Purpose) -> Remedy {
    remedy!("make one by <*renewal(purpose)>")
}

/// What makes a head anew.
fn renewal(purpose: Purpose) -> Action {
    match purpose {
        Purpose::Router => Action::TrainRouter,
        Purpose::Pruner => Action::TrainPruner,
    }
}

impl Head {
    /// Reads a head for a purpose.
    ///
    /// # Errors
    /// A file that is missing, of another kind or version, or damaged.
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
        let written: Written =
            serde_json::from_slice(&text).map_err(|error| not_a_head(error.to_string()))?;
        Ok(Self::new(
            written.purpose,
            written.input,
            written.measured_on,
            written.learned_from,
            written.network,
        ))
    }

    /// Writes the head in the place of what stands there, at once or not at all.
    ///
    /// # Errors
    /// Where the system refuses; what stood there still does.
    pub fn write(&self, path: &Path) -> Result<(), HeadFileError> {
        self.as_json()
            .and_then(|json| Ok(ken_storage::replace(path, &json)?))
            .map_err(|source| HeadFileError::File {
                action: "write",
                purpose: self.purpose,
                path: path.to_owned(),
                source,
            })
    }

    /// Identifies the head: what was measured with one must not be used with another. 32 hex
    /// digits.
    #[must_use]
    pub fn fingerprint(&self) -> String {
        let json = self.as_json().unwrap_or_default();
        let mut hex = blake3::hash(&json).to_hex().to_string();
        hex.truncate(32);
        hex
    }

    /// The command that makes it anew.
    #[must_use]
    pub fn renewal(&self) -> Action {
        renewal(self.purpose)
    }

    fn as_json(&self) -> io::Result<Vec<u8>> {
        let written = Written {
            format: FORMAT.to_owned(),
            version: VERSION,
            purpose: self.purpose,
            input: self.input,
            measured_on: self.measured_on.clone(),
            learned_from: self.learned_from.clone(),
            network: self.network.clone(),
        };
        Ok(serde_json::to_vec(&written)?)
    }
}
