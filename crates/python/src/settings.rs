//! Settings from keywords: names and values are those of `ken.toml`.

use std::ffi::OsString;
use std::path::PathBuf;

use ken_setup::{Key, Settings, Setup, SetupError};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyString, PyTuple};

use crate::call::Caller;
use crate::error::Failure;
use crate::process;
use crate::progress::Progress;

/// The settings given by keywords, over those of variables and of the file `config`, or `ken.toml`.
///
/// # Errors
/// An unknown name; a value that cannot be taken.
pub(crate) fn resolved(
    keywords: &Bound<'_, PyDict>,
    config: Option<PathBuf>,
) -> PyResult<Settings> {
    let mut given = Vec::new();
    for (name, value) in keywords {
        let name: String = name.extract()?;
        let key = Key::named(&name).map_err(Failure::from)?;
        for value in values(&name, &value)? {
            given.push((key, value));
        }
    }
    let settings = Settings::resolve(config.as_deref(), given).map_err(Failure::from)?;
    if let Some(threads) = settings.threads {
        process::claim()?;
        process::set_threads(threads.get())?;
    }
    Ok(settings)
}

/// The value of a keyword as a person would write it, or its several values; empty for `None`.
fn values(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<OsString>> {
    if value.is_none() {
        return Ok(Vec::new());
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let items = value.try_iter()?.map(|item| values(name, &item?));
        return Ok(items.collect::<PyResult<Vec<_>>>()?.concat());
    }
    if value.is_instance_of::<PyString>() {
        return Ok(vec![value.str()?.extract()?]);
    }
    // By name and by protocol, since numbers of numpy are no instances of Python's own.
    if value.get_type().name()?.to_string().starts_with("bool") {
        return Ok(vec![value.is_truthy()?.to_string().into()]);
    }
    for number in ["__index__", "__float__"] {
        if let Ok(number) = value.call_method0(number) {
            return Ok(vec![number.str()?.extract()?]);
        }
    }
    match value.extract::<PathBuf>() {
        Ok(path) => Ok(vec![path.into()]),
        Err(_) => Err(PyTypeError::new_err(format!(
            "{name}= takes text, a number, True, False, a path or a list of these, not {}",
            value.get_type().name()?
        ))),
    }
}

/// Opens what settings name, and reports the fetching of models.
///
/// # Errors
/// Those of `open`.
pub(crate) fn opening<T>(
    settings: &Settings,
    caller: &Caller,
    progress: &Progress,
    open: impl FnOnce(Setup<'_>) -> Result<T, SetupError>,
) -> Result<T, Failure> {
    let watch = || -> ken_setup::FetchProgress {
        let mut progress = progress.clone();
        Box::new(move |step: ken_hub::Progress| {
            progress.tell(&step.label(), step.bytes_done, step.bytes_total);
        })
    };
    let withheld = |error: &SetupError| warn(caller, error.to_string());
    let setup = Setup {
        settings,
        stop: caller.stop(),
        watch: &watch,
        withheld: &withheld,
    };
    Ok(open(setup)?)
}

/// Logs a warning in Python.
pub(crate) fn warn(caller: &Caller, message: String) {
    caller.tell(move |py| {
        let logger = py.import("logging")?.call_method1("getLogger", ("ken",))?;
        logger.call_method1("warning", ("%s", message)).map(drop)
    });
}
