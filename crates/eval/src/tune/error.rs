//! Why tuning on some questions fails, with the remedy beside the message.

use crate::run::RunError;

/// Why tuning fails.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum TuneError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error("a policy cannot be chosen on {}", questions(*given))]
    #[diagnostic(remedy = "give {least} or more; about 200 tell policies apart")]
    TooFewQuestions { given: usize, least: usize },
    #[error("no question has golden answers, and full answers cannot be compared word by word")]
    #[diagnostic(remedy = "write golden answers to the questions, or give <style> short")]
    UnlabeledFullAnswers,
    #[error(
        "{} of {of} questions that are to confirm the policy are also those it is chosen on",
        shared
    )]
    #[diagnostic(remedy = "confirm on other questions, about other subjects")]
    SharedQuestions { shared: usize, of: usize },
    #[error("no question that is to confirm the policy has golden answers")]
    #[diagnostic(remedy = "write golden answers to them, as to the others")]
    UnlabeledConfirmation,
}

fn questions(given: usize) -> String {
    match given {
        0 => "no questions".to_owned(),
        1 => "1 question".to_owned(),
        given => format!("{given} questions"),
    }
}
