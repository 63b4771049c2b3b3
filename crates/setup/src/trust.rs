//! Whom ken trusts: which key a server gets, and which of the models that corpora name ken uses.
//!
//! A key belongs to the server for which a person gave it. A corpus is data that may come from anywhere, so ken
//! neither queries nor fetches what it names until a person agrees. A `ken.toml` that merely lies in the working
//! directory is data too: ken queries the servers that it names, but sends them no key.

use std::path::Path;

use ken_hub::{ModelCache, ModelReference, defaults};
use ken_milvus::{MilvusAddress, Token};
use ken_model::remote::{ApiKey, origin};
use ken_search_service::{Key, ServiceAddress};

use crate::error::SetupError;
use crate::fetch::Setup;
use crate::settings::{KeySource, NamedBy, Settings};

type Result<T> = std::result::Result<T, SetupError>;

impl Setup<'_> {
    /// The key for an endpoint: its own from `[keys]`, or that of `KEN_API_KEY` if a person named the endpoint.
    pub(crate) fn key_of(&self, url: &str, named_by: NamedBy) -> Result<Option<ApiKey>> {
        let key = self.secret(&origin(url)?, "KEN_API_KEY", named_by)?;
        let key = key.map(|key| ApiKey::new(&key)).transpose()?;
        Ok(key.map(|key| key.allowed_in_plain_text(self.settings.allow_plaintext_keys)))
    }

    /// The token for a Milvus server.
    ///
    /// # Errors
    /// A variable that is not set.
    pub fn milvus_token(&self, address: &MilvusAddress) -> Result<Option<Token>> {
        let token = self.secret(&address.origin(), "KEN_MILVUS_TOKEN", NamedBy::Person)?;
        let allowed = self.settings.allow_plaintext_keys;
        Ok(token.map(|token| Token::new(&token).allowed_in_plain_text(allowed)))
    }

    /// The key for a search service.
    ///
    /// # Errors
    /// A variable that is not set.
    pub(crate) fn search_key(&self, address: &ServiceAddress) -> Result<Option<Key>> {
        let key = self.secret(&address.origin(), "KEN_SEARCH_KEY", NamedBy::Person)?;
        let allowed = self.settings.allow_plaintext_keys;
        Ok(key.map(|key| Key::new(&key).allowed_in_plain_text(allowed)))
    }

    fn secret(&self, origin: &str, for_all: &str, named_by: NamedBy) -> Result<Option<String>> {
        let of_variable = |name: &str| std::env::var(name).ok().filter(|key| !key.is_empty());
        let named = &self.settings.named;
        let by = named.by(origin, named_by);
        let variable = match self.settings.keys.of(origin) {
            Some(KeySource::NoKey) => return Ok(None),
            Some(KeySource::Variable(name)) if named.heeds_table(by) => {
                let key = of_variable(name).ok_or_else(|| SetupError::KeyNotSet {
                    variable: name.clone(),
                    origin: origin.to_owned(),
                });
                return key.map(Some);
            }
            Some(KeySource::Variable(name)) => name,
            None if by == NamedBy::Person => return Ok(of_variable(for_all)),
            // The server of a corpus needs no key, so this needs no warning.
            None if named_by == NamedBy::Data => return Ok(None),
            None => for_all,
        };
        if of_variable(variable).is_some() {
            (self.withheld)(&SetupError::KeyWithheld {
                variable: variable.to_owned(),
                origin: origin.to_owned(),
            });
        }
        Ok(None)
    }
}

impl Settings {
    /// Whether a server may get keys from variables of other programs: not if only a file in the working directory
    /// names it.
    pub fn trusts(&self, url: &str) -> bool {
        origin(url).is_ok_and(|origin| self.named.by(&origin, NamedBy::Person) == NamedBy::Person)
    }
}

/// Whether ken may use a model that a corpus names, and who is taken to have named it.
///
/// It may use a model on this machine, which it only reads, one that ken itself knows, and one already fetched. All
/// others need a person's consent.
pub(crate) fn consent(
    reference: &ModelReference,
    corpus: &Path,
    settings: &Settings,
) -> Result<NamedBy> {
    if settings.embedder == *reference {
        return Ok(NamedBy::Person);
    }
    if settings.trust_corpus_embedder || is_harmless(reference)? {
        return Ok(NamedBy::Data);
    }
    let what = match reference {
        ModelReference::Remote { .. } => "would be sent your queries",
        ModelReference::Local { .. } => "lies on another machine",
        _ => "would be fetched",
    };
    Err(SetupError::EmbedderNotTrusted {
        corpus: corpus.to_owned(),
        reference: reference.to_string(),
        what,
    })
}

fn is_harmless(reference: &ModelReference) -> Result<bool> {
    Ok(match reference {
        ModelReference::Remote { .. } => false,
        ModelReference::Local { path } => !is_on_a_server(path),
        fetched => is_known(fetched) || ModelCache::of_user()?.holds(fetched),
    })
}

/// Whether the model is one of ken's own defaults.
fn is_known(reference: &ModelReference) -> bool {
    let reference = reference.to_string();
    defaults().iter().any(|known| known.reference == reference)
}

/// Whether Windows takes a path for one on a server, to which it would authenticate its user.
fn is_on_a_server(path: &Path) -> bool {
    let bytes = path.as_os_str().as_encoded_bytes();
    matches!(bytes, [b'/' | b'\\', b'/' | b'\\', ..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_corpus_names_on_this_machine_is_harmless() {
        let harmless = |text: &str| is_harmless(&text.parse().unwrap()).unwrap();
        for text in ["/models/minilm", "../minilm", "~/minilm", "minilm"] {
            assert!(harmless(text), "{text}");
        }
        for text in [
            "http://127.0.0.1:8000/v1",
            "https://api.example.org/v1#small",
            "hf:nobody/has-this-model",
            "pypi:nobody-has-this==1.0/model",
            "//server/share/model",
            r"\\server\share\model.safetensors",
        ] {
            assert!(!harmless(text), "{text}");
        }
    }
}
