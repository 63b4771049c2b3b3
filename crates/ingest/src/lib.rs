//! The offline path: documents to passages to vectors to a published generation of a corpus.
//! This crate answers no questions and knows nothing of routes.
//!
//! ```
//! use std::io::Write;
//! use std::sync::Arc;
//! use std::sync::atomic::AtomicBool;
//!
//! use ken_corpus::Corpus;
//! use ken_index::{Index, Mode, Query};
//! use ken_ingest::{Ingest, ingest};
//! use ken_testing::FnEmbedder;
//!
//! let folder = tempfile::tempdir()?;
//! let mut file = tempfile::Builder::new().suffix(".txt").tempfile()?;
//! write!(file, "The bell was cast in 1734.")?;
//! let corpus = folder.path().join("corpus");
//! let documents = ken_documents::read_documents(&[file.path().to_owned()])?;
//! let embedder = FnEmbedder::bag_of_words();
//! let run = Ingest { cut: "sentence".parse()?, ..Ingest::new(documents, &corpus, &embedder) };
//! ingest(run, &mut |_progress| {}, &AtomicBool::new(false))?;
//!
//! let index = Index::open(Arc::new(Corpus::open(&corpus)?))?;
//! let query = Query { text: "when was the bell cast?", vector: None };
//! let hits = index.search(&query, Mode::Lexical, 5, None)?;
//! assert_eq!(hits[0].passage.text, "The bell was cast in 1734.");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod known_vectors;
mod merge;
mod preview;
mod report;
mod run;
mod split;
mod stages;
mod sync;

pub use error::IngestError;
pub use ken_corpus::Cut;
pub use merge::{CompactProgress, compact};
pub use preview::{Preview, preview};
pub use report::Report;
pub use run::{Ingest, ingest};
pub use stages::Progress;
