//! Batches of sequences, and their computation on all threads.

use rayon::prelude::*;

use super::error::EncoderError;
use super::tokens::Sequence;

/// A batch with this many tokens is full. Matrix products gain nothing from more than about 64 rows;
/// this many also amortize the work between them and still load the threads evenly.
pub(super) const FULL_TOKENS: usize = 256;

/// Computes sequences in batches on all threads of rayon's pool: `compute` returns one result for each sequence of a
/// batch. The results are in the order of the sequences.
pub(super) fn compute_all<T: Send>(
    sequences: &[Sequence],
    compute: impl Fn(&[&Sequence]) -> Result<Vec<T>, EncoderError> + Sync,
) -> Result<Vec<T>, EncoderError> {
    let lengths: Vec<usize> = sequences.iter().map(Sequence::len).collect();
    let batches = plan(&lengths, rayon::current_num_threads());
    let computed: Vec<Vec<T>> = batches
        .par_iter()
        .with_max_len(1)
        .map(|batch| compute(&batch.iter().map(|&i| &sequences[i]).collect::<Vec<_>>()))
        .collect::<Result<_, _>>()?;
    let mut placed: Vec<(usize, T)> = batches
        .into_iter()
        .flatten()
        .zip(computed.into_iter().flatten())
        .collect();
    placed.sort_by_key(|&(index, _)| index);
    Ok(placed.into_iter().map(|(_, result)| result).collect())
}

/// Groups the sequences of the given lengths into batches of similar length, the longest first, so that no thread is
/// left with a long one at the end. Spreads few tokens over the threads. Returns indices into `lengths`, each once.
fn plan(lengths: &[usize], threads: usize) -> Vec<Vec<usize>> {
    let mut order: Vec<usize> = (0..lengths.len()).collect();
    order.sort_by_key(|&index| std::cmp::Reverse(lengths[index]));
    let share = lengths.iter().sum::<usize>().div_ceil(threads.max(1));
    let full = share.clamp(1, FULL_TOKENS);

    let mut batches: Vec<Vec<usize>> = Vec::new();
    let mut tokens = full;
    for index in order {
        if tokens >= full {
            batches.push(Vec::new());
            tokens = 0;
        }
        tokens += lengths[index];
        if let Some(batch) = batches.last_mut() {
            batch.push(index);
        }
    }
    batches
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_sequence_is_in_one_batch_of_bounded_size(
            lengths in prop::collection::vec(0usize..600, 0..80), threads in 1usize..9,
        ) {
            let batches = plan(&lengths, threads);
            let mut all: Vec<usize> = batches.iter().flatten().copied().collect();
            let sorted: Vec<usize> = all.iter().map(|&index| lengths[index]).collect();
            prop_assert!(sorted.is_sorted_by(|a, b| a >= b));
            all.sort_unstable();
            prop_assert_eq!(all, (0..lengths.len()).collect::<Vec<_>>());
            for batch in batches {
                let before_last: usize = batch[..batch.len() - 1].iter().map(|&index| lengths[index]).sum();
                prop_assert!(before_last < FULL_TOKENS);
            }
        }
    }

    #[test]
    fn few_tokens_are_spread_over_the_threads() {
        assert_eq!(plan(&[10, 12], 2), [[1], [0]]);
        assert_eq!(plan(&[10, 12], 1), [[1, 0]]);
        assert!(plan(&[], 4).is_empty());
    }
}
