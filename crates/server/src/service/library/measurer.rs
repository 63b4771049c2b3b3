//! What measures policies on questions. The server evaluates nothing itself: it is given something that does.

use std::path::Path;
use std::sync::atomic::AtomicBool;

use ken_answer::{Pipeline, Policy};
use ken_setup::Settings;

use super::tool_error::ToolError;

/// Compares policies, and chooses among them.
pub trait Measurer: Send + Sync {
    /// Reads a file of questions, and makes sure that they serve the purpose.
    ///
    /// # Errors
    /// A file that is none of questions, or of too few; settings of the pipeline that do not go with the purpose.
    fn check(
        &self,
        questions: &Path,
        purpose: &Purpose,
        pipeline: &Pipeline,
    ) -> Result<(), ToolError>;

    /// Measures, question by question, and writes the report into the folder of the work, where a later call goes on.
    /// `progress` is called before and after each question. Returns the policy that is chosen, where one is to be; it is
    /// kept in the folder, too, as `Chosen::keep` does it.
    ///
    /// # Errors
    /// As [`Measurer::check`]; a model that fails, a folder that cannot be written; `stop`.
    fn measure(
        &self,
        work: Measurement<'_>,
        progress: &mut dyn FnMut(Measured),
        stop: &AtomicBool,
    ) -> Result<Option<Policy>, ToolError>;
}

/// What is asked of questions.
#[derive(Debug, Clone, PartialEq)]
pub enum Purpose {
    /// Which policy is the right one.
    Tune,
    /// What each of these answers, and at which cost.
    Compare(Vec<Policy>),
}

/// What is measured, and where it is kept.
pub struct Measurement<'a> {
    /// The file of questions.
    pub questions: &'a Path,
    /// What the questions are called.
    pub name: &'a str,
    /// What is asked of them.
    pub purpose: &'a Purpose,
    /// What answers people, over the corpus.
    pub pipeline: Pipeline,
    /// The folder of answers and reports.
    pub folder: &'a Path,
    /// The settings of what is served.
    pub settings: &'a Settings,
}

/// How far questions are measured.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Measured {
    /// Questions that are done. Each counts as often as it is taken up: without evidence, with it, for signals.
    pub done: usize,
    /// All of them.
    pub total: usize,
}
