//! Texts as vectors of their words (TF-IDF): the input of a head that reads a question without any model.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

/// The most words kept: those in most texts.
const MOST: usize = 2000;

/// The fewest texts that a word is in; rarer words do not generalize.
const LEAST: usize = 2;

/// Words with their weights.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Vocabulary {
    /// The words, ascending.
    words: Vec<String>,
    /// The inverse document frequency of each.
    weights: Vec<f32>,
}

impl Vocabulary {
    /// The words of some texts: those in two of them or more, at most 2000. A word in d of n
    /// texts weighs ln((1 + n) / (1 + d)) + 1.
    pub fn of(texts: &[&str]) -> Self {
        let mut counts: BTreeMap<String, usize> = BTreeMap::new();
        for text in texts {
            let distinct: BTreeSet<String> = words(text).collect();
            for word in distinct {
                *counts.entry(word).or_default() += 1;
            }
        }
        let mut kept: Vec<(String, usize)> = counts.into_iter().collect();
        kept.retain(|(_, count)| *count >= LEAST);
        // A stable sort, so that of equals the alphabetically first stays.
        kept.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        kept.truncate(MOST);
        kept.sort();
        let weight = |count: usize| {
            let (all, with) = (1.0 + texts.len() as f64, 1.0 + count as f64);
            ((all / with).ln() + 1.0) as f32
        };
        Self {
            weights: kept.iter().map(|(_, count)| weight(*count)).collect(),
            words: kept.into_iter().map(|(word, _)| word).collect(),
        }
    }

    /// The number of words.
    pub(super) fn len(&self) -> usize {
        self.words.len()
    }

    /// Whether its words ascend and each has a weight, finite and not negative.
    pub(super) fn is_sound(&self) -> bool {
        let sound = |weight: &f32| weight.is_finite() && *weight >= 0.0;
        self.words.len() == self.weights.len()
            && self.weights.iter().all(sound)
            && self.words.is_sorted()
    }

    /// The counts of a text's words times their weights, normalized to length 1; zeros for a text without known words.
    ///
    /// # Shapes
    /// Returns `[words]`.
    pub fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.0_f32; self.len()];
        for word in words(text) {
            if let Ok(index) = self.words.binary_search(&word) {
                vector[index] += self.weights[index];
            }
        }
        let length = vector.iter().map(|x| x * x).sum::<f32>().sqrt();
        if length > 0.0 {
            vector.iter_mut().for_each(|x| *x /= length);
        }
        vector
    }
}

/// The words of a text in lower case. A character of a script without spaces is a word.
fn words(text: &str) -> impl Iterator<Item = String> {
    let mut spaced = String::new();
    for character in text.to_lowercase().chars() {
        match character {
            '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' => {
                spaced.extend([' ', character, ' ']);
            }
            character if character.is_alphanumeric() => spaced.push(character),
            _ => spaced.push(' '),
        }
    }
    let words: Vec<String> = spaced.split_whitespace().map(str::to_owned).collect();
    words.into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn rare_words_weigh_more_and_lone_ones_are_not_kept() {
        let vocabulary = Vocabulary::of(&["who rows?", "Who sings", "who sings alone", "谁 谁"]);
        assert_eq!(vocabulary.words, ["sings", "who"]);
        // sklearn's TfidfVectorizer(min_df=2): ln(5/3) + 1 and ln(5/4) + 1.
        let expected = [(5.0_f32 / 3.0).ln() + 1.0, (5.0_f32 / 4.0).ln() + 1.0];
        assert_eq!(vocabulary.weights, expected);
        let vector = vocabulary.vector("Who, who sings?");
        let (sings, who) = (expected[0], 2.0 * expected[1]);
        let length = (sings * sings + who * who).sqrt();
        assert!(
            (vector[0] - sings / length).abs() < 1e-6 && (vector[1] - who / length).abs() < 1e-6
        );
        assert_eq!(vocabulary.vector("nobody"), [0.0, 0.0]);
        assert_eq!(
            words("谁写了x1?").collect::<Vec<_>>(),
            ["谁", "写", "了", "x1"]
        );
    }

    proptest! {
        #[test]
        fn vectors_have_length_one_or_none(texts in proptest::collection::vec(".{0,40}", 0..12)) {
            let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
            let vocabulary = Vocabulary::of(&texts);
            prop_assert!(vocabulary.is_sound());
            for text in texts {
                let length: f32 = vocabulary.vector(text).iter().map(|x| x * x).sum();
                prop_assert!(length == 0.0 || (length - 1.0).abs() < 1e-4);
            }
        }
    }
}
