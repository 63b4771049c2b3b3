//! Converters: commands of other programs that write the text of a file as Markdown. Its text is kept under a hash of the
//! command and the file's contents.
//!
//! With these a user can bring layout models or OCR, such as docling, markitdown or tesseract.

use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::str::FromStr;
use std::thread;
use std::time::{Duration, Instant};

use crate::error::ReadError;
use crate::watch::Watch;

/// How long a command may take for one file.
const LONGEST: Duration = Duration::from_secs(600);

/// The most memory that it may map, in KiB: 8 GiB.
#[cfg(unix)]
const MOST_MEMORY_KIB: u64 = 8 << 20;

/// How often to check whether it has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(20);

/// The most bytes of its error output in a message.
const MESSAGE_BYTES: u64 = 500;

/// The placeholder for the path of the file in a command.
const PATH: &str = "{}";

/// A command for files whose names match a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Converter {
    /// The pattern of the names, in which `*` stands for any characters.
    pattern: String,
    /// The command in the syntax of the shell; `{}` stands for the path of the file.
    command: String,
}

/// A malformed converter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[error("{given:?} is no PATTERN=COMMAND in which {{}} stands for the file")]
#[diagnostic(
    kind = "no_converter",
    remedy = "write the names and the command, e.g. '*.pdf=markitdown {{}}'"
)]
pub struct ConverterError {
    /// The given text.
    pub given: String,
}

impl FromStr for Converter {
    type Err = ConverterError;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        match given.split_once('=') {
            Some((pattern, command)) if !pattern.is_empty() && command.contains(PATH) => Ok(Self {
                pattern: pattern.to_owned(),
                command: command.to_owned(),
            }),
            _ => Err(ConverterError {
                given: given.to_owned(),
            }),
        }
    }
}

/// The commands for files. The first whose pattern matches is used.
#[derive(Debug, Clone, Default)]
pub struct Converters {
    /// The commands.
    pub converters: Vec<Converter>,
    /// The folder that keeps the texts that they wrote; `None` to keep none.
    pub kept: Option<PathBuf>,
}

impl Converters {
    /// The command for a file, if there is one.
    pub(crate) fn of(&self, path: &Path) -> Option<&Converter> {
        let name = path.file_name()?.to_string_lossy();
        let mut converters = self.converters.iter();
        converters.find(|converter| fits(&converter.pattern, &name))
    }

    /// The text that a command writes for a file.
    ///
    /// # Errors
    /// If the file cannot be read, or the command fails, takes too long, or writes too much or no text.
    pub(crate) fn text(
        &self,
        converter: &Converter,
        path: &Path,
        watch: &Watch,
    ) -> Result<String, ReadError> {
        let kept = match &self.kept {
            Some(folder) => Some(folder.join(converter.key(path, watch)?)),
            None => None,
        };
        if let Some(text) = kept.as_ref().and_then(|kept| fs::read_to_string(kept).ok()) {
            return Ok(text);
        }
        let text = converter.run(path, watch)?;
        if let Some(kept) = kept {
            // If the text cannot be kept, the command runs again the next time.
            let folder = kept.parent().unwrap_or(Path::new("."));
            let _ = ken_storage::create_dir_all(folder)
                .and_then(|()| ken_storage::replace_private(&kept, text.as_bytes()));
        }
        Ok(text)
    }
}

impl Converter {
    /// The name under which the text is kept: a hash of the command and the contents.
    fn key(&self, path: &Path, watch: &Watch) -> Result<String, ReadError> {
        let unreadable = |source| ReadError::from_io(source, path, None, watch.budget);
        let mut hasher = blake3::Hasher::new();
        hasher.update(&(self.command.len() as u64).to_le_bytes());
        hasher.update(self.command.as_bytes());
        let mut file = File::open(path).map_err(unreadable)?;
        let mut buffer = vec![0; 1 << 16];
        loop {
            watch.check()?;
            match file.read(&mut buffer).map_err(unreadable)? {
                0 => return Ok(format!("{}.md", hasher.finalize().to_hex())),
                read => hasher.update(&buffer[..read]),
            };
        }
    }

    fn run(&self, path: &Path, watch: &Watch) -> Result<String, ReadError> {
        let failed = |reason: String| ReadError::ConverterFailed {
            path: path.to_owned(),
            command: self.command.clone(),
            reason,
        };
        let mut child = self
            .command(path)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| failed(error.to_string()))?;
        let most = watch.budget.document_bytes;
        let stdout = child.stdout.take();
        let stderr = child.stderr.take();
        let (text, complaint, outcome) = thread::scope(|scope| {
            let text = scope.spawn(move || read_up_to(stdout, most.saturating_add(1)));
            let complaint = scope.spawn(move || read_up_to(stderr, MESSAGE_BYTES));
            let outcome = wait(&mut child, watch);
            (text.join(), complaint.join(), outcome)
        });
        let complaint = complaint.unwrap_or_default();
        match outcome {
            Outcome::Stopped => return Err(ReadError::Stopped),
            Outcome::TooLate => {
                return Err(failed(format!(
                    "it took longer than {} s",
                    LONGEST.as_secs()
                )));
            }
            Outcome::Failed(reason) => {
                let complaint = String::from_utf8_lossy(&complaint);
                return Err(failed(
                    format!("{reason} {}", complaint.trim()).trim().to_owned(),
                ));
            }
            Outcome::Success => {}
        }
        let text = text.unwrap_or_default();
        if text.len() as u64 > most {
            return Err(watch.too_large(crate::place::Place::whole(path)));
        }
        String::from_utf8(text).map_err(|_| failed("it wrote no UTF-8".to_owned()))
    }

    /// The command for a file, in a shell that bounds its memory. The path is an argument, not part of the script.
    #[cfg(unix)]
    fn command(&self, path: &Path) -> Command {
        use std::os::unix::process::CommandExt;

        let bare = self.command.replace("\"{}\"", PATH).replace("'{}'", PATH);
        let script = bare.replace(PATH, "\"$1\"");
        let mut command = Command::new("/bin/sh");
        command.arg("-c");
        command.arg(format!("ulimit -v {MOST_MEMORY_KIB}\n{script}"));
        command.arg("sh").arg(path);
        // As a group of its own, it can be killed with its children.
        command.process_group(0);
        command
    }

    /// The command for a file.
    #[cfg(not(unix))]
    fn command(&self, path: &Path) -> Command {
        let path = path.to_string_lossy();
        let mut parts = self
            .command
            .split_whitespace()
            .map(|part| part.replace(PATH, &path));
        let mut command = Command::new(parts.next().unwrap_or_default());
        command.args(parts);
        command
    }
}

/// Kills a command and its children.
fn kill(child: &mut Child) {
    #[cfg(unix)]
    if let Some(group) = rustix::process::Pid::from_raw(child.id().cast_signed()) {
        // The command may have ended meanwhile.
        let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
    }
    let _ = child.kill();
    let _ = child.wait();
}

enum Outcome {
    Success,
    Failed(String),
    TooLate,
    Stopped,
}

/// Waits for the end of a command, and kills it if the reading is stopped or it takes too long.
fn wait(child: &mut Child, watch: &Watch) -> Outcome {
    let begun = Instant::now();
    loop {
        let early = match child.try_wait() {
            Ok(Some(status)) if status.success() => return Outcome::Success,
            Ok(Some(status)) => return Outcome::Failed(format!("it ended with {status}")),
            Err(error) => Outcome::Failed(error.to_string()),
            Ok(None) if watch.stopped() => Outcome::Stopped,
            Ok(None) if begun.elapsed() > LONGEST => Outcome::TooLate,
            Ok(None) => {
                thread::sleep(POLL_INTERVAL);
                continue;
            }
        };
        kill(child);
        return early;
    }
}

/// The first bytes of a pipe, up to a limit. The rest is discarded, so that the writer can end.
fn read_up_to(pipe: Option<impl Read>, most: u64) -> Vec<u8> {
    let mut read = Vec::new();
    if let Some(mut pipe) = pipe {
        // A broken pipe counts as its end; the exit status of the command says whether it failed.
        let _ = pipe.by_ref().take(most).read_to_end(&mut read);
        let _ = std::io::copy(&mut pipe, &mut std::io::sink());
    }
    read
}

/// Whether a name fits a pattern in which `*` stands for any characters.
fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else {
        return pattern == name;
    };
    let Some(name) = name.strip_prefix(start) else {
        return false;
    };
    let mut offsets = name
        .char_indices()
        .map(|(offset, _)| offset)
        .chain([name.len()]);
    offsets.any(|offset| fits(rest, &name[offset..]))
}

#[cfg(test)]
mod tests {
    use ken_testing::has;

    use super::*;

    #[test]
    fn names_fit_patterns() {
        for (pattern, name, expected) in [
            ("*.pdf", "a.pdf", true),
            ("*.pdf", "a.pdf.txt", false),
            ("scan-*.p*f", "scan-1.pdf", true),
            ("scan-*", "a-scan-", false),
            ("a.b", "a.b", true),
            ("*", "", true),
            ("**x", "é*x", true),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }

    #[test]
    fn converters_are_read() {
        let converter: Converter = "*.png=tesseract {} - -l deu".parse().unwrap();
        has!(converter, pattern.as_str(): "*.png", command.as_str(): "tesseract {} - -l deu");
        for bad in ["", "*.png", "*.png=", "=cat {}", "*.png=cat"] {
            assert!(bad.parse::<Converter>().is_err(), "{bad}");
        }
    }
}
