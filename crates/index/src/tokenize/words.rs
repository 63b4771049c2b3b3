//! Words as terms: their stems, the parts of a camel-case name, and words that are also written as one.

use frostem::{Algorithm, Stemmer};

use super::LONGEST_TERM;

/// What stands between words that are also written as one.
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
    /// The joint that all of them have.
    joint: Option<Joint>,
    /// Whether a joint is the last that was met.
    is_open: bool,
}

impl Compound {
    /// Takes a joint that follows the last word.
    pub(super) fn join(&mut self, joint: Joint) {
        if self.words == 1 {
            self.joint = Some(joint);
        }
        self.is_open = self.words > 0 && self.joint == Some(joint) && !self.is_open;
    }

    /// Takes the next word; where no joint is before it, the words until then are one.
    pub(super) fn push(&mut self, word: &str) -> Option<String> {
        let ended = if self.is_open { None } else { self.end() };
        if self.joined.len() <= 4 * LONGEST_TERM {
            self.joined.push_str(word);
        }
        self.words += 1;
        self.is_open = false;
        ended
    }

    /// The words that were joined, as one.
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

/// The parts of a name like `getPumpStatus` or `HTTPServer`, those of one letter left out; none of a word that is
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
    let parts: Vec<&str> = match starts.len() {
        1 => Vec::new(),
        _ => starts
            .iter()
            .zip(ends)
            .map(|(&start, end)| &word[start..end])
            .collect(),
    };
    parts
        .into_iter()
        .filter(|part| part.chars().nth(1).is_some())
}

/// The stem of a word, where there is a stemmer for its script; `latin` is that of Latin letters.
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
    // Some reduce a word that is all suffix to nothing.
    if stem.is_empty() {
        word.to_owned()
    } else {
        stem.into_owned()
    }
}
