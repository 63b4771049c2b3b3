//! The examples of each step, and their split into passes.

use std::ops::Range;

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use crate::decoder::seed_of;
use crate::objective::sequences_of;
use crate::sequence::Objective;

/// The indices of a step's examples; each epoch shuffles all of them again. A pure function of its arguments, so that
/// training can resume at any step.
pub(crate) fn places(step: usize, examples: usize, batch: usize, seed: u64) -> Vec<usize> {
    let in_epoch = steps_in_epoch(examples, batch);
    let (epoch, step) = (step / in_epoch, step % in_epoch);
    let mut order: Vec<usize> = (0..examples).collect();
    order.shuffle(&mut StdRng::seed_from_u64(seed_of(seed, epoch as u64)));
    let from = step * batch;
    order[from..(from + batch).min(examples)].to_vec()
}

/// Steps per epoch.
pub(crate) fn steps_in_epoch(examples: usize, batch: usize) -> usize {
    examples.div_ceil(batch.max(1)).max(1)
}

/// The number of tokens of an example.
pub(crate) fn tokens(objective: &Objective) -> usize {
    sequences_of(objective).iter().map(|s| s.tokens.len()).sum()
}

/// Splits examples into groups that are computed together, each of at most `most_tokens` tokens or one
/// example.
pub(crate) fn passes(objectives: &[Objective], most_tokens: usize) -> Vec<Range<usize>> {
    let mut groups: Vec<Range<usize>> = Vec::new();
    let mut budget = 0;
    for (place, objective) in objectives.iter().enumerate() {
        let tokens = tokens(objective);
        match groups.last_mut() {
            Some(group) if tokens <= budget => group.end = place + 1,
            _ => {
                groups.push(place..place + 1);
                budget = most_tokens;
            }
        }
        budget = budget.saturating_sub(tokens);
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequence::Sequence;

    #[test]
    fn an_epoch_has_every_example_once() {
        for (examples, batch) in [(10, 3), (8, 8), (5, 9), (1, 1)] {
            let steps = steps_in_epoch(examples, batch);
            for epoch in 0..3 {
                let mut seen: Vec<usize> = (0..steps)
                    .flat_map(|step| places(epoch * steps + step, examples, batch, 7))
                    .collect();
                seen.sort_unstable();
                assert_eq!(seen, (0..examples).collect::<Vec<_>>());
            }
        }
        assert_ne!(places(0, 50, 50, 1), places(1, 50, 50, 1));
    }

    #[test]
    fn passes_hold_at_most_so_many_tokens() {
        let of = |lengths: &[usize]| -> Vec<Objective> {
            let whole = |&length: &usize| Objective::Imitate(Sequence::whole(vec![0; length]));
            lengths.iter().map(whole).collect()
        };
        assert_eq!(passes(&of(&[3, 4, 5, 20, 1]), 10), [0..2, 2..3, 3..4, 4..5]);
        assert!(passes(&of(&[]), 10).is_empty());
    }
}
