//! How good an answer is against its gold answers: exact match, F1, contains.
//!
//! Every score is the best over the gold answers. Edge cases follow the official SQuAD 2.0 script: gold answers that
//! normalize to nothing do not count; a question without any other is unanswerable, so only an answer that normalizes
//! to nothing is right (all scores 1, else 0).

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::normalize::{Rules, normalize};

/// The scores of one answer. `exact_match` implies `f1 == 1.0` and `contains`.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Scores {
    /// The answer equals a gold answer after normalization.
    pub exact_match: bool,
    /// Harmonic mean of token precision and recall, in 0..=1, tokens counted with multiplicity.
    pub f1: f64,
    /// A gold answer occurs in the answer: as a plain substring of the normalized forms, also
    /// inside a word, as FlashRAG's `acc` (sub-EM) has it.
    pub contains: bool,
}

/// Scores `prediction` against `golds`.
pub fn score(prediction: &str, golds: &[String]) -> Scores {
    let compared = Compared::new(prediction);
    let mut best: Option<Scores> = None;
    for gold in golds {
        let (prediction, gold) = compared.with(gold);
        if gold.is_empty() {
            continue;
        }
        let so_far = best.unwrap_or_default();
        best = Some(Scores {
            exact_match: so_far.exact_match || prediction == gold,
            f1: so_far.f1.max(token_f1(prediction, &gold)),
            contains: so_far.contains || prediction.contains(&gold),
        });
    }
    best.unwrap_or_else(|| {
        let silent = compared.with("").0.is_empty();
        Scores {
            exact_match: silent,
            f1: f64::from(u8::from(silent)),
            contains: silent,
        }
    })
}

/// Whether a gold answer occurs in `text`, by the rule of [`Scores::contains`]; `None` if no gold answer has content.
pub fn covers(text: &str, golds: &[String]) -> Option<bool> {
    let compared = Compared::new(text);
    let mut found = None;
    for gold in golds {
        let (text, gold) = compared.with(gold);
        if gold.is_empty() {
            continue;
        }
        if text.contains(&gold) {
            return Some(true);
        }
        found = Some(false);
    }
    found
}

/// A text to compare with many gold answers, normalized at most once by each set of rules.
struct Compared<'a> {
    text: &'a str,
    squad: OnceCell<String>,
    chinese: OnceCell<String>,
}

impl<'a> Compared<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text,
            squad: OnceCell::new(),
            chinese: OnceCell::new(),
        }
    }

    /// The text and `gold`, normalized under the rules for the two.
    fn with(&self, gold: &str) -> (&str, String) {
        let rules = Rules::for_pair(self.text, gold);
        let form = match rules {
            Rules::Squad => &self.squad,
            Rules::Chinese => &self.chinese,
        };
        let text = form.get_or_init(|| normalize(self.text, rules));
        (text, normalize(gold, rules))
    }
}

/// F1 of two normalized texts over their space-separated tokens; 0 if they share none.
fn token_f1(prediction: &str, gold: &str) -> f64 {
    let mut unmatched: HashMap<&str, usize> = HashMap::new();
    let mut gold_tokens = 0_usize;
    for token in gold.split_whitespace() {
        *unmatched.entry(token).or_default() += 1;
        gold_tokens += 1;
    }
    let mut predicted_tokens = 0_usize;
    let mut shared = 0_usize;
    for token in prediction.split_whitespace() {
        predicted_tokens += 1;
        if let Some(left) = unmatched.get_mut(token).filter(|left| **left > 0) {
            *left -= 1;
            shared += 1;
        }
    }
    if shared == 0 {
        return 0.0;
    }
    let precision = shared as f64 / predicted_tokens as f64;
    let recall = shared as f64 / gold_tokens as f64;
    2.0 * precision * recall / (precision + recall)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn golds(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|&t| t.to_owned()).collect()
    }

    #[test]
    fn contains_is_a_plain_substring_after_normalization() {
        assert!(score("It was The Beatles, in 1963.", &golds(&["the beatles"])).contains);
        assert!(score("19631", &golds(&["1963"])).contains);
        assert!(!score("196", &golds(&["1963"])).contains);
        assert!(score("是北京市。", &golds(&["北 京"])).contains);
    }

    #[test]
    fn a_gold_answer_without_content_is_not_contained_in_everything() {
        assert!(!score("Paris", &golds(&["the", "London"])).contains);
        assert!(!score("Paris", &golds(&["the"])).contains);
        assert!(score("", &[]).contains);
    }

    #[test]
    fn coverage_needs_a_gold_answer() {
        assert_eq!(covers("anything", &golds(&["", "the"])), None);
        assert_eq!(covers("in Paris", &golds(&["Rome", "paris"])), Some(true));
        assert_eq!(covers("in Paris", &golds(&["Rome"])), Some(false));
    }

    fn answer() -> impl Strategy<Value = String> {
        prop_oneof![any::<String>(), "(the|a|red|Blue|北|京|3|,| ){0,8}"]
    }

    proptest! {
        #[test]
        fn scores_agree_with_each_other(
            prediction in answer(),
            golds in proptest::collection::vec(answer(), 0..4),
        ) {
            let scores = score(&prediction, &golds);
            prop_assert!((0.0..=1.0).contains(&scores.f1));
            if scores.exact_match {
                prop_assert_eq!(scores.f1, 1.0);
                prop_assert!(scores.contains);
            }
        }

        #[test]
        fn f1_does_not_depend_on_the_side(a in answer(), b in answer()) {
            let rules = Rules::for_pair(&a, &b);
            let (x, y) = (normalize(&a, rules), normalize(&b, rules));
            prop_assert!((token_f1(&x, &y) - token_f1(&y, &x)).abs() < 1e-12);
        }

        #[test]
        fn an_answer_matches_itself(text in answer()) {
            let scores = score(&text, std::slice::from_ref(&text));
            prop_assert!(scores.exact_match && scores.contains);
            prop_assert_eq!(scores.f1, 1.0);
        }

        #[test]
        fn more_gold_answers_never_hurt(
            prediction in answer(),
            first in "[a-c]{1,3}",
            second in "[a-c ]{1,6}",
        ) {
            let one = score(&prediction, std::slice::from_ref(&first));
            let two = score(&prediction, &[first, second]);
            // A first answer such as "a" has no content: alone, it makes the question unanswerable.
            if !normalize(&prediction, Rules::Squad).is_empty() {
                prop_assert!(two.f1 >= one.f1);
                prop_assert!(two.contains >= one.contains);
            }
        }
    }
}
