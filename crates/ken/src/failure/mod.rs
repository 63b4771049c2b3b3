//! How an error reaches people and machines: one message, one hint, one exit code. It invents no hints: the error
//! itself has the remedy, which is worded here.

pub(crate) mod wording;

use std::error::Error;
use std::fmt;
use std::io::Write;

use ken_diagnostic::{Diagnostic, Remedy, chain, said_once};
use serde::Serialize;
use serde_json::json;

pub(crate) use wording::hint;

use crate::style::{Look, on_stderr};
use crate::terminal;

/// The command did what was asked.
pub(crate) const DONE: u8 = 0;
/// The command did not do what was asked.
const FAILED: u8 = 1;
/// The command line itself is wrong.
const USAGE: u8 = 2;

/// What a verb returns.
pub(crate) type Result<T, E = Failure> = std::result::Result<T, E>;

/// Why a verb failed: an error with its kind, and what was tried.
#[derive(Debug)]
pub(crate) struct Failure {
    cause: Box<dyn Diagnostic + Send + Sync>,
    /// What was tried, the widest first.
    tried: Vec<String>,
    /// Another way out than the remedy of the error.
    otherwise: Option<&'static str>,
}

impl Failure {
    /// An error without a kind.
    pub(crate) fn other(cause: impl Error + Send + Sync + 'static) -> Self {
        Other(Box::new(cause)).into()
    }

    /// A command line whose arguments do not go together, or that asks for something impossible. `kind` is the short
    /// snake_case name that machines see.
    pub(crate) fn refused(
        kind: &'static str,
        message: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Refusal {
            kind,
            message: message.into(),
            hint: Some(hint.into()),
        }
        .into()
    }

    /// Work that was stopped, and cannot be resumed.
    pub(crate) fn stopped(message: impl Into<String>) -> Self {
        Refusal {
            kind: "interrupted",
            message: message.into(),
            hint: None,
        }
        .into()
    }

    /// Work that was stopped, and is resumed by the same command.
    pub(crate) fn resumable(message: impl Into<String>) -> Self {
        Self::refused(
            "interrupted",
            message,
            "run the same command again to resume",
        )
    }

    /// Adds another way out to the remedy.
    pub(crate) fn or(self, otherwise: &'static str) -> Self {
        Self {
            otherwise: Some(otherwise),
            ..self
        }
    }

    /// The remedy as it is shown.
    pub(crate) fn hint(&self) -> Option<String> {
        let remedy = self.cause.remedy().as_ref().map(hint);
        let otherwise = self.otherwise.map(str::to_owned);
        let hints: Vec<String> = remedy.into_iter().chain(otherwise).collect();
        (!hints.is_empty()).then(|| hints.join("; "))
    }

    /// The message with its causes, each only once: many errors already quote their cause.
    fn message(&self) -> String {
        let causes = chain(&*self.cause).map(ToString::to_string);
        said_once(self.tried.iter().cloned().chain(causes))
    }

    /// The error, if it is of this type.
    pub(crate) fn find<E: Error + 'static>(&self) -> Option<&E> {
        (&*self.cause as &(dyn Error + 'static)).downcast_ref()
    }
}

impl<E: Diagnostic + Send + Sync + 'static> From<E> for Failure {
    fn from(cause: E) -> Self {
        Self {
            cause: Box::new(cause),
            tried: Vec::new(),
            otherwise: None,
        }
    }
}

/// What was tried, or what failed, without its causes.
impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.tried.first() {
            Some(tried) => formatter.write_str(tried),
            None => self.cause.fmt(formatter),
        }
    }
}

/// Adds to a failure what was tried.
pub(crate) trait Context<T> {
    /// `tried` as the start of a message: "cannot read x".
    fn context<S: Into<String>>(self, tried: impl FnOnce() -> S) -> Result<T>;
}

impl<T, E: Into<Failure>> Context<T> for std::result::Result<T, E> {
    fn context<S: Into<String>>(self, tried: impl FnOnce() -> S) -> Result<T> {
        self.map_err(|error| {
            let mut failure = error.into();
            failure.tried.insert(0, tried().into());
            failure
        })
    }
}

/// An error of a library that knows no kinds.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
struct Other(Box<dyn Error + Send + Sync>);

impl Other {
    /// The error of the system behind it, if there is one.
    fn io(&self) -> Option<&std::io::Error> {
        chain(&*self.0).find_map(|cause| cause.downcast_ref())
    }
}

impl Diagnostic for Other {
    fn kind(&self) -> &'static str {
        self.io().map_or("failed", Diagnostic::kind)
    }

    fn remedy(&self) -> Option<Remedy> {
        self.io().and_then(Diagnostic::remedy)
    }
}

/// An error of the command line's own.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
struct Refusal {
    kind: &'static str,
    message: String,
    hint: Option<String>,
}

impl Diagnostic for Refusal {
    fn kind(&self) -> &'static str {
        self.kind
    }

    fn remedy(&self) -> Option<Remedy> {
        self.hint.clone().map(Remedy::from)
    }
}

/// The reader of stdout has closed it, as `head` does. This is no failure.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("the reader of stdout is gone")]
pub(crate) struct ReaderGone;

/// A failure that was fully reported on stdout.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("failed as reported")]
pub(crate) struct Reported;

/// An error as it is shown.
#[derive(Debug, PartialEq, Serialize)]
struct Shown {
    kind: String,
    message: String,
    hint: Option<String>,
}

/// Shows the error and returns the exit code. A reader of stdout that went away is no failure.
pub(crate) fn report(failure: &Failure, json: bool) -> u8 {
    if failure.find::<ReaderGone>().is_some() {
        return DONE;
    }
    if failure.find::<Reported>().is_some() {
        return FAILED;
    }
    show(&describe(failure), json);
    FAILED
}

/// Shows what clap says: help and version on stdout, a usage error on stderr.
pub(crate) fn report_usage(error: &clap::Error, json: bool) -> u8 {
    let rendered = error.render().to_string();
    let text = without_passwords(&rendered);
    if error.use_stderr() && json {
        let hint = "`ken --help` shows the verbs, `ken VERB --help` the flags".to_owned();
        let shown = Shown {
            kind: "usage".to_owned(),
            message: usage_message(&text),
            hint: Some(hint),
        };
        show(&shown, json);
        return USAGE;
    }
    // A reader that went away while help was printed needs no message.
    let _ = match text == rendered {
        true => error.print(),
        false => write!(std::io::stderr(), "{text}"),
    };
    if error.use_stderr() { USAGE } else { DONE }
}

/// A text without the passwords of the URLs among the arguments, which clap repeats.
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

/// The first line of clap's message, with the list below it.
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
    // If even the error cannot be written, nothing is left to do.
    if json {
        let line = json!({ "error": shown }).to_string();
        let line = terminal::for_stdout(&line, terminal::json);
        let _ = writeln!(std::io::stdout().lock(), "{line}");
        return;
    }
    tell(Look::Error, "error", &shown.message);
    if let Some(hint) = &shown.hint {
        tell(Look::Hint, "hint", hint);
    }
}

/// Reports a problem that stops nothing.
pub(crate) fn warn(cause: &dyn Diagnostic) {
    tell(Look::Warning, "warning", cause);
    if let Some(remedy) = cause.remedy() {
        tell(Look::Hint, "hint", hint(&remedy));
    }
}

fn tell(look: Look, label: &str, text: impl fmt::Display) {
    terminal::labelled(&(on_stderr(look, &format!("{label}:")) + " "), text);
}

fn describe(failure: &Failure) -> Shown {
    Shown {
        kind: failure.cause.kind().to_owned(),
        message: failure.message(),
        hint: failure.hint(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_refusal_keeps_its_kind_and_hint_under_context() {
        let refused = Failure::refused("empty", "nothing here", "add something");
        let error = Err::<(), _>(refused).context(|| "cannot open the shelf");
        assert_eq!(
            describe(&error.unwrap_err()),
            Shown {
                kind: "empty".to_owned(),
                message: "cannot open the shelf: nothing here".to_owned(),
                hint: Some("add something".to_owned()),
            }
        );
    }

    #[test]
    fn another_way_out_stands_beside_the_remedy() {
        let refused = Failure::refused("empty", "nothing here", "add something");
        let hint = refused.or("or leave it").hint();
        assert_eq!(hint.as_deref(), Some("add something; or leave it"));
        let hint = Failure::stopped("stopped").or("go on").hint();
        assert_eq!(hint.as_deref(), Some("go on"));
    }

    #[test]
    fn a_library_speaks_for_itself() {
        let error = "nowhere:x".parse::<ken_hub::ModelReference>();
        assert_eq!(describe(&error.unwrap_err().into()).kind, "bad_reference");
    }

    #[test]
    fn a_cause_that_is_already_quoted_is_not_repeated() {
        let error = Err::<(), _>(Failure::stopped("disk full"))
            .context(|| "cannot write x: disk full")
            .unwrap_err();
        assert_eq!(error.message(), "cannot write x: disk full");
    }

    #[test]
    fn an_evaluation_tells_what_a_question_failed_for() {
        let failed = ken_eval::RunError::Work {
            task: ken_eval::Task::Answer,
            id: "q1".to_owned(),
            source: Box::new(ken_answer::AnswerError::NoCorpus),
        };
        let shown = describe(&failed.into());
        assert_eq!(shown.kind, "no_corpus");
        assert!(shown.message.contains("\"q1\""), "{}", shown.message);
        assert!(shown.hint.is_some());
    }

    #[test]
    fn a_path_that_is_not_there_has_a_remedy() {
        let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
        let error = Err::<(), _>(gone).context(|| "cannot write /nodir/x");
        let shown = describe(&error.unwrap_err());
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
    fn an_error_that_knows_no_kind_is_just_failed() {
        #[derive(Debug, thiserror::Error)]
        #[error("of no kind")]
        struct Wrapper(#[source] std::io::Error);

        assert_eq!(describe(&Failure::other(fmt::Error)).kind, "failed");
        let gone = std::io::Error::from(std::io::ErrorKind::NotFound);
        assert_eq!(describe(&Failure::other(Wrapper(gone))).kind, "io");
    }
}
