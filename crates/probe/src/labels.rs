//! Which source of knowledge helps most with a question, by how likely each of its contexts makes the right answer
//! (SR-RAG, section 3.3 and appendix B.1). Callers provide the contexts and the likelihoods.

use std::cmp::Ordering;

use serde::{Deserialize, Serialize};

/// A context, and how much it helps.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Rated {
    /// The index of its source.
    pub source: usize,
    /// The natural logarithm of p_M(a | q, c); negative infinity if the answer is impossible.
    pub logprob: f64,
}

/// What the contexts of a source are worth together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SourceRating {
    /// The indices of its most and its least helpful context, the first among equals: c+ and c−.
    pub extremes: Option<(usize, usize)>,
    /// How many of its contexts are among the most helpful of all sources. Contexts that tie with the last of these
    /// share the remaining places, so this may be a fraction.
    pub among_top: f64,
    /// The natural logarithm of the sum of its contexts' likelihoods.
    pub log_sum: f64,
}

/// A source by each of the two rules.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Preferred<T> {
    /// The source of most of the `n` most helpful contexts (section 3.3).
    pub majority: T,
    /// The source with the larger sum of likelihoods (algorithm 1).
    pub sum: T,
}

/// Rates each of `sources` sources by its contexts; the `top` most helpful contexts of all count for the majority.
///
/// # Shapes
/// Returns one rating for each source; contexts of a source beyond them are ignored.
pub fn rate(contexts: &[Rated], sources: usize, top: usize) -> Vec<SourceRating> {
    let contexts: Vec<Rated> = contexts.iter().map(comparable).collect();
    let mut order: Vec<f64> = contexts.iter().map(|context| context.logprob).collect();
    order.sort_by(|a, b| b.total_cmp(a));
    // Contexts above the last one that counts are certain; those equal to it share what is left.
    let last = order.get(top.min(order.len()).wrapping_sub(1)).copied();
    let count = |with: Ordering, source: Option<usize>| {
        contexts
            .iter()
            .filter(|context| source.is_none_or(|source| context.source == source))
            .filter(|context| last.is_some_and(|last| context.logprob.total_cmp(&last) == with))
            .count()
    };
    let level = count(Ordering::Equal, None);
    let left = top.min(order.len()) - count(Ordering::Greater, None).min(top);
    (0..sources)
        .map(|source| {
            let certain = count(Ordering::Greater, Some(source));
            let shared = left * count(Ordering::Equal, Some(source));
            SourceRating {
                extremes: extremes(&contexts, source),
                // With one denominator, equal shares are equal numbers.
                among_top: (certain * level.max(1) + shared) as f64 / level.max(1) as f64,
                log_sum: log_sum(&contexts, source),
            }
        })
        .collect()
}

/// The source that each rule prefers, by the ratings of all. The sums break ties of the majority, then order does:
/// the first is preferred. `None` if no source has a context.
pub fn prefer(ratings: &[SourceRating]) -> Option<Preferred<usize>> {
    let best = |compare: &dyn Fn(&SourceRating, &SourceRating) -> Ordering| {
        ratings
            .iter()
            .enumerate()
            .filter(|(_, rating)| rating.extremes.is_some())
            // `max_by` returns the last of equals, so reverse.
            .rev()
            .max_by(|(_, a), (_, b)| compare(a, b))
            .map(|(source, _)| source)
    };
    let by_sum = |a: &SourceRating, b: &SourceRating| a.log_sum.total_cmp(&b.log_sum);
    let by_majority = |a: &SourceRating, b: &SourceRating| {
        let places = a.among_top.total_cmp(&b.among_top);
        places.then_with(|| by_sum(a, b))
    };
    Some(Preferred {
        majority: best(&by_majority)?,
        sum: best(&by_sum)?,
    })
}

/// Treats NaN as impossible, and -0.0 as 0.0.
fn comparable(context: &Rated) -> Rated {
    let logprob = match context.logprob {
        logprob if logprob.is_nan() => f64::NEG_INFINITY,
        logprob => logprob + 0.0,
    };
    Rated {
        logprob,
        ..*context
    }
}

fn extremes(contexts: &[Rated], source: usize) -> Option<(usize, usize)> {
    let mut extremes: Option<(usize, usize)> = None;
    for (place, context) in contexts.iter().enumerate() {
        if context.source != source {
            continue;
        }
        let (best, worst) = extremes.unwrap_or((place, place));
        let exceeds = |a: usize, b: usize| contexts[a].logprob > contexts[b].logprob;
        extremes = Some((
            if exceeds(place, best) { place } else { best },
            if exceeds(worst, place) { place } else { worst },
        ));
    }
    extremes
}

/// The logarithm of a sum of likelihoods, computed so that tiny likelihoods do not vanish.
fn log_sum(contexts: &[Rated], source: usize) -> f64 {
    let mut logprobs: Vec<f64> = contexts
        .iter()
        .filter(|context| context.source == source)
        .map(|context| context.logprob)
        .collect();
    // A fixed order: sources with the same likelihoods get the same sum.
    logprobs.sort_by(f64::total_cmp);
    match logprobs.last() {
        Some(&top) if top.is_finite() => {
            top + logprobs
                .iter()
                .map(|logprob| (logprob - top).exp())
                .sum::<f64>()
                .ln()
        }
        Some(&top) => top,
        None => f64::NEG_INFINITY,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn rated(contexts: &[(usize, f64)]) -> Vec<Rated> {
        let rated = contexts.iter().map(|&(source, likelihood)| Rated {
            source,
            logprob: likelihood.ln(),
        });
        rated.collect()
    }

    fn preferred(contexts: &[(usize, f64)], top: usize) -> Option<(usize, usize)> {
        prefer(&rate(&rated(contexts), 3, top)).map(|both| (both.majority, both.sum))
    }

    #[test]
    fn the_rules_may_disagree() {
        // Two fair contexts of one source against a single good one of the other.
        let contexts = [(0, 0.2), (0, 0.2), (1, 0.9), (1, 0.01)];
        assert_eq!(preferred(&contexts, 3), Some((0, 1)));
        // Of the best two, each has one: the sum decides.
        assert_eq!(preferred(&contexts, 2), Some((1, 1)));
        let ratings = rate(&rated(&contexts), 2, 2);
        assert_eq!((ratings[0].among_top, ratings[1].among_top), (1.0, 1.0));
        assert_eq!(ratings[0].extremes, Some((0, 0)));
        assert_eq!(ratings[1].extremes, Some((2, 3)));
        assert!((ratings[1].log_sum - 0.91_f64.ln()).abs() < 1e-12);
    }

    #[test]
    fn equals_are_told_apart_by_order_and_nothing_has_no_preference() {
        assert_eq!(preferred(&[(2, 0.5), (1, 0.5)], 1), Some((1, 1)));
        assert_eq!(preferred(&[(1, 0.0), (2, 0.0)], 5), Some((1, 1)));
        assert_eq!(preferred(&[(1, 0.5)], 0), Some((1, 1)));
        assert_eq!(preferred(&[], 5), None);
    }

    #[test]
    fn tiny_likelihoods_are_still_compared() {
        let context = |source, logprob| Rated { source, logprob };
        let contexts = [context(0, -2000.0), context(1, -1990.0)];
        let both = prefer(&rate(&contexts, 2, 1)).unwrap();
        assert_eq!((both.majority, both.sum), (1, 1));
    }

    /// The mean number of a source's contexts among the first `top`, over all orders that equals can
    /// be put in.
    fn mean_among_top(contexts: &[(usize, f64)], source: usize, top: usize) -> f64 {
        fn orders(left: &[(usize, f64)]) -> Vec<Vec<(usize, f64)>> {
            if left.is_empty() {
                return vec![Vec::new()];
            }
            let best = left.iter().map(|c| c.1).fold(f64::NEG_INFINITY, f64::max);
            let mut all = Vec::new();
            for at in (0..left.len()).filter(|&at| left[at].1 == best) {
                let mut rest = left.to_vec();
                let first = rest.remove(at);
                for mut order in orders(&rest) {
                    order.insert(0, first);
                    all.push(order);
                }
            }
            all
        }
        let orders = orders(contexts);
        let counts = orders.iter().map(|order| {
            let first = order.iter().take(top);
            first.filter(|context| context.0 == source).count() as f64
        });
        counts.sum::<f64>() / orders.len() as f64
    }

    proptest! {
        #[test]
        fn both_rules_are_those_of_a_plain_count(
            contexts in proptest::collection::vec(
                (0..3_usize, prop::sample::select(vec![0.0, 0.11, 0.23, 0.53, 0.71])), 0..7),
            top in 0..8_usize,
        ) {
            let means: Vec<f64> = (0..3).map(|s| mean_among_top(&contexts, s, top)).collect();
            let sums: Vec<f64> = (0..3)
                .map(|s| contexts.iter().filter(|c| c.0 == s).map(|c| c.1).sum())
                .collect();
            let present: Vec<usize> =
                (0..3).filter(|s| contexts.iter().any(|c| c.0 == *s)).collect();
            let ratings = rate(&rated(&contexts), 3, top);
            for source in 0..3 {
                prop_assert!((ratings[source].among_top - means[source]).abs() < 1e-9);
                prop_assert!((ratings[source].log_sum.exp() - sums[source]).abs() < 1e-9);
            }
            // Rounded, so that equals are equal.
            let near = |value: f64| (value * 1e6).round();
            let first_best = |key: &dyn Fn(usize) -> (f64, f64)| {
                present.iter().copied().fold(None, |best: Option<usize>, source| match best {
                    Some(best) if key(source) <= key(best) => Some(best),
                    _ => Some(source),
                })
            };
            let expected = (
                first_best(&|s| (near(means[s]), near(sums[s]))),
                first_best(&|s| (near(sums[s]), 0.0)),
            );
            let both = prefer(&ratings);
            prop_assert_eq!(both.map(|b| b.majority), expected.0);
            prop_assert_eq!(both.map(|b| b.sum), expected.1);
        }
    }
}
