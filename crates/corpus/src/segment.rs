//! Cutting a document's text into the texts of its passages.
//!
//! Pieces are slices of the text, so no character changes; only white space between and around them
//! is lost. The caller provides the token boundaries: no model is loaded here.

use std::collections::VecDeque;
use std::fmt;
use std::ops::Range;
use std::str::FromStr;

use crate::pack::pack;
use crate::sentence::sentences_unless;

/// How documents are cut into passages.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segmentation {
    /// The whole text is one passage: `whole`.
    Whole,
    /// One sentence a passage: `sentence`.
    Sentence,
    /// As many whole sentences as have at most `size` words together: `sentences:100`. Words are counted as in
    /// [`Segmentation::Words`].
    Sentences {
        /// The most words of a passage, at least 1. A longer sentence is cut.
        size: usize,
    },
    /// Windows of `size` words, each sharing `overlap` words with the one before: `words:100`,
    /// `words:100/20`. A Chinese or Japanese character counts as a word.
    Words {
        /// The most words of a passage, at least 1.
        size: usize,
        /// The words shared with the passage before, less than `size`.
        overlap: usize,
    },
    /// Windows of tokens of the embedder: `tokens:256`, `tokens:256/32`.
    Tokens {
        /// The most tokens of a passage, at least 1.
        size: usize,
        /// The tokens shared with the passage before, less than `size`.
        overlap: usize,
    },
}

/// A malformed segmentation.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs)] // the messages say what variants and fields are
#[diagnostic(
    remedy = "write whole, sentence, sentences:WORDS, words:SIZE[/OVERLAP] or tokens:SIZE[/OVERLAP], e.g. sentences:100"
)]
pub enum SegmentationError {
    #[error(
        "unknown segmentation {given:?} (whole, sentence, sentences:N, words:N[/M] and tokens:N[/M] are known)"
    )]
    #[diagnostic(kind = "unknown_segmentation")]
    Unknown { given: String },
    /// A size or overlap is not a number, or the size is 0.
    #[error("the segmentation {given:?} has a wrong number {number:?}")]
    #[diagnostic(kind = "wrong_segmentation_number")]
    WrongNumber { given: String, number: String },
    /// The windows would not advance.
    #[error("the overlap {overlap} is not less than the size {size}")]
    OverlapNotLess { size: usize, overlap: usize },
}

impl fmt::Display for Segmentation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (unit, size, overlap) = match self {
            Self::Whole => return f.write_str("whole"),
            Self::Sentence => return f.write_str("sentence"),
            Self::Sentences { size } => return write!(f, "sentences:{size}"),
            Self::Words { size, overlap } => ("words", size, overlap),
            Self::Tokens { size, overlap } => ("tokens", size, overlap),
        };
        write!(f, "{unit}:{size}")?;
        if *overlap > 0 {
            write!(f, "/{overlap}")?;
        }
        Ok(())
    }
}

impl FromStr for Segmentation {
    type Err = SegmentationError;

    fn from_str(given: &str) -> Result<Self, Self::Err> {
        match given {
            "whole" => return Ok(Self::Whole),
            "sentence" => return Ok(Self::Sentence),
            _ => {}
        }
        let unknown = || SegmentationError::Unknown {
            given: given.to_owned(),
        };
        let (unit, numbers) = given.split_once(':').ok_or_else(unknown)?;
        let number = |text: &str, least: usize| match text.parse() {
            Ok(number) if number >= least => Ok(number),
            _ => Err(SegmentationError::WrongNumber {
                given: given.to_owned(),
                number: text.to_owned(),
            }),
        };
        let (size, overlap) = match numbers.split_once('/') {
            Some((size, overlap)) => (number(size, 1)?, number(overlap, 0)?),
            None => (number(numbers, 1)?, 0),
        };
        if overlap >= size {
            return Err(SegmentationError::OverlapNotLess { size, overlap });
        }
        match unit {
            "sentences" if !numbers.contains('/') => Ok(Self::Sentences { size }),
            "words" => Ok(Self::Words { size, overlap }),
            "tokens" => Ok(Self::Tokens { size, overlap }),
            _ => Err(unknown()),
        }
    }
}

/// Cuts `text` into the texts of its passages, in order, none of them empty.
///
/// `token_spans` returns the byte range of each token of a text, in order; it is called only for
/// [`Segmentation::Tokens`]. Text that no token covers belongs to the token before it, and a
/// character that several tokens share is never split.
pub fn segment<'t>(
    text: &'t str,
    segmentation: Segmentation,
    token_spans: &dyn Fn(&str) -> Vec<Range<usize>>,
) -> Vec<&'t str> {
    segment_unless(text, segmentation, token_spans, &|| false).unwrap_or_default()
}

/// As [`segment`]; `None` once `stop` returns true.
pub fn segment_unless<'t>(
    text: &'t str,
    segmentation: Segmentation,
    token_spans: &dyn Fn(&str) -> Vec<Range<usize>>,
    stop: &dyn Fn() -> bool,
) -> Option<Vec<&'t str>> {
    let pieces = match segmentation {
        Segmentation::Whole => vec![text],
        Segmentation::Sentence => sentences_unless(text, stop)?,
        Segmentation::Sentences { size } => {
            pack(text, &sentences_unless(text, stop)?, size, &word_starts)
        }
        Segmentation::Words { size, overlap } => windows(text, word_starts(text), size, overlap),
        Segmentation::Tokens { size, overlap } => {
            windows(text, token_starts(text, token_spans(text)), size, overlap)
        }
    };
    let pieces = pieces.into_iter().map(str::trim);
    let pieces = pieces.filter(|piece| !piece.is_empty()).collect();
    (!stop()).then_some(pieces)
}

/// Slices of `size` units, given the start of each unit; the first slice also takes the text before. Only the starts
/// of one slice are held at a time.
fn windows(
    text: &str,
    mut starts: impl Iterator<Item = usize>,
    size: usize,
    overlap: usize,
) -> Vec<&str> {
    let size = size.max(1);
    let step = size.saturating_sub(overlap).max(1);
    let mut pieces = Vec::new();
    let mut held: VecDeque<usize> = VecDeque::new();
    let mut start = 0;
    loop {
        let missing = size.saturating_add(1) - held.len();
        held.extend(starts.by_ref().take(missing));
        let Some(&end) = held.get(size) else {
            pieces.push(&text[start..]);
            return pieces;
        };
        pieces.push(&text[start..end]);
        held.drain(..step);
        start = held.front().copied().unwrap_or(end);
    }
}

/// The starts of tokens, ascending and on character boundaries.
fn token_starts(text: &str, spans: Vec<Range<usize>>) -> impl Iterator<Item = usize> {
    let mut last = 0;
    spans.into_iter().map(move |span| {
        let mut start = span.start.clamp(last, text.len());
        while !text.is_char_boundary(start) {
            start -= 1;
        }
        last = start.max(last);
        last
    })
}

/// The starts of the words of `text`, in order. A word is a run without white space, cut around each Chinese or Japanese
/// character. Punctuation belongs to the word before it, opening punctuation to the one after.
fn word_starts(text: &str) -> impl Iterator<Item = usize> {
    #[derive(PartialEq)]
    enum Content {
        Punctuation,
        Letters,
        Ideograph,
    }
    let mut word: Option<Content> = None;
    text.char_indices().filter_map(move |(at, character)| {
        if character.is_whitespace() {
            word = None;
            return None;
        }
        let content = if is_ideograph(character) {
            Content::Ideograph
        } else if character.is_alphanumeric() {
            Content::Letters
        } else {
            Content::Punctuation
        };
        let starts_word = match &word {
            None => true,
            Some(Content::Punctuation) => false,
            Some(Content::Letters) => content == Content::Ideograph,
            Some(Content::Ideograph) => content != Content::Punctuation || is_opening(character),
        };
        if starts_word || content != Content::Punctuation {
            word = Some(content);
        }
        starts_word.then_some(at)
    })
}

/// Whether a character counts as a word, since its script is written without spaces.
pub(crate) fn is_ideograph(character: char) -> bool {
    matches!(character,
        '\u{3005}'..='\u{3007}'
        | '\u{3040}'..='\u{3098}'
        | '\u{309D}'..='\u{30FF}'
        | '\u{31F0}'..='\u{31FF}'
        | '\u{3400}'..='\u{4DBF}'
        | '\u{4E00}'..='\u{9FFF}'
        | '\u{F900}'..='\u{FAFF}'
        | '\u{FF66}'..='\u{FF9D}'
        | '\u{20000}'..='\u{3FFFF}')
}

fn is_opening(character: char) -> bool {
    "([{「『（《〈【〔“‘［｛".contains(character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A tokenizer for tests: three bytes a token, even within a character.
    fn three_bytes(text: &str) -> Vec<Range<usize>> {
        (0..text.len())
            .step_by(3)
            .map(|start| start..(start + 3).min(text.len()))
            .collect()
    }

    fn cut<'t>(text: &'t str, segmentation: &str) -> Vec<&'t str> {
        segment(text, segmentation.parse().unwrap(), &three_bytes)
    }

    #[test]
    fn words_are_cut_with_their_spacing() {
        let text = "one  two\nthree four five ";
        assert_eq!(cut(text, "words:2"), ["one  two", "three four", "five"]);
        assert_eq!(
            cut(text, "words:3/1"),
            ["one  two\nthree", "three four five"]
        );
        assert_eq!(cut("", "words:2"), [""; 0]);
        assert_eq!(cut(" \n", "words:2"), [""; 0]);
        assert_eq!(cut(" a", "words:1"), ["a"]);
    }

    #[test]
    fn an_ideograph_is_a_word() {
        assert_eq!(
            cut("他说：“我爱 Rust语言”。好", "words:3"),
            ["他说：“我", "爱 Rust语", "言”。好"]
        );
        assert_eq!(cut("カタカナ", "words:2"), ["カタ", "カナ"]);
    }

    #[test]
    fn tokens_never_cut_a_character() {
        assert_eq!(cut("abcdefgh", "tokens:2"), ["abcdef", "gh"]);
        assert_eq!(cut("a€bc", "tokens:1"), ["a", "€bc"]);
        let none = |_: &str| Vec::new();
        let tokens = Segmentation::Tokens {
            size: 1,
            overlap: 0,
        };
        assert_eq!(segment("text", tokens, &none), ["text"]);
    }

    #[test]
    fn segmentations_are_written_and_read() {
        for text in [
            "whole",
            "sentence",
            "sentences:100",
            "words:100",
            "words:100/20",
            "tokens:256/32",
        ] {
            let parsed: Segmentation = text.parse().unwrap();
            assert_eq!(parsed.to_string(), text);
        }
        for (text, kind) in [
            ("", "unknown_segmentation"),
            ("lines:3", "unknown_segmentation"),
            ("words", "unknown_segmentation"),
            ("words:0", "wrong_segmentation_number"),
            ("words:x", "wrong_segmentation_number"),
            ("words:5/-1", "wrong_segmentation_number"),
            ("words:5/5", "overlap_not_less"),
            ("sentences:5/1", "unknown_segmentation"),
        ] {
            assert_eq!(
                text.parse::<Segmentation>().unwrap_err().kind(),
                kind,
                "{text}"
            );
        }
    }

    fn solid(text: &str) -> String {
        text.chars().filter(|c| !c.is_whitespace()).collect()
    }

    /// A text of words, punctuation, white space and ideographs.
    fn texts() -> impl Strategy<Value = String> {
        "([a-zA-Z0-9é]{1,4}|[.!?。！？；,“”「」()\"]|[ \n\t\u{a0}]{1,3}|[汉字かなカナ])(.|[a-z .汉。]){0,60}"
    }

    proptest! {
        #[test]
        fn pieces_cover_the_text_in_order(text in texts(), size in 1_usize..6) {
            for how in [
                Segmentation::Whole,
                Segmentation::Sentence,
                Segmentation::Sentences { size },
                Segmentation::Words { size, overlap: 0 },
                Segmentation::Tokens { size, overlap: 0 },
            ] {
                let pieces = segment(&text, how, &three_bytes);
                prop_assert_eq!(solid(&pieces.concat()), solid(&text), "{}", how);
                for piece in pieces {
                    prop_assert!(!piece.trim().is_empty());
                }
            }
        }

        #[test]
        fn windows_have_their_size_and_overlap(text in texts(), size in 1_usize..6, overlap in 0_usize..5) {
            prop_assume!(overlap < size);
            let starts: Vec<usize> = word_starts(&text).chain([text.len()]).collect();
            let all: Vec<&str> = starts.windows(2).map(|word| &text[word[0]..word[1]]).collect();
            let pieces = segment(&text, Segmentation::Words { size, overlap }, &three_bytes);
            let mut first = 0;
            for (at, piece) in pieces.iter().enumerate() {
                let end = (first + size).min(all.len());
                prop_assert_eq!(solid(piece), solid(&all[first..end].concat()));
                prop_assert_eq!(at + 1 == pieces.len(), end == all.len());
                first += size - overlap;
            }
        }
    }
}
