//! Opening everything that answering takes: the model, the corpora, and whatever the policies decide by.

use std::path::PathBuf;
use std::sync::Arc;

use ken_answer::{
    AnswerError, AssessedModel, Assessor, Brought, Datastore, EvidenceForm, Pipeline, Policy,
    Retriever, RoutingModel, RoutingModels, Style,
};
use ken_hub::ModelReference;
use ken_language::{LanguageModel, Sampling};
use ken_model::decoder::{DecoderError, Origin};
use ken_policy::{Head, Input, Purpose};

use crate::error::SetupError;
use crate::fetch::Setup;
use crate::settings::Settings;

/// The parts of a pipeline that are already open.
#[derive(Default)]
pub struct Opened {
    /// The language model.
    pub model: Option<Arc<dyn LanguageModel>>,
    /// The corpus, reranked as the settings say.
    pub retriever: Option<Retriever>,
}

impl Setup<'_> {
    /// Everything that answering under the policy of the settings takes.
    ///
    /// # Errors
    /// A policy that cannot choose; models, corpora or files that cannot be used.
    pub fn pipeline(&self) -> Result<Pipeline, SetupError> {
        self.pipeline_with(Opened::default())
    }

    /// As [`Setup::pipeline`], from the parts that are already open and the rest.
    ///
    /// # Errors
    /// As [`Setup::pipeline`].
    pub fn pipeline_with(&self, opened: Opened) -> Result<Pipeline, SetupError> {
        self.check_policy()?;
        let policy = self.settings.answering().policy;
        let needs_corpus = policy != Policy::NEVER || self.settings.corpus.is_some();
        self.pipeline_of(opened, needs_corpus, &[policy])
    }

    /// As [`Setup::pipeline`], with a language model that is already open.
    ///
    /// # Errors
    /// As [`Setup::pipeline`].
    pub fn pipeline_by(&self, model: Arc<dyn LanguageModel>) -> Result<Pipeline, SetupError> {
        self.check_policy()?;
        let policy = self.settings.answering().policy;
        self.pipeline_for(Some(model), true, &[policy])
    }

    /// Refuses a policy that cannot choose.
    fn check_policy(&self) -> Result<(), AnswerError> {
        let settings = self.settings;
        let answering = settings.answering();
        answering.check()?;
        let is_by_gate = settings.decide_by(RoutingModel::Gate, &[answering.policy]);
        match is_by_gate && settings.gate.is_none() {
            true => Err(AnswerError::NoGate),
            false => Ok(()),
        }
    }

    /// Everything that answering under some policies takes, with the corpus or without; the language
    /// model may be open already.
    ///
    /// # Errors
    /// Models, corpora or files that cannot be used.
    pub fn pipeline_for(
        &self,
        model: Option<Arc<dyn LanguageModel>>,
        needs_corpus: bool,
        policies: &[Policy],
    ) -> Result<Pipeline, SetupError> {
        let opened = Opened {
            model,
            retriever: None,
        };
        self.pipeline_of(opened, needs_corpus, policies)
    }

    /// As [`Setup::pipeline_for`], but the corpus may be open already, too.
    ///
    /// # Errors
    /// As [`Setup::pipeline_for`].
    pub fn pipeline_of(
        &self,
        opened: Opened,
        needs_corpus: bool,
        policies: &[Policy],
    ) -> Result<Pipeline, SetupError> {
        let settings = self.settings;
        let routing = self.routing_models(policies)?;
        let retriever = match (opened.retriever, needs_corpus) {
            (Some(open), _) => Some(open.not_reranked()),
            (None, true) => Some(self.retriever_of(settings.corpus()?)?),
            (None, false) => None,
        };
        let model = opened.model.map_or_else(|| self.language_model(), Ok)?;
        let reranked = |retriever| self.reranked(retriever, || Ok(Arc::clone(&model)));
        let retriever = retriever.map(reranked).transpose()?;
        let answering = ken_answer::AnswerSettings {
            policy: settings.policy(model.as_ref()),
            ..settings.answering()
        };
        let mut pipeline = Pipeline::new(model, retriever, answering);
        pipeline.brought = Arc::new(Brought {
            evidence: EvidenceForm {
                place: settings.evidence_place,
                words: settings.evidence_words.clone(),
            },
            ..Brought::default()
        });
        pipeline = pipeline.with(routing)?;
        for &policy in policies {
            pipeline.check_review(policy, settings.abstain)?;
        }
        // The pipeline already has the first.
        if let [_, extra @ ..] = settings.sources.as_slice()
            && !extra.is_empty()
        {
            let extra = self.named_retrievers(extra, &pipeline.model)?;
            pipeline.extra_corpora = extra.into_iter().collect();
        }
        Ok(pipeline)
    }

    /// What some policies decide by besides the model.
    fn routing_models(&self, policies: &[Policy]) -> Result<RoutingModels, SetupError> {
        let settings = self.settings;
        let decides = |model| settings.decide_by(model, policies);
        let routes = decides(RoutingModel::Router);
        let router = routes.then(|| self.router()).transpose()?;
        let reads_verdicts = router
            .as_ref()
            .is_some_and(|router| router.input == Input::FirstTokenAndMastery);
        let assesses = reads_verdicts || decides(RoutingModel::Assessor);
        let gates = decides(RoutingModel::Gate) && settings.gate.is_some();
        let datastore = settings.datastore.as_ref();
        let datastore = datastore.filter(|_| decides(RoutingModel::Datastore));
        let datastore = datastore
            .map(|folder| Datastore::open(folder))
            .transpose()?;
        let gate = gates.then(|| self.gate()).transpose()?;
        Ok(RoutingModels {
            router: router.map(|head| Arc::new(head.into())),
            assessor: assesses.then(|| self.assessor()).transpose()?.map(Arc::new),
            datastore: datastore.map(Arc::new),
            gate: gate.map(|head| Arc::new(head.into())),
        })
    }

    /// The folder of the latest training: the adapter, or else the model.
    ///
    /// # Errors
    /// A model that cannot be fetched.
    pub fn trained_folder(&self) -> Result<PathBuf, SetupError> {
        match &self.settings.adapter {
            Some(adapter) => Ok(adapter.clone()),
            None => self.fetched(&self.settings.model),
        }
    }

    /// The model of the policy `kbm`.
    ///
    /// # Errors
    /// No such model is named; a model that was not trained for this; unusable files.
    pub fn assessor(&self) -> Result<Assessor, SetupError> {
        let folder = self.settings.kbm.as_ref().ok_or(AnswerError::NoAssessor)?;
        let Some(boundary) = Origin::read(folder)?.and_then(|origin| origin.boundary) else {
            let folder = folder.clone();
            return Err(SetupError::NotKbm { folder });
        };
        // All weights of a model, or an adapter on top of one.
        let model = if folder.join("config.json").exists() {
            let path = folder.clone();
            self.local_model(&ModelReference::Local { path }, None, None)?
        } else {
            let named = self.settings.kbm_model.as_ref();
            let base = named.unwrap_or(&self.settings.model);
            let model = self.local_model(base, Some(folder.clone()), None);
            model.map_err(|error| match error {
                SetupError::Decoder(DecoderError::OtherBase {
                    path: folder,
                    reason,
                }) if named.is_none() => SetupError::OtherKbmBase { folder, reason },
                other => other,
            })?
        };
        Ok(Assessor {
            model,
            assessed: AssessedModel {
                model: boundary.model,
                prompt: boundary.prompt,
                with_evidence: boundary.questions_with_evidence > 0,
            },
            for_any_model: self.settings.kbm_for_any_model,
        })
    }

    /// The router.
    ///
    /// # Errors
    /// No router is named, or its file cannot be read.
    pub fn router(&self) -> Result<Head, SetupError> {
        let path = self.settings.router.as_ref().ok_or(AnswerError::NoRouter)?;
        Ok(Head::read(path, Purpose::Router)?)
    }

    /// The gate.
    ///
    /// # Errors
    /// No gate is named, or its file cannot be read.
    pub fn gate(&self) -> Result<Head, SetupError> {
        let path = self.settings.gate.as_ref().ok_or(AnswerError::NoGate)?;
        Ok(Head::read(path, Purpose::Gate)?)
    }
}

impl Settings {
    /// Whether a model decides, under some policies or for what is withheld.
    pub fn decide_by(&self, model: RoutingModel, policies: &[Policy]) -> bool {
        let signals = policies.iter().flat_map(|policy| policy.signals());
        let mut signals = signals.chain(self.abstain.map(|abstain| abstain.signal));
        signals.any(|signal| signal.told_by == Some(model))
    }

    /// The style of answers for people: the one that the settings name, or else the one that suits the model.
    pub fn style(&self, model: &dyn LanguageModel) -> Style {
        self.style.0.unwrap_or(if model.capabilities().converses {
            Style::Full
        } else {
            Style::Short
        })
    }

    /// The style in which policies are measured: what the settings say, or short, where exact match tells whether an answer
    /// is right.
    pub fn measured_style(&self) -> Style {
        self.style.0.unwrap_or(Style::Short)
    }

    /// The policy under which people are answered: what the settings say, or what suits the model.
    pub fn policy(&self, model: &dyn LanguageModel) -> Policy {
        self.policy.0.unwrap_or(match model.capabilities().assures {
            true => Policy::DOCUMENTS,
            false => Policy::ALWAYS,
        })
    }

    /// How a pipeline answers: in short answers, as measured, and always with retrieval if the settings name no
    /// policy.
    pub fn answering(&self) -> ken_answer::AnswerSettings {
        let default = ken_answer::AnswerSettings::default();
        ken_answer::AnswerSettings {
            policy: self.policy.0.unwrap_or(default.policy),
            abstain: self.abstain,
            memory: self.memory,
            mode: self.mode,
            k: self.k(default.k),
            evidence_tokens: self.evidence_tokens,
            neighbors: self.neighbors.unwrap_or(default.neighbors),
            style: default.style,
            max_tokens: self.max_tokens(),
            full_tokens: self.max_tokens.unwrap_or(default.full_tokens),
            sampling: Sampling::at(self.temperature as f32, self.seed),
            samples: self.samples,
            seed: self.seed,
        }
    }
}
