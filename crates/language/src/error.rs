//! Why a model did not answer, whatever kind of model it is and wherever it runs.

use std::error::Error;
use std::fmt;
use std::time::Duration;

use ken_diagnostic::Diagnostic;

/// A failure of a model: message, kind and remedy are those of the implementation's own error.
#[derive(Debug, Diagnostic)]
#[diagnostic(kind = cause.kind(), remedy = cause.remedy())]
pub struct ModelError {
    cause: Box<dyn Diagnostic + Send + Sync>,
    fault: Fault,
}

/// Where a failure lies, and so whether the same request is worth another attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fault {
    /// In the model, whatever it is given.
    #[default]
    Model,
    /// In this input: the model could still answer another prompt, or embed another text.
    Input,
    /// In this parameter of a request that another program wrote.
    Request(&'static str),
    /// A model server did not do its part. Its message tells where it is.
    Server(ServerFault),
}

/// How a model server failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerFault {
    /// The prompt does not fit into the context of its model.
    TooLong,
    /// It does not take a parameter, or its value.
    Refuses(String),
    /// It does not take a request that another program wrote, and says why.
    RefusesRequest {
        /// What it says.
        message: String,
        /// The parameter at fault, where it names one.
        param: Option<String>,
    },
    /// It limits how often it may be asked, and says for how long, where it does.
    Limits(Option<Duration>),
    /// It cannot answer now: it is loading, overloaded or gone.
    Unavailable(Option<Duration>),
    /// It failed, or what came back is broken. It may do better the next time.
    Failed,
    /// It took too long.
    Late,
    /// It will not answer requests like this, such as for want of a key.
    Denies,
}

impl ModelError {
    /// The model failed, whatever it is given.
    #[must_use]
    pub fn new(cause: impl Diagnostic + Send + Sync + 'static) -> Self {
        Self {
            cause: Box::new(cause),
            fault: Fault::Model,
        }
    }

    /// The same, where `concerns_input` says whether only this input is at fault.
    #[must_use]
    pub fn concerning_input(self, concerns_input: bool) -> Self {
        match concerns_input {
            true => self.by(Fault::Input),
            false => self,
        }
    }

    /// The same, with the fault where it is.
    #[must_use]
    pub fn by(self, fault: Fault) -> Self {
        Self { fault, ..self }
    }

    /// Where the failure lies.
    #[must_use]
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// Whether the model could still answer another prompt, or embed another text: it is this one
    /// that does not fit.
    #[must_use]
    pub fn concerns_input(&self) -> bool {
        matches!(
            self.fault,
            Fault::Input | Fault::Request(_) | Fault::Server(ServerFault::TooLong)
        )
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
