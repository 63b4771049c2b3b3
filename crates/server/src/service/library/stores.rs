//! The corpora that clients make, and which files they put into which corpus.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::lock::lock;
use crate::service::record::{self, RecordError};

/// What is kept of a corpus that a client made.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct MadeCorpus {
    /// By which it is addressed.
    pub(crate) name: String,
    /// What people call it; the name where they call it nothing else.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) title: Option<String>,
    /// In seconds since 1970 (UTC).
    pub(crate) created: u64,
    /// As the client gave it.
    #[serde(default)]
    pub(crate) metadata: BTreeMap<String, String>,
}

/// How a file of a corpus is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Membership {
    InProgress,
    Completed,
    Failed,
    Cancelled,
}

/// A file that was put into a corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct StoreFile {
    pub(crate) file: String,
    pub(crate) filename: String,
    pub(crate) bytes: u64,
    /// In seconds since 1970 (UTC).
    pub(crate) created: u64,
    pub(crate) status: Membership,
    /// Code and message, where it failed.
    pub(crate) error: Option<(String, String)>,
    /// The ids of its documents.
    pub(crate) documents: Vec<String>,
    /// What its documents' metadata says besides their own.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub(crate) attributes: Map<String, Value>,
}

impl StoreFile {
    /// Whether its documents are in the corpus, or on their way there.
    pub(crate) fn is_there(&self) -> bool {
        matches!(self.status, Membership::InProgress | Membership::Completed)
    }
}

/// By the ids of documents, their files and those files' names.
type Origins = HashMap<String, (String, String)>;

/// The folder of the corpora.
pub(crate) struct Stores {
    folder: PathBuf,
    /// Of corpora that were asked for, by which file each document came. Ids of documents say nothing of that: a
    /// record has whatever id its writer gave it.
    origins: Mutex<HashMap<String, Origins>>,
}

/// Whether a text can be the name of a corpus that a client makes, and so of a folder.
pub(crate) fn is_name(name: &str) -> bool {
    let fits = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
    (1..=64).contains(&name.len())
        && name.bytes().all(fits)
        && name.as_bytes()[0].is_ascii_alphanumeric()
}

impl Stores {
    /// Those in the folder of a server, as they are.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self {
            folder: folder.join("corpora"),
            origins: Mutex::default(),
        }
    }

    /// Opens those in the folder of a server, and removes corpora that were being removed.
    ///
    /// # Errors
    /// A folder that cannot be read.
    pub(crate) fn open(folder: &Path) -> Result<Self, RecordError> {
        let stores = Self::in_folder(folder);
        let made = stores.made()?;
        for name in ken_storage::names(&stores.folder)? {
            let corpus = stores.folder.join(&name).join(CORPUS);
            if !made.iter().any(|one| one.name == name) && corpus.exists() {
                ken_storage::remove(&stores.folder.join(&name))?;
            }
        }
        Ok(stores)
    }

    /// All that clients made.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub(crate) fn made(&self) -> Result<Vec<MadeCorpus>, RecordError> {
        record::all(&self.folder)
    }

    /// One of them.
    ///
    /// # Errors
    /// As [`Stores::made`].
    pub(crate) fn find(&self, name: &str) -> Result<Option<MadeCorpus>, RecordError> {
        match is_name(name) {
            true => record::read(&record::path(&self.folder, name)),
            false => Ok(None),
        }
    }

    /// Makes one, or changes what is kept of it.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub(crate) fn make(&self, made: &MadeCorpus) -> Result<(), RecordError> {
        record::write(&record::path(&self.folder, &made.name), made)
    }

    /// Removes one with all that is in it.
    ///
    /// # Errors
    /// Files that cannot be removed.
    pub(crate) fn remove(&self, name: &str) -> Result<(), RecordError> {
        self.changed(name);
        let record = record::path(&self.folder, name);
        Ok(record::remove(&record, Some(&self.folder.join(name)))?)
    }

    /// The folder of a corpus that a client made.
    pub(crate) fn corpus(&self, name: &str) -> PathBuf {
        self.folder.join(name).join(CORPUS)
    }

    /// Refuses links in the place of the folders of a corpus that a client made, by which a change would
    /// be made elsewhere.
    ///
    /// # Errors
    /// What is no folder.
    pub(crate) fn check(&self, name: &str) -> Result<(), RecordError> {
        let corpus = self.corpus(name);
        for folder in corpus.ancestors().take(3) {
            ken_storage::check_plain(folder)?;
        }
        Ok(())
    }

    fn members(&self, corpus: &str) -> PathBuf {
        self.beside(corpus, "files")
    }

    /// A folder of records of a corpus, which goes with it.
    pub(super) fn beside(&self, corpus: &str, records: &str) -> PathBuf {
        self.folder.join(corpus).join(records)
    }

    /// The files of a corpus.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub(crate) fn files(&self, corpus: &str) -> Result<Vec<StoreFile>, RecordError> {
        match self.members(corpus) {
            folder if folder.exists() => record::all(&folder),
            _ => Ok(Vec::new()),
        }
    }

    /// One of them.
    ///
    /// # Errors
    /// As [`Stores::files`].
    pub(crate) fn file(&self, corpus: &str, file: &str) -> Result<Option<StoreFile>, RecordError> {
        record::find(&self.members(corpus), file, super::files::START)
    }

    /// Notes how a file of a corpus is.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub(crate) fn note(&self, corpus: &str, file: &StoreFile) -> Result<(), RecordError> {
        self.check(corpus)?;
        let folder = self.members(corpus);
        ken_storage::create_plain_dir_all(&folder)?;
        record::write(&record::path(&folder, &file.file), file)?;
        self.changed(corpus);
        Ok(())
    }

    /// Forgets a file of a corpus.
    ///
    /// # Errors
    /// A record that cannot be removed.
    pub(crate) fn forget(&self, corpus: &str, file: &str) -> Result<(), RecordError> {
        self.check(corpus)?;
        let record = record::path(&self.members(corpus), file);
        record::remove(&record, None)?;
        self.changed(corpus);
        Ok(())
    }

    fn changed(&self, corpus: &str) {
        lock(&self.origins).remove(corpus);
    }

    /// The id and the name of the file by which a document of a corpus came, the last of several.
    ///
    /// # Errors
    /// As [`Stores::files`].
    pub(crate) fn origin(
        &self,
        corpus: &str,
        document: &str,
    ) -> Result<Option<(String, String)>, RecordError> {
        // Held while records are read, so that what changes meanwhile is not forgotten.
        let mut all = lock(&self.origins);
        if !all.contains_key(corpus) {
            let mut files = self.files(corpus)?;
            files.sort_by(|one, other| (one.created, &one.file).cmp(&(other.created, &other.file)));
            let origins = files.into_iter().flat_map(|member| {
                let origin = (member.file, member.filename);
                let documents = member.documents.into_iter();
                documents.map(move |id| (id, origin.clone()))
            });
            all.insert(corpus.to_owned(), origins.collect());
        }
        Ok(all
            .get(corpus)
            .and_then(|origins| origins.get(document))
            .cloned())
    }

    /// Takes documents from the files of a corpus: others of their ids have taken their places.
    ///
    /// # Errors
    /// A record that cannot be read or written.
    pub(crate) fn disown(&self, corpus: &str, documents: &[String]) -> Result<(), RecordError> {
        let taken: HashSet<&String> = documents.iter().collect();
        for mut member in self.files(corpus)? {
            let before = member.documents.len();
            member.documents.retain(|id| !taken.contains(id));
            if member.documents.len() < before {
                self.note(corpus, &member)?;
            }
        }
        Ok(())
    }

    /// The documents that are a file's alone: records of several files may have the same ids.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub(crate) fn own_documents(
        &self,
        corpus: &str,
        file: &StoreFile,
    ) -> Result<Vec<String>, RecordError> {
        let others = self.files(corpus)?.into_iter();
        let others = others.filter(|one| one.file != file.file);
        let shared: HashSet<String> = others.flat_map(|one| one.documents).collect();
        let own = file.documents.iter().filter(|id| !shared.contains(*id));
        Ok(own.cloned().collect())
    }
}

/// The folder of the corpus itself.
const CORPUS: &str = "corpus";

#[cfg(test)]
mod tests {
    use super::*;

    fn member(file: &str, documents: &[&str]) -> StoreFile {
        StoreFile {
            file: file.to_owned(),
            filename: "a.jsonl".to_owned(),
            bytes: 3,
            created: 4,
            status: Membership::Completed,
            error: None,
            documents: documents.iter().map(|id| (*id).to_owned()).collect(),
            attributes: Map::new(),
        }
    }

    #[test]
    fn a_document_of_two_files_is_neithers_alone() {
        let folder = tempfile::tempdir().unwrap();
        let stores = Stores::open(folder.path()).unwrap();
        let (one, other) = (member("file-1", &["a", "b"]), member("file-2", &["b", "c"]));
        stores.note("notes", &one).unwrap();
        stores.note("notes", &other).unwrap();
        assert_eq!(stores.own_documents("notes", &one).unwrap(), ["a"]);
        stores.forget("notes", "file-1").unwrap();
        assert_eq!(stores.files("notes").unwrap(), std::slice::from_ref(&other));
        assert_eq!(stores.own_documents("notes", &other).unwrap(), ["b", "c"]);
    }

    #[test]
    fn a_document_is_known_by_the_file_it_came_by_and_not_by_its_id() {
        let folder = tempfile::tempdir().unwrap();
        let stores = Stores::open(folder.path()).unwrap();
        let (one, other) = (
            member("file-1", &["file-1/a.md", "a"]),
            member("file-2", &["a", "b"]),
        );
        stores.note("notes", &one).unwrap();
        let file = |id: &str| stores.origin("notes", id).unwrap();
        let known = |file: &str| Some((file.to_owned(), "a.jsonl".to_owned()));
        assert_eq!(file("file-1/a.md"), known("file-1"));
        assert_eq!(
            (file("file-1/forged"), file("file-1"), file("b")),
            (None, None, None)
        );
        stores.note("notes", &other).unwrap();
        assert_eq!((file("a"), file("b")), (known("file-2"), known("file-2")));
        // One that is uploaded beside the files is none's any more, and stays when they go.
        stores.disown("notes", &["a".to_owned()]).unwrap();
        assert_eq!(file("a"), None);
        let left = stores.file("notes", "file-1").unwrap().unwrap();
        assert_eq!(
            stores.own_documents("notes", &left).unwrap(),
            ["file-1/a.md"]
        );
        stores.forget("notes", "file-2").unwrap();
        assert_eq!(file("b"), None);
        assert_eq!(stores.origin("others", "b").unwrap(), None);
    }

    #[test]
    fn what_was_being_removed_is_gone_and_files_of_other_corpora_stay() {
        let folder = tempfile::tempdir().unwrap();
        let stores = Stores::open(folder.path()).unwrap();
        let made = MadeCorpus {
            name: "made".to_owned(),
            title: None,
            created: 1,
            metadata: BTreeMap::new(),
        };
        stores.make(&made).unwrap();
        for name in ["made", "gone"] {
            ken_storage::create_dir_all(&stores.corpus(name)).unwrap();
        }
        stores.note("given", &member("file-1", &["a"])).unwrap();
        let stores = Stores::open(folder.path()).unwrap();
        assert_eq!(stores.made().unwrap(), [made]);
        assert!(stores.corpus("made").exists() && !stores.corpus("gone").exists());
        assert_eq!(stores.files("given").unwrap().len(), 1);
        assert_eq!(stores.find("../made").unwrap(), None);
    }

    #[test]
    fn names_are_those_of_folders() {
        assert!(is_name("notes-2_b") && is_name("0"));
        for bad in ["", ".", "..", "a/b", "a.json", "-a", "é", &"x".repeat(65)] {
            assert!(!is_name(bad), "{bad}");
        }
    }
}
