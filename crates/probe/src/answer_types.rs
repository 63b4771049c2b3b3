//! Which of the sampled answers say the same: by their normalized text, by the cosine of their embeddings, or by
//! mutual entailment as a model judges it. How far the answers agree is computed in `indicators`.

use std::collections::HashMap;
use std::fmt;
use std::str::FromStr;

use ken_language::{Embedder, LanguageModel, ModelError, Role};

use crate::few_shot::FewShot;
use crate::first_of_two::first_of_two;
use crate::normalize::{Rules, normalize};
use crate::worked_examples;

/// When two answers are of one type.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub enum Grouping {
    /// They are equal after normalization.
    #[default]
    String,
    /// The cosine of their embeddings is at least this.
    Meaning {
        /// Between -1 and 1.
        threshold: f64,
    },
    /// A model judges that each follows from the other.
    Entailment,
}

impl fmt::Display for Grouping {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::String => formatter.write_str("string"),
            Self::Meaning { threshold } => write!(formatter, "meaning:{threshold}"),
            Self::Entailment => formatter.write_str("entailment"),
        }
    }
}

/// A text that names no [`Grouping`].
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{0:?} is not a way to group answers; there are string, meaning:T, where T is a cosine between -1 \
     and 1, and entailment"
)]
pub struct UnknownGrouping(String);

impl FromStr for Grouping {
    type Err = UnknownGrouping;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let threshold = || {
            let threshold: f64 = name.strip_prefix("meaning:")?.parse().ok()?;
            (-1.0..=1.0).contains(&threshold).then_some(threshold)
        };
        match name {
            "string" => Ok(Self::String),
            "entailment" => Ok(Self::Entailment),
            _ => threshold()
                .map(|threshold| Self::Meaning { threshold })
                .ok_or_else(|| UnknownGrouping(name.to_owned())),
        }
    }
}

/// The type of each answer by its normalized text. Types are numbered from 0 in order of first occurrence. If any
/// answer is Chinese, all are normalized as Chinese.
pub fn types_by_string(answers: &[&str]) -> Vec<usize> {
    distinct(answers).0
}

/// As [`types_by_string`], but an answer also joins a type if its embedding has at least this cosine with that of the
/// type's first answer. Answers without content form a type of their own.
///
/// # Errors
/// An embedder that fails.
pub fn types_by_meaning(
    answers: &[&str],
    embedder: &dyn Embedder,
    threshold: f64,
) -> Result<Vec<usize>, ModelError> {
    let (labels, texts) = distinct(answers);
    let full: Vec<usize> = with_content(&texts);
    if full.len() < 2 {
        return Ok(labels);
    }
    let full_texts: Vec<&str> = full.iter().map(|&index| texts[index].as_str()).collect();
    let vectors = embedder.embed(&full_texts, Role::Passage)?;
    let mut groups = Groups::new(texts.len());
    for (index, vector) in full.iter().zip(&vectors) {
        groups.place(*index, |first| {
            let other = full.iter().position(|index| *index == first);
            other.is_some_and(|other| cosine(&vectors[other], vector) >= threshold)
        });
    }
    Ok(groups.relabel(&labels))
}

/// As [`types_by_string`], but an answer also joins a type if the model says that it and the type's first answer
/// follow from each other.
///
/// # Errors
/// A model that does not score, or that fails.
pub fn types_by_entailment(
    question: &str,
    answers: &[&str],
    model: &dyn LanguageModel,
) -> Result<Vec<usize>, ModelError> {
    let (labels, texts) = distinct(answers);
    let mut groups = Groups::new(texts.len());
    for index in with_content(&texts) {
        let firsts = groups.firsts.clone();
        let same = entail_each_other(question, &texts[index], &firsts, &texts, model)?;
        groups.place(index, |first| same.contains(&first));
    }
    Ok(groups.relabel(&labels))
}

/// The number of each answer's text among the distinct texts, and those normalized texts.
fn distinct(answers: &[&str]) -> (Vec<usize>, Vec<String>) {
    let all = answers.concat();
    let rules = Rules::for_pair(&all, "");
    let mut numbers: HashMap<String, usize> = HashMap::new();
    let mut texts = Vec::new();
    let labels = answers
        .iter()
        .map(|answer| {
            let text = normalize(answer, rules);
            *numbers.entry(text.clone()).or_insert_with(|| {
                texts.push(text);
                texts.len() - 1
            })
        })
        .collect();
    (labels, texts)
}

fn with_content(texts: &[String]) -> Vec<usize> {
    (0..texts.len())
        .filter(|&index| !texts[index].is_empty())
        .collect()
}

/// Groups of distinct texts, each represented by its first text.
struct Groups {
    /// The first text of each type.
    firsts: Vec<usize>,
    /// For each text, the first text of its type; itself if `place` has not moved it.
    first_of: Vec<usize>,
}

impl Groups {
    fn new(texts: usize) -> Self {
        Self {
            firsts: Vec::new(),
            first_of: (0..texts).collect(),
        }
    }

    /// Adds a text to the first type whose first text is the same, or starts a new type with it.
    fn place(&mut self, text: usize, same: impl Fn(usize) -> bool) {
        match self.firsts.iter().find(|first| same(**first)) {
            Some(first) => self.first_of[text] = *first,
            None => self.firsts.push(text),
        }
    }

    /// The types of answers, given the index of each answer's text.
    fn relabel(&self, labels: &[usize]) -> Vec<usize> {
        let mut numbers: HashMap<usize, usize> = HashMap::new();
        labels
            .iter()
            .map(|text| {
                let next = numbers.len();
                *numbers.entry(self.first_of[*text]).or_insert(next)
            })
            .collect()
    }
}

/// The cosine of two vectors; 0 if one of them is zero.
fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        let products = a.iter().zip(b);
        products.map(|(a, b)| f64::from(*a) * f64::from(*b)).sum()
    };
    let length = (dot(a, a) * dot(b, b)).sqrt();
    if length > 0.0 {
        dot(a, b) / length
    } else {
        0.0
    }
}

const FOLLOWS: FewShot = FewShot {
    instruction: "For each question with two answers, it is written whether the second is right if the first is.",
    examples: worked_examples! {
        "Question: when did the war end\nFirst: on 11 November 1918\nSecond: in 1918\nFollows:"
            => "True",
        "Question: when did the war end\nFirst: in 1918\nSecond: in 1919\nFollows:" => "False",
        "Question: who wrote the letter\nFirst: a friend\nSecond: her friend Ada Brown\nFollows:"
            => "False",
        "Question: what is it made of\nFirst: mostly copper\nSecond: copper\nFollows:" => "True",
    },
};

/// The texts of `firsts` that follow from the text and that entail it.
fn entail_each_other(
    question: &str,
    text: &str,
    firsts: &[usize],
    texts: &[String],
    model: &dyn LanguageModel,
) -> Result<Vec<usize>, ModelError> {
    let prompt = |first: &str, second: &str| {
        let input = format!("Question: {question}\nFirst: {first}\nSecond: {second}\nFollows:");
        (FOLLOWS.prompt(input), [" True", " False"])
    };
    let prompts: Vec<_> = firsts
        .iter()
        .flat_map(|&first| [prompt(&texts[first], text), prompt(text, &texts[first])])
        .collect();
    let follows = first_of_two(model, &prompts)?;
    let both_ways = firsts.iter().zip(follows.chunks(2));
    Ok(both_ways
        .filter_map(|(first, both)| both.iter().all(|yes| *yes > 0.5).then_some(*first))
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_testing::{FnEmbedder, FnModel};
    use proptest::prelude::*;

    #[test]
    fn equal_answers_are_of_one_type() {
        let answers = ["the Wren", "owl", "wren!", "", "Owl", "a"];
        assert_eq!(types_by_string(&answers), [0, 1, 0, 2, 1, 2]);
        assert_eq!(types_by_string(&["北京", "北 京。", "上海"]), [0, 0, 1]);
        assert_eq!(types_by_string(&[]), [0_usize; 0]);
    }

    #[test]
    fn near_vectors_are_of_one_type() {
        // The embedder gives each text a direction by its length.
        let answers = ["ab", "xy", "", "abcdefgh", "abc", "ab"];
        let types = types_by_meaning(&answers, &FnEmbedder::by_length(4.0), 0.99).unwrap();
        assert_eq!(types, [0, 0, 1, 2, 3, 0]);
        let types = types_by_meaning(&answers, &FnEmbedder::by_length(4.0), -1.0).unwrap();
        assert_eq!(types, [0, 0, 1, 0, 0, 0]);
    }

    #[test]
    fn both_must_follow() {
        // The shorter text follows from the longer one, so only texts of equal length entail each other.
        let model = FnModel::first_where(|input| {
            let length = |label: &str| {
                let line = input.lines().find_map(|line| line.strip_prefix(label));
                line.unwrap().len()
            };
            length("First: ") >= length("Second: ")
        });
        let answers = ["ab", "xyz", "cd", "", "uvw", "ab"];
        let types = types_by_entailment("which?", &answers, &model).unwrap();
        assert_eq!(types, [0, 1, 0, 2, 1, 0]);
    }

    #[test]
    fn names_are_read_as_they_are_written() {
        for grouping in [
            Grouping::String,
            Grouping::Meaning { threshold: 0.85 },
            Grouping::Entailment,
        ] {
            assert_eq!(grouping.to_string().parse(), Ok(grouping));
        }
        for name in [
            "",
            "meaning",
            "meaning:",
            "meaning:2",
            "meaning:NaN",
            "words",
        ] {
            assert!(name.parse::<Grouping>().is_err(), "{name}");
        }
    }

    proptest! {
        #[test]
        fn types_are_equality_numbered_as_it_comes_up(
            answers in proptest::collection::vec("[ab ]{0,3}", 0..12),
        ) {
            let texts: Vec<&str> = answers.iter().map(String::as_str).collect();
            let types = types_by_string(&texts);
            let normal: Vec<String> = texts.iter().map(|text| normalize(text, Rules::Squad)).collect();
            for (i, a) in normal.iter().enumerate() {
                for (j, b) in normal.iter().enumerate() {
                    prop_assert_eq!(types[i] == types[j], a == b);
                }
                prop_assert!(types[i] <= types[..i].iter().max().map_or(0, |most| most + 1));
            }
            // Nothing but equal vectors reaches a cosine of 1 when the embedder tells all apart.
            let meaning = types_by_meaning(&texts, &FnEmbedder::by_length(4.0), 1.1).unwrap();
            prop_assert_eq!(meaning, types);
        }
    }
}
