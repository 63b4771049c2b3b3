//! The part of a growing text that can be given out.

use std::sync::Arc;

/// A growing text, which is released up to where it can no longer change: whole
/// characters that cannot be the start of a stop string.
pub struct StreamedText {
    stop: Arc<[String]>,
    text: String,
    released: usize,
    /// Whether a stop string was generated.
    pub stopped: bool,
}

impl StreamedText {
    /// An empty text that ends at the first of these strings.
    pub fn new(stop: Arc<[String]>) -> Self {
        Self {
            stop,
            text: String::new(),
            released: 0,
            stopped: false,
        }
    }

    /// Takes the whole text so far and returns what can be released now.
    pub fn extend(&mut self, whole: &str) -> &str {
        self.text = whole.to_owned();
        let stop = self
            .stop
            .iter()
            .filter(|stop| !stop.is_empty())
            .filter_map(|stop| self.text.find(stop.as_str()))
            .min();
        let end = if let Some(stop) = stop {
            self.text.truncate(stop);
            self.stopped = true;
            stop
        } else {
            let whole = self
                .text
                .trim_end_matches(char::REPLACEMENT_CHARACTER)
                .len();
            whole - self.overlap_with_stop(&self.text[..whole])
        };
        self.release(end)
    }

    /// Ends the text and releases the part that was held back.
    pub fn finish(&mut self) -> &str {
        self.release(self.text.len())
    }

    /// The part released so far.
    pub fn released(&self) -> &str {
        // The tokenizer may have changed characters that were released already.
        let most = self.released.min(self.text.len());
        let end = (0..=most)
            .rev()
            .find(|end| self.text.is_char_boundary(*end));
        &self.text[..end.unwrap_or_default()]
    }

    fn release(&mut self, up_to: usize) -> &str {
        let from = self.released.min(up_to);
        if self.text.is_char_boundary(from) {
            self.released = self.released.max(up_to);
            &self.text[from..up_to]
        } else {
            // The tokenizer changed characters that were released already.
            ""
        }
    }

    /// Bytes at the end of `text` that could become a stop string.
    fn overlap_with_stop(&self, text: &str) -> usize {
        self.stop
            .iter()
            .flat_map(|stop| stop.char_indices().map(|(at, _)| &stop[..at]))
            .filter(|start| text.ends_with(*start))
            .map(str::len)
            .max()
            .unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn stream(pieces: &[&str], stop: &[&str]) -> (Vec<String>, String, bool) {
        let stop: Vec<String> = stop.iter().map(|s| (*s).to_owned()).collect();
        let mut text = StreamedText::new(stop.into());
        let (mut whole, mut out) = (String::new(), Vec::new());
        for piece in pieces {
            whole.push_str(piece);
            out.push(text.extend(&whole).to_owned());
            if text.stopped {
                break;
            }
        }
        out.push(text.finish().to_owned());
        (out, text.released().to_owned(), text.stopped)
    }

    #[test]
    fn characters_that_change_afterwards_break_nothing() {
        let mut text = StreamedText::new([].into());
        assert_eq!(text.extend("ab\u{fffd}c"), "ab\u{fffd}c");
        // The bytes of before and after have become one character: what was given out ends inside.
        assert_eq!(text.extend("abc\u{1f600}"), "");
        assert_eq!(text.released(), "abc");
        assert_eq!(text.finish(), "");
    }

    #[test]
    fn a_stop_string_is_held_back_until_it_is_whole() {
        let (out, text, stopped) = stream(&["Paris", "\n", "\nQues", "tion"], &["\n\n"]);
        assert_eq!(out, ["Paris", "", "", ""]);
        assert_eq!((text.as_str(), stopped), ("Paris", true));
    }

    #[test]
    fn what_was_held_back_for_nothing_is_given_out() {
        let (out, text, stopped) = stream(&["a\n", "b", "\n"], &["\n\n"]);
        assert_eq!(out, ["a", "\nb", "", "\n"]);
        assert_eq!((text.as_str(), stopped), ("a\nb\n", false));
    }

    #[test]
    fn half_a_character_waits() {
        let (out, text, _) = stream(&["caf", "\u{fffd}"], &[]);
        assert_eq!(out, ["caf", "", "\u{fffd}"]);
        assert_eq!(text, "caf\u{fffd}");
    }

    proptest! {
        #[test]
        fn pieces_make_up_the_text_before_the_stop(pieces in prop::collection::vec("[ab.]{0,3}", 0..12)) {
            let pieces: Vec<&str> = pieces.iter().map(String::as_str).collect();
            let (out, text, stopped) = stream(&pieces, &["a.", "..b"]);
            let whole = pieces.concat();
            let end = [whole.find("a."), whole.find("..b")].into_iter().flatten().min();
            prop_assert_eq!(out.concat(), &text[..]);
            prop_assert_eq!(stopped, end.is_some());
            if let Some(end) = end {
                prop_assert_eq!(text, &whole[..end]);
            } else {
                prop_assert_eq!(text, whole);
            }
        }
    }
}
