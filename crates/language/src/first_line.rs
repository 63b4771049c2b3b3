//! The answer in the output of a model: its first line that is not blank. In the worked examples, each
//! output ends with its line, so later lines begin another example.

/// Takes text piece by piece and keeps the answer.
#[derive(Debug, Default)]
pub struct FirstLine {
    text: String,
    ended: bool,
}

impl FirstLine {
    /// Takes the next piece and returns the part of it that belongs to the answer.
    pub fn take<'p>(&mut self, piece: &'p str) -> &'p str {
        if self.ended {
            return "";
        }
        let piece = if self.text.is_empty() {
            piece.trim_start()
        } else {
            piece
        };
        let end = piece.find('\n');
        self.ended = end.is_some();
        let piece = &piece[..end.unwrap_or(piece.len())];
        self.text.push_str(piece);
        piece
    }

    /// Whether the line has ended.
    pub fn has_ended(&self) -> bool {
        self.ended
    }

    /// The answer so far.
    pub fn answer(&self) -> &str {
        self.text.trim_end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pieces: &[&str]) -> (String, String, bool) {
        let mut line = FirstLine::default();
        let given: String = pieces.iter().map(|piece| line.take(piece)).collect();
        (given, line.answer().to_owned(), line.has_ended())
    }

    #[test]
    fn blank_lines_before_it_do_not_count() {
        let (given, answer, ended) = read(&[" \n", "\n The ", "Hague\nQues", "tion:"]);
        assert_eq!(
            (given.as_str(), answer.as_str(), ended),
            ("The Hague", "The Hague", true)
        );
    }

    #[test]
    fn a_line_that_goes_on_has_not_ended() {
        let (given, answer, ended) = read(&["The", " Hague "]);
        assert_eq!(
            (given.as_str(), answer.as_str(), ended),
            ("The Hague ", "The Hague", false)
        );
        assert_eq!(read(&["", "\n"]), (String::new(), String::new(), false));
    }
}
