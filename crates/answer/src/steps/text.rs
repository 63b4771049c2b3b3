//! The answer in the text of a model: the first line for a short answer, the whole text for others.

use std::borrow::Cow;

use ken_language::FirstLine;
use ken_probe::is_repeated;

use crate::answer::Retrieved;
use crate::cite::attribution::Attribution;
use crate::style::Style;

/// An answer that grows piece by piece.
#[derive(Debug)]
pub(crate) enum AnswerText {
    Short(FirstLine),
    AsSent(String),
    Full {
        /// The text of the model.
        text: String,
        repeats: bool,
        attribution: Attribution,
        /// The words before the answer, once there is one.
        mark: &'static str,
        /// The text with marks.
        answer: String,
    },
}

impl AnswerText {
    /// An answer from these passages. `mark`: the words before a full one.
    pub(crate) fn new(style: Style, retrieved: &[Retrieved], mark: &'static str) -> Self {
        match style {
            Style::Short => Self::Short(FirstLine::default()),
            Style::AsSent => Self::AsSent(String::new()),
            Style::Full => Self::Full {
                text: String::new(),
                repeats: false,
                attribution: Attribution::new(retrieved),
                mark,
                answer: String::new(),
            },
        }
    }

    /// Takes the next piece of the model's text and returns the next of the answer.
    pub(crate) fn take<'p>(&mut self, piece: &'p str) -> Cow<'p, str> {
        let (text, repeats, attribution) = match self {
            Self::Short(line) => return Cow::Borrowed(line.take(piece)),
            Self::AsSent(text) => {
                text.push_str(piece);
                return Cow::Borrowed(piece);
            }
            Self::Full {
                text,
                repeats,
                attribution,
                ..
            } => (text, repeats, attribution),
        };
        let piece = match text.is_empty() {
            true => piece.trim_start(),
            false => piece,
        };
        let mut taken = 0;
        for part in piece.split_inclusive([' ', '\n']) {
            if *repeats {
                break;
            }
            text.push_str(part);
            taken += part.len();
            *repeats = is_repeated(text);
        }
        let follows = attribution.take(&piece[..taken]);
        Cow::Owned(self.followed(follows))
    }

    /// Adds a text to a full answer, and returns it, with the mark if it is the first.
    fn followed(&mut self, mut follows: String) -> String {
        if let Self::Full { mark, answer, .. } = self {
            if answer.is_empty() && !follows.is_empty() {
                follows.insert_str(0, mark);
            }
            answer.push_str(&follows);
        }
        follows
    }

    /// Returns the held-back rest of the answer: no piece follows.
    pub(crate) fn finish(&mut self) -> String {
        let Self::Full { attribution, .. } = self else {
            return String::new();
        };
        let follows = attribution.finish();
        self.followed(follows)
    }

    /// Whether the answer has ended before its text: a full one ends when it goes round in circles.
    pub(crate) fn has_ended(&self) -> bool {
        match self {
            Self::Short(line) => line.has_ended(),
            Self::AsSent(_) => false,
            Self::Full { repeats, .. } => *repeats,
        }
    }

    /// Whether the answer goes round in circles.
    pub(crate) fn repeats(&self) -> bool {
        matches!(self, Self::Full { repeats: true, .. })
    }

    /// The model's text so far, without the mark; of a short answer, its line.
    pub(crate) fn taken(&self) -> &str {
        match self {
            Self::Short(line) => line.answer(),
            Self::AsSent(text) | Self::Full { text, .. } => text,
        }
    }

    /// The answer so far.
    pub(crate) fn answer(&self) -> &str {
        match self {
            Self::Short(line) => line.answer(),
            Self::AsSent(text) => text,
            Self::Full { answer, .. } => answer.trim_end(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_answer_is_all_that_is_written() {
        let mut written = AnswerText::new(Style::Full, &[], "");
        let given: Vec<Cow<str>> = [" \n", " Two", " lines.\n\nHere. "]
            .into_iter()
            .map(|piece| written.take(piece))
            .collect();
        assert_eq!(given, ["", "Two", " lines.\n\nHere"]);
        assert_eq!(written.finish(), ". ");
        assert_eq!(written.answer(), "Two lines.\n\nHere.");
        assert!(!written.has_ended());

        let mut written = AnswerText::new(Style::Short, &[], "");
        assert_eq!(written.take("Two\nlines"), "Two");
        assert!(written.has_ended());
    }

    #[test]
    fn a_full_answer_ends_where_it_goes_round_in_circles() {
        let step = "Open the file that the command names, and read it.";
        let all = format!("1. {step}\n2. Yes.\n3. Yes.\n4. {step}\n5. Yes.\n6. {step}\n");
        let end = all.find("5.").unwrap();
        for size in [1, 7, all.len()] {
            let mut written = AnswerText::new(Style::Full, &[], "");
            let mut given = String::new();
            for piece in all.as_bytes().chunks(size) {
                given.push_str(&written.take(std::str::from_utf8(piece).unwrap()));
            }
            given.push_str(&written.finish());
            assert_eq!(given, all[..end]);
            assert_eq!(written.answer(), all[..end].trim_end());
            assert!(written.has_ended());
        }
    }
}
