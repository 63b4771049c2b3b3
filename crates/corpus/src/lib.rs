//! Documents, their segmentation into passages, and the crash-safe store of both.
//!
//! This crate cuts documents' text ([`segment`]), and keeps the passages in immutable segments,
//! published as numbered generations ([`Writer`], [`Corpus`]). It reads no input formats (see
//! `ken-documents`), computes no vectors, builds no search index and loads no model: other crates
//! write such files into a staged segment before it is published.
//!
//! ```
//! use ken_corpus::{Segmentation, segment};
//!
//! let windows: Segmentation = "words:4/1".parse()?;
//! // Only segmentations by tokens look at the spans of an embedder's tokens.
//! let passages = segment("The bell was cast in 1734 by hand.", windows, &|_| Vec::new());
//! assert_eq!(passages, ["The bell was cast", "cast in 1734 by", "by hand."]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod composed;
mod cut;
mod document;
mod field_names;
mod filter;
mod halve;
mod outline;
mod pack;
mod part;
mod passage;
mod segment;
mod sentence;
mod store;

pub use cut::Cut;
pub use document::{Digest, Document};
pub use field_names::{FieldFault, FieldName, FieldNameError, FieldNames, Parts, Role};
pub use filter::{Comparison, Filter, FilterError, Selection, number_in};
pub use halve::halve;
pub use outline::{Heading, Location, Locator, Outline, Table};
pub use part::{NotPart, Part};
pub use passage::{Passage, PassageId, Piece, titled};
pub use segment::{Segmentation, SegmentationError, segment, segment_unless};
pub use sentence::sentences;
pub use store::{
    Active, Assigner, Backup, ByteProgress, Change, Corpus, CorpusError, CorpusInfo, Damage,
    DocumentState, EmbedderIdentity, Known, ListedDocument, PastGeneration, PlaceMark, PruneMark,
    Pruned, PrunedDocument, Pruning, Published, Segment, Setting, Settings, ShardInfo, Sharding,
    StagedSegment, Writer, backup, file_stem, history, is_score_name, join, score_in_metadata,
    verify,
};
