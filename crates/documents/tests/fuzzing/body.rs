//! Any bytes as a file of a format: the body of the fuzz targets, and of the seeded mutations beside it.
//!
//! Reading must end, in documents and typed errors, without a panic, and no document
//! may be larger than the budget. The runner limits memory: libFuzzer by its own limit, the
//! tests by the system's measurement.

use std::fs;
use std::ops::Range;
use std::path::Path;

use ken_corpus::{Segmentation, segment, sentences};
use ken_documents::{Budget, ReadError, ReadOptions, read_documents_with};
use ken_testing::with;
use tempfile::TempDir;

/// The budget of a document here: small, so that short inputs go over it.
pub(crate) const BUDGET: Budget = Budget {
    document_bytes: 256 << 10,
};

/// How documents are cut here.
const SEGMENTATIONS: [Segmentation; 4] = [
    Segmentation::Whole,
    Segmentation::Sentence,
    Segmentation::Words {
        size: 7,
        overlap: 3,
    },
    Segmentation::Tokens {
        size: 5,
        overlap: 1,
    },
];

/// A folder in which files are written to be read.
pub(crate) struct Place(TempDir);

impl Place {
    pub(crate) fn new() -> Self {
        // In memory if there is such a folder: a file is written for each input.
        let shared = Path::new("/dev/shm");
        let folder = match shared.is_dir() {
            true => TempDir::new_in(shared),
            false => TempDir::new(),
        };
        Self(folder.unwrap())
    }

    /// Reads the bytes as a file of this name, and cuts the documents.
    pub(crate) fn read(&self, name: &str, bytes: &[u8]) {
        let path = self.0.path().join(name);
        fs::write(&path, bytes).unwrap();
        let options = with!(ReadOptions::default(), budget: BUDGET);
        for document in read_documents_with(&[path], options).unwrap() {
            match document {
                Ok(document) => {
                    let bytes = document.title.len() + document.text.len();
                    assert!(bytes as u64 <= BUDGET.document_bytes, "{bytes}");
                    cut(&document.text);
                }
                Err(error) => check(&error, name),
            }
        }
    }
}

/// Cuts a text in all ways: pieces are slices of it, in order, and only white space is lost.
pub(crate) fn cut(text: &str) {
    let solid = |text: &str| text.chars().filter(|c| !c.is_whitespace()).count();
    let all = solid(text);
    for how in SEGMENTATIONS {
        let pieces = segment(text, how, &three_bytes);
        let kept: usize = pieces.iter().map(|piece| solid(piece)).sum();
        match how {
            Segmentation::Whole | Segmentation::Sentence | Segmentation::Sentences { .. } => {
                assert_eq!(kept, all, "{how}");
            }
            Segmentation::Words { .. } | Segmentation::Tokens { .. } => {
                assert!(kept >= all, "{how}");
            }
        }
    }
    assert!(
        sentences(text)
            .iter()
            .all(|sentence| sentence.trim() == *sentence)
    );
}

/// Whether an error names its file and a remedy.
fn check(error: &ReadError, name: &str) {
    assert!(error.to_string().contains(name), "{error}");
    assert!(error.remedy().is_some(), "{error}");
}

/// A tokenizer: three bytes a token, even within a character.
fn three_bytes(text: &str) -> Vec<Range<usize>> {
    (0..text.len())
        .step_by(3)
        .map(|start| start..(start + 3).min(text.len()))
        .collect()
}
