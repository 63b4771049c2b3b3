//! Pruning a corpus by score: which passages may be pruned ([`candidates`]), their scores ([`scored`]) and order
//! ([`order()`]), how many are pruned at a ratio ([`count`]), and the largest ratio at which search still finds the
//! answers ([`mod@guarantee`]). `ken_corpus` marks the pruned passages.

mod error;
pub mod guarantee;
mod in_milvus;
mod marks;
mod near_duplicates;
mod order;
mod plan;
mod precedence;
mod report;
mod score;
mod stored_passages;
mod tables;
mod vectors;

pub use error::PruningError;
pub use guarantee::{CoverageQuestion, Guarantee, GuaranteedRatio, largest_ratio};
pub use in_milvus::{below, guaranteed_in_milvus, scored_in_milvus};
pub use marks::{read_marks, read_scores, write_marks};
pub use order::{Scored, Work, count, order};
pub use plan::{Basis, PrunePlan, Threshold};
pub use report::{CorpusCopy, Pruned, PrunedGroup, PrunedRow, Unpruned};
pub use score::{Method, applied, check_embedder, scored};
pub(crate) use stored_passages::StoredPassages;
pub use tables::{Ends, pruning_report};
pub(crate) use vectors::READ_TOGETHER;
pub use vectors::{PassageVectors, StoredVectors};

use ken_corpus::{Corpus, CorpusError, Selection};

/// The prefix of the reason of every mark that is set by score.
pub const REASON: &str = "ken prune: ";

/// The passages that ratios refer to: the live ones, and those that were pruned by score before. Passages pruned for
/// other reasons stay pruned, and do not count.
///
/// # Errors
/// Marks that cannot be read.
pub fn candidates(corpus: &Corpus) -> Result<Selection, CorpusError> {
    Selection::with_pruned_for(corpus, REASON)
}
