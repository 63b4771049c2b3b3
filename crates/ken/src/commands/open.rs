//! Opening what the verbs work on: models, fetched where they are not yet, and the corpus.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_answer::{
    AnswerError, AssessedModel, Assessor, BackEnd, Datastore, Pipeline, Policy, Retriever,
    RoutingModel,
};
use ken_corpus::{Active, Corpus};
use ken_hub::{HubError, ModelCache, ModelReference};
use ken_index::Index;
use ken_milvus::{Collection, MilvusAddress};
use ken_model::Precision;
use ken_model::decoder::{Checkpoint, Decoder, LoadOptions, Origin, Sampling};
use ken_model::embedder::Embedder;
use ken_model::encoder::Encoder;
use ken_model::language::LanguageModel;
use ken_model::remote::{Endpoint, RemoteEmbedder, RemoteModel};
use ken_route::{Head, Input, Purpose};

use crate::commands::fetch::fetched;
use crate::commands::rerank;
use crate::commands::trust::{self, NamedBy};
use crate::config::{CorpusAddress, Settings};
use crate::failure::{Refusal, Result};
use crate::interrupt;

/// Passages retrieved for an answer where nobody says how many.
const PASSAGES_READ: usize = 3;

/// A decoder on this machine, fetched first where it is not cached.
pub(crate) fn decoder(
    reference: &ModelReference,
    options: &LoadOptions,
    stop: &AtomicBool,
) -> Result<Decoder> {
    Ok(Decoder::load(&fetched(reference, stop)?, options)?)
}

/// The language model that answers.
pub(crate) fn language_model(
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Arc<dyn LanguageModel>> {
    match (&settings.model, &settings.adapter) {
        (ModelReference::Remote { .. }, Some(_)) => Err(Refusal::new(
            "adapter_of_endpoint",
            "an adapter is merged into the weights of a model on this machine, not of one behind an endpoint",
        )
        .hinting("serve the merged model, which `ken model export` writes")
        .into()),
        (ModelReference::Remote { url }, None) => {
            remote_model(url, settings.model_name.clone(), settings)
        }
        (here, adapter) => local_model(here, settings, adapter.clone(), stop),
    }
}

/// Another language model, which may be named behind a `#` of its endpoint's URL.
pub(crate) fn other_language_model(
    reference: &ModelReference,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Arc<dyn LanguageModel>> {
    match reference {
        ModelReference::Remote { url } => {
            let (url, name) = named_endpoint(url);
            remote_model(url, name, settings)
        }
        here => local_model(here, settings, None, stop),
    }
}

fn remote_model(
    url: &str,
    name: Option<String>,
    settings: &Settings,
) -> Result<Arc<dyn LanguageModel>> {
    let endpoint = endpoint(url, name, NamedBy::Person, settings)?;
    Ok(Arc::new(RemoteModel::connect(endpoint)?))
}

fn local_model(
    reference: &ModelReference,
    settings: &Settings,
    adapter: Option<PathBuf>,
    stop: &AtomicBool,
) -> Result<Arc<dyn LanguageModel>> {
    let options = LoadOptions {
        adapter,
        precision: settings.precision,
        device: settings.device,
        ..LoadOptions::default()
    };
    Ok(Arc::new(decoder(reference, &options, stop)?))
}

/// A URL and the model that is named behind its `#`.
pub(crate) fn named_endpoint(url: &str) -> (&str, Option<String>) {
    match url.split_once('#') {
        Some((url, name)) => (url, Some(name.to_owned())),
        None => (url, None),
    }
}

/// An endpoint, with the key that is meant for it.
pub(crate) fn endpoint(
    url: &str,
    model: Option<String>,
    named_by: NamedBy,
    settings: &Settings,
) -> Result<Endpoint> {
    Ok(Endpoint {
        model,
        key: trust::key_of(url, named_by, settings)?,
        stop: interrupt::flag(),
        ..Endpoint::new(url)
    })
}

/// An encoder on this machine, fetched first where it is not cached.
pub(crate) fn encoder(
    reference: &ModelReference,
    precision: Precision,
    stop: &AtomicBool,
) -> Result<Encoder> {
    Ok(Encoder::load(&fetched(reference, stop)?, precision)?)
}

/// An embedder: an encoder on this machine, or one behind an endpoint, whose model may be named
/// behind a `#` of its URL.
pub(crate) fn embedder(
    reference: &ModelReference,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Box<dyn Embedder>> {
    embedder_named_by(NamedBy::Person, reference, settings, stop)
}

fn embedder_named_by(
    named_by: NamedBy,
    reference: &ModelReference,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Box<dyn Embedder>> {
    Ok(match reference {
        ModelReference::Remote { url } => {
            let (url, name) = named_endpoint(url);
            let endpoint = endpoint(url, name, named_by, settings)?;
            Box::new(RemoteEmbedder::connect(endpoint)?)
        }
        here => Box::new(encoder(here, settings.precision, stop)?),
    })
}

/// What a corpus calls its embedder: a path is made absolute, so that the embedder is found from
/// any folder.
pub(crate) fn embedder_name(settings: &Settings) -> Result<String> {
    let name = match &settings.embedder {
        ModelReference::Local { .. } => {
            let path = ModelCache::of_user()?.resolve(&settings.embedder)?;
            let path = std::path::absolute(path)?;
            ModelReference::Local { path }.to_string()
        }
        fetched => fetched.to_string(),
    };
    Ok(name)
}

/// The corpus with its index and the embedder that it was made with.
pub(crate) fn retriever(settings: &Settings, stop: &AtomicBool) -> Result<Retriever> {
    retriever_of(settings.corpus()?, settings, stop)
}

/// As [`retriever`], with the reranking of the settings, for work that has no language model at hand.
pub(crate) fn reranked_retriever(settings: &Settings, stop: &AtomicBool) -> Result<Retriever> {
    let model = || language_model(settings, stop);
    rerank::added(retriever(settings, stop)?, settings, model, stop)
}

/// As [`retriever`], of a corpus other than that of the settings.
pub(crate) fn retriever_of(
    corpus: &CorpusAddress,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Retriever> {
    let back_end: BackEnd = match corpus {
        CorpusAddress::Folder(path) => {
            let corpus = Corpus::open_shards(path, settings.active)?;
            Index::open(Arc::new(corpus))?.into()
        }
        CorpusAddress::Milvus(address) => collection(address, settings.active, settings)?.into(),
    };
    let embedder = match &settings.moved_embedder {
        Some(moved) => moved_embedder(&back_end, moved, settings, stop)?,
        None => own_embedder(&back_end, settings, stop)?,
    };
    let retriever = Retriever::new(back_end, embedder)?;
    Ok(retriever.within(&settings.filters)?)
}

/// A corpus in Milvus.
pub(crate) fn collection(
    address: &MilvusAddress,
    active: Active,
    settings: &Settings,
) -> Result<Collection> {
    let token = trust::milvus_token(address, settings)?;
    Ok(Collection::open(address, token.as_ref(), active)?)
}

/// The embedder from where the corpus says that it is, where that may be followed.
fn own_embedder(
    corpus: &BackEnd,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Box<dyn Embedder>> {
    let reference = &corpus.embedder().reference;
    let parsed: ModelReference = reference.parse()?;
    let named_by = trust::consent(&parsed, &corpus.place(), settings)?;
    let opened = embedder_named_by(named_by, &parsed, settings, stop);
    opened.map_err(|error| match error.find() {
        Some(HubError::LocalMissing { .. }) => Refusal::new(
            "local_missing",
            format!(
                "the embedder of the corpus {} is no longer at {reference}",
                corpus.place().display()
            ),
        )
        .hinting("name where it is now by --embedder REF")
        .into(),
        _ => error,
    })
}

/// The embedder of the corpus from another place.
fn moved_embedder(
    corpus: &BackEnd,
    moved: &ModelReference,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Box<dyn Embedder>> {
    let made_with = corpus.embedder();
    let embedder = embedder(moved, settings, stop)?;
    if ken_model::same_model(embedder.fingerprint(), &made_with.fingerprint) {
        return Ok(embedder);
    }
    let message = format!(
        "{moved} is not the embedder of the corpus {}, which was made with {}",
        corpus.place().display(),
        made_with.reference
    );
    Err(Refusal::new("other_embedder", message)
        .hinting("leave --embedder out, or name where the corpus's own embedder is now")
        .into())
}

/// Everything that answering takes.
pub(crate) fn pipeline(settings: &Settings, stop: &AtomicBool) -> Result<Pipeline> {
    settings.policy.check().map_err(AnswerError::from)?;
    let needs_corpus = settings.policy != Policy::Never || settings.corpus.is_some();
    routed_pipeline(needs_corpus, &[settings.policy], settings, stop)
}

/// Everything that answering under some policies takes, with the router that one of them decides by.
pub(crate) fn routed_pipeline(
    needs_corpus: bool,
    policies: &[Policy],
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Pipeline> {
    routed(None, needs_corpus, policies, settings, stop)
}

/// Everything that answering by a language model takes that is loaded already.
pub(crate) fn pipeline_by(
    model: Arc<dyn LanguageModel>,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Pipeline> {
    settings.policy.check().map_err(AnswerError::from)?;
    routed(Some(model), true, &[settings.policy], settings, stop)
}

fn routed(
    model: Option<Arc<dyn LanguageModel>>,
    needs_corpus: bool,
    policies: &[Policy],
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Pipeline> {
    let told_by = |model| {
        let mut signals = policies.iter().filter_map(|policy| policy.signal());
        signals.any(|signal| signal.told_by == Some(model))
    };
    let router = match told_by(RoutingModel::Router) {
        true => Some(router(settings)?),
        false => None,
    };
    let looks_at_verdicts = router
        .as_ref()
        .is_some_and(|router| router.input == Input::FirstTokenAndMastery);
    let assessor = match looks_at_verdicts || told_by(RoutingModel::Assessor) {
        true => Some(assessor(settings, stop)?.0),
        false => None,
    };
    let mut pipeline = pipeline_of(model, needs_corpus, settings, stop)?;
    if let Some(assessor) = assessor {
        pipeline = pipeline.with_assessor(assessor)?;
    }
    if let Some(router) = router {
        pipeline = pipeline.with_router(router)?;
    }
    if let Some(folder) = &settings.datastore
        && told_by(RoutingModel::Datastore)
    {
        pipeline = pipeline.with_datastore(Datastore::open(folder)?)?;
    }
    // The first is that of the pipeline.
    let [_, extra @ ..] = settings.sources.as_slice() else {
        return Ok(pipeline);
    };
    if extra.is_empty() {
        return Ok(pipeline);
    }
    let mut extra_corpora = BTreeMap::new();
    for source in extra {
        let retriever = retriever_of(&source.address, settings, stop)?;
        let model = || Ok(Arc::clone(pipeline.shared_model()));
        let retriever = rerank::added(retriever, settings, model, stop)?;
        extra_corpora.insert(source.name.clone(), retriever);
    }
    Ok(pipeline.with_extra_corpora(extra_corpora))
}

/// The model of the policy `kbm`, and the share of questions that it was not trained on.
pub(crate) fn assessor(settings: &Settings, stop: &AtomicBool) -> Result<(Assessor, f64)> {
    let folder = settings.kbm.as_ref().ok_or(AnswerError::NoAssessor)?;
    let Some(boundary) = Origin::read(folder)?.and_then(|origin| origin.boundary) else {
        let message = format!("{} was not trained on what a model knows", folder.display());
        return Err(Refusal::new("not_kbm", message)
            .hinting("`ken train kbm RECORDS --out DIR` makes one that was")
            .into());
    };
    let model = settings.kbm_model.as_ref().unwrap_or(&settings.model);
    // All weights of a model, or an adapter on top of one.
    let model = match folder.join("config.json").exists() {
        true => {
            let path = folder.clone();
            local_model(&ModelReference::Local { path }, settings, None, stop)?
        }
        false => local_model(model, settings, Some(folder.clone()), stop)?,
    };
    let known = AssessedModel {
        model: boundary.model,
        prompt: boundary.prompt,
    };
    Ok((Assessor::new(model, known), boundary.held_out))
}

/// The router of the settings.
pub(crate) fn router(settings: &Settings) -> Result<Head> {
    let path = settings.router.as_ref().ok_or(AnswerError::NoRouter)?;
    Ok(Head::read(path, Purpose::Router)?)
}

/// Everything that answering takes, with the corpus or without.
pub(crate) fn pipeline_with(
    needs_corpus: bool,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Pipeline> {
    pipeline_of(None, needs_corpus, settings, stop)
}

/// The same with a language model that is loaded already, where there is one.
fn pipeline_of(
    model: Option<Arc<dyn LanguageModel>>,
    needs_corpus: bool,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Pipeline> {
    let retriever = needs_corpus
        .then(|| retriever(settings, stop))
        .transpose()?;
    let model = match model {
        Some(model) => model,
        None => language_model(settings, stop)?,
    };
    let retriever = retriever
        .map(|retriever| rerank::added(retriever, settings, || Ok(Arc::clone(&model)), stop))
        .transpose()?;
    Ok(Pipeline::new(model, retriever, answering(settings)))
}

/// The settings of the pipeline.
pub(crate) fn answering(settings: &Settings) -> ken_answer::AnswerSettings {
    let temperature = settings.temperature.get() as f32;
    let sampling = if temperature > 0.0 {
        Sampling::Random {
            temperature,
            top_k: None,
            top_p: None,
            seed: settings.seed,
        }
    } else {
        Sampling::Greedy
    };
    ken_answer::AnswerSettings {
        policy: settings.policy,
        mode: settings.mode,
        k: settings.k(PASSAGES_READ),
        evidence_tokens: settings.evidence_tokens,
        max_tokens: settings.max_tokens,
        sampling,
        verbalize: settings.verbalize,
        samples: settings.samples,
        seed: settings.seed,
    }
}

/// The weights of the model of the settings, to be trained or written, with the adapter merged in.
pub(crate) fn checkpoint(settings: &Settings, stop: &AtomicBool) -> Result<Checkpoint> {
    let path = fetched(&settings.model, stop)?;
    Ok(Checkpoint::open(&path, settings.adapter.as_deref())?)
}
