//! Search over a corpus: dense search, exact or by a graph, BM25, and both fused.
//!
//! Each segment of the corpus carries its own immutable index: [`SegmentWriter`] writes it into a
//! segment that is being staged, [`Index`] searches all segments of a published generation. This
//! crate takes vectors; it never computes one and never loads a model.
//!
//! The documentation of `ken-ingest` shows how a corpus is made and searched. Fusion by ranks, for searches elsewhere:
//!
//! ```
//! let dense = vec!["bell", "tower"];
//! let lexical = vec!["bronze", "bell"];
//! let fused = ken_index::reciprocal_rank(&[dense, lexical], 1);
//! assert_eq!(fused[0].0, "bell");
//! ```

mod dense;
mod dot;
mod error;
mod fuse;
mod index;
mod lexical;
mod mode;
mod recall;
mod search;
mod tokenize;
mod top_k;
mod write;

pub use dense::{DenseLayout, DenseSearch, RowBuffer, SegmentVectors, VectorSet, VectorType};
pub use error::IndexError;
pub use fuse::{fused_depth, reciprocal_rank};
pub use index::{Hit, Index, RankedPlace};
pub use mode::{Mode, UnknownMode};
pub use recall::{Recall, UnknownRecall};
pub use search::Query;
pub use tokenize::{language_of, passage_terms, query_terms};
pub use write::SegmentWriter;
