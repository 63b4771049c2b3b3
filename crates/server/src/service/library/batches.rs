//! Batches: which files a client put into a corpus at once. How each of them is stands with the file.

use serde::{Deserialize, Serialize};

use super::stores::Stores;
use crate::service::record::{self, RecordError};

/// What is kept of a batch.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Batch {
    pub(crate) id: String,
    /// In seconds since 1970 (UTC).
    pub(crate) created: u64,
    /// The ids of its files.
    pub(crate) files: Vec<String>,
    /// Whether a client cancelled it.
    pub(crate) cancelled: bool,
}

/// What every id of a batch begins with.
pub(crate) const START: &str = "vsfb_";

impl Stores {
    /// One of a corpus.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub(crate) fn batch(&self, corpus: &str, id: &str) -> Result<Option<Batch>, RecordError> {
        record::find(&self.beside(corpus, "batches"), id, START)
    }

    /// Notes one of a corpus.
    ///
    /// # Errors
    /// A record that cannot be written.
    pub(crate) fn note_batch(&self, corpus: &str, batch: &Batch) -> Result<(), RecordError> {
        self.check(corpus)?;
        let folder = self.beside(corpus, "batches");
        ken_storage::create_plain_dir_all(&folder)?;
        record::write(&record::path(&folder, &batch.id), batch)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_batch_is_found_again_and_ids_are_names() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Stores::open(folder.path()).unwrap();
        let batch = Batch {
            id: "vsfb_1".to_owned(),
            created: 2,
            files: vec!["file-1".to_owned()],
            cancelled: false,
        };
        open().note_batch("notes", &batch).unwrap();
        assert_eq!(open().batch("notes", "vsfb_1").unwrap(), Some(batch));
        for none in ["vsfb_2", "vsfb_", "../batches/vsfb_1", "x"] {
            assert_eq!(open().batch("notes", none).unwrap(), None, "{none}");
        }
    }
}
