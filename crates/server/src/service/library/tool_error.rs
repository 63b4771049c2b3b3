//! Why something was not done that the server has others do.

use std::path::Path;

use ken_diagnostic::Diagnostic;

/// Why it was not done.
#[derive(Debug, Clone, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// For machines, in snake case.
    pub kind: &'static str,
    /// For people. It may name paths of the server.
    pub message: String,
}

impl ToolError {
    /// From an error of whoever does the work.
    #[must_use]
    pub fn of(error: &dyn Diagnostic) -> Self {
        Self {
            kind: error.kind(),
            message: error.to_string(),
        }
    }

    /// The same, without the path of a folder of the server.
    pub(crate) fn without(mut self, folder: &Path) -> Self {
        let folder = folder.display().to_string();
        self.message = self.message.replace(&format!("{folder}/"), "");
        self.message = self.message.replace(&folder, "the upload");
        self
    }
}
