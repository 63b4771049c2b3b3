//! Where a corpus is: in a folder, or in Milvus. It opens neither.

use std::ffi::OsStr;
use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ken_milvus::{AddressError, MilvusAddress};
use serde::{Serialize, Serializer};

use super::values::Value;

/// Where a corpus is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CorpusAddress {
    /// A folder on this machine.
    Folder(PathBuf),
    /// A collection, `milvus://HOST:PORT/COLLECTION`.
    Milvus(MilvusAddress),
}

impl Value for CorpusAddress {
    /// A path may be no text.
    fn read(given: &OsStr) -> Result<Self, String> {
        match given.to_str() {
            Some(text) => text
                .parse()
                .map_err(|error: AddressError| error.to_string()),
            None => Ok(Self::Folder(given.into())),
        }
    }

    fn below(self, folder: &Path) -> Self {
        match self {
            Self::Folder(path) => Self::Folder(folder.join(path)),
            Self::Milvus(address) => Self::Milvus(address),
        }
    }
}

impl FromStr for CorpusAddress {
    type Err = AddressError;

    fn from_str(given: &str) -> Result<Self, AddressError> {
        match MilvusAddress::has_scheme(given) {
            true => given.parse().map(Self::Milvus),
            false => Ok(Self::Folder(given.into())),
        }
    }
}

impl fmt::Display for CorpusAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Folder(path) => path.display().fmt(f),
            Self::Milvus(address) => address.fmt(f),
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
        for text in ["notes.ken", "/a/b", "milvus://box:19530/notes"] {
            assert_eq!(read(text).unwrap().to_string(), text);
        }
        assert!(read("milvus://box").is_err());
        let below = |text: &str| read(text).unwrap().below(Path::new("shelf")).to_string();
        assert_eq!(below("notes.ken"), "shelf/notes.ken");
        assert_eq!(below("milvus://box:1/n"), "milvus://box:1/n");
    }
}
