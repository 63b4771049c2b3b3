//! Suggests the names most like one that was not found. For error messages only.

use std::collections::HashMap;

/// At most `limit` of `candidates`, those most like `wanted` first; ties keep their order.
pub(super) fn nearest(wanted: &str, candidates: &[String], limit: usize) -> Vec<String> {
    let mut scored: Vec<(f32, &String)> = candidates
        .iter()
        .map(|name| (bigram_similarity(wanted, name), name))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored
        .into_iter()
        .take(limit)
        .map(|(_, name)| name.clone())
        .collect()
}

/// Dice's coefficient over case-folded character pairs, in 0..=1; the larger, the more alike.
fn bigram_similarity(a: &str, b: &str) -> f32 {
    let (pairs_a, pairs_b) = (bigrams(a), bigrams(b));
    let total: usize = pairs_a.values().sum::<usize>() + pairs_b.values().sum::<usize>();
    if total == 0 {
        return 0.0;
    }
    let shared: usize = pairs_a
        .iter()
        .map(|(pair, n)| (*n).min(pairs_b.get(pair).copied().unwrap_or(0)))
        .sum();
    2.0 * shared as f32 / total as f32
}

fn bigrams(text: &str) -> HashMap<(char, char), usize> {
    let folded: Vec<char> = text.to_lowercase().chars().collect();
    let mut counts = HashMap::new();
    for pair in folded.windows(2) {
        *counts.entry((pair[0], pair[1])).or_insert(0) += 1;
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_its_neighbour() {
        let names = ["a/config.json", "a/Model.Q4_1.gguf", "a/readme.md"].map(String::from);
        assert_eq!(
            nearest("a/model.q4_0.gguf", &names, 1),
            ["a/Model.Q4_1.gguf"]
        );
        assert_eq!(nearest("", &names, 5).len(), 3);
        assert!(nearest("x", &[], 5).is_empty());
    }
}
