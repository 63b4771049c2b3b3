//! A sentence, a question that it answers, and who picks the answer.

use ken_language::named;

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
    /// The probability, in `[0, 1]`, that the sentence gives this answer, according to the model; `None` if the model
    /// wrote its verdict.
    pub validity: Option<f64>,
}

/// Who picks the answers that questions ask for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum AnswersFrom {
    /// The program picks them in the sentence, and a model writes a question for each.
    #[default]
    Program,
    /// The model that writes the questions picks them, as in the paper.
    Writer,
}

named! {
    AnswersFrom, "way to pick answers",
    AnswersFrom::Program => "program",
    AnswersFrom::Writer => "writer",
}
