//! The terms of words: stems, the parts of camel-case names, and compounds such as `wi-fi`, also written as one word.

use frostem::{Algorithm, Stemmer};

use super::LONGEST_TERM;

/// The sign between words that are also written as one.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Joint {
    /// A hyphen, or an underscore.
    Hyphen,
    /// A sign between thousands.
    Digits,
}

/// Words with joints between them.
#[derive(Default)]
pub(super) struct Compound {
    joined: String,
    words: usize,
    /// The joint between all of them.
    joint: Option<Joint>,
    /// Whether a joint follows the last word.
    is_open: bool,
}

impl Compound {
    /// Adds a joint after the last word.
    pub(super) fn join(&mut self, joint: Joint) {
        if self.words == 1 {
            self.joint = Some(joint);
        }
        self.is_open = self.words > 0 && self.joint == Some(joint) && !self.is_open;
    }

    /// Adds the next word. If no joint is before it, the compound until then ends and is returned.
    pub(super) fn push(&mut self, word: &str) -> Option<String> {
        let ended = if self.is_open { None } else { self.end() };
        if self.joined.len() <= 4 * LONGEST_TERM {
            self.joined.push_str(word);
        }
        self.words += 1;
        self.is_open = false;
        ended
    }

    /// Ends the compound and returns it as one word, if it has several.
    pub(super) fn end(&mut self) -> Option<String> {
        let Self { joined, words, .. } = std::mem::take(self);
        let is_term = words > 1 && joined.chars().nth(LONGEST_TERM).is_none();
        is_term.then_some(joined)
    }

    /// Whether digits can be the first group, or the next one, of a number.
    pub(super) fn takes_digits(&self, digits: &str) -> bool {
        match self.words {
            0 | 1 => digits.len() <= 3,
            _ => self.joint == Some(Joint::Digits) && digits.len() == 3,
        }
    }
}

/// The parts of a name like `getPumpStatus` or `HTTPServer` that have more than one letter; none of a word that is
/// one part.
pub(super) fn camel_parts(word: &str) -> impl Iterator<Item = &str> {
    let letters: Vec<(usize, char)> = word.char_indices().collect();
    let is = |index: usize, of: fn(char) -> bool| letters.get(index).is_some_and(|&(_, c)| of(c));
    let mut starts = vec![0];
    for (index, &(start, _)) in letters.iter().enumerate().skip(1) {
        let begins = is(index, char::is_uppercase)
            && (is(index - 1, char::is_lowercase)
                || is(index - 1, char::is_uppercase)
                    && is(index + 1, char::is_lowercase)
                    && is(index + 2, char::is_lowercase));
        if begins {
            starts.push(start);
        }
    }
    let ends = starts.iter().copied().skip(1).chain([word.len()]);
    let parts: Vec<&str> = (starts.iter().zip(ends))
        .map(|(&start, end)| &word[start..end])
        .filter(|part| starts.len() > 1 && part.chars().nth(1).is_some())
        .collect();
    parts.into_iter()
}

/// The stem of a word, if there is a stemmer for its script; `latin` is that of Latin letters.
pub(super) fn stem(word: &str, latin: Algorithm) -> String {
    let algorithm = match word.chars().find(|c| c.is_alphabetic()) {
        Some('a'..='z' | '\u{df}'..='\u{24f}') => latin,
        Some('\u{370}'..='\u{3ff}') => Algorithm::Greek,
        Some('\u{400}'..='\u{52f}') => Algorithm::Russian,
        Some('\u{600}'..='\u{6ff}') => Algorithm::Arabic,
        Some('\u{900}'..='\u{97f}') => Algorithm::Hindi,
        Some('\u{b80}'..='\u{bff}') => Algorithm::Tamil,
        _ => return word.to_owned(),
    };
    let stem = Stemmer::new(algorithm).stem(word);
    // Some stemmers reduce a word that is all suffix to nothing.
    if stem.is_empty() {
        word.to_owned()
    } else {
        stem.into_owned()
    }
}
