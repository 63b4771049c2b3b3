//! Opening models: language models and embedders, on this machine or behind endpoints.

use std::path::PathBuf;
use std::sync::Arc;

use ken_hub::{ModelCache, ModelReference};
use ken_language::{CancelToken, Embedder, LanguageModel};
use ken_model::decoder::{Checkpoint, Decoder, Footprint, LoadOptions, ReadAs};
use ken_model::encoder;
use ken_model::remote::{Endpoint, RemoteEmbedder, RemoteModel, RemoteSettings};

use crate::error::SetupError;
use crate::fetch::Setup;
use crate::settings::NamedBy;

impl Setup<'_> {
    /// The language model that answers.
    ///
    /// # Errors
    /// Files or an endpoint that cannot be used; an adapter for an endpoint.
    pub fn language_model(&self) -> Result<Arc<dyn LanguageModel>, SetupError> {
        let form = self.settings.prompt_form.0;
        match (&self.settings.model, &self.settings.adapter) {
            (ModelReference::Remote { .. }, Some(_)) => Err(SetupError::AdapterOfEndpoint),
            (ModelReference::Remote { url }, None) => match form {
                Some(form) => Err(SetupError::PromptFormOfEndpoint { form }),
                None => self.remote_model(url, self.settings.model_name.clone()),
            },
            (here, adapter) => self.local_model(here, adapter.clone(), form),
        }
    }

    /// The language model of the settings as a decoder on this machine, which takes raw text.
    ///
    /// # Errors
    /// Files that cannot be used; an endpoint.
    pub fn decoder(&self) -> Result<Decoder, SetupError> {
        match &self.settings.model {
            ModelReference::Remote { url } => Err(SetupError::ModelElsewhere { url: url.clone() }),
            here => {
                let settings = self.settings;
                self.loaded(here, settings.adapter.clone(), settings.prompt_form.0)
            }
        }
    }

    /// Another language model; an endpoint's URL may name one after a `#`.
    ///
    /// # Errors
    /// Files or an endpoint that cannot be used.
    pub fn other_language_model(
        &self,
        reference: &ModelReference,
    ) -> Result<Arc<dyn LanguageModel>, SetupError> {
        match reference {
            ModelReference::Remote { url } => self.remote_model(url, None),
            here => self.local_model(here, None, None),
        }
    }

    fn remote_model(
        &self,
        url: &str,
        name: Option<String>,
    ) -> Result<Arc<dyn LanguageModel>, SetupError> {
        let endpoint = self.endpoint(url, name, NamedBy::Person)?;
        Ok(Arc::new(RemoteModel::connect(endpoint)?))
    }

    pub(crate) fn local_model(
        &self,
        reference: &ModelReference,
        adapter: Option<PathBuf>,
        read_as: Option<ReadAs>,
    ) -> Result<Arc<dyn LanguageModel>, SetupError> {
        Ok(Arc::new(self.loaded(reference, adapter, read_as)?))
    }

    fn loaded(
        &self,
        reference: &ModelReference,
        adapter: Option<PathBuf>,
        read_as: Option<ReadAs>,
    ) -> Result<Decoder, SetupError> {
        let options = LoadOptions {
            adapter,
            precision: self.settings.precision,
            device: self.settings.device,
            read_as,
            ..LoadOptions::default()
        };
        Ok(Decoder::load(&self.fetched(reference)?, &options)?)
    }

    /// An endpoint with the key meant for it. `name`, or else the part of the URL after a `#`, says which of its
    /// models to use.
    ///
    /// # Errors
    /// An invalid URL; a key that is not set or not valid.
    pub fn endpoint(
        &self,
        url: &str,
        name: Option<String>,
        named_by: NamedBy,
    ) -> Result<Endpoint, SetupError> {
        let (url, named) = match url.split_once('#') {
            Some((url, named)) => (url, Some(named.to_owned())),
            None => (url, None),
        };
        Ok(Endpoint {
            model: name.or(named),
            key: self.key_of(url, named_by)?,
            cancel: CancelToken::raised_by(Arc::clone(self.stop)),
            settings: RemoteSettings {
                no_thinking: !self.settings.model_thinks,
                ..RemoteSettings::default()
            },
            ..Endpoint::new(url)
        })
    }

    /// An embedder; an endpoint's URL may name one after a `#`.
    ///
    /// # Errors
    /// Files or an endpoint that cannot be used.
    pub fn embedder(&self, reference: &ModelReference) -> Result<Box<dyn Embedder>, SetupError> {
        self.embedder_named_by(NamedBy::Person, reference)
    }

    pub(crate) fn embedder_named_by(
        &self,
        named_by: NamedBy,
        reference: &ModelReference,
    ) -> Result<Box<dyn Embedder>, SetupError> {
        Ok(match reference {
            ModelReference::Remote { url } => {
                let embedder = RemoteEmbedder::connect(self.endpoint(url, None, named_by)?)?;
                let others = self.settings.embedder_replicas.iter();
                let others = others.flat_map(|urls| urls.split(','));
                let others = others.map(|url| self.endpoint(url.trim(), None, NamedBy::Person));
                Box::new(embedder.with_replicas(others.collect::<Result<_, _>>()?)?)
            }
            here => encoder::open(&self.fetched(here)?, self.settings.precision)?,
        })
    }

    /// The name that a new corpus records for the embedder of the settings: a path becomes absolute, so that the
    /// embedder is found from any folder.
    ///
    /// # Errors
    /// A path without a model.
    pub fn embedder_name(&self) -> Result<String, SetupError> {
        let embedder = self.settings.embedder_of_new();
        Ok(match embedder {
            ModelReference::Local { .. } => {
                let path = ModelCache::of_user()?.resolve(embedder)?;
                let path = std::path::absolute(path)?;
                ModelReference::Local { path }.to_string()
            }
            fetched => fetched.to_string(),
        })
    }

    /// How large the language model is, with its adapter.
    ///
    /// # Errors
    /// Files that cannot be used, or an endpoint.
    pub fn footprint(&self) -> Result<Footprint, SetupError> {
        let footprint = self.checkpoint()?.footprint(self.settings.precision);
        Ok(footprint?)
    }

    /// The weights of the language model for training or writing, with the adapter merged in.
    ///
    /// # Errors
    /// Files that cannot be used, or an endpoint.
    pub fn checkpoint(&self) -> Result<Checkpoint, SetupError> {
        let path = self.fetched(&self.settings.model)?;
        Ok(Checkpoint::open(&path, self.settings.adapter.as_deref())?)
    }
}
