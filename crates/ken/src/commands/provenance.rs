//! How the numbers of a report came about.

use std::ffi::OsString;
use std::path::Path;

use ken_eval::part::Parts;
use ken_report::Provenance;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::shell::for_a_shell;

/// The settings of a run with the command, the version and the date. `given` are the program's arguments, its name first; paths
/// among them are cut to their last part, since others see reports.
pub(crate) fn of(settings: Provenance, given: &[OsString]) -> Provenance {
    of_command(settings, command(given))
}

/// As [`of`], with a command in the form of [`command`].
fn of_command(settings: Provenance, command: String) -> Provenance {
    let date = OffsetDateTime::now_utc()
        .format(&Rfc3339)
        .unwrap_or_default();
    let run = [
        ("command", command),
        ("version", env!("CARGO_PKG_VERSION").to_owned()),
        ("date", date),
    ];
    let run = run.map(|(name, value)| (name.to_owned(), value));
    settings.into_iter().chain(run).collect()
}

/// The settings and the command of a run that was measured in parts.
pub(crate) fn of_parts(parts: &Parts) -> Provenance {
    let run = parts.run();
    of_command(run.settings.clone(), run.command.clone())
}

/// The command that was given, with paths cut to their last part.
pub(crate) fn command(given: &[OsString]) -> String {
    let words = given.iter().skip(1).map(|word| {
        let word = word.to_string_lossy();
        let (flag, value) = match word.split_once('=') {
            Some((flag, value)) if flag.starts_with("--") => (format!("{flag}="), value),
            _ => (String::new(), &*word),
        };
        let last = Path::new(value)
            .file_name()
            .map(|name| name.to_string_lossy());
        flag + &for_a_shell(last.as_deref().unwrap_or(value))
    });
    let command = std::iter::once("ken".to_owned()).chain(words);
    command.collect::<Vec<String>>().join(" ")
}
