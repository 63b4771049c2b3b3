//! Prompts for models that were trained to mark the source of their knowledge, and to choose it
//! themselves (SR-RAG, section 3.2).

/// A question, the knowledge after it and the request for the answer, each apart: such a model
/// puts tokens of its own between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced {
    /// The question with the words around it.
    pub question: String,
    /// The knowledge after it.
    pub knowledge: Knowledge,
    /// The words after the knowledge that ask for the answer, and the start of the answer
    /// if there is one.
    pub answer: String,
}

/// The knowledge after a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Knowledge {
    /// Nothing: the model is to choose a source.
    Unchosen,
    /// The model is to write what it knows.
    Unwritten,
    /// The knowledge that the model wrote; empty if it is to answer at once.
    Own(String),
    /// Retrieved passages.
    Found {
        /// The name of the corpus; `None` for the only one, or the first.
        corpus: Option<String>,
        /// The passages with the words around them.
        text: String,
    },
}
