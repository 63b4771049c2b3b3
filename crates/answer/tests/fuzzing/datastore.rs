//! Opens a policy datastore with arbitrary bytes in the place of its two texts: one function for the seeded mutations
//! beside it and for the fuzz target.

use std::path::PathBuf;

use ken_answer::datastore::{By, Entry, KeyedBy, NEIGHBORS};
use ken_answer::{Datastore, DatastoreError};
use tempfile::TempDir;

/// The name that the first generation gives its entries.
const ENTRIES: &str = "entries-1.jsonl";
const HEADER: &str = "datastore.json";

/// A folder with all that a datastore has beside these texts.
pub(crate) struct Place {
    _parent: TempDir,
    folder: PathBuf,
    valid: Vec<u8>,
}

impl Place {
    /// Writes a datastore of which every file is valid.
    pub(crate) fn new() -> Self {
        let parent = TempDir::new().unwrap();
        let folder = parent.path().join("datastore");
        let keyed_by = KeyedBy {
            model: "m".to_owned(),
            prompt: "p".to_owned(),
            layer: 1,
            center: vec![0.5, 0.0],
        };
        let entry = |number: usize| {
            let (id, source) = (format!("q{number}"), ["self", "wiki"][number % 2]);
            Entry::new(&id, &format!("who is {number}?"), source, By::Measured)
        };
        let states: Vec<Vec<f32>> = (0..6).map(|n| vec![n as f32, 1.0]).collect();
        let entries = (0..states.len()).map(entry).collect();
        Datastore::create(&folder, keyed_by, NEIGHBORS, &["wiki"], entries, &states).unwrap();
        let mut valid = std::fs::read(folder.join(HEADER)).unwrap();
        valid.push(b'\n');
        valid.extend(std::fs::read(folder.join(ENTRIES)).unwrap());
        Self {
            _parent: parent,
            folder,
            valid,
        }
    }

    /// The header as one line, and the entries after it.
    pub(crate) fn valid(&self) -> &[u8] {
        &self.valid
    }

    /// Opens the datastore with these texts in the place of its own, and has it vote.
    ///
    /// # Errors
    /// The error of opening it.
    pub(crate) fn open(&self, bytes: &[u8]) -> Result<(), DatastoreError> {
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let (header, entries) = bytes.split_at(end.unwrap_or(bytes.len()));
        std::fs::write(self.folder.join(HEADER), header).unwrap();
        let entries = entries.strip_prefix(b"\n").unwrap_or_default();
        std::fs::write(self.folder.join(ENTRIES), entries).unwrap();
        let datastore = Datastore::open(&self.folder)?;
        let shares = datastore.shares(&[0.25, 1.0])?;
        assert_eq!(shares.len(), 1 + datastore.corpora().len());
        let sum: f64 = shares.iter().sum();
        assert!(sum <= 1.0 + 1e-9, "{shares:?}");
        Ok(())
    }
}
