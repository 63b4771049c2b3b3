//! The keys of a server: a file of their hashes with what each may do. A key itself is shown once, when it is made,
//! and is stored nowhere.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use ken_language::named;
use ken_storage::StorageError;
use rand::Rng;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The prefix of every key, by which a leaked one is recognized.
const START: &str = "ken-";

/// The random part, in bytes.
const RANDOM_BYTES: usize = 32;

/// What a key lets its holder do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Scope {
    /// Have questions answered.
    Ask,
    /// Search, read passages and embed texts.
    Search,
    /// Put files and documents in, and take them out.
    Write,
    /// Read metrics and all traces, keep questions to evaluate on, have the settings read again.
    Admin,
}

impl Scope {
    pub(crate) const ALL: [Self; 4] = [Self::Ask, Self::Search, Self::Write, Self::Admin];
}

named! {
    Scope, "scope",
    Scope::Ask => "ask",
    Scope::Search => "search",
    Scope::Write => "write",
    Scope::Admin => "admin",
}

/// What a key may do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grant {
    /// What it is for, as its maker says.
    pub name: String,
    /// What it lets its holder do.
    pub scopes: Vec<Scope>,
    /// The corpora that it is for; `None` for all.
    pub corpora: Option<Vec<String>>,
    /// When it expires, in seconds since 1970 (UTC); `None` for never.
    pub expires: Option<u64>,
    /// The most requests a minute; `None` for any number.
    pub requests_per_minute: Option<u32>,
    /// The most tokens a day, read and written; `None` for any number.
    pub tokens_per_day: Option<u64>,
}

/// A key as it is stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyRecord {
    /// The id by which it is listed and revoked; no secret.
    pub id: String,
    /// SHA-256 of the key, in hexadecimal digits.
    hash: String,
    /// When it was made, in seconds since 1970 (UTC).
    pub created: u64,
    /// What it may do.
    #[serde(flatten)]
    pub grant: Grant,
}

/// All keys of a server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Keys {
    /// Oldest first.
    pub keys: Vec<KeyRecord>,
}

/// Why keys cannot be read, written or revoked.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum KeysError {
    #[error("cannot read the keys in {path}: {source}")]
    #[diagnostic(remedy = "check the path after <server_keys>")]
    ServerKeysUnreadable {
        path: PathBuf,
        source: std::io::Error,
    },
    #[error("{path} holds no keys of a server: {reason}")]
    #[diagnostic(remedy = "bring the file back, or remove it and make new keys")]
    ServerKeysBroken { path: PathBuf, reason: String },
    #[error("there is no key {id} in {path}")]
    #[diagnostic(remedy = "<ListServerKeys> shows the ids")]
    UnknownKey { id: String, path: PathBuf },
    #[error(transparent)]
    Storage(#[from] StorageError),
}

impl Keys {
    /// The keys in a file; none if there is no file.
    ///
    /// # Errors
    /// A file that cannot be read or does not hold keys.
    pub fn read(path: &Path) -> Result<Self, KeysError> {
        // Mounted secrets, as in Kubernetes, are links within their folder.
        let text = match ken_storage::read_beside(path) {
            Ok(text) => text,
            // A link that leads nowhere is not a missing file.
            Err(error) if error.source.kind() == ErrorKind::NotFound && !path.is_symlink() => {
                return Ok(Self::default());
            }
            Err(error) => {
                return Err(KeysError::ServerKeysUnreadable {
                    path: path.to_owned(),
                    source: error.source,
                });
            }
        };
        serde_json::from_slice(&text).map_err(|error| KeysError::ServerKeysBroken {
            path: path.to_owned(),
            reason: error.to_string(),
        })
    }

    /// Writes them to a file that only its owner may read.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), KeysError> {
        let mut text =
            serde_json::to_vec_pretty(self).map_err(|error| KeysError::ServerKeysBroken {
                path: path.to_owned(),
                reason: error.to_string(),
            })?;
        text.push(b'\n');
        Ok(ken_storage::replace_private(path, &text)?)
    }

    /// Makes a key and returns it: there is no second chance to see it.
    pub fn make(&mut self, grant: Grant, now: u64) -> String {
        let mut random = [0_u8; RANDOM_BYTES];
        rand::rng().fill(&mut random[..]);
        let key = format!("{START}{}", URL_SAFE_NO_PAD.encode(random));
        let hash = hash_of(&key);
        // The hash reveals nothing of the key, and its start nothing of the rest.
        let id = hash.get(..12).unwrap_or_default().to_owned();
        self.keys.push(KeyRecord {
            id,
            hash,
            created: now,
            grant,
        });
        key
    }

    /// Removes the key with this id; returns whether there was one.
    pub fn revoke(&mut self, id: &str) -> bool {
        let before = self.keys.len();
        self.keys.retain(|key| key.id != id);
        self.keys.len() < before
    }

    /// The record of a key.
    pub(crate) fn find(&self, key: &str) -> Option<&KeyRecord> {
        let hash = hash_of(key);
        self.keys.iter().find(|known| known.hash == hash)
    }
}

fn hash_of(key: &str) -> String {
    let digest = Sha256::digest(key.as_bytes());
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn grant() -> Grant {
        Grant {
            name: "chat".to_owned(),
            scopes: vec![Scope::Ask],
            corpora: Some(vec!["notes".to_owned()]),
            expires: Some(9),
            requests_per_minute: None,
            tokens_per_day: Some(5),
        }
    }

    #[test]
    fn a_key_is_found_by_itself_alone_and_is_not_in_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        assert_eq!(Keys::read(&path).unwrap(), Keys::default());
        let mut keys = Keys::default();
        let (one, other) = (keys.make(grant(), 7), keys.make(grant(), 8));
        assert_ne!(one, other);
        keys.write(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains(&one[START.len()..]));
        let mut read = Keys::read(&path).unwrap();
        assert_eq!(read, keys);
        let found = read.find(&one).unwrap().clone();
        assert_eq!((found.created, &found.grant), (7, &grant()));
        for wrong in [
            "",
            START,
            &one[1..],
            &one.to_uppercase(),
            &found.hash,
            &found.id,
        ] {
            assert_eq!(read.find(wrong), None, "{wrong}");
        }
        assert!(read.revoke(&found.id) && !read.revoke(&found.id));
        assert_eq!(read.find(&one), None);
        assert!(read.find(&other).is_some());
    }

    #[test]
    fn a_broken_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys.json");
        for text in ["", "[]", "{\"keys\": [{}]}", "{\"keys\": [1]}"] {
            std::fs::write(&path, text).unwrap();
            let error = Keys::read(&path).unwrap_err().to_string();
            assert!(error.contains("keys.json"), "{error}");
        }
    }

    #[test]
    fn scopes_are_read_as_they_are_written() {
        for scope in Scope::ALL {
            assert_eq!(scope.to_string().parse::<Scope>().unwrap(), scope);
        }
        assert!("root".parse::<Scope>().is_err());
    }

    #[test]
    #[cfg(unix)]
    fn the_file_is_its_owners_alone_and_leads_nowhere() {
        use std::fs::Permissions;
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("inner/keys.json");
        let mode = || path.metadata().unwrap().permissions().mode() & 0o777;
        std::fs::create_dir(path.parent().unwrap()).unwrap();
        let victim = folder.path().join("victim");
        std::fs::write(&victim, "precious").unwrap();
        symlink(&victim, path.with_file_name("keys.json.tmp")).unwrap();
        let mut keys = Keys::default();
        keys.make(grant(), 1);
        keys.write(&path).unwrap();
        assert_eq!(mode(), 0o600);
        assert_eq!(std::fs::read(&victim).unwrap(), b"precious");
        std::fs::set_permissions(&path, Permissions::from_mode(0o400)).unwrap();
        keys.write(&path).unwrap();
        assert_eq!(mode(), 0o400);
        // As Kubernetes mounts secrets.
        std::fs::rename(&path, path.with_file_name("of-today")).unwrap();
        symlink("of-today", &path).unwrap();
        assert_eq!(Keys::read(&path).unwrap(), keys);
        for target in ["../victim", "nothing", "keys.json"] {
            std::fs::remove_file(&path).unwrap();
            symlink(target, &path).unwrap();
            let error = Keys::read(&path).unwrap_err().to_string();
            assert!(error.contains("keys.json"), "{error}");
        }
        std::fs::remove_file(&path).unwrap();
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        assert!(Keys::read(&path).is_err());
    }
}
