//! Selects the model of an endpoint.

use serde_json::Value;

use super::client::Client;
use super::endpoint::Endpoint;
use super::error::{Failure, RemoteError};
use super::limits::{MAX_COUNT, MAX_NAME_BYTES};

impl Endpoint {
    /// Requests the list of models, to check whether the endpoint responds.
    ///
    /// # Errors
    /// As connecting to one of its models.
    pub fn reach(self) -> Result<(), RemoteError> {
        self.connect().map(|_| ())
    }

    /// A client, and the model to use. A named model need not be listed: not every endpoint lists models, or lists
    /// them by the names that it accepts.
    pub(super) fn connect(mut self) -> Result<(Client, ListedModel), RemoteError> {
        let name = self.model.take();
        let client = Client::new(self)?;
        let model = match client.get(&client.api_url("models")) {
            Ok(list) => select_model(&client, &list, name.as_deref())?,
            Err(error) if error.is_refusal() => ListedModel {
                name: name.ok_or_else(|| unknown_model(&client, error.to_string()))?,
                context: None,
            },
            Err(error) => return Err(error),
        };
        Ok((client, model))
    }
}

/// A model as its endpoint lists it.
pub(super) struct ListedModel {
    pub(super) name: String,
    /// Tokens of its context, if the endpoint states them.
    pub(super) context: Option<usize>,
}

/// The model of this name, or else the only one of a list.
pub(super) fn select_model(
    client: &Client,
    list: &Value,
    name: Option<&str>,
) -> Result<ListedModel, RemoteError> {
    // Some gateways return the list itself.
    let models: Vec<(&str, &Value)> = list
        .get("data")
        .unwrap_or(list)
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|model| Some((model.get("id")?.as_str()?, model)))
        // Messages show it, and records store it.
        .filter(|(id, _)| id.len() <= MAX_NAME_BYTES && !id.contains(char::is_control))
        .collect();
    let selected = match (name, models.as_slice()) {
        (_, [only]) => Some(only),
        (Some(name), _) => models.iter().find(|(id, _)| *id == name),
        (None, []) => return Err(unknown_model(client, "its list of models is empty")),
        (None, several) => {
            return Err(RemoteError::SeveralModels {
                url: client.base_url().to_owned(),
                names: several.iter().map(|(id, _)| (*id).to_owned()).collect(),
            });
        }
    };
    let name = name.or(selected.map(|(id, _)| *id)).unwrap_or_default();
    Ok(ListedModel {
        name: name.to_owned(),
        context: selected.and_then(|(_, model)| context_length(model)),
    })
}

fn unknown_model(client: &Client, detail: impl Into<String>) -> RemoteError {
    RemoteError::UnknownModel(Failure::at(client.base_url(), detail))
}

/// The context length of a listed model, as vLLM, the larger services and llama-server state it. Some state a huge
/// number if there is no limit.
fn context_length(model: &Value) -> Option<usize> {
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
    .map(|tokens| usize::try_from(tokens).map_or(MAX_COUNT, |tokens| tokens.min(MAX_COUNT)))
}
