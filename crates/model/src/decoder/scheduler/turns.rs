//! Taking turns.

/// The distinct participants in turn, starting after `last`.
pub(super) fn after<T: Ord + Copy>(last: Option<T>, all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut turns: Vec<T> = all.into_iter().collect();
    turns.sort_unstable();
    turns.dedup();
    let next = turns.partition_point(|&participant| Some(participant) <= last);
    turns.rotate_left(next);
    turns
}

/// Divides `total` among participants that want these numbers: as evenly as possible, without leaving a rest that a
/// later one wants.
pub(super) fn shares(total: usize, wants: &[usize]) -> Vec<usize> {
    let mut left = total;
    let mut takers = wants.len();
    let mut shares = Vec::with_capacity(takers);
    for &want in wants {
        let share = want.min(left.div_ceil(takers));
        takers -= 1;
        left -= share;
        shares.push(share);
    }
    shares
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_comes_after_the_last_one_is_next() {
        assert_eq!(after(None, [3, 1, 2, 1]), [1, 2, 3]);
        assert_eq!(after(Some(1), [3, 1, 2]), [2, 3, 1]);
        assert_eq!(after(Some(3), [3, 1, 2]), [1, 2, 3]);
        assert_eq!(after(Some(9), [3, 1]), [1, 3]);
        assert_eq!(after(Some(2), [4, 1]), [4, 1]);
        assert!(after::<u8>(Some(1), []).is_empty());
    }

    #[test]
    fn a_small_one_gets_all_and_a_large_one_the_rest() {
        assert_eq!(shares(64, &[10, 900]), [10, 54]);
        assert_eq!(shares(64, &[900, 900]), [32, 32]);
        assert_eq!(shares(2, &[5, 5, 5]), [1, 1, 0]);
        assert_eq!(shares(64, &[]), [0; 0]);
        assert_eq!(shares(0, &[3]), [0]);
    }
}
