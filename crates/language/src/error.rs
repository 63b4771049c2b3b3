//! The errors of models of any kind.

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

/// The cause of a failure, which tells whether the same request is worth another attempt.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum Fault {
    /// In the model, for any input.
    #[default]
    Model,
    /// In this input: the model could still answer another prompt, or embed another text.
    Input,
    /// In this parameter of a request that another program wrote.
    Request(&'static str),
    /// A model server failed. The message names the server.
    Server(ServerFault),
}

/// How a model server failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ServerFault {
    /// The prompt does not fit into the context of its model.
    TooLong,
    /// It refuses a parameter, or its value.
    Refuses(String),
    /// It refuses a request that another program wrote, and says why.
    RefusesRequest {
        /// Its message.
        message: String,
        /// The parameter at fault, if it names one.
        param: Option<String>,
    },
    /// It limits the rate of requests; with the wait that it asks for, if any.
    Limits(Option<Duration>),
    /// It cannot answer now: it is loading, overloaded or gone.
    Unavailable(Option<Duration>),
    /// It failed, or sent a broken response. A retry may succeed.
    Failed,
    /// It took too long.
    Late,
    /// It refuses requests like this, such as for want of a key.
    Denies,
}

impl ModelError {
    /// A failure of the model for any input.
    pub fn new(cause: impl Diagnostic + Send + Sync + 'static) -> Self {
        Self {
            cause: Box::new(cause),
            fault: Fault::Model,
        }
    }

    /// A failure of which `concerns_input` says whether only this input is at fault.
    #[must_use]
    pub fn concerning_input(self, concerns_input: bool) -> Self {
        match concerns_input {
            true => self.by(Fault::Input),
            false => self,
        }
    }

    /// A failure with the given fault.
    #[must_use]
    pub fn by(self, fault: Fault) -> Self {
        Self { fault, ..self }
    }

    /// The cause of the failure.
    pub fn fault(&self) -> &Fault {
        &self.fault
    }

    /// Whether only this input is at fault, so that the model could still answer another prompt, or embed another
    /// text.
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
