//! The files that clients upload, kept until they delete them.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::service::record::{self, RecordError};

/// What is kept of a file beside its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileRecord {
    pub(crate) id: String,
    pub(crate) filename: String,
    pub(crate) bytes: u64,
    pub(crate) purpose: String,
    /// In seconds since 1970 (UTC).
    pub(crate) created: u64,
    /// The id of the key by which it came.
    pub(crate) key: Option<String>,
}

/// The folder of the files.
pub(crate) struct Files {
    folder: PathBuf,
}

impl Files {
    /// Opens the folder, and removes what was not received as a whole.
    ///
    /// # Errors
    /// A folder or record that cannot be read.
    pub(crate) fn open(folder: PathBuf) -> Result<Self, RecordError> {
        let files = Self { folder };
        let known = files.all()?;
        for name in ken_storage::names(&files.folder)? {
            if !name.ends_with(record::ENDING) && !known.iter().any(|file| file.id == name) {
                ken_storage::remove(&files.folder.join(name))?;
            }
        }
        Ok(files)
    }

    /// The folder whose only file it is; the path below it begins with the id, so that ids of documents
    /// tell files of one name apart.
    pub(crate) fn root(&self, id: &str) -> PathBuf {
        self.folder.join(id)
    }

    /// Where the bytes of a file are.
    pub(crate) fn content(&self, id: &str) -> PathBuf {
        self.root(id).join(id)
    }

    /// Notes that a file is complete.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub(crate) fn keep(&self, file: &FileRecord) -> Result<(), RecordError> {
        record::write(&record::path(&self.folder, &file.id), file)
    }

    /// One of them.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub(crate) fn find(&self, id: &str) -> Result<Option<FileRecord>, RecordError> {
        record::find(&self.folder, id, START)
    }

    /// All of them.
    ///
    /// # Errors
    /// A folder or record that cannot be read.
    pub(crate) fn all(&self) -> Result<Vec<FileRecord>, RecordError> {
        record::all(&self.folder)
    }

    /// Removes one.
    ///
    /// # Errors
    /// Files that cannot be removed.
    pub(crate) fn remove(&self, id: &str) -> Result<(), RecordError> {
        let record = record::path(&self.folder, id);
        Ok(record::remove(&record, Some(&self.root(id)))?)
    }
}

/// What every id of a file begins with.
pub(crate) const START: &str = "file-";

/// Whether a text can be the id of a file, and so a name in a folder.
pub(crate) fn is_id(id: &str) -> bool {
    record::is_id(id, START)
}

/// The id of a file that a document's id is or begins with. Whether the document came by that file, it does not say.
pub(crate) fn claimed(doc_id: &str) -> Option<&str> {
    let id = doc_id.split_once('/').map_or(doc_id, |(id, _)| id);
    is_id(id).then_some(id)
}

/// The name under which an upload may stand in a folder: the last part of the one that was given.
pub(crate) fn safe_name(given: &str) -> Option<String> {
    let name = given.rsplit(['/', '\\']).next().unwrap_or_default().trim();
    let fits = !name.is_empty()
        && name.len() <= 200
        && !name.starts_with('.')
        && !name.chars().any(char::is_control)
        && Path::new(name).file_name().is_some_and(|own| own == name);
    fits.then(|| name.to_owned())
}

/// The longest path of a document in its folder, in bytes.
const LONGEST_PATH: usize = 1000;

/// The path below a folder at which a document is kept: the folders that a client names stay. A path that leads out of
/// the folder, or is written as on Windows, keeps its last part only. `None` where no file can have that path.
pub(crate) fn safe_path(given: &str) -> Option<String> {
    let parts: Vec<&str> = given.split('/').collect();
    let is_plain = |part: &&str| !matches!(*part, "" | "." | "..") && !part.contains('\\');
    if !parts.iter().all(is_plain) {
        return safe_name(given);
    }
    let safe: Vec<String> = parts.into_iter().map(safe_name).collect::<Option<_>>()?;
    Some(safe.join("/")).filter(|path| path.len() <= LONGEST_PATH)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_files_in_one_folder() {
        assert_eq!(safe_name("oil change.md").unwrap(), "oil change.md");
        assert_eq!(safe_name("../../etc/passwd").unwrap(), "passwd");
        assert_eq!(safe_name("C:\\notes\\é.txt").unwrap(), "é.txt");
        for bad in ["", "..", "a/..", "/", ".hidden", "a\0b.md", "a\nb.md", "a/"] {
            assert_eq!(safe_name(bad), None, "{bad:?}");
        }
        assert_eq!(safe_name(&"x".repeat(201)), None);
    }

    #[test]
    fn paths_of_documents_stay_in_their_folder() {
        for kept in ["a.md", "cars/oil.md", "a/b c/é.txt"] {
            assert_eq!(safe_path(kept).unwrap(), kept);
        }
        assert_eq!(safe_path("../../etc/passwd").unwrap(), "passwd");
        assert_eq!(safe_path("/etc/passwd").unwrap(), "passwd");
        assert_eq!(safe_path("a//b.md").unwrap(), "b.md");
        assert_eq!(safe_path("C:\\notes\\é.txt").unwrap(), "é.txt");
        for bad in ["", "a/..", ".git/config", "a/.hidden", "a\nb/c.md", "a/"] {
            assert_eq!(safe_path(bad), None, "{bad:?}");
        }
        assert_eq!(safe_path(&"x/".repeat(600)), None);
        assert_eq!(safe_path(&format!("{}y", "x/".repeat(600))), None);
    }

    #[test]
    fn ids_are_names_and_nothing_else() {
        assert!(is_id("file-0aF3"));
        for bad in [
            "",
            "file-",
            "file-../x",
            "file-a/b",
            "file-a.json",
            "x",
            "file-é",
        ] {
            assert!(!is_id(bad), "{bad}");
        }
        assert_eq!(claimed("file-1/a.md"), Some("file-1"));
        assert_eq!(claimed("file-1"), Some("file-1"));
        assert_eq!((claimed("cars/oil.md"), claimed("file-1.md")), (None, None));
    }

    #[test]
    fn what_is_not_complete_is_removed() {
        let folder = tempfile::tempdir().unwrap();
        let files = Files::open(folder.path().to_owned()).unwrap();
        let file = FileRecord {
            id: "file-1".to_owned(),
            filename: "a.md".to_owned(),
            bytes: 1,
            purpose: "assistants".to_owned(),
            created: 2,
            key: None,
        };
        for id in ["file-1", "file-2"] {
            ken_storage::create_dir_all(&files.content(id)).unwrap();
        }
        files.keep(&file).unwrap();
        let files = Files::open(folder.path().to_owned()).unwrap();
        assert_eq!(files.all().unwrap(), std::slice::from_ref(&file));
        assert!(files.root("file-1").exists() && !files.root("file-2").exists());
        assert_eq!(files.find("file-1").unwrap(), Some(file));
        assert_eq!(files.find("../files/file-1").unwrap(), None);
        files.remove("file-1").unwrap();
        assert!(files.all().unwrap().is_empty() && !files.root("file-1").exists());
    }
}
