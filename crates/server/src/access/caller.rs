//! Who makes a request, and whether they may.

use std::path::PathBuf;
use std::sync::{Arc, RwLock};
use std::time::{Instant, SystemTime};

use axum::http::{HeaderMap, HeaderValue, StatusCode, Uri, Version, header};
use ken_setup::Origins;

use super::host;
use super::keys::{KeyRecord, Keys, KeysError, Scope};
use super::quota::Quotas;
use crate::lock::{read, write};
use crate::wire::refusal::Refusal;

/// The keys of a server, and what each has used.
pub struct Access {
    path: PathBuf,
    known: RwLock<Known>,
    quotas: Arc<Quotas>,
    /// Origins of pages besides its own that may use the server.
    origins: Origins,
}

struct Known {
    keys: Arc<Keys>,
    /// Whether there ever were keys: a server does not open up when the last one is revoked.
    guarded: bool,
    /// When their file was last modified.
    changed: Option<SystemTime>,
}

/// The sender of a request.
#[derive(Clone)]
pub(crate) struct Caller {
    /// `None` if the server has no keys.
    key: Option<Arc<KeyRecord>>,
    quotas: Arc<Quotas>,
}

impl Access {
    /// Reads the keys of a file.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub fn open(path: PathBuf) -> Result<Self, KeysError> {
        let changed = changed(&path);
        let keys = Arc::new(Keys::read(&path)?);
        let known = Known {
            guarded: !keys.keys.is_empty(),
            keys,
            changed,
        };
        Ok(Self {
            path,
            known: RwLock::new(known),
            quotas: Arc::default(),
            origins: Origins::default(),
        })
    }

    /// Allows pages of these origins, too.
    #[must_use]
    pub fn allowing(self, origins: Origins) -> Self {
        Self { origins, ..self }
    }

    /// Reads the file again if it has changed: from then on, a revoked key is refused.
    ///
    /// # Errors
    /// A file that cannot be read; the keys stay as they are.
    pub(crate) fn refresh(&self) -> Result<(), KeysError> {
        let changed = changed(&self.path);
        if read(&self.known).changed == changed {
            return Ok(());
        }
        let keys = Arc::new(Keys::read(&self.path)?);
        let known = Known {
            guarded: self.has_keys() || !keys.keys.is_empty(),
            keys,
            changed,
        };
        *write(&self.known) = known;
        Ok(())
    }

    /// Whether requests need a key: there are keys, or there were.
    #[must_use]
    pub fn has_keys(&self) -> bool {
        read(&self.known).guarded
    }

    /// Checks host and origin.
    ///
    /// # Errors
    /// A malformed host, or none; a host or origin that the server does not answer.
    pub(crate) fn check_host(
        &self,
        headers: &HeaderMap,
        version: Version,
        target: &Uri,
    ) -> Result<(), Refusal> {
        host::check(headers, version, target, self.has_keys(), &self.origins)
    }

    /// The origin of a request, if it is that of another page that may use the server.
    pub(crate) fn allowed_origin(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        let origin = headers.get(header::ORIGIN)?;
        let is_allowed = origin
            .to_str()
            .is_ok_and(|origin| self.origins.have(origin));
        is_allowed.then(|| origin.clone())
    }

    /// A caller without a key, on a server that needs none.
    pub(crate) fn anyone(&self) -> Caller {
        Caller {
            key: None,
            quotas: Arc::clone(&self.quotas),
        }
    }

    /// Identifies the caller, and counts the request.
    ///
    /// # Errors
    /// No key though the server needs one; an unknown or expired key, or one that has used up its quota.
    pub(crate) fn caller(&self, headers: &HeaderMap, now: u64) -> Result<Caller, Refusal> {
        if !self.has_keys() {
            return Ok(self.anyone());
        }
        let keys = Arc::clone(&read(&self.known).keys);
        let quotas = Arc::clone(&self.quotas);
        let unauthorized = |code, message| Refusal::new(StatusCode::UNAUTHORIZED, code, message);
        let Some(given) = sent_key(headers) else {
            let message = "a key is needed: Authorization: Bearer KEY, or api-key: KEY";
            return Err(unauthorized("missing_api_key", message));
        };
        let Some(key) = keys.find(given.trim()) else {
            return Err(unauthorized("invalid_api_key", "the key is not known"));
        };
        if key.grant.expires.is_some_and(|end| now >= end) {
            return Err(unauthorized("expired_api_key", "the key has expired"));
        }
        quotas.request(key, Instant::now())?;
        Ok(Caller {
            key: Some(Arc::new(key.clone())),
            quotas,
        })
    }
}

/// The key that a request holds: as a bearer token or, as clients of Azure OpenAI send it, in a header of its own.
fn sent_key(headers: &HeaderMap) -> Option<&str> {
    let text = |name: &str| headers.get(name)?.to_str().ok();
    let bearer = text(header::AUTHORIZATION.as_str()).and_then(|given| given.split_once(' '));
    let bearer = bearer.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    bearer.map(|(_, key)| key).or_else(|| text("api-key"))
}

fn changed(path: &std::path::Path) -> Option<SystemTime> {
    std::fs::metadata(path)
        .and_then(|file| file.modified())
        .ok()
}

impl Caller {
    /// A caller without a key, on a server that needs none.
    #[cfg(test)]
    pub(crate) fn anyone() -> Self {
        Self {
            key: None,
            quotas: Arc::default(),
        }
    }

    /// The id of the key.
    pub(crate) fn key(&self) -> Option<&str> {
        self.key.as_ref().map(|key| key.id.as_str())
    }

    /// All that the caller may do.
    pub(crate) fn scopes(&self) -> &[Scope] {
        self.key
            .as_ref()
            .map_or(&Scope::ALL, |key| key.grant.scopes.as_slice())
    }

    /// The corpora that the caller may see; `None` for all.
    pub(crate) fn corpora(&self) -> Option<&[String]> {
        self.key.as_ref()?.grant.corpora.as_deref()
    }

    /// Checks that the caller may do this.
    ///
    /// # Errors
    /// A key without the scope.
    pub(crate) fn may(&self, scope: Scope) -> Result<(), Refusal> {
        match &self.key {
            Some(key) if !key.grant.scopes.contains(&scope) => {
                let message = format!("the key has not the scope `{scope}`");
                Err(forbidden(message))
            }
            _ => Ok(()),
        }
    }

    /// Whether the caller may see what is in a corpus.
    pub(crate) fn may_read(&self, corpus: &str) -> bool {
        self.corpora()
            .is_none_or(|corpora| corpora.iter().any(|name| name == corpus))
    }

    /// Whether the caller may see what is in any corpus.
    pub(crate) fn may_read_all(&self) -> bool {
        self.corpora().is_none()
    }

    /// Whether the caller may see what comes from all of these corpora. If none are known, it may come from any.
    pub(crate) fn may_read_each<N: AsRef<str>>(&self, corpora: &[N]) -> bool {
        self.may_read_all()
            || (!corpora.is_empty() && corpora.iter().all(|corpus| self.may_read(corpus.as_ref())))
    }

    /// Checks that the caller may see and change what concerns all corpora together.
    ///
    /// # Errors
    /// A key for some corpora only.
    pub(crate) fn must_read_all(&self, what: &str) -> Result<(), Refusal> {
        match self.may_read_all() {
            true => Ok(()),
            false => Err(forbidden(format!(
                "{what} of all corpora together, and the key is for some only: use one that is for all"
            ))),
        }
    }

    /// Checks that the caller may see what is in the corpus that requests mean if they name none. A refusal does not
    /// name it.
    ///
    /// # Errors
    /// A key that is not for the corpus.
    pub(crate) fn must_read_first(&self, first: &str) -> Result<(), Refusal> {
        match self.may_read(first) {
            true => Ok(()),
            false => Err(forbidden(
                "the key is not for the corpus that is meant where none is named: name one of its own"
                    .to_owned(),
            )),
        }
    }

    /// Checks that the caller may see what is in a corpus.
    ///
    /// # Errors
    /// A key that is not for the corpus.
    pub(crate) fn must_read(&self, corpus: &str) -> Result<(), Refusal> {
        match self.may_read(corpus) {
            true => Ok(()),
            false => Err(forbidden(format!(
                "the key is not for the corpus {corpus:?}"
            ))),
        }
    }

    /// Reserves about as many tokens as the work that begins will take.
    ///
    /// # Errors
    /// A key that has no tokens left besides those reserved.
    pub(crate) fn reserve(&self, tokens: usize) -> Result<Reserved, Refusal> {
        let tokens = tokens as u64;
        if let Some(key) = &self.key {
            self.quotas.reserve(key, tokens, Instant::now())?;
        }
        Ok(Reserved {
            caller: self.clone(),
            tokens,
            spent: 0,
        })
    }
}

/// Reserved tokens. Dropping it gives them back.
pub(crate) struct Reserved {
    caller: Caller,
    tokens: u64,
    spent: u64,
}

impl Reserved {
    /// Counts the tokens that were spent instead.
    pub(crate) fn settle(mut self, tokens: usize) {
        self.spent = tokens as u64;
    }
}

impl Drop for Reserved {
    fn drop(&mut self) {
        let Caller { key, quotas } = &self.caller;
        if let Some(key) = key {
            quotas.settle(&key.id, self.tokens, self.spent, Instant::now());
        }
    }
}

fn forbidden(message: String) -> Refusal {
    Refusal::forbidden("insufficient_scope", message)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::keys::Grant;

    #[test]
    fn keys_open_what_they_are_for_until_they_end() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        let access = Access::open(path.clone()).unwrap();
        let open = access.caller(&HeaderMap::new(), 0).unwrap();
        assert!(open.may(Scope::Admin).is_ok() && open.may_read("any"));

        let mut keys = Keys::default();
        let grant = Grant {
            name: "chat".to_owned(),
            scopes: vec![Scope::Ask],
            corpora: Some(vec!["notes".to_owned()]),
            expires: Some(100),
            requests_per_minute: None,
            tokens_per_day: None,
        };
        let key = keys.make(grant, 0);
        keys.write(&path).unwrap();
        access.refresh().unwrap();
        let code = |authorization: &str, now: u64| {
            let mut headers = HeaderMap::new();
            headers.insert(header::AUTHORIZATION, authorization.parse().unwrap());
            access
                .caller(&headers, now)
                .map_err(|refusal| refusal.code())
        };
        assert_eq!(
            access.caller(&HeaderMap::new(), 0).err().unwrap().code(),
            "missing_api_key"
        );
        for wrong in ["Bearer x", &format!("Bearer {key}x")] {
            assert_eq!(code(wrong, 0).err(), Some("invalid_api_key"), "{wrong}");
        }
        assert_eq!(
            code(&format!("Basic {key}"), 0).err(),
            Some("missing_api_key")
        );
        let right = format!("bearer {key}");
        assert_eq!(code(&right, 100).err(), Some("expired_api_key"));
        let caller = code(&right, 99).unwrap();
        assert!(caller.may(Scope::Ask).is_ok());
        assert_eq!(
            caller.may(Scope::Search).unwrap_err().code(),
            "insufficient_scope"
        );
        assert!(caller.must_read("notes").is_ok() && caller.must_read("wiki").is_err());

        let with = |headers: &[(&'static str, &str)]| {
            let mut sent = HeaderMap::new();
            for (name, value) in headers {
                sent.insert(*name, value.parse().unwrap());
            }
            access.caller(&sent, 0).map_err(|refusal| refusal.code())
        };
        assert!(with(&[("api-key", &key)]).is_ok());
        assert!(with(&[("authorization", "Basic x"), ("api-key", &key)]).is_ok());
        let both = with(&[("authorization", "Bearer x"), ("api-key", &key)]);
        assert_eq!(both.err(), Some("invalid_api_key"));

        // The server does not open up when its last key is gone.
        Keys::default().write(&path).unwrap();
        *access.known.write().unwrap() = Known {
            keys: Arc::default(),
            changed: None,
            guarded: true,
        };
        access.refresh().unwrap();
        assert_eq!(code(&right, 0).err(), Some("invalid_api_key"));
    }
}
