//! `hf:` models: listing a repository of the Hugging Face hub and downloading the files that a model needs.
//!
//! Files already in the shared cache of Hugging Face's own tools are copied from there. Downloads go
//! through [`crate::fetch`], which resumes, limits sizes, checks SHA-256, uses this machine's
//! certificates and can be cancelled.
//!
//! Environment: `HF_ENDPOINT`, `HF_HOME`, `HF_TOKEN` (else the token file of `HF_HOME`).

use std::io::Write;
use std::path::{Path, PathBuf};

use ken_http::without_secrets;
use ken_storage::create_dir_all;
use serde::Deserialize;
use url::Url;

use crate::digest::file_sha256;
use crate::environment::Environment;
use crate::error::{HubError, io_error};
use crate::fetch::{Client, Download};
use crate::near_names::nearest;
use crate::progress::{Stage, Watch};
use crate::record::FileRecord;
use crate::transfer::Transfer;
use crate::wheel::is_unsafe;

const DEFAULT_ENDPOINT: &str = "https://huggingface.co";

/// The size limit of a repository's description; ten thousand files take a few megabytes.
const MOST_LISTING_BYTES: u64 = 32 << 20;

/// The top-level files of a repository that a model may need besides its weights.
const NEEDED: [&str; 15] = [
    "config.json",
    "generation_config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "tokenizer.model",
    "special_tokens_map.json",
    "added_tokens.json",
    "chat_template.jinja",
    "vocab.json",
    "vocab.txt",
    "merges.txt",
    "modules.json",
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "model.safetensors.index.json",
];

/// The downloaded files.
pub(crate) struct Fetched {
    /// The commit that the revision resolved to.
    pub(crate) commit: String,
    /// The folder that holds exactly these files.
    pub(crate) folder: PathBuf,
    /// The files, relative to the folder.
    pub(crate) files: Vec<FileRecord>,
}

/// The hub's description of a repository (`/api/models/…?blobs=true`).
#[derive(Debug, Deserialize)]
struct Listing {
    sha: String,
    siblings: Vec<RemoteFile>,
}

#[derive(Debug, Clone, Deserialize)]
struct RemoteFile {
    #[serde(rename = "rfilename")]
    path: String,
    size: Option<u64>,
    lfs: Option<LargeFile>,
}

#[derive(Debug, Clone, Deserialize)]
struct LargeFile {
    sha256: Option<String>,
    size: Option<u64>,
}

impl RemoteFile {
    fn sha256(&self) -> Option<&str> {
        self.lfs.as_ref()?.sha256.as_deref()
    }

    fn bytes(&self) -> Option<u64> {
        self.lfs.as_ref().and_then(|lfs| lfs.size).or(self.size)
    }

    /// Whether the file at `path` is this one. Only a checksum proves it: a file of the same size
    /// may be of an older commit.
    fn is_at(&self, path: &Path, watch: &mut Watch) -> bool {
        self.sha256().is_some_and(|expected| {
            let got = file_sha256(path, &self.path, watch);
            got.is_ok_and(|got| got.eq_ignore_ascii_case(expected))
        })
    }

    /// The record of this file, which is at `path`.
    fn record(self, path: &Path, watch: &mut Watch) -> Result<FileRecord, HubError> {
        let metadata = std::fs::metadata(path);
        Ok(FileRecord {
            sha256: file_sha256(path, &self.path, watch)?,
            path: self.path,
            bytes: metadata.map_err(|e| io_error("read", path, e))?.len(),
        })
    }
}

/// `HF_TOKEN`, else the content of the token file in the shared cache.
fn token(environment: &Environment, shared: Option<&Path>) -> Option<String> {
    environment
        .get("HF_TOKEN")
        .or_else(|| std::fs::read_to_string(shared?.join("token")).ok())
        .map(|token| token.trim().to_owned())
        .filter(|token| !token.is_empty())
}

/// Downloads one file of `repository` at `revision`, or all that a model needs, into a folder of
/// its own below `partial`. Files that an earlier run finished are kept; a partial one is resumed.
pub(crate) fn fetch(
    repository: &str,
    file: Option<&str>,
    revision: Option<&str>,
    partial: &Path,
    environment: &Environment,
    watch: &mut Watch,
) -> Result<Fetched, HubError> {
    let most = environment.most_bytes()?;
    let endpoint = environment.get("HF_ENDPOINT");
    let endpoint = endpoint.as_deref().unwrap_or(DEFAULT_ENDPOINT);
    let endpoint = endpoint.trim_end_matches('/');
    let shared = shared_cache(environment);
    let client = Client::new(environment, token(environment, shared.as_deref()))?;
    let revision = revision.unwrap_or("main");
    let listing = list(&client, endpoint, repository, revision, watch)?;
    let chosen = chosen_files(repository, file, &listing)?;

    // A branch may move between two runs: files of different commits must not be mixed.
    let folder = partial.join(&listing.sha);
    let snapshot = shared.map(|home| {
        let repository = repository.replace('/', "--");
        home.join(format!("hub/models--{repository}/snapshots"))
            .join(&listing.sha)
    });
    let mut files = Vec::with_capacity(chosen.len());
    for remote in chosen {
        let destination = folder.join(&remote.path);
        if let Some(parent) = destination.parent() {
            create_dir_all(parent)?;
        }
        let shared = snapshot.as_ref().map(|folder| folder.join(&remote.path));
        if remote.is_at(&destination, watch) {
            // An earlier run finished this one.
        } else if let Some(shared) = shared.filter(|path| remote.is_at(path, watch)) {
            copy_file(&shared, &destination, &remote.path, most, watch)?;
        } else {
            let url = address(&format!(
                "{endpoint}/{repository}/resolve/{}/{}",
                listing.sha, remote.path
            ))?;
            let job = Download {
                url: &url,
                destination: &destination,
                sha256: remote.sha256(),
                bytes: remote.bytes(),
                most,
                label: &remote.path,
            };
            client.download(&job, watch)?;
        }
        files.push(remote.record(&destination, watch)?);
    }
    Ok(Fetched {
        commit: listing.sha,
        folder,
        files,
    })
}

/// The folder where Hugging Face's own tools keep files and the token.
fn shared_cache(environment: &Environment) -> Option<PathBuf> {
    match environment.get("HF_HOME") {
        Some(home) => Some(home.into()),
        None => Some(environment.home()?.join(".cache").join("huggingface")),
    }
}

pub(crate) fn address(text: &str) -> Result<Url, HubError> {
    Url::parse(text).map_err(|e| HubError::Network {
        host: without_secrets(text).to_owned(),
        detail: e.to_string(),
    })
}

/// The hub's description of the repository.
fn list(
    client: &Client,
    endpoint: &str,
    repository: &str,
    revision: &str,
    watch: &Watch,
) -> Result<Listing, HubError> {
    let escaped = revision.replace('/', "%2F");
    let url = format!("{endpoint}/api/models/{repository}/revision/{escaped}?blobs=true");
    let url = address(&url)?;
    let response = client.small(&url, "application/json", MOST_LISTING_BYTES, watch);
    let bytes = match response {
        Ok(Ok(bytes)) => bytes,
        Ok(Err(status @ (401 | 403 | 404))) => {
            return Err(HubError::RepositoryNotFound {
                repository: repository.to_owned(),
                revision: revision.to_owned(),
                status,
            });
        }
        Ok(Err(status)) => {
            let url = format!("{}/{repository}", without_secrets(endpoint));
            return Err(HubError::Status { url, status });
        }
        Err(error @ HubError::TooLarge { .. }) => {
            return Err(bad_answer(repository, error.to_string()));
        }
        Err(error) => return Err(error),
    };
    let listing: Listing =
        serde_json::from_slice(&bytes).map_err(|e| bad_answer(repository, e.to_string()))?;
    let sha = &listing.sha;
    if sha.is_empty() || !sha.bytes().all(|b| b.is_ascii_alphanumeric()) {
        return Err(bad_answer(repository, format!("`{sha}` is not a commit")));
    }
    Ok(listing)
}

/// The named file, or all that a model needs.
fn chosen_files(
    repository: &str,
    file: Option<&str>,
    listing: &Listing,
) -> Result<Vec<RemoteFile>, HubError> {
    let chosen = match file {
        Some(file) => vec![named_file(repository, file, listing)?],
        None => needed_files(repository, listing)?,
    };
    match chosen.iter().find(|f| is_unsafe(&f.path)) {
        None => Ok(chosen),
        Some(bad) => Err(HubError::UnsafeEntry {
            container: repository.to_owned(),
            entry: bad.path.clone(),
        }),
    }
}

fn named_file(repository: &str, file: &str, listing: &Listing) -> Result<RemoteFile, HubError> {
    let remote = listing.siblings.iter().find(|remote| remote.path == file);
    remote.cloned().ok_or_else(|| {
        let paths: Vec<String> = listing.siblings.iter().map(|r| r.path.clone()).collect();
        HubError::FileNotFound {
            container: repository.to_owned(),
            path: file.to_owned(),
            near: nearest(file, &paths, 5),
        }
    })
}

/// The files of a repository that a model needs: safetensors, configuration, tokenizer, and a
/// sentence embedder's modules, without other formats of the same weights.
fn needed_files(repository: &str, listing: &Listing) -> Result<Vec<RemoteFile>, HubError> {
    let files = &listing.siblings;
    // The table of a static embedder is in a module's folder.
    let has_weights = |path: &str| is_weights(path) || is_table(path);
    if !files.iter().any(|f| has_weights(&f.path)) {
        let paths = files.iter().map(|f| f.path.clone());
        let is_gguf = |path: &String| path.to_ascii_lowercase().ends_with(".gguf");
        let files: Vec<String> = paths.filter(is_gguf).collect();
        let repository = repository.to_owned();
        return Err(match files.is_empty() {
            true => HubError::NoWeights { repository },
            false => HubError::FileRequired { repository, files },
        });
    }
    let needed = files.iter().filter(|f| {
        NEEDED.contains(&f.path.as_str()) || is_weights(&f.path) || is_module_file(&f.path)
    });
    Ok(needed.cloned().collect())
}

/// Top-level weights. `consolidated*` duplicates Mistral's weights.
fn is_weights(path: &str) -> bool {
    !path.contains('/') && path.ends_with(".safetensors") && !path.starts_with("consolidated")
}

/// A file of a sentence embedder's numbered module, for example `1_Pooling/config.json`.
fn is_module_file(path: &str) -> bool {
    path.split_once('/').is_some_and(|(folder, file)| {
        folder.starts_with(|c: char| c.is_ascii_digit())
            && folder.contains('_')
            && matches!(file, "config.json" | "model.safetensors" | "tokenizer.json")
    })
}

fn is_table(path: &str) -> bool {
    path.ends_with("_StaticEmbedding/model.safetensors")
}

/// Copies a file of at most `most` bytes, reported as a download.
fn copy_file(
    source: &Path,
    destination: &Path,
    label: &str,
    most: u64,
    watch: &mut Watch,
) -> Result<(), HubError> {
    let unreadable = |e| io_error("read", source, e);
    let unwritable = |e| io_error("write", destination, e);
    let mut from = ken_storage::open_linked(source)?;
    let mut to = ken_storage::create(destination)?;
    let total = from.metadata().ok().map(|metadata| metadata.len());
    let transfer = Transfer::whole(Stage::Downloading, label, total, most);
    transfer.run(&mut from, watch, |chunk| {
        to.write_all(chunk.map_err(unreadable)?).map_err(unwritable)
    })?;
    to.sync_all().map_err(unwritable)
}

fn bad_answer(repository: &str, detail: String) -> HubError {
    HubError::BadAnswer {
        repository: repository.to_owned(),
        detail,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listing(paths: &[&str]) -> Listing {
        let siblings = paths.iter().map(|p| serde_json::json!({ "rfilename": p }));
        let siblings: Vec<_> = siblings.collect();
        serde_json::from_value(serde_json::json!({ "sha": "abc", "siblings": siblings }))
            .expect("listing")
    }

    #[test]
    fn a_repository_is_reduced_to_what_a_model_needs() {
        let needed = [
            "config.json",
            "1_Pooling/config.json",
            "modules.json",
            "model-00001-of-00002.safetensors",
            "model-00002-of-00002.safetensors",
            "model.safetensors.index.json",
            "tokenizer.json",
        ];
        let others = [
            ".gitattributes",
            "README.md",
            "consolidated.safetensors",
            "onnx/model.safetensors",
            "openvino/config.json",
            "pytorch_model.bin",
        ];
        let all = listing(&[&needed[..], &others].concat());
        let files = needed_files("o/r", &all).expect("needed");
        let paths: Vec<&str> = files.iter().map(|f| f.path.as_str()).collect();
        assert_eq!(paths, needed);
    }

    #[test]
    fn a_static_embedder_is_its_modules() {
        let paths = [
            "0_StaticEmbedding/model.safetensors",
            "0_StaticEmbedding/tokenizer.json",
            "modules.json",
        ];
        let needed = needed_files("o/r", &listing(&paths)).expect("needed");
        assert_eq!(needed.len(), paths.len());
    }

    #[test]
    fn a_gguf_repository_asks_for_the_file() {
        let gguf = listing(&["README.md", "m.Q4_0.gguf", "m.Q8_0.GGUF"]);
        let error = needed_files("o/r", &gguf).expect_err("gguf");
        assert_eq!(error.kind(), "file_required");
        assert!(error.to_string().contains("m.Q4_0.gguf, m.Q8_0.GGUF"));
        assert!(
            error
                .remedy()
                .is_some_and(|h| h.mentions("hf:o/r/m.Q4_0.gguf"))
        );
        let none = needed_files("o/r", &listing(&["pytorch_model.bin"])).expect_err("none");
        assert_eq!(none.kind(), "no_weights");
        let missing = named_file("o/r", "m.q4_0.gguf", &gguf).expect_err("case");
        assert!(missing.to_string().contains("m.Q4_0.gguf"));
    }
}
