//! Models that choose the source of the knowledge for an answer themselves (SR-RAG).

use crate::error::ModelError;
use crate::prompt::Prompt;

/// A language model that was trained to choose between its own knowledge and corpora.
pub trait SourceChooser {
    /// The names of the corpora that it was trained to choose among, besides its own knowledge.
    fn corpora(&self) -> Vec<&str>;

    /// Whether it was trained to write down its knowledge and answer from that.
    fn verbalizes(&self) -> bool;

    /// The total probability of the corpora above which one of them is used. It was chosen on questions
    /// held out of training; `None` without such a choice.
    fn threshold(&self) -> Option<f64>;

    /// The source that the model would choose after each question, and its state there (SR-RAG, section
    /// 3.4). Text generated later for the same question continues from there.
    ///
    /// # Shapes
    /// Returns `[prompts]`.
    ///
    /// # Errors
    /// A layer that it does not have, a prompt that does not fit.
    fn choose_sources(
        &self,
        prompts: &[&Prompt],
        layer: usize,
    ) -> Result<Vec<SourceChoice>, ModelError>;
}

/// A model's view of a question before it has any knowledge.
#[derive(Debug, Clone, PartialEq)]
pub struct SourceChoice {
    /// The probability of each source, given that it is one of them: of the model itself, and of the
    /// corpora in their order. They add up to 1.
    pub probabilities: Vec<f64>,
    /// The residual stream after the requested layer, `[hidden]`.
    pub state: Vec<f32>,
}

/// The model was not trained to choose the source of its knowledge.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[error("the model was not trained to choose between what it knows and a corpus")]
#[diagnostic(remedy = "train it by <TrainSelfRoute>, and name it by <adapter> DIR")]
pub struct DoesNotChoose;
