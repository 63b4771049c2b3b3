//! Documents from Python: files by their paths, and records by an iterator.

use std::path::PathBuf;
use std::sync::Arc;

use ken_corpus::FieldName;
use ken_documents::{
    Budget, Documents, Format, HtmlPart, ReadError, ReadOptions, read_documents_with, read_records,
};
use ken_setup::Settings;
use pyo3::prelude::*;

use crate::call::Caller;
use crate::error::{BindingError, Failure};

/// How documents are read.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(crate) struct Reading {
    format: Option<String>,
    encoding: Option<String>,
    fields: Vec<String>,
    html: Option<String>,
    base_url: Option<String>,
    follow_links: bool,
    exclude: Vec<String>,
}

impl Reading {
    fn options(&self, settings: &Settings, caller: &Caller) -> Result<ReadOptions, Failure> {
        let fields = self.fields.iter();
        let fields = fields.map(|field| parsed::<FieldName>("fields", field));
        Ok(ReadOptions {
            format: given::<Format>("format", self.format.as_ref())?,
            follow_links: self.follow_links,
            exclude: self.exclude.clone(),
            encoding: given("encoding", self.encoding.as_ref())?,
            fields: fields.collect::<Result<_, _>>()?,
            html: given::<HtmlPart>("html", self.html.as_ref())?.unwrap_or_default(),
            base_url: given("base_url", self.base_url.as_ref())?,
            budget: Budget {
                document_bytes: settings.max_document_bytes.0,
            },
            stop: Arc::clone(caller.stop()),
            ..ReadOptions::default()
        })
    }
}

/// Where documents come from.
pub(crate) enum Source {
    /// Files and folders.
    Paths(Vec<PathBuf>),
    /// An iterator of records, each as JSON.
    Records(Py<PyAny>),
}

impl Source {
    /// The documents.
    ///
    /// # Errors
    /// An option with a bad value; a path that does not exist.
    pub(crate) fn documents(
        &self,
        reading: &Reading,
        settings: &Settings,
        caller: &Caller,
    ) -> Result<Documents, Failure> {
        let options = reading.options(settings, caller)?;
        Ok(match self {
            Self::Paths(paths) => read_documents_with(paths, options)?,
            Self::Records(iterator) => {
                let iterator = Python::attach(|py| iterator.clone_ref(py));
                read_records(records(iterator, caller.clone()), options)
            }
        })
    }

    /// The paths; none for records.
    pub(crate) fn paths(&self) -> &[PathBuf] {
        match self {
            Self::Paths(paths) => paths,
            Self::Records(_) => &[],
        }
    }
}

/// The records of an iterator, which runs on the calling thread: it may be bound to that thread, as a database's
/// cursor is. They end at an exception, which the call raises.
fn records(iterator: Py<PyAny>, caller: Caller) -> impl Iterator<Item = String> + Send {
    let iterator = Arc::new(iterator);
    std::iter::from_fn(move || {
        let iterator = Arc::clone(&iterator);
        caller.ask(move |py| {
            let mut iterator = iterator.bind(py).try_iter()?;
            iterator.next().map(|record| record?.extract()).transpose()
        })?
    })
}

/// Parses the text of an option.
pub(crate) fn parsed<T: std::str::FromStr<Err: ToString>>(
    name: &'static str,
    text: &str,
) -> Result<T, Failure> {
    text.parse()
        .map_err(|reason: T::Err| BindingError::argument(name, text, reason.to_string()))
}

/// Parses the text of an option that may be absent.
pub(crate) fn given<T: std::str::FromStr<Err: ToString>>(
    name: &'static str,
    text: Option<&String>,
) -> Result<Option<T>, Failure> {
    text.map(|text| parsed(name, text)).transpose()
}

/// Warns about a document that is left out.
pub(crate) fn warn_of(caller: &Caller) -> impl Fn(&ReadError) + Sync {
    let caller = caller.clone();
    move |error| crate::settings::warn(&caller, format!("skipped: {error}"))
}
