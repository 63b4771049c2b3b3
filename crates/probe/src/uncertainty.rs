//! Measures of a model's uncertainty from sampled answers, their log probabilities and hidden states: perplexity,
//! sequence probability, lexical similarity, semantic entropy, eigenscore. KBM's certainty is in `indicators`; token
//! entropies come with the samples. No model is asked here.

use std::collections::BTreeMap;

use crate::indicators::entropy;
use crate::normalize::{Rules, normalize};
use crate::sample::Sample;

/// The perplexity of an answer: e to the negative mean log probability of its tokens and its end. At least 1; higher
/// is less certain. `None` without log probabilities.
pub fn perplexity(answer: &Sample) -> Option<f64> {
    let logprob = answer.logprob.filter(|_| answer.tokens > 0)?;
    Some((-logprob / answer.tokens as f64).exp())
}

/// How unlikely an answer is as a whole: the negative log probability of its tokens and its end, in nats (maximum
/// sequence probability). At least 0; higher is less certain. `None` without log probabilities.
pub fn sequence_surprisal(answer: &Sample) -> Option<f64> {
    let logprob = answer.logprob.filter(|_| answer.tokens > 0);
    logprob.map(|logprob| -logprob)
}

/// How similar the wording of the samples is: the mean ROUGE-L F1 over all pairs, in `[0, 1]`; higher is more
/// certain. An answer without words has F1 0 with every other. `None` for fewer than two samples.
pub fn lexical_similarity(answers: &[&str]) -> Option<f64> {
    let rules = Rules::for_pair(&answers.concat(), "");
    let texts: Vec<String> = answers
        .iter()
        .map(|answer| normalize(answer, rules))
        .collect();
    let words: Vec<Vec<&str>> = texts
        .iter()
        .map(|text| text.split_whitespace().collect())
        .collect();
    let pairs = words.iter().enumerate().flat_map(|(index, a)| {
        let others = words.iter().skip(index + 1);
        others.map(move |b| rouge_l(a, b))
    });
    let similarities: Vec<f64> = pairs.collect();
    (!similarities.is_empty()).then(|| similarities.iter().sum::<f64>() / similarities.len() as f64)
}

/// F1 by the longest common subsequence of two texts' words.
fn rouge_l(a: &[&str], b: &[&str]) -> f64 {
    2.0 * common_subsequence(a, b) as f64 / (a.len() + b.len()).max(1) as f64
}

fn common_subsequence(a: &[&str], b: &[&str]) -> usize {
    // `row[j]`: of the words of `a` so far and the first j of `b`.
    let mut row = vec![0; b.len() + 1];
    for word in a {
        let mut diagonal = 0;
        for (j, other) in b.iter().enumerate() {
            let above = row[j + 1];
            row[j + 1] = if word == other {
                diagonal + 1
            } else {
                above.max(row[j])
            };
            diagonal = above;
        }
    }
    row[b.len()]
}

/// The entropy, in nats, over answer types. The probability of a type is the sum over its distinct answers,
/// normalized over all samples. If a sample has no log probability, a type's probability is its frequency instead. At
/// least 0; higher is less certain. `None` without samples.
///
/// # Shapes
/// `types`: `[samples]`, the number of each sample's answer type.
pub fn semantic_entropy(samples: &[&Sample], types: &[usize]) -> Option<f64> {
    if samples.is_empty() {
        return None;
    }
    let logprob = |sample: &&Sample| sample.logprob.filter(|logprob| logprob.is_finite());
    let likely: Option<Vec<f64>> = samples.iter().map(logprob).collect();
    let mut weights: BTreeMap<usize, f64> = BTreeMap::new();
    match likely {
        None => {
            for label in types {
                *weights.entry(*label).or_default() += 1.0;
            }
        }
        Some(logprobs) => {
            let top = logprobs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            // Sampling an answer twice does not make it twice as likely.
            let mut seen: BTreeMap<(usize, &str), f64> = BTreeMap::new();
            for ((sample, label), logprob) in samples.iter().zip(types).zip(logprobs) {
                let weight = (logprob - top).exp();
                let most = seen.entry((*label, sample.text.as_str())).or_default();
                *most = most.max(weight);
            }
            for ((label, _), weight) in seen {
                *weights.entry(label).or_default() += weight;
            }
        }
    }
    let total: f64 = weights.values().sum();
    let shares: Vec<f64> = weights.values().map(|weight| weight / total).collect();
    Some(entropy(&shares).max(0.0))
}

/// Keeps the logarithm of an eigenvalue finite (Chen and others 2024, INSIDE, equation 5).
const REGULARIZER: f64 = 1e-3;

/// The eigenscore of answers: the mean natural logarithm of the eigenvalues of the covariance of their hidden states,
/// each state centered by the mean of its own components (Chen and others 2024, INSIDE, equations 4 to 6). Higher is
/// less certain. `None` for fewer than two answers, or if a state is constant or not finite.
///
/// # Shapes
/// `states`: `[answers][hidden]`; equal answers have equal states.
pub(crate) fn eigenscore(states: &[&[f32]]) -> Option<f64> {
    let count = states.len();
    let width = states.first()?.len();
    if count < 2 || width == 0 || states.iter().any(|state| state.len() != width) {
        return None;
    }
    let centered: Vec<Vec<f64>> = states
        .iter()
        .map(|state| {
            let numbers: Vec<f64> = state.iter().copied().map(f64::from).collect();
            let mean = numbers.iter().sum::<f64>() / width as f64;
            numbers.into_iter().map(|number| number - mean).collect()
        })
        .collect();
    // A constant state says nothing about its answer, so equal constant states are no agreement.
    if centered
        .iter()
        .any(|state| state.iter().all(|number| *number == 0.0))
    {
        return None;
    }
    let mut covariance: Vec<Vec<f64>> = centered
        .iter()
        .map(|state| {
            let with = |other: &Vec<f64>| state.iter().zip(other).map(|(a, b)| a * b).sum();
            centered.iter().map(with).collect()
        })
        .collect();
    for (index, row) in covariance.iter_mut().enumerate() {
        row[index] += REGULARIZER;
    }
    Some(log_determinant(covariance)? / count as f64)
}

/// The natural logarithm of the determinant of a positive definite matrix, by Cholesky's decomposition; `None` for
/// any other matrix.
fn log_determinant(mut matrix: Vec<Vec<f64>>) -> Option<f64> {
    let mut sum = 0.0;
    for column in 0..matrix.len() {
        for row in column..matrix.len() {
            let products = (0..column).map(|k| matrix[row][k] * matrix[column][k]);
            let left = matrix[row][column] - products.sum::<f64>();
            matrix[row][column] = if row > column {
                left / matrix[column][column]
            } else if left > 0.0 {
                left.sqrt()
            } else {
                return None;
            };
        }
        sum += 2.0 * matrix[column][column].ln();
    }
    sum.is_finite().then_some(sum)
}

#[cfg(test)]
mod tests {
    use ken_testing::with;

    use super::*;
    use proptest::prelude::*;

    fn sample(text: &str, logprob: Option<f64>, tokens: usize) -> Sample {
        with!(Sample::default(), text: text.to_owned(), logprob: logprob, tokens: tokens)
    }

    #[test]
    fn the_surprisal_of_a_sequence_is_of_all_its_tokens() {
        let half = 0.5_f64.ln();
        let surprisal = |tokens| {
            let answer = sample("a", Some(f64::from(tokens) * half), tokens as usize);
            // That of a token, times their number.
            let per_token = perplexity(&answer).unwrap().ln();
            let whole = sequence_surprisal(&answer).unwrap();
            assert!((whole - per_token * f64::from(tokens)).abs() < 1e-12);
            whole
        };
        assert!(surprisal(6) > surprisal(2));
        assert_eq!(sequence_surprisal(&sample("a", None, 2)), None);
        assert_eq!(sequence_surprisal(&sample("", Some(0.0), 0)), None);
    }

    #[test]
    fn perplexity_is_per_token() {
        let half = 0.5_f64.ln();
        let answer = sample("a", Some(6.0 * half), 6);
        assert!((perplexity(&answer).unwrap() - 2.0).abs() < 1e-12);
        assert_eq!(perplexity(&sample("a", None, 2)), None);
        assert_eq!(perplexity(&sample("", Some(0.0), 0)), None);
    }

    #[test]
    fn states_that_are_apart_score_more() {
        // Centred these are (1, -1), (1, -1) and (-1, 1): one eigenvalue of 6, two of 0.
        let states: [&[f32]; 3] = [&[2.0, 0.0], &[3.0, 1.0], &[0.0, 2.0]];
        let expected = ((6.0 + REGULARIZER).ln() + 2.0 * REGULARIZER.ln()) / 3.0;
        assert!((eigenscore(&states).unwrap() - expected).abs() < 1e-9);
        let near: [&[f32]; 2] = [&[1.0, 0.0, 0.0], &[1.0, 0.1, 0.0]];
        let far: [&[f32]; 2] = [&[1.0, 0.0, 0.0], &[0.0, 0.0, 1.0]];
        assert!(eigenscore(&near) < eigenscore(&far));
        assert_eq!(eigenscore(&near[..1]), None);
        assert_eq!(eigenscore(&[]), None);
        assert_eq!(eigenscore(&[&[1.0, f32::NAN], &[0.0, 1.0]]), None);
        assert_eq!(eigenscore(&[&[1.0], &[0.0, 1.0]]), None);
        assert_eq!(eigenscore(&[&[0.0, 0.0], &[0.0, 0.0]]), None);
    }

    #[test]
    fn equal_words_are_alike_and_others_are_not() {
        assert_eq!(lexical_similarity(&["the red fox", "Red fox!"]), Some(1.0));
        assert_eq!(lexical_similarity(&["red", "blue"]), Some(0.0));
        assert_eq!(lexical_similarity(&["", "the"]), Some(0.0));
        assert_eq!(lexical_similarity(&["one"]), None);
        // One word of two on one side: 2 · 1 / (2 + 1).
        let near = lexical_similarity(&["red fox", "fox"]).unwrap();
        assert!((near - 2.0 / 3.0).abs() < 1e-12);
    }

    #[test]
    fn types_weigh_as_much_as_their_distinct_answers() {
        let likely = |p: f64| Some(p.ln());
        // Type 0: 0.3 + 0.1, type 1: 0.4.
        let samples = [
            sample("wren", likely(0.3), 1),
            sample("wren", likely(0.3), 1),
            sample("the wren", likely(0.1), 2),
            sample("owl", likely(0.4), 1),
        ];
        let of = |samples: &[Sample], types: &[usize]| {
            semantic_entropy(&samples.iter().collect::<Vec<_>>(), types)
        };
        let entropy = of(&samples, &[0, 0, 0, 1]).unwrap();
        assert!((entropy - 2.0_f64.ln()).abs() < 1e-12, "{entropy}");
        let counted: Vec<Sample> = samples
            .iter()
            .map(|sample| with!(sample.clone(), logprob: None))
            .collect();
        let entropy = of(&counted, &[0, 0, 1, 1]).unwrap();
        assert!((entropy - 2.0_f64.ln()).abs() < 1e-12, "{entropy}");
        assert_eq!(of(&samples, &[3; 4]), Some(0.0));
        assert_eq!(semantic_entropy(&[], &[]), None);
    }

    /// The longest common subsequence by trying every one.
    fn plain_common_subsequence(a: &[&str], b: &[&str]) -> usize {
        match (a, b) {
            ([x, a @ ..], [y, b @ ..]) if x == y => 1 + plain_common_subsequence(a, b),
            ([_, rest_a @ ..], [_, rest_b @ ..]) => {
                plain_common_subsequence(rest_a, b).max(plain_common_subsequence(a, rest_b))
            }
            _ => 0,
        }
    }

    /// By Laplace's expansion.
    fn plain_determinant(matrix: &[Vec<f64>]) -> f64 {
        let Some((first, rest)) = matrix.split_first() else {
            return 1.0;
        };
        let terms = first.iter().enumerate().map(|(column, number)| {
            let minor: Vec<Vec<f64>> = rest
                .iter()
                .map(|row| [&row[..column], &row[column + 1..]].concat())
                .collect();
            let sign = if column % 2 == 0 { 1.0 } else { -1.0 };
            sign * number * plain_determinant(&minor)
        });
        terms.sum()
    }

    proptest! {
        #[test]
        fn the_determinant_is_the_plain_one(
            rows in proptest::collection::vec(proptest::collection::vec(-3.0..3.0_f64, 4), 1..6),
        ) {
            // A product with its transpose, and something on the diagonal, is positive definite.
            let matrix: Vec<Vec<f64>> = rows
                .iter()
                .enumerate()
                .map(|(i, a)| rows.iter().enumerate().map(|(j, b)| {
                    let product: f64 = a.iter().zip(b).map(|(x, y)| x * y).sum();
                    product + if i == j { 0.5 } else { 0.0 }
                }).collect())
                .collect();
            let plain = plain_determinant(&matrix).ln();
            prop_assert!((log_determinant(matrix).unwrap() - plain).abs() < 1e-6);
        }

        #[test]
        fn the_common_subsequence_is_the_longest(a in "[xyz]{0,8}", b in "[xyz]{0,8}") {
            let a: Vec<String> = a.chars().map(String::from).collect();
            let b: Vec<String> = b.chars().map(String::from).collect();
            let a: Vec<&str> = a.iter().map(String::as_str).collect();
            let b: Vec<&str> = b.iter().map(String::as_str).collect();
            prop_assert_eq!(common_subsequence(&a, &b), plain_common_subsequence(&a, &b));
        }

        #[test]
        fn semantic_entropy_lies_between_none_and_all_apart(
            drawn in proptest::collection::vec((0_usize..4, -9.0..0.0_f64), 1..20),
        ) {
            let samples: Vec<Sample> = drawn
                .iter()
                .enumerate()
                .map(|(at, (_, logprob))| sample(&at.to_string(), Some(*logprob), 1))
                .collect();
            let types: Vec<usize> = drawn.iter().map(|(label, _)| *label).collect();
            let samples: Vec<&Sample> = samples.iter().collect();
            let entropy = semantic_entropy(&samples, &types).unwrap();
            prop_assert!((0.0..=4.0_f64.ln() + 1e-9).contains(&entropy));
        }
    }
}
