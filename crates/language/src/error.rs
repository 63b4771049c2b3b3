//! Why a model did not answer, whatever kind of model it is and wherever it runs.

use std::error::Error;
use std::fmt;

use ken_diagnostic::Diagnostic;

/// A failure of a model: message, kind and remedy are those of the implementation's own error.
#[derive(Debug, Diagnostic)]
#[diagnostic(kind = cause.kind(), remedy = cause.remedy())]
pub struct ModelError {
    cause: Box<dyn Diagnostic + Send + Sync>,
    concerns_input: bool,
}

impl ModelError {
    /// The model failed, whatever it is given.
    #[must_use]
    pub fn new(cause: impl Diagnostic + Send + Sync + 'static) -> Self {
        Self {
            cause: Box::new(cause),
            concerns_input: false,
        }
    }

    /// The same, where `concerns_input` says whether only this input is at fault.
    #[must_use]
    pub fn concerning_input(self, concerns_input: bool) -> Self {
        Self {
            concerns_input,
            ..self
        }
    }

    /// Whether the model could still answer another prompt, or embed another text: it is this one
    /// that does not fit.
    #[must_use]
    pub fn concerns_input(&self) -> bool {
        self.concerns_input
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.cause.fmt(formatter)
    }
}

impl Error for ModelError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.cause.source()
    }
}
