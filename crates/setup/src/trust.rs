//! Whom ken trusts: which key a server gets, and which models that a corpus names are used.
//!
//! A key belongs to the server for which a person gave it. A corpus is data that may come from
//! anywhere, so what it names is neither asked nor fetched before a person agrees. So is a `ken.toml` that
//! merely lies in the working directory: what it names is asked, and gets no key.

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
    /// The key that an endpoint gets: its own of `[keys]`, or that of `KEN_API_KEY` where a person named
    /// the endpoint.
    pub(crate) fn key_of(&self, url: &str, named_by: NamedBy) -> Result<Option<ApiKey>> {
        let key = self.secret(&origin(url)?, "KEN_API_KEY", named_by)?;
        let key = key.map(|key| ApiKey::new(&key)).transpose()?;
        Ok(key.map(|key| key.allowed_in_plain_text(self.settings.allow_plaintext_keys)))
    }

    /// The token that a Milvus server gets.
    ///
    /// # Errors
    /// A variable that is not set.
    pub fn milvus_token(&self, address: &MilvusAddress) -> Result<Option<Token>> {
        let token = self.secret(&address.origin(), "KEN_MILVUS_TOKEN", NamedBy::Person)?;
        let allowed = self.settings.allow_plaintext_keys;
        Ok(token.map(|token| Token::new(&token).allowed_in_plain_text(allowed)))
    }

    /// The key that a search service gets.
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
            // Nobody thinks that a corpus's server gets one.
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
    /// Whether a server may be sent what variables of other programs hold for it: not one that only a file in the
    /// working directory names.
    #[must_use]
    pub fn trusts(&self, url: &str) -> bool {
        origin(url).is_ok_and(|origin| self.named.by(&origin, NamedBy::Person) == NamedBy::Person)
    }
}

/// Whether a model that a corpus names may be used, and in whose name.
///
/// A model on this machine may: it is only read. So may one that ken itself knows, and one that is
/// fetched already. All others need the consent of a person.
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

/// Whether Windows takes a path for one on a server, to which it then presents its user.
fn is_on_a_server(path: &Path) -> bool {
    let mut letters = path.as_os_str().as_encoded_bytes().iter();
    letters.next().is_some_and(is_slash) && letters.next().is_some_and(is_slash)
}

fn is_slash(byte: &u8) -> bool {
    matches!(byte, b'/' | b'\\')
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
