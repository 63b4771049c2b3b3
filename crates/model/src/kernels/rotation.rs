//! Rotary embeddings.

/// Rotates a head by the cosines and sines of a position: its first half against its second. For code that already
/// runs with the widest vector instructions.
///
/// # Shapes
/// `cosines`, `sines`: `[half]`; numbers of `head` after both halves are unchanged.
#[inline(always)]
pub(crate) fn rotate_inlined(head: &mut [f32], cosines: &[f32], sines: &[f32]) {
    let (first, second) = head.split_at_mut(cosines.len());
    let turns = cosines.iter().zip(sines);
    for ((x, y), (&cos, &sin)) in first.iter_mut().zip(second).zip(turns) {
        (*x, *y) = (*x * cos - *y * sin, *y * cos + *x * sin);
    }
}
