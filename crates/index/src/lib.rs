//! Search over a corpus: dense search, exact or by a graph, BM25, and both fused by reciprocal
//! rank.
//!
//! Each segment of the corpus carries its own immutable index: [`SegmentWriter`] writes it into a
//! segment that is being staged, [`Index`] searches all segments of a published generation. This
//! crate takes vectors; it never computes one and never loads a model.

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
pub use index::{Found, Hit, Index};
pub use mode::{Mode, UnknownMode};
pub use recall::{Recall, UnknownRecall};
pub use search::Query;
pub use tokenize::{passage_terms, query_terms};
pub use write::SegmentWriter;
