//! What is served: the pipeline, the corpora, and how much of it at once.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ken_answer::{Pipeline, Policy, Rerank, Retriever, Signal};
use ken_corpus::Segmentation;
use ken_setup::{Settings, Setup, SetupError};

use super::corpora::{self, Corpora, Opened};
use super::gate::Gate;
use super::policies;
use crate::log::Log;
use crate::metrics::Metrics;

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
    /// Raised when all work is to end.
    pub(crate) halted: Arc<AtomicBool>,
    /// In seconds since 1970 (UTC).
    pub(crate) started: u64,
}

impl Served {
    /// Opens what the settings name: the model, the corpora, and whatever policies can decide by.
    ///
    /// # Errors
    /// A policy that cannot choose; models, corpora or files that cannot be used.
    pub fn open(setup: &Setup<'_>, log: Log) -> Result<Self, SetupError> {
        let settings = setup.settings;
        let policy = settings.policy;
        policy.check().map_err(ken_answer::AnswerError::from)?;
        let named = [
            settings.router.as_ref().map(|_| Signal::ROUTER),
            settings.kbm.as_ref().map(|_| Signal::MASTERY),
            settings.datastore.as_ref().map(|_| Signal::SELF_ROUTE),
        ];
        let mut policies = vec![policy];
        policies.extend(named.into_iter().flatten().map(Policy::measured));
        let addresses = corpora::addresses(settings);
        let needs_corpus = policy != Policy::Never || !addresses.is_empty();
        let mut pipeline = setup.pipeline_for(None, needs_corpus, &policies)?;
        pipeline.settings.style = settings.style(pipeline.model.as_ref());
        let first = pipeline.retriever().cloned();
        let first = addresses.first().zip(first);
        let first = first.map(|((name, _), retriever)| (name.clone(), retriever));
        let others = std::mem::take(&mut pipeline.extra_corpora);
        let opened = first.into_iter().chain(others);
        let opened = opened.map(|(name, retriever)| Opened { name, retriever });
        let reranking = SetReranking {
            by: settings.rerank.clone(),
            depth: settings.rerank_depth,
            chunk: settings.rerank_chunk,
        };
        let halted = Arc::clone(setup.stop);
        let served = Self::new(pipeline, opened.collect(), limits(settings), halted, log);
        Ok(Self {
            reranking,
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

/// The time, in seconds since 1970 (UTC).
pub(crate) fn unix_seconds() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    now.map_or(0, |since| since.as_secs())
}
