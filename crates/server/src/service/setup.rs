//! From settings to what is served: the model, the corpora, and whatever policies can decide by.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use ken_answer::{Pipeline, Policy, Rerank, Signal};
use ken_corpus::Segmentation;
use ken_language::{Embedder, LanguageModel};
use ken_policy::{Guarantee, GuaranteeFileError};
use ken_setup::{Settings, Setup, SetupError};
use ken_storage::StorageError;

use super::corpora::{self, Opened};
use super::data_folder::DataFolderError;
use super::library;
use super::record::RecordError;
use super::watch::NotGuaranteed;
use crate::spans::SpansError;

/// The most connections at once, if files may be opened for them.
const CONNECTIONS: usize = 4096;

/// How much work runs at once, and for how long.
#[derive(Debug, Clone, Copy)]
pub struct Limits {
    /// Questions answered at once.
    pub parallel: usize,
    /// Requests that may wait for that.
    pub queue: usize,
    /// How long a request may take, waiting included.
    pub deadline: Duration,
    /// Connections at once.
    pub connections: usize,
    /// How long a client may take for the head of a request, or between two.
    pub idle: Duration,
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
    Storage(#[from] StorageError),
    #[error(transparent)]
    Guarantee(#[from] GuaranteeFileError),
    #[error(transparent)]
    NotGuaranteed(#[from] NotGuaranteed),
    #[error(transparent)]
    Spans(#[from] SpansError),
}

impl OpenError {
    /// Whether an endpoint is absent or not ready, which may pass.
    #[must_use]
    pub fn is_absent_endpoint(&self) -> bool {
        matches!(self, Self::Setup(error) if error.is_absent_endpoint())
    }
}

/// The reranking of the settings.
#[derive(Debug, Clone)]
pub(crate) struct SetReranking {
    pub(crate) by: Rerank,
    pub(crate) depth: usize,
    pub(crate) chunk: Segmentation,
}

/// Everything that settings name, opened.
pub(crate) struct Opening {
    pub(crate) pipeline: Pipeline,
    /// The model's name.
    pub(crate) model: String,
    /// The first is the default. With a folder of the server, the last ones are in that.
    pub(crate) corpora: Vec<Opened>,
    /// The embedder of corpora that clients make, with its name, if there is a folder for these.
    pub(crate) embedder: Option<(Arc<dyn Embedder>, String)>,
    pub(crate) reranking: SetReranking,
    pub(crate) limits: Limits,
    /// The folder of studies to be shown.
    pub(crate) studies: Option<PathBuf>,
    pub(crate) guarantee: Option<Guarantee>,
    /// The share of questions on which it is watched, and the seed of their draw.
    pub(crate) drawn: (f64, u64),
}

impl Opening {
    /// Opens everything. The model may be open already.
    ///
    /// # Errors
    /// A policy that cannot choose; models, corpora or files that cannot be used.
    pub(crate) fn of(
        setup: &Setup<'_>,
        model: Option<Arc<dyn LanguageModel>>,
    ) -> Result<Self, OpenError> {
        let settings = setup.settings;
        let policy = settings.answering().policy;
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
        let may_come_later = policy == Policy::NEVER || settings.server_data.is_some();
        let needs_corpus = !may_come_later || !addresses.is_empty();
        let mut pipeline = setup.pipeline_for(model, needs_corpus, &policies)?;
        settings.answer_people(&mut pipeline)?;
        let first = pipeline.retriever().cloned();
        let first = addresses.first().zip(first);
        let first = first.map(|((name, _), retriever)| (name.clone(), retriever));
        let others = std::mem::take(&mut pipeline.extra_corpora);
        let opened = first.into_iter().chain(others).map(|(name, retriever)| {
            let address = addresses.iter().find(|(own, _)| *own == name);
            Opened {
                address: address.map(|(_, address)| address.clone()),
                name,
                retriever,
            }
        });
        let mut corpora: Vec<Opened> = opened.collect();
        let folder = settings.server_data.as_ref();
        let embedder = folder
            .map(|folder| open_made(setup, folder, &mut corpora, &pipeline.model))
            .transpose()?;
        let guarantee = settings.calibration.as_deref();
        let guarantee = guarantee.map(Guarantee::read).transpose()?;
        Ok(Self {
            pipeline,
            model: model_name(settings),
            corpora,
            embedder,
            reranking: SetReranking {
                by: settings.rerank.clone(),
                depth: settings.rerank_depth,
                chunk: settings.rerank_chunk,
            },
            limits: Limits {
                parallel: settings.parallel.get(),
                queue: settings.queue,
                deadline: Duration::from_secs(u64::from(settings.deadline.get())),
                connections: CONNECTIONS,
                idle: Duration::from_secs(u64::from(settings.idle_timeout.get())),
            },
            studies: studies(settings)?,
            guarantee,
            drawn: (watch_share(settings)?, settings.seed),
        })
    }
}

/// Opens the corpora in the server's folder, which clients made. Returns the embedder of further ones, with its name:
/// that of the first corpus, if there is one.
fn open_made(
    setup: &Setup<'_>,
    folder: &Path,
    corpora: &mut Vec<Opened>,
    model: &Arc<dyn LanguageModel>,
) -> Result<(Arc<dyn Embedder>, String), OpenError> {
    let (embedder, embedder_name) = match corpora.first() {
        Some(first) => (
            first.retriever.clone().into_embedder(),
            first.retriever.back_end().embedder().reference.clone(),
        ),
        None => (
            Arc::from(setup.embedder(setup.settings.embedder_of_new())?),
            setup.embedder_name()?,
        ),
    };
    for (name, address) in library::made(folder, corpora)? {
        corpora.push(Opened {
            name,
            retriever: setup.retriever_by(&address, Arc::clone(&embedder), model)?,
            address: Some(address),
        });
    }
    Ok((embedder, embedder_name))
}

/// The model's name: the last part of its reference. No response says where the model or its endpoint is.
fn model_name(settings: &Settings) -> String {
    let reference = settings.model.to_string();
    match &settings.model_name {
        Some(name) => name.clone(),
        None if reference.contains("://") => "endpoint".to_owned(),
        None => reference
            .rsplit(['/', '\\'])
            .next()
            .unwrap_or_default()
            .to_owned(),
    }
}

/// The folder of studies.
fn studies(settings: &Settings) -> Result<Option<PathBuf>, SetupError> {
    match &settings.studies {
        Some(path) if !path.is_dir() => Err(SetupError::BadValue {
            given: format!("`studies` = {}", path.display()),
            reason: "it must be a folder that is there".to_owned(),
        }),
        folder => Ok(folder.clone()),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_named_without_where_it_is() {
        let mut settings = Settings::resolve(None, []).unwrap();
        for (reference, expected) in [
            ("/srv/models/small.gguf", "small.gguf"),
            ("hf:org/model/small.gguf", "small.gguf"),
            ("http://10.0.0.7:8000/v1", "endpoint"),
        ] {
            settings.model = reference.parse().unwrap();
            assert_eq!(model_name(&settings), expected);
        }
        settings.model_name = Some("large".to_owned());
        assert_eq!(model_name(&settings), "large");
    }
}
