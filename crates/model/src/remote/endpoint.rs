//! Where a model is served, and which of its models is meant.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use serde_json::Value;

use super::bounds::{LARGEST_COUNT, NAME_BYTES};
use super::client::Client;
use super::error::RemoteError;
use super::settings::{ApiKey, RemoteSettings};

/// An OpenAI-compatible endpoint: vLLM, llama-server, Ollama, OpenAI and others.
#[derive(Debug, Clone)]
pub struct Endpoint {
    /// The base URL, such as `http://127.0.0.1:8000/v1`.
    pub url: String,
    /// The model's name; `None` for the only one that the endpoint lists.
    pub model: Option<String>,
    /// The key that it asks for.
    pub key: Option<ApiKey>,
    /// How it is spoken to.
    pub settings: RemoteSettings,
    /// Set by the caller to give up for good: whatever is waited for fails within a moment, and
    /// connections are closed.
    pub stop: Arc<AtomicBool>,
}

impl Endpoint {
    /// An endpoint that needs no key, with the default settings, that is never stopped.
    #[must_use]
    pub fn new(url: &str) -> Self {
        Self {
            url: url.to_owned(),
            model: None,
            key: None,
            settings: RemoteSettings::default(),
            stop: Arc::default(),
        }
    }

    /// Asks for the list of models, to see whether the endpoint answers.
    ///
    /// # Errors
    /// As connecting to a model of it.
    pub fn reach(self) -> Result<(), RemoteError> {
        self.connect().map(|_| ())
    }

    /// A client, and the model that is meant.
    pub(super) fn connect(self) -> Result<(Client, Listed), RemoteError> {
        let client = Client::new(&self.url, self.key, self.settings, self.stop)?;
        let listed = listed(&client, self.model.as_deref())?;
        Ok((client, listed))
    }
}

/// A model as its endpoint lists it.
pub(super) struct Listed {
    pub(super) name: String,
    /// Tokens of its context, where the endpoint tells.
    pub(super) context: Option<usize>,
}

/// The model named `wanted`, or else the only one. A named model need not be listed: not every
/// endpoint lists models, or lists them by the names that it accepts.
fn listed(client: &Client, wanted: Option<&str>) -> Result<Listed, RemoteError> {
    let url = client.api("models");
    let list = match client.get(&url) {
        Ok(list) => list,
        Err(error) if error.is_refusal() => match wanted {
            Some(name) => {
                return Ok(Listed {
                    name: name.to_owned(),
                    context: None,
                });
            }
            None => {
                return Err(RemoteError::UnknownModel {
                    url: client.base().to_owned(),
                    detail: error.to_string(),
                });
            }
        },
        Err(error) => return Err(error),
    };
    named(client, &list, wanted)
}

/// The model that is meant, of a list.
pub(super) fn named(
    client: &Client,
    list: &Value,
    wanted: Option<&str>,
) -> Result<Listed, RemoteError> {
    let models: Vec<(&str, &Value)> = list
        .get("data")
        .and_then(Value::as_array)
        .into_iter()
        .flatten()
        .filter_map(|model| Some((model.get("id")?.as_str()?, model)))
        // It stands in messages and records.
        .filter(|(id, _)| id.len() <= NAME_BYTES && !id.contains(char::is_control))
        .collect();
    let found = match wanted {
        Some(name) => models
            .iter()
            .find(|(id, _)| *id == name)
            .or(match models.as_slice() {
                [only] => Some(only),
                _ => None,
            }),
        None => models.first(),
    };
    let context = found.and_then(|(_, model)| context_of(model));
    let name = match (wanted, models.as_slice()) {
        (Some(name), _) => name.to_owned(),
        (None, [(name, _)]) => (*name).to_owned(),
        (None, []) => {
            return Err(RemoteError::UnknownModel {
                url: client.base().to_owned(),
                detail: "its list of models is empty".to_owned(),
            });
        }
        (None, several) => {
            return Err(RemoteError::SeveralModels {
                url: client.base().to_owned(),
                names: several.iter().map(|(id, _)| (*id).to_owned()).collect(),
            });
        }
    };
    Ok(Listed { name, context })
}

/// The context of a listed model, as vLLM, the larger services and llama-server tell it. Some tell a
/// huge number where there is no limit.
fn context_of(model: &Value) -> Option<usize> {
    [
        "/max_model_len",
        "/context_length",
        "/context_window",
        "/meta/n_ctx",
        "/meta/n_ctx_train",
    ]
    .iter()
    .find_map(|path| model.pointer(path)?.as_u64())
    .filter(|&tokens| tokens > 0)
    .map(|tokens| usize::try_from(tokens).map_or(LARGEST_COUNT, |tokens| tokens.min(LARGEST_COUNT)))
}
