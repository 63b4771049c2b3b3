//! Writing the index of a segment, before the segment is published.

use std::path::Path;

use ken_corpus::Passage;

use crate::{IndexError, dense, lexical};

/// Writes the vectors and the lexical index of `passages` into `dir`, the folder of a staged
/// segment that has neither yet.
///
/// # Shapes
/// `vectors`: `[passages.len(), dimensions]`, row-major, each row L2-normalized.
///
/// # Errors
/// Where there is not one finite vector per passage, before anything is written; and where a file
/// cannot be written.
pub fn write_segment(
    dir: &Path,
    passages: &[Passage],
    vectors: &[f32],
    dimensions: usize,
) -> Result<(), IndexError> {
    let expected = passages.len().saturating_mul(dimensions);
    if vectors.len() != expected {
        return Err(IndexError::VectorCount {
            received: vectors.len(),
            expected,
            passages: passages.len(),
            dimensions,
        });
    }
    let rows = vectors.chunks_exact(dimensions.max(1));
    for (passage, vector) in passages.iter().zip(rows) {
        if !vector.iter().all(|number| number.is_finite()) {
            return Err(IndexError::VectorNotFinite {
                passage_id: passage.id.to_string(),
            });
        }
    }
    dense::write(dir, vectors)?;
    let words = passages.iter().map(|p| (p.title.as_str(), p.text.as_str()));
    lexical::write(dir, words)
}
