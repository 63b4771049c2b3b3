//! Errors as Python sees them: `ken.KenError`, with a kind for programs and a remedy for people.

use std::error::Error;
use std::fmt::Display;

use ken::worded_action;
use ken_diagnostic::{Diagnostic, chain, said_once};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyType;

/// Where Python defines the exception.
const ERRORS: (&str, &str) = ("ken._errors", "KenError");

/// Why a call failed.
#[derive(Debug)]
pub(crate) struct Failure(Box<dyn Diagnostic + Send + Sync>);

impl<E: Diagnostic + Send + Sync + 'static> From<E> for Failure {
    fn from(cause: E) -> Self {
        Self(Box::new(cause))
    }
}

impl From<Failure> for PyErr {
    fn from(failure: Failure) -> Self {
        Python::attach(|py| raised(py, &*failure.0).unwrap_or_else(|error| error))
    }
}

/// Raises an error as `ken.KenError`.
///
/// # Errors
/// The package's own module cannot be imported.
pub(crate) fn raised(
    py: Python<'_>,
    error: &(dyn Diagnostic + Send + Sync + 'static),
) -> PyResult<PyErr> {
    static CLASS: PyOnceLock<Py<PyType>> = PyOnceLock::new();
    let class = CLASS.import(py, ERRORS.0, ERRORS.1)?;
    let message = said_once(chain(error as &dyn Error).map(ToString::to_string));
    let remedy = error.remedy();
    let remedy = remedy.map(|remedy| remedy.worded(worded_setting, worded_action));
    let exception = class.call1((message, error.kind(), remedy))?;
    Ok(PyErr::from_value(exception))
}

/// A setting as Python's keyword.
fn worded_setting(name: &str) -> String {
    match name {
        // The flag names one, the keyword all.
        "field" => "fields=".to_owned(),
        name => format!("{name}="),
    }
}

/// Errors that only a call from Python can cause.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub(crate) enum BindingError {
    #[error("this process was forked from one in which ken works, and has none of its threads")]
    #[diagnostic(
        kind = "forked",
        remedy = "start processes by spawn, multiprocessing.set_start_method(\"spawn\"), or fork before ken is used"
    )]
    Forked,
    #[error("ken computes with {now} threads in this process, and cannot change to {wanted}")]
    #[diagnostic(
        kind = "threads_set",
        remedy = "give <threads> where ken is used first"
    )]
    ThreadsSet { now: usize, wanted: usize },
    #[error("{name}={given}: {reason}")]
    #[diagnostic(kind = "bad_argument")]
    Argument {
        name: &'static str,
        given: String,
        reason: String,
    },
    #[error("stopped")]
    #[diagnostic(kind = "interrupted")]
    Stopped,
    #[error("what was found cannot be written as JSON: {0}")]
    #[diagnostic(kind = "failed")]
    Unwritable(serde_json::Error),
}

impl BindingError {
    /// An argument with a bad value.
    pub(crate) fn argument(
        name: &'static str,
        given: impl Display,
        reason: impl Into<String>,
    ) -> Failure {
        Self::Argument {
            name,
            given: given.to_string(),
            reason: reason.into(),
        }
        .into()
    }
}
