//! How an error reaches people and machines: one message, one hint, one exit
//! code. It invents no hints: they come from the error itself.

use std::fmt;
use std::io::Write;
use std::process::ExitCode;

use anyhow::Error;
use serde::Serialize;
use serde_json::json;

use crate::output;

/// The command did not do what was asked.
const FAILED: u8 = 1;
/// The command line itself is wrong.
const USAGE: u8 = 2;

/// An error of the command line's own: settings, arguments that do not go
/// together, a stop by the user.
#[derive(Debug)]
pub(crate) struct Refusal {
    kind: &'static str,
    message: String,
    hint: Option<String>,
}

impl Refusal {
    /// `kind` is the short snake_case name that machines see.
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
        }
    }

    /// A setting that cannot be taken.
    pub(crate) fn config(message: impl Into<String>) -> Self {
        Self::new("config", message)
    }

    /// The same with a remedy.
    pub(crate) fn hinting(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }

    /// The remedy, where there is one.
    #[cfg(test)]
    pub(crate) fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.message)
    }
}

impl std::error::Error for Refusal {}

/// An error as it is shown.
#[derive(Debug, PartialEq, Serialize)]
struct Shown {
    kind: String,
    message: String,
    hint: Option<String>,
}

/// Shows the error and gives the exit code. A reader of stdout that went away
/// is no failure.
pub(crate) fn report(error: &Error, json: bool) -> ExitCode {
    if error.is::<output::ReaderGone>() {
        return ExitCode::SUCCESS;
    }
    if error.is::<output::Told>() {
        return ExitCode::from(FAILED);
    }
    show(&describe(error), json);
    ExitCode::from(FAILED)
}

/// Shows what clap says: help and version on stdout, a usage error on stderr.
pub(crate) fn report_usage(error: &clap::Error, json: bool) -> ExitCode {
    let rendered = error.render().to_string();
    let text = without_passwords(&rendered);
    if error.use_stderr() && json {
        show(
            &Shown {
                kind: "usage".to_owned(),
                message: usage_message(&text),
                hint: Some("`ken --help` shows the verbs, `ken VERB --help` the flags".to_owned()),
            },
            json,
        );
        return ExitCode::from(USAGE);
    }
    // A reader that went away while help was printed needs no message.
    let _ = match text == rendered {
        true => error.print(),
        false => write!(std::io::stderr(), "{text}"),
    };
    match error.use_stderr() {
        true => ExitCode::from(USAGE),
        false => ExitCode::SUCCESS,
    }
}

/// A text in which URLs that were given, which clap repeats, hold no password.
fn without_passwords(text: &str) -> String {
    let mut kept = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        let end = after.find(|c: char| c.is_whitespace() || c == '\'');
        let url = &after[..end.unwrap_or(after.len())];
        kept = kept + before + "://";
        rest = match url.rfind('@') {
            Some(at) => {
                kept.push('…');
                &after[at..]
            }
            None => after,
        };
    }
    kept + rest
}

/// Of what clap says the first line, with what it lists below it.
fn usage_message(text: &str) -> String {
    let mut lines = text.lines();
    let first = lines.next().unwrap_or_default();
    let listed = lines.take_while(|line| line.starts_with(' '));
    let words: Vec<&str> = std::iter::once(first.trim_start_matches("error: "))
        .chain(listed.map(str::trim))
        .collect();
    words.join(" ")
}

fn show(shown: &Shown, json: bool) {
    // Nothing is left to be done if even the error cannot be written.
    if json {
        let _ = output::json(&json!({ "error": shown }));
        return;
    }
    let mut stderr = std::io::stderr().lock();
    let _ = writeln!(stderr, "error: {}", shown.message);
    if let Some(hint) = &shown.hint {
        let _ = writeln!(stderr, "hint: {hint}");
    }
}

fn describe(error: &Error) -> Shown {
    let (kind, hint) = error
        .chain()
        .find_map(kind_and_hint)
        .unwrap_or(("failed", None));
    Shown {
        kind: kind.to_owned(),
        message: message(error),
        hint,
    }
}

/// The message with its causes, each said once: many errors already quote what
/// caused them.
fn message(error: &Error) -> String {
    let mut message = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if message.is_empty() {
            message = cause;
        } else if !message.contains(&cause) {
            message = format!("{message}: {cause}");
        }
    }
    message
}

/// What the rooms' errors, and our own, say of themselves.
fn kind_and_hint(
    cause: &(dyn std::error::Error + 'static),
) -> Option<(&'static str, Option<String>)> {
    macro_rules! first_of {
        ($($room:ty),+ $(,)?) => {
            $(if let Some(error) = cause.downcast_ref::<$room>() {
                return Some((error.kind(), error.hint()));
            })+
        };
    }
    if let Some(refusal) = cause.downcast_ref::<Refusal>() {
        return Some((refusal.kind, refusal.hint.clone()));
    }
    first_of!(
        ken_answer::AnswerError,
        ken_corpus::CorpusError,
        ken_corpus::ReadError,
        ken_corpus::SegmentationError,
        ken_index::IndexError,
        ken_ingest::IngestError,
        ken_milvus::AddressError,
        ken_milvus::MilvusError,
        ken_model::decoder::DecoderError,
        ken_model::encoder::EncoderError,
        ken_model::hub::HubError,
        ken_model::remote::RemoteError,
        ken_study::BoundaryError,
        ken_study::RoutingError,
        ken_study::learn::datastore::MakeError,
        ken_answer::DatastoreError,
        ken_study::DatasetError,
        ken_study::RunError,
        ken_study::CalibrationError,
        ken_study::ResultsError,
        ken_study::ExportError,
        ken_route::HeadFileError,
        ken_study::LearnError,
        ken_study::PruningError,
        ken_train::TrainError,
        ken_study::world::WorldError,
        ken_train::TrainError,
    );
    let io = cause.downcast_ref::<std::io::Error>()?;
    Some(match io.kind() {
        std::io::ErrorKind::StorageFull => ("disk_full", Some("free some space".to_owned())),
        std::io::ErrorKind::NotFound => {
            let remedy =
                "check the path: a file to read has to be there, and of one to write the folder";
            ("io", Some(remedy.to_owned()))
        }
        std::io::ErrorKind::PermissionDenied => {
            let remedy = "check who owns the file or folder, and its permissions";
            ("io", Some(remedy.to_owned()))
        }
        _ => ("io", None),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::{Context, anyhow};

    #[test]
    fn a_refusal_keeps_its_kind_and_hint_under_context() {
        let error = Error::new(Refusal::new("empty", "nothing here").hinting("add something"))
            .context("cannot open the shelf");
        assert_eq!(
            describe(&error),
            Shown {
                kind: "empty".to_owned(),
                message: "cannot open the shelf: nothing here".to_owned(),
                hint: Some("add something".to_owned()),
            }
        );
    }

    #[test]
    fn a_room_speaks_for_itself() {
        let error = Error::new(
            "nowhere:x"
                .parse::<ken_model::hub::ModelReference>()
                .unwrap_err(),
        );
        assert_eq!(describe(&error).kind, "bad_reference");
    }

    #[test]
    fn a_cause_that_is_already_quoted_is_not_repeated() {
        let error = Err::<(), _>(anyhow!("disk full"))
            .context("cannot write x: disk full")
            .unwrap_err();
        assert_eq!(message(&error), "cannot write x: disk full");
    }

    #[test]
    fn an_evaluation_tells_what_a_question_failed_for() {
        let failed = ken_study::RunError::Work {
            task: ken_study::Task::Answer,
            id: "q1".to_owned(),
            source: Box::new(ken_answer::AnswerError::NoCorpus),
        };
        let shown = describe(&Error::new(failed));
        assert_eq!(shown.kind, "no_corpus");
        assert!(shown.message.contains("\"q1\""), "{}", shown.message);
        assert!(shown.hint.is_some());
    }

    #[test]
    fn a_path_that_is_not_there_has_a_remedy() {
        let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
        let shown = describe(&Error::new(gone).context("cannot write /nodir/x"));
        assert_eq!(shown.kind, "io");
        assert!(shown.hint.unwrap().starts_with("check the path"));
    }

    #[test]
    fn what_is_missing_on_the_command_line_is_named() {
        let text = "error: the following required arguments were not provided:\n  --out <DIR>\n  <FILE>\n\nUsage: ken train examples --out <DIR> <FILE>\n";
        assert_eq!(
            usage_message(text),
            "the following required arguments were not provided: --out <DIR> <FILE>"
        );
        assert_eq!(
            usage_message("error: no such verb\n\n  tip: another\n"),
            "no such verb"
        );
    }

    #[test]
    fn a_password_on_the_command_line_is_not_repeated() {
        let text =
            "invalid value 'https://ada:hunter2@h/v1' for '--model', or milvus://a:b@c:d@h\n";
        let expected = "invalid value 'https://…@h/v1' for '--model', or milvus://…@h\n";
        assert_eq!(without_passwords(text), expected);
        for text in ["", "http://h/v1 ada@example.org", "://", "a://@"] {
            assert_eq!(without_passwords(text).replace('…', ""), text);
        }
    }

    #[test]
    fn an_error_of_no_room_is_just_failed() {
        assert_eq!(describe(&anyhow!("odd")).kind, "failed");
    }
}
