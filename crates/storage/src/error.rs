//! The error of a failed read or write.

use std::io;
use std::path::{Path, PathBuf};

use ken_diagnostic::{Diagnostic, Remedy};

use crate::not_plain::NotPlain;
use crate::remedy::{NOT_PLAIN, not_plain_remedy};

/// The system refused to read or write.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[diagnostic(kind = kind(source), remedy = remedy(source, path))]
#[error("cannot {action} {}: {source}", path.display())]
pub struct StorageError {
    /// The failed action, as a verb.
    pub action: &'static str,
    /// The file or folder.
    pub path: PathBuf,
    /// The error of the system.
    pub source: io::Error,
}

impl StorageError {
    /// Wraps a system error with the failed action and its path.
    pub fn new(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self + use<> {
        let path = path.to_owned();
        move |source| Self {
            action,
            path,
            source,
        }
    }
}

/// [`NOT_PLAIN`], or else the kind of the system's error.
fn kind(source: &io::Error) -> &'static str {
    match NotPlain::in_error(source) {
        Some(_) => NOT_PLAIN,
        None => Diagnostic::kind(source),
    }
}

fn remedy(source: &io::Error, path: &Path) -> Option<Remedy> {
    not_plain_remedy(source, path).or_else(|| Diagnostic::remedy(source))
}

/// For callers that report the path themselves.
impl From<StorageError> for io::Error {
    fn from(error: StorageError) -> Self {
        Self::new(error.source.kind(), error)
    }
}
