//! The names of an invented world, assembled from syllables. All names are distinct across kinds, and none is a word
//! of the sentence templates.

use std::collections::HashSet;

use ken_probe::seed_of;

use crate::templates;
use ken_random::below;

/// People have a first and a last name.
const FIRST_NAMES: usize = 300;
const LAST_NAMES: usize = 360;
const TOWNS: usize = 120;
/// Towns that occur only in reading comprehension examples.
const READING_TOWNS: usize = 60;
const REGIONS: usize = 16;
const EMPLOYERS: usize = 80;
/// Titles have a first and a last word.
const TITLE_WORDS: usize = 120;

const ONSETS: [&str; 30] = [
    "b", "bl", "br", "d", "dr", "f", "fl", "g", "gl", "gr", "h", "j", "k", "kl", "kr", "l", "m",
    "n", "p", "pl", "qu", "r", "s", "t", "tr", "v", "vr", "w", "z", "zw",
];
const VOWELS: [&str; 8] = ["a", "e", "i", "o", "u", "ai", "ei", "ou"];
const MIDDLES: [&str; 24] = [
    "b", "bd", "d", "dr", "g", "gm", "k", "ksh", "l", "lb", "lv", "m", "mn", "n", "nz", "pt", "r",
    "rg", "rv", "sk", "t", "thl", "v", "zd",
];

/// Every word of a name. All lists are in the order of drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) first: Vec<String>,
    pub(crate) last: Vec<String>,
    pub(crate) towns: Vec<String>,
    pub(crate) reading_towns: Vec<String>,
    pub(crate) regions: Vec<String>,
    pub(crate) employers: Vec<String>,
    /// First and last words of titles.
    pub(crate) titles: [Vec<String>; 2],
}

impl Names {
    /// Invents all names.
    pub(crate) fn new(seed: u64) -> Self {
        let mut state = seed_of(seed, "names");
        let mut taken: HashSet<String> = templates::words().into_iter().collect();
        let mut words = |count: usize, endings: &[&str]| -> Vec<String> {
            let mut words = Vec::with_capacity(count);
            while words.len() < count {
                let word = word(endings, &mut state);
                if taken.insert(word.to_lowercase()) {
                    words.push(word);
                }
            }
            words
        };
        Self {
            first: words(FIRST_NAMES, &["a", "o", "i", "an", "el", "is", "u", "or"]),
            last: words(
                LAST_NAMES,
                &["ensk", "ovar", "ilde", "arrik", "oth", "essel", "umme"],
            ),
            towns: words(
                TOWNS,
                &["mar", "holt", "vik", "dun", "peth", "rova", "lund"],
            ),
            reading_towns: words(
                READING_TOWNS,
                &["mar", "holt", "vik", "dun", "peth", "rova"],
            ),
            regions: words(REGIONS, &["ia", "esh", "orra", "stan"]),
            employers: words(EMPLOYERS, &["ex", "ko", "brand", "tec", "worx"]),
            titles: [
                words(TITLE_WORDS, &["ath", "une", "iss", "olm"]),
                words(TITLE_WORDS, &["eal", "ynd", "urk", "asp"]),
            ],
        }
    }

    /// How many names of people there are.
    pub(crate) fn people(&self) -> usize {
        self.first.len() * self.last.len()
    }

    /// The name of a person, by a number below [`Names::people`].
    pub(crate) fn person(&self, number: usize) -> String {
        let (first, last) = (number / self.last.len(), number % self.last.len());
        format!("{} {}", self.first[first], self.last[last])
    }

    /// How many titles there are.
    pub(crate) fn books(&self) -> usize {
        self.titles[0].len() * self.titles[1].len()
    }

    /// The title of a book, by a number below [`Names::books`].
    pub(crate) fn book(&self, number: usize) -> String {
        let [first, last] = &self.titles;
        format!(
            "{} {}",
            first[number / last.len()],
            last[number % last.len()]
        )
    }

    /// Every word of all names.
    pub(crate) fn words(&self) -> impl Iterator<Item = &str> {
        [
            &self.first,
            &self.last,
            &self.towns,
            &self.reading_towns,
            &self.regions,
            &self.employers,
            &self.titles[0],
            &self.titles[1],
        ]
        .into_iter()
        .flatten()
        .map(String::as_str)
    }
}

fn word(endings: &[&str], state: &mut u64) -> String {
    let mut syllables = String::new();
    for part in [&ONSETS[..], &VOWELS, &MIDDLES, endings] {
        syllables.push_str(part[below(state, part.len())]);
    }
    let mut letters = syllables.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_word_names_two_things() {
        let names = Names::new(7);
        let words: Vec<&str> = names.words().collect();
        let distinct: HashSet<&str> = words.iter().copied().collect();
        assert_eq!(words.len(), distinct.len());
        assert_eq!(names, Names::new(7));
        assert_ne!(names, Names::new(8));
    }
}
