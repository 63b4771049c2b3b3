//! Where a corpus is: in a folder, in Milvus, or behind a search service. Nothing is opened here.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ken_milvus::{AddressError, MilvusAddress};
use ken_search_service::{ServiceAddress, ServiceAddressError};
use serde::{Serialize, Serializer};

use super::values::Value;

/// Where a corpus is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CorpusAddress {
    /// A folder on this machine.
    Folder(PathBuf),
    /// A collection, `milvus://HOST:PORT/COLLECTION`.
    Milvus(MilvusAddress),
    /// A search service, such as `qdrant+http://HOST:PORT/COLLECTION`.
    Service(Box<ServiceAddress>),
}

/// The error for a malformed address of a corpus elsewhere.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // as each says it
pub enum BadAddress {
    #[error(transparent)]
    Milvus(#[from] AddressError),
    #[error(transparent)]
    Service(#[from] ServiceAddressError),
}

impl CorpusAddress {
    /// Whether a text claims to be an address of a corpus elsewhere, valid or not, rather than a path.
    pub(super) fn has_scheme(text: &str) -> bool {
        MilvusAddress::has_scheme(text) || ServiceAddress::has_scheme(text)
    }

    /// The server to which a key belongs; `None` for a folder.
    pub(super) fn origin(&self) -> Option<String> {
        match self {
            Self::Folder(_) => None,
            Self::Milvus(address) => Some(address.origin()),
            Self::Service(address) => Some(address.origin()),
        }
    }
}

impl Value for CorpusAddress {
    /// A path need not be Unicode.
    fn read(given: &OsStr) -> Result<Self, String> {
        match given.to_str() {
            Some(text) => text.parse().map_err(|error: BadAddress| error.to_string()),
            None => Ok(Self::Folder(given.into())),
        }
    }

    fn below(self, folder: &Path) -> Self {
        match self {
            Self::Folder(path) => Self::Folder(folder.join(path)),
            elsewhere => elsewhere,
        }
    }
}

impl FromStr for CorpusAddress {
    type Err = BadAddress;

    fn from_str(given: &str) -> Result<Self, BadAddress> {
        Ok(if MilvusAddress::has_scheme(given) {
            Self::Milvus(given.parse()?)
        } else if ServiceAddress::has_scheme(given) {
            Self::Service(Box::new(given.parse()?))
        } else {
            Self::Folder(given.into())
        })
    }
}

impl fmt::Display for CorpusAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::Milvus(address) => address.fmt(f),
            Self::Service(address) => address.fmt(f),
        }
    }
}

impl Serialize for CorpusAddress {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_folder_and_an_address_are_told_apart() {
        let read = |text: &str| text.parse::<CorpusAddress>();
        assert_eq!(
            read("notes.ken"),
            Ok(CorpusAddress::Folder("notes.ken".into()))
        );
        let qdrant = "qdrant+http://box:6333/notes?text=body";
        for text in ["notes.ken", "/a/b", "milvus://box:19530/notes", qdrant] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        assert!(read("milvus://box").is_err() && read("qdrant+http://box").is_err());
        let below = |text: &str| read(text).unwrap().below(Path::new("shelf")).to_string();
        assert_eq!(below("notes.ken"), "shelf/notes.ken");
        assert_eq!(below("milvus://box:1/n"), "milvus://box:1/n");
        assert_eq!(below(qdrant), qdrant);
    }
}
