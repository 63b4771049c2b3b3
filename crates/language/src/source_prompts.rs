//! Prompts for models that were trained to mark where their knowledge comes from, and to choose that
//! themselves (SR-RAG, section 3.2).

/// A question, the knowledge that follows it and what asks for the answer, each apart: such a model
/// has tokens of its own between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced {
    /// The question with the words around it.
    pub question: String,
    /// What follows it.
    pub knowledge: Knowledge,
    /// What follows the knowledge: the words that ask for the answer, and the start of the answer
    /// where there is one.
    pub answer: String,
}

/// What follows a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Knowledge {
    /// Nothing: the model is to choose a source.
    Unchosen,
    /// The model is to write what it knows.
    Unwritten,
    /// What the model knows, as it wrote it; empty where it is to answer at once.
    Own(String),
    /// What was found.
    Found {
        /// The name of the corpus; `None` for the only one, or the first.
        corpus: Option<String>,
        /// The passages with the words around them.
        text: String,
    },
}
