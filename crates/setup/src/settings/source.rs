//! A corpus with a name. Nothing is opened here.

use std::ffi::OsStr;

use super::address::CorpusAddress;
use super::values::Value;

/// A corpus under the name by which labels and models know it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CorpusSource {
    /// Its name.
    pub name: String,
    /// Where it is.
    pub address: CorpusAddress,
}

impl CorpusSource {
    /// Names the corpus after its folder, collection, index or table.
    pub fn unnamed(address: CorpusAddress) -> Self {
        let name = match &address {
            CorpusAddress::Folder(path) => path.file_stem().map_or_else(
                || "corpus".to_owned(),
                |stem| stem.to_string_lossy().into_owned(),
            ),
            CorpusAddress::Milvus(address) => address.collection().to_owned(),
            CorpusAddress::Service(address) => address.name(),
        };
        Self { name, address }
    }
}

impl Value for CorpusSource {
    /// Reads `DIR` or `NAME=DIR`. A path need not be Unicode.
    fn read(given: &OsStr) -> Result<Self, String> {
        let named = given.to_str().and_then(|text| text.split_once('='));
        match named {
            Some((name, corpus)) if is_name(name) => Ok(Self {
                name: name.to_owned(),
                address: CorpusAddress::read(corpus.as_ref())?,
            }),
            _ => CorpusAddress::read(given).map(Self::unnamed),
        }
    }
}

/// Whether a text may be a name. A path with a `=` somewhere is not mistaken for a named corpus.
fn is_name(text: &str) -> bool {
    let fits = |letter: char| letter.is_alphanumeric() || "-_.".contains(letter);
    !text.is_empty() && text.chars().all(fits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_corpus_is_named_by_its_folder_or_before_it() {
        let read = |given: &str| {
            let source = CorpusSource::read(given.as_ref()).unwrap();
            (source.name, source.address.to_string())
        };
        let both = |name: &str, address: &str| (name.to_owned(), address.to_owned());
        assert_eq!(read("sets/notes.ken"), both("notes", "sets/notes.ken"));
        assert_eq!(read("wiki=sets/notes.ken"), both("wiki", "sets/notes.ken"));
        assert_eq!(read("a/b=c"), both("b=c", "a/b=c"));
        assert_eq!(read(".."), both("corpus", ".."));
        let address = "milvus://box:19530/shelf";
        assert_eq!(read(address), both("shelf", address));
        assert_eq!(read(&format!("m={address}")), both("m", address));
        assert!(CorpusSource::read("m=milvus://box".as_ref()).is_err());
    }
}
