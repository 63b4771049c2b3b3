//! A corpus: ingesting, searching, and looking into it. It caches what it has opened and holds no other state.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use ken_answer::{Retriever, SearchResult};
use ken_corpus::{Active, Corpus as Stored, CorpusInfo, Filter, Sharding, Writer, history};
use ken_index::{DenseLayout, Mode};
use ken_ingest::{Ingest, Report, ingest};
use ken_lab::pruning::StoredVectors;
use ken_setup::{CorpusAddress, Settings};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};
use serde::Serialize;

use crate::call::{Caller, Stop, run};
use crate::documents::{Reading, Source, given, parsed, warn_of};
use crate::error::{BindingError, Failure};
use crate::model::little_endian;
use crate::process::Kept;
use crate::progress::Progress;
use crate::settings::{opening, resolved};

/// How many search results, if the settings do not say.
const RESULTS: usize = 10;

/// The open parts of a corpus, at one generation.
#[derive(Default)]
struct Open {
    retriever: Option<Kept<Retriever>>,
    stored: Option<Arc<Stored>>,
}

/// A corpus.
#[pyclass(frozen, module = "ken._ken")]
pub(crate) struct Corpus {
    settings: Settings,
    open: Mutex<Open>,
}

impl Corpus {
    /// The retriever over the corpus, opened on first use.
    pub(crate) fn retriever(
        &self,
        caller: &Caller,
        progress: &Progress,
    ) -> Result<Retriever, Failure> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(retriever) = &open.retriever {
            return Ok((**retriever).clone());
        }
        let retriever = opening(&self.settings, caller, progress, |setup| setup.retriever())?;
        open.retriever = Some(Kept::new(retriever.clone()));
        Ok(retriever)
    }

    /// The corpus's passages and documents, opened on first use.
    fn stored(&self) -> Result<Arc<Stored>, Failure> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(stored) = &open.stored {
            return Ok(Arc::clone(stored));
        }
        let stored = Arc::new(Stored::open_shards(
            self.settings.folder()?,
            self.settings.active,
        )?);
        open.stored = Some(Arc::clone(&stored));
        Ok(stored)
    }

    /// Switches to the current generation.
    fn renew(&self, caller: &Caller) -> Result<(), Failure> {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.stored = None;
        if let Some(retriever) = &open.retriever {
            let address = self.settings.corpus()?;
            let renewed = opening(
                &self.settings,
                caller,
                &Progress::new(caller, None),
                |setup| setup.renewed(retriever, address),
            )?;
            if let Some(renewed) = renewed {
                open.retriever = Some(Kept::new(renewed));
            }
        }
        Ok(())
    }

    /// The corpus's counts.
    fn counts(&self, caller: &Caller) -> Result<CorpusInfo, Failure> {
        let progress = Progress::new(caller, None);
        match self.settings.corpus()? {
            CorpusAddress::Milvus(address) => {
                let collection = opening(&self.settings, caller, &progress, |setup| {
                    setup.collection(address, Active::All)
                })?;
                Ok(collection.info().clone())
            }
            _ => Ok(CorpusInfo::read(self.settings.folder()?)?),
        }
    }
}

/// How documents become passages.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Taking {
    dense: Option<String>,
    shards: Option<u32>,
    shard_seed: u64,
    only_shard: Option<u32>,
    sync: bool,
    skip_broken: bool,
}

#[pymethods]
impl Corpus {
    #[new]
    #[pyo3(signature = (settings, config=None))]
    fn new(settings: &Bound<'_, PyDict>, config: Option<PathBuf>) -> PyResult<Self> {
        Ok(Self {
            settings: resolved(settings, config)?,
            open: Mutex::default(),
        })
    }

    /// The corpus's address.
    #[getter]
    fn address(&self) -> PyResult<String> {
        Ok(self.settings.corpus().map_err(Failure::from)?.to_string())
    }

    /// Whether the corpus exists.
    fn exists(&self) -> PyResult<bool> {
        let address = self.settings.corpus().map_err(Failure::from)?;
        Ok(match address {
            CorpusAddress::Folder(path) => Stored::exists(path),
            CorpusAddress::Milvus(_) | CorpusAddress::Service(_) => true,
        })
    }

    /// The corpus's counts, as JSON.
    fn info(&self, py: Python<'_>) -> PyResult<String> {
        run(py, None, |caller| json(&self.counts(caller)?))
    }

    /// Switches to the current generation, which another process may have published.
    fn refresh(&self, py: Python<'_>) -> PyResult<()> {
        run(py, None, |caller| self.renew(caller))
    }

    /// Ingests the documents of files, or records; returns the report as JSON.
    #[pyo3(signature = (paths, records, reading, taking, progress=None, stop=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "each is one of Python's keywords"
    )]
    fn ingest(
        &self,
        py: Python<'_>,
        paths: Vec<PathBuf>,
        records: Option<Py<PyAny>>,
        reading: Reading,
        taking: Taking,
        progress: Option<Py<PyAny>>,
        stop: Option<&Stop>,
    ) -> PyResult<String> {
        let source = records.map_or(Source::Paths(paths), Source::Records);
        run(py, stop, |caller| {
            let progress = Progress::new(caller, progress);
            let report = self.take(&source, &reading, &taking, caller, progress)?;
            self.renew(caller)?;
            json(&report)
        })
    }

    /// The search results of queries, as JSON: `[queries][results]`.
    #[pyo3(signature = (queries, k, mode, filters, progress=None, stop=None))]
    #[allow(
        clippy::too_many_arguments,
        reason = "each is one of Python's keywords"
    )]
    fn search(
        &self,
        py: Python<'_>,
        queries: Vec<String>,
        k: Option<usize>,
        mode: Option<String>,
        filters: Vec<String>,
        progress: Option<Py<PyAny>>,
        stop: Option<&Stop>,
    ) -> PyResult<String> {
        let mode = given::<Mode>("mode", mode.as_ref())?.unwrap_or(self.settings.mode);
        let filters = filters
            .iter()
            .map(|filter| parsed::<Filter>("filter", filter));
        let mut filters: Vec<Filter> = filters.collect::<Result<_, _>>()?;
        let k = k.unwrap_or_else(|| self.settings.k(RESULTS));
        run(py, stop, |caller| {
            let progress = Progress::new(caller, progress);
            let mut retriever = self.retriever(caller, &progress)?;
            if !filters.is_empty() {
                filters.extend(self.settings.filters.iter().cloned());
                retriever = retriever.within(&filters)?;
            }
            let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
            let bound = retriever.bound(&caller.token());
            let results: Vec<Vec<SearchResult>> = bound.search_many(&queries, mode, k)?;
            json(&results)
        })
    }

    /// The next documents after the given one, as JSON.
    fn documents(&self, py: Python<'_>, after: Option<String>, limit: usize) -> PyResult<String> {
        run(py, None, |_| {
            let stored = self.stored()?;
            let listed = stored.documents(after.as_deref(), false).take(limit);
            json(&listed.collect::<Result<Vec<_>, _>>()?)
        })
    }

    /// Deletes documents; returns the counts as JSON.
    fn delete(&self, py: Python<'_>, ids: Vec<String>) -> PyResult<String> {
        run(py, None, |caller| {
            Writer::open(self.settings.folder()?)?.delete(&ids)?;
            self.renew(caller)?;
            json(&self.counts(caller)?)
        })
    }

    /// The generations that are kept, as JSON.
    fn history(&self, py: Python<'_>) -> PyResult<String> {
        run(py, None, |_| json(&history(self.settings.folder()?)?))
    }

    /// Makes an earlier generation current; returns the counts as JSON.
    fn rollback(&self, py: Python<'_>, generation: u64) -> PyResult<String> {
        run(py, None, |caller| {
            Writer::rollback(self.settings.folder()?, generation)?;
            self.renew(caller)?;
            json(&self.counts(caller)?)
        })
    }

    /// The ids of all live passages, and their vectors as little-endian 32-bit floats: `[passages][dimensions]`.
    #[pyo3(signature = (stop=None))]
    fn vectors<'py>(
        &self,
        py: Python<'py>,
        stop: Option<&Stop>,
    ) -> PyResult<(Vec<String>, Bound<'py, PyBytes>, usize)> {
        let (ids, bytes, dimensions) = run(py, stop, |caller| {
            let stored = self.stored()?;
            let vectors = StoredVectors::open(&stored)?;
            let (mut ids, mut bytes) = (Vec::new(), Vec::new());
            for (number, segment) in stored.segments().iter().enumerate() {
                for ordinal in segment.live().ones() {
                    caller.token().check()?;
                    ids.push(segment.passage(ordinal)?.id.0);
                    bytes.extend(little_endian(vectors.row(number, ordinal)?.iter()));
                }
            }
            Ok((ids, bytes, stored.embedder().dimensions))
        })?;
        Ok((ids, PyBytes::new(py, &bytes), dimensions))
    }
}

impl Corpus {
    /// Ingests documents.
    fn take(
        &self,
        source: &Source,
        reading: &Reading,
        taking: &Taking,
        caller: &Caller,
        mut progress: Progress,
    ) -> Result<Report, Failure> {
        let settings = &self.settings;
        let corpus = settings.folder()?;
        // A wrong path fails before a model is fetched.
        let documents = source.documents(reading, settings, caller)?;
        let (embedder, reference) = opening(settings, caller, &progress, |setup| {
            let embedder = setup.embedder(&settings.embedder)?;
            Ok((embedder, setup.embedder_name()?))
        })?;
        let on_broken = warn_of(caller);
        let work = Ingest {
            documents,
            corpus,
            cut: settings.segment,
            embedder: embedder.as_ref(),
            embedder_reference: &reference,
            sharding: taking.shards.map(|count| Sharding {
                count,
                seed: taking.shard_seed,
            }),
            dense: given::<DenseLayout>("dense", taking.dense.as_ref())?,
            only_shard: taking.only_shard,
            sync: if taking.sync { source.paths() } else { &[] },
            on_broken: taking.skip_broken.then_some(&on_broken),
        };
        let mut tell = |step: ken_ingest::Progress| match step.read.bytes_total {
            Some(total) => progress.tell("ingesting", step.read.bytes_read, Some(total)),
            None => progress.tell("ingesting", step.documents as u64, None),
        };
        let report = ingest(work, &mut tell, caller.stop())?;
        match report.interrupted {
            true => Err(BindingError::Stopped.into()),
            false => Ok(report),
        }
    }
}

/// A value as JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<String, Failure> {
    serde_json::to_string(value).map_err(|error| BindingError::Unwritable(error).into())
}
