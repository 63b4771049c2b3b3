//! The extension of the Python package: the models, corpora and pipelines of the other crates, and the program `ken`.
//! It returns JSON or bytes, of which `python/ken` makes classes; it has no logic of its own.

#![allow(
    clippy::needless_pass_by_value,
    reason = "what Python gives is converted into values"
)]

mod call;
mod corpus;
mod documents;
mod error;
mod model;
mod pipeline;
mod process;
mod progress;
mod settings;

/// The extension.
#[pyo3::pymodule]
mod _ken {
    use std::ffi::OsString;

    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::call::Stop;
    #[pymodule_export]
    use crate::corpus::Corpus;
    #[pymodule_export]
    use crate::model::{Embedder, Model};
    #[pymodule_export]
    use crate::pipeline::Pipeline;

    /// The version of ken.
    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Runs the program `ken` with its arguments, the first of which is its name, and returns its exit code.
    #[pyfunction]
    fn main(py: Python<'_>, arguments: Vec<OsString>) -> u8 {
        py.detach(|| ken::main_with(&arguments))
    }
}
