//! A sentence, a question that it answers, and who picks the answer.

use crate::named;

/// A sentence, and what its document is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stated<'a> {
    /// The document's title; may be empty.
    pub title: &'a str,
    /// The sentence.
    pub sentence: &'a str,
}

/// A question that a sentence answers.
#[derive(Debug, Clone, PartialEq)]
pub struct Pair {
    /// The question.
    pub question: String,
    /// The answer, as it stands in the sentence.
    pub answer: String,
    /// The chance, in `[0, 1]`, that the sentence gives this answer, as the model holds; `None`
    /// where it only says so.
    pub validity: Option<f64>,
}

/// Who picks the answers that a sentence is asked for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum AnswersFrom {
    /// The program finds them in the sentence, and a model writes the question to each.
    #[default]
    Program,
    /// The model that writes the questions, as in the paper.
    Writer,
}

named! {
    AnswersFrom, "way to pick answers",
    AnswersFrom::Program => "program",
    AnswersFrom::Writer => "writer",
}
