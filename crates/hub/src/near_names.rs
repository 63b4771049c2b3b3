//! Suggesting similar names for an unknown one, for error messages.

use strsim::sorensen_dice;

/// At most `limit` of `candidates`, the most similar to `requested` first; ties keep their order.
pub(crate) fn nearest(requested: &str, candidates: &[String], limit: usize) -> Vec<String> {
    let folded = requested.to_lowercase();
    let mut scored: Vec<(f64, &String)> = candidates
        .iter()
        .map(|name| (sorensen_dice(&folded, &name.to_lowercase()), name))
        .collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let nearest = scored.into_iter().take(limit);
    nearest.map(|(_, name)| name.clone()).collect()
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
