//! What is served: the pipeline, the corpora, and how much of it at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use axum::http::StatusCode;
use ken_answer::{Pipeline, Policy, Rerank, Retriever, Signal};
use ken_corpus::Segmentation;
use ken_setup::{Settings, Setup, SetupError};

use super::clock::unix_seconds;
use super::corpora::{self, Corpora, Opened};
use super::gate::Gate;
use super::library::intake::Intake;
use super::library::{Library, RecordError};
use super::policies;
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
#[error(transparent)]
#[allow(missing_docs, reason = "the variants are named by what failed")]
pub enum OpenError {
    Setup(#[from] SetupError),
    Library(#[from] RecordError),
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
    /// Raised when all work is to end.
    pub(crate) halted: Arc<AtomicBool>,
    /// In seconds since 1970 (UTC).
    pub(crate) started: u64,
}

impl Served {
    /// Opens what the settings name: the model, the corpora, and whatever policies can decide by; with a
    /// folder for what clients put in, the corpora in that, too. `intake` reads documents.
    ///
    /// # Errors
    /// A policy that cannot choose; models, corpora or files that cannot be used.
    pub fn open(setup: &Setup<'_>, intake: Arc<dyn Intake>, log: Log) -> Result<Self, OpenError> {
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
                let library = Library::open(folder, intake, Arc::clone(&embedder), reference)?;
                for (name, address) in library.made(&opened)? {
                    let retriever =
                        setup.retriever_by(&address, Arc::clone(&embedder), &pipeline.model)?;
                    opened.push(Opened {
                        name,
                        retriever,
                        address: Some(address),
                    });
                }
                Some(library)
            }
        };
        let reranking = SetReranking {
            by: settings.rerank.clone(),
            depth: settings.rerank_depth,
            chunk: settings.rerank_chunk,
        };
        let halted = Arc::clone(setup.stop);
        let served = Self::new(pipeline, opened, limits(settings), halted, log);
        Ok(Self {
            reranking,
            library,
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

fn limits(settings: &Settings) -> Limits {
    Limits {
        parallel: settings.parallel.get(),
        queue: settings.queue,
        deadline: Duration::from_secs(u64::from(settings.deadline.get())),
    }
}
