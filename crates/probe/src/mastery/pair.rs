//! A sentence, and a question that it answers.

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
