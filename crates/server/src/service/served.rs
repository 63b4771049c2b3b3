//! What is served: the pipeline, the corpora, and how much of it at once.

use std::collections::BTreeMap;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum::http::StatusCode;
use ken_answer::{Pipeline, Policy, Rerank, Retriever, Signal};
use ken_corpus::Segmentation;
use ken_route::{Guarantee, GuaranteeFileError};
use ken_setup::{Settings, Setup, SetupError};

use super::clock::unix_seconds;
use super::corpora::{self, Corpora, Opened};
use super::data_folder::{DataFolder, DataFolderError};
use super::evals::Evals;
use super::gate::Gate;
use super::library::intake::Intake;
use super::library::{self, Library};
use super::policies;
use super::record::RecordError;
use super::traces::Traces;
use super::watch::{NotGuaranteed, Now, Standing, Watch};
use crate::log::{Entry, Log};
use crate::metrics::Metrics;
use crate::wire::ken::CorpusState;
use crate::wire::refusal::Refusal;

/// How much is done at once, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Questions that are answered at once.
    pub parallel: usize,
    /// Requests that may wait for that.
    pub queue: usize,
    /// How long a request may take, waiting included.
    pub deadline: Duration,
}

/// Why nothing can be served.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the variants are named by what failed")]
pub enum OpenError {
    #[error(transparent)]
    Setup(#[from] SetupError),
    #[error(transparent)]
    Data(#[from] DataFolderError),
    #[error(transparent)]
    Record(#[from] RecordError),
    #[error(transparent)]
    Guarantee(#[from] GuaranteeFileError),
    #[error(transparent)]
    NotGuaranteed(#[from] NotGuaranteed),
}

/// The reranking of the settings.
#[derive(Debug, Clone)]
pub(crate) struct SetReranking {
    pub(crate) by: Rerank,
    pub(crate) depth: usize,
    pub(crate) chunk: Segmentation,
}

/// Passages to be reranked where no settings say how many.
const DEPTH: usize = 10;

/// The file of what was found of a guarantee, in the folder of the server.
const WATCHED: &str = "watch.json";

/// The folder of traces in that.
const TRACES: &str = "traces";

/// The folder of questions to evaluate on in that.
const EVALS: &str = "evals";

/// All that requests share.
pub struct Served {
    pub(crate) pipeline: Pipeline,
    pub(crate) corpora: Corpora,
    pub(crate) reranking: SetReranking,
    pub(crate) limits: Limits,
    /// For what a language model answers.
    pub(crate) answers: Gate,
    /// For searches and embeddings.
    pub(crate) searches: Gate,
    pub(crate) metrics: Metrics,
    pub(crate) log: Log,
    /// What clients put in, where they may.
    pub(crate) library: Option<Library>,
    /// The guarantee of the policy, where there is one.
    pub(crate) watch: Option<Watch>,
    /// How the last questions were answered.
    pub(crate) traces: Traces,
    /// Questions to evaluate on.
    pub(crate) evals: Evals,
    /// The folder of what is kept, while it is this server's.
    data: Option<DataFolder>,
    /// Raised when all work is to end.
    pub(crate) halted: Arc<AtomicBool>,
    /// In seconds since 1970 (UTC).
    pub(crate) started: u64,
}

impl Served {
    /// Opens what the settings name: the model, the corpora, and whatever policies can decide by; with a
    /// folder for what clients put in, the corpora in that, too. `intake` reads documents; without one,
    /// nothing is put into the folder, which may be another server's.
    ///
    /// # Errors
    /// A policy that cannot choose; models, corpora or files that cannot be used; a folder that another
    /// server has.
    pub fn open(
        setup: &Setup<'_>,
        intake: Option<Arc<dyn Intake>>,
        log: Log,
    ) -> Result<Self, OpenError> {
        let settings = setup.settings;
        let policy = settings.policy;
        let policy_is_usable = policy.check().map_err(ken_answer::AnswerError::from);
        policy_is_usable.map_err(SetupError::from)?;
        let named = [
            settings.router.as_ref().map(|_| Signal::ROUTER),
            settings.kbm.as_ref().map(|_| Signal::MASTERY),
            settings.datastore.as_ref().map(|_| Signal::SELF_ROUTE),
        ];
        let mut policies = vec![policy];
        policies.extend(named.into_iter().flatten().map(Policy::measured));
        let addresses = corpora::addresses(settings);
        let may_come_later = policy == Policy::Never || settings.server_data.is_some();
        let needs_corpus = !may_come_later || !addresses.is_empty();
        let mut pipeline = setup.pipeline_for(None, needs_corpus, &policies)?;
        pipeline.settings.style = settings.style(pipeline.model.as_ref());
        let first = pipeline.retriever().cloned();
        let first = addresses.first().zip(first);
        let first = first.map(|((name, _), retriever)| (name.clone(), retriever));
        let others = std::mem::take(&mut pipeline.extra_corpora);
        let opened = first.into_iter().chain(others);
        let opened = opened.map(|(name, retriever)| {
            let address = addresses.iter().find(|(own, _)| *own == name);
            Opened {
                address: address.map(|(_, address)| address.clone()),
                name,
                retriever,
            }
        });
        let mut opened: Vec<Opened> = opened.collect();
        let data = match (&settings.server_data, &intake) {
            (Some(folder), Some(_)) => Some(DataFolder::take(folder)?),
            _ => None,
        };
        let library = match &settings.server_data {
            None => None,
            Some(folder) => {
                let (embedder, reference) = match opened.first() {
                    Some(first) => (
                        first.retriever.clone().into_embedder(),
                        first.retriever.back_end().embedder().reference.clone(),
                    ),
                    None => (
                        Arc::from(setup.embedder(&settings.embedder)?),
                        setup.embedder_name()?,
                    ),
                };
                for (name, address) in library::made(folder, &opened)? {
                    let retriever =
                        setup.retriever_by(&address, Arc::clone(&embedder), &pipeline.model)?;
                    opened.push(Opened {
                        name,
                        retriever,
                        address: Some(address),
                    });
                }
                let open = |intake| Library::open(folder, intake, embedder, reference);
                intake.map(open).transpose()?
            }
        };
        let guarantee = match &settings.calibration {
            None => None,
            Some(path) => Some((Guarantee::read(path)?, watch_share(settings)?)),
        };
        let reranking = SetReranking {
            by: settings.rerank.clone(),
            depth: settings.rerank_depth,
            chunk: settings.rerank_chunk,
        };
        let halted = Arc::clone(setup.stop);
        let served = Self::new(pipeline, opened, limits(settings), halted, log);
        let folder = data.as_ref().map(DataFolder::path);
        let served = served.keeping(settings.keep_questions, folder)?;
        let served = Self {
            reranking,
            library,
            data,
            ..served
        };
        let Some((guarantee, share)) = guarantee else {
            return Ok(served);
        };
        let drawn = (share, settings.seed);
        let folder = settings.server_data.as_ref();
        let file = folder.map(|folder| folder.join(WATCHED));
        if served.data.is_some() {
            return Ok(served.with_guarantee(guarantee, drawn, file)?);
        }
        let watch = served.watch_of(guarantee, drawn, file)?;
        Ok(Self {
            watch: Some(watch.keeping_nothing()),
            ..served
        })
    }

    /// What was opened already. Raising `halted` ends all work.
    #[must_use]
    pub fn new(
        pipeline: Pipeline,
        corpora: Vec<Opened>,
        limits: Limits,
        halted: Arc<AtomicBool>,
        log: Log,
    ) -> Self {
        let metrics = Metrics::new();
        for corpus in &corpora {
            metrics.corpus(&corpus.state());
        }
        Self {
            pipeline,
            corpora: Corpora::new(corpora),
            reranking: SetReranking {
                by: Rerank::None,
                depth: DEPTH,
                chunk: Segmentation::Whole,
            },
            limits,
            answers: Gate::new(limits.parallel, limits.queue),
            searches: Gate::new(limits.parallel, limits.queue),
            metrics,
            log,
            library: None,
            watch: None,
            traces: Traces::in_memory(false),
            evals: Evals::in_memory(),
            data: None,
            halted,
            started: unix_seconds(),
        }
    }

    /// What clients may name as model: the policies that can choose here, and the embedder.
    #[must_use]
    pub fn models(&self) -> Vec<String> {
        let has_corpus = !self.corpora.all().is_empty();
        let policies = policies::listed(&self.pipeline, has_corpus);
        let names = policies.into_iter().map(policies::name_of);
        let embedder = has_corpus.then(|| policies::EMBEDDER.to_owned());
        names.chain(embedder).collect()
    }

    /// The same, with what clients put in.
    #[must_use]
    pub fn with_library(self, library: Library) -> Self {
        Self {
            library: Some(library),
            ..self
        }
    }

    /// The same, with traces and questions to evaluate on that are kept in a folder, where there is one, and
    /// that a later server goes on from; with the texts of questions and answers or without.
    ///
    /// # Errors
    /// A folder that cannot be read or written.
    pub fn keeping(self, texts: bool, folder: Option<&Path>) -> Result<Self, RecordError> {
        let Some(folder) = folder else {
            let traces = Traces::in_memory(texts);
            return Ok(Self { traces, ..self });
        };
        let (traces, unreadable) = Traces::open(folder.join(TRACES), texts)?;
        if unreadable > 0 {
            (self.log)(&Entry::Stale {
                what: TRACES.to_owned(),
                detail: format!("{unreadable} lines cannot be read, and are left out"),
            });
        }
        Ok(Self {
            traces,
            evals: Evals::open(folder.join(EVALS))?,
            ..self
        })
    }

    /// Tells of what could not be written to the folder.
    pub(crate) fn kept<E: Display>(&self, what: &'static str, written: Result<(), E>) {
        if let Err(error) = written {
            self.metrics.unwritten(what);
            (self.log)(&Entry::Unwritten {
                what,
                detail: error.to_string(),
            });
        }
    }

    /// The same, with a guarantee of its policy that is watched on a share of the questions, drawn by a
    /// seed. What is found is kept in a file, where there is one, that a later server goes on from.
    ///
    /// # Errors
    /// A guarantee of something else than is served.
    pub fn with_guarantee(
        self,
        guarantee: Guarantee,
        (share, seed): (f64, u64),
        file: Option<PathBuf>,
    ) -> Result<Self, NotGuaranteed> {
        let watch = self.watch_of(guarantee, (share, seed), file)?;
        self.kept("watch", watch.write());
        Ok(Self {
            watch: Some(watch),
            ..self
        })
    }

    fn watch_of(
        &self,
        guarantee: Guarantee,
        (share, seed): (f64, u64),
        file: Option<PathBuf>,
    ) -> Result<Watch, NotGuaranteed> {
        let corpus = self.first_fingerprint();
        let now = Now {
            policy: self.pipeline.settings.policy,
            samples: self.pipeline.settings.samples,
            model: self.pipeline.model.fingerprint(),
            corpus: corpus.as_deref(),
        };
        Watch::new(guarantee, now, (share, seed), file)
    }

    /// The policy of the settings; in the place of one whose guarantee does not hold, `always`.
    pub(crate) fn policy_in_force(&self) -> Policy {
        let set = self.pipeline.settings.policy;
        match &self.watch {
            Some(watch) if watch.has_lapsed() => Policy::Always,
            _ => set,
        }
    }

    /// How a guarantee stands, over the corpus that is searched where none is named.
    pub(crate) fn standing(&self, watch: &Watch) -> Standing {
        watch.standing(self.first_fingerprint().as_deref())
    }

    /// The fingerprint of the corpus that is searched where none is named.
    fn first_fingerprint(&self) -> Option<String> {
        let corpora = self.corpora.all();
        let first = corpora.first();
        first.map(|corpus| corpus.retriever.back_end().fingerprint())
    }

    /// Makes sure that texts of questions are kept.
    ///
    /// # Errors
    /// A server that keeps none.
    pub(crate) fn keeps_texts(&self) -> Result<(), Refusal> {
        match self.traces.keeps_texts {
            true => Ok(()),
            false => {
                let message = "this server keeps no questions: its settings do not say so";
                Err(Refusal::new(StatusCode::FORBIDDEN, "not_kept", message))
            }
        }
    }

    /// What clients put in.
    ///
    /// # Errors
    /// A server that keeps nothing.
    pub(crate) fn library(&self) -> Result<&Library, Refusal> {
        self.library.as_ref().ok_or_else(|| {
            let message = "this server takes nothing in: it was started without a folder for that";
            Refusal::new(StatusCode::FORBIDDEN, "read_only", message)
        })
    }

    /// Tells of a new generation.
    pub(crate) fn renewed(&self, state: CorpusState) {
        self.metrics.corpus(&state);
        (self.log)(&Entry::Corpus {
            name: state.name,
            generation: state.generation,
        });
    }

    /// The corpora as they are now; the first is the one where none is named.
    #[must_use]
    pub fn corpora(&self) -> Vec<Arc<Opened>> {
        self.corpora.all()
    }

    /// The corpora beside the first that a model may choose among and a caller may read.
    pub(crate) fn extra_corpora(
        &self,
        may_read: impl Fn(&str) -> bool,
    ) -> BTreeMap<String, Retriever> {
        let all = self.corpora.all().into_iter().skip(1);
        let readable = all.filter(|corpus| may_read(&corpus.name));
        readable
            .map(|corpus| (corpus.name.clone(), corpus.retriever.clone()))
            .collect()
    }
}

/// The share of questions on which a guarantee is watched.
fn watch_share(settings: &Settings) -> Result<f64, SetupError> {
    match settings.watch_share {
        share if (0.0..=1.0).contains(&share) => Ok(share),
        share => Err(SetupError::BadValue {
            given: format!("`watch_share` = {share}"),
            reason: "it must be a number from 0 to 1".to_owned(),
        }),
    }
}

fn limits(settings: &Settings) -> Limits {
    Limits {
        parallel: settings.parallel.get(),
        queue: settings.queue,
        deadline: Duration::from_secs(u64::from(settings.deadline.get())),
    }
}
