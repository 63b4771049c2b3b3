//! The answer in what a model writes: of a short one its first line, of a full one all of it.

use ken_language::FirstLine;

use crate::style::Style;

/// Takes text piece by piece and keeps the answer.
#[derive(Debug)]
pub(crate) enum Written {
    Short(FirstLine),
    Full(String),
}

impl Written {
    pub(crate) fn new(style: Style) -> Self {
        match style {
            Style::Short => Self::Short(FirstLine::default()),
            Style::Full => Self::Full(String::new()),
        }
    }

    /// Takes the next piece and returns what of it belongs to the answer.
    pub(crate) fn take<'p>(&mut self, piece: &'p str) -> &'p str {
        match self {
            Self::Short(line) => line.take(piece),
            Self::Full(text) => {
                let piece = match text.is_empty() {
                    true => piece.trim_start(),
                    false => piece,
                };
                text.push_str(piece);
                piece
            }
        }
    }

    /// Whether nothing that follows belongs to the answer.
    pub(crate) fn has_ended(&self) -> bool {
        match self {
            Self::Short(line) => line.has_ended(),
            Self::Full(_) => false,
        }
    }

    /// The answer so far.
    pub(crate) fn answer(&self) -> &str {
        match self {
            Self::Short(line) => line.answer(),
            Self::Full(text) => text.trim_end(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_answer_is_all_that_is_written() {
        let mut written = Written::new(Style::Full);
        let given: Vec<&str> = [" \n", " Two", " lines.\n\nHere. "]
            .into_iter()
            .map(|piece| written.take(piece))
            .collect();
        assert_eq!(given, ["", "Two", " lines.\n\nHere. "]);
        assert_eq!(written.answer(), "Two lines.\n\nHere.");
        assert!(!written.has_ended());

        let mut written = Written::new(Style::Short);
        assert_eq!(written.take("Two\nlines"), "Two");
        assert!(written.has_ended());
    }
}
