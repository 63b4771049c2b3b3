//! Prompts for models that were trained to mark where their knowledge comes from, and to choose that
//! themselves (SR-RAG, section 3.2).

/// A question, the knowledge behind it and what asks for the answer, each apart: such a model has
/// tokens of its own between them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sourced {
    /// The question with the words around it.
    pub question: String,
    /// What stands behind it.
    pub knowledge: Knowledge,
    /// Stands behind the knowledge: what asks for the answer, and the beginning of one where there is
    /// one.
    pub answer: String,
}

/// What stands behind a question.
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

/// What a model makes of a question before it has any knowledge.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceChoice {
    /// The probability of each source, given that it is one of them: of the model itself, and of the
    /// corpora in their order. They add up to 1.
    pub shares: Vec<f64>,
    /// The residual stream behind a layer, `[hidden]`.
    pub state: Vec<f32>,
}
