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
    /// What would help, for people; `None` if that takes settings or commands.
    pub hint: Option<String>,
}

impl ToolError {
    /// From an error of whoever does the work.
    #[must_use]
    pub fn of(error: &dyn Diagnostic) -> Self {
        Self {
            kind: error.kind(),
            message: error.to_string(),
            hint: error.remedy().and_then(|remedy| remedy.plain()),
        }
    }

    /// The same, without the path of a folder of the server.
    pub(crate) fn without(mut self, folder: &Path) -> Self {
        let folder = folder.display().to_string();
        for text in std::iter::once(&mut self.message).chain(&mut self.hint) {
            *text = text
                .replace(&format!("{folder}/"), "")
                .replace(&folder, "the upload");
        }
        self
    }
}
