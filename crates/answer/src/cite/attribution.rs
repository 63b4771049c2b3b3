//! Marks for the sentences of a full answer that have none or a wrong one: small models forget to cite, or copy the first
//! number that they see. A sentence gets the number of the passage that contains most of its longer words, if it contains
//! two thirds of them; in place of a number that the model gave it, if that passage contains fewer than half as many.

use std::collections::HashSet;

use crate::answer::Retrieved;
use crate::cite::marks::{DIGITS, Mark, marks};
use crate::cite::{common, passage_words, telling_words};

/// The fewest longer words of a sentence that is compared.
const FEWEST: usize = 3;

/// The fewest of one that has a mark already. There, numbers count as longer words.
const FEWEST_MARKED: usize = 2;

/// Takes an answer's text as the model writes it, and returns it with marks. It holds back the end of a sentence until the
/// next characters show whether a mark of its own follows, and a mark until it is whole.
#[derive(Debug, Default)]
pub(crate) struct Attribution {
    /// The words of each passage, in the order of their numbers.
    passages: Vec<HashSet<String>>,
    /// The current sentence, as far as it was returned.
    sentence: String,
    /// The punctuation and blanks after it, which are held back.
    held: String,
    /// The open bracket with its digits, which is held back, too.
    bracket: String,
    /// Whether the open bracket follows the sentence's end.
    follows_end: bool,
    /// Whether the current line is in fenced code, and the line so far.
    in_code: bool,
    line: String,
}

impl Attribution {
    /// Attributes sentences to the passages that the model read.
    pub(crate) fn new(retrieved: &[Retrieved]) -> Self {
        let read = retrieved.iter().filter(|passage| passage.in_prompt);
        Self {
            passages: read.map(passage_words).collect(),
            ..Self::default()
        }
    }

    /// Takes the next text, and returns the text that is settled.
    pub(crate) fn take(&mut self, text: &str) -> String {
        let mut given = String::new();
        for c in text.chars() {
            self.take_one(c, &mut given);
        }
        given
    }

    /// Returns the text held back: none follows.
    pub(crate) fn finish(&mut self) -> String {
        let mut given = String::new();
        self.give_bracket(&mut given);
        self.end_sentence(&mut given);
        given
    }

    fn take_one(&mut self, c: char, given: &mut String) {
        if !self.bracket.is_empty() && self.take_in_bracket(c, given) {
            return;
        }
        if c == '\n' {
            self.end_sentence(given);
            given.push(c);
            let fences = ["```", "~~~"];
            self.in_code ^= fences
                .iter()
                .any(|fence| self.line.trim_start().starts_with(fence));
            self.line.clear();
            return;
        }
        self.line.push(c);
        if self.in_code {
            given.push(c);
            return;
        }
        let blank = self.held.ends_with(char::is_whitespace);
        if !self.held.is_empty() {
            match c {
                c if c.is_whitespace() => return self.held.push(c),
                c if ends_sentence(c) && !blank => return self.held.push(c),
                // A mark of the sentence's own, perhaps.
                '[' | '【' => {
                    self.go_on(given);
                    self.follows_end = true;
                }
                _ if blank || self.held.starts_with(needs_no_blank) => self.end_sentence(given),
                _ => self.go_on(given),
            }
        } else if ends_sentence(c) {
            return self.held.push(c);
        }
        if c == '[' {
            return self.bracket.push(c);
        }
        given.push(c);
        self.sentence.push(c);
        if matches!(c, ']' | '】') {
            self.end_bracket();
        }
    }

    /// Takes a character after an open bracket if both may be of one mark; otherwise, the bracket is text.
    fn take_in_bracket(&mut self, c: char, given: &mut String) -> bool {
        let digits = self.bracket.len() - 1;
        let goes_on = c.is_ascii_digit() && digits < DIGITS;
        let ends = c == ']' && digits > 0;
        if goes_on || ends {
            self.bracket.push(c);
        }
        if ends {
            if let Some(number) = self.right_number() {
                self.bracket = format!("[{number}]");
            }
            self.give_bracket(given);
            self.end_bracket();
        } else if !goes_on {
            self.give_bracket(given);
        }
        goes_on || ends
    }

    /// Returns the bracket held back.
    fn give_bracket(&mut self, given: &mut String) {
        given.push_str(&self.bracket);
        self.sentence.push_str(&self.bracket);
        self.bracket.clear();
    }

    /// Ends the sentence before a bracket that has just been closed, if it is a mark after the sentence's end.
    fn end_bracket(&mut self) {
        if std::mem::take(&mut self.follows_end) && self.is_marked() {
            self.sentence.clear();
        }
    }

    /// The number that belongs into the bracket in place of its own: that of the passage on which the sentence rests, if
    /// the one that is named hardly has its words. Further marks of a sentence stay.
    fn right_number(&self) -> Option<usize> {
        if !self.sentence.matches('`').count().is_multiple_of(2) {
            // In code that is not closed yet.
            return None;
        }
        let marked = format!("{}{}", self.sentence, self.bracket);
        let [mark]: [Mark; 1] = marks(&marked).try_into().ok()?;
        let named = self.passages.get(mark.number.checked_sub(1)?)?;
        let telling = telling_words(&self.sentence, |word| {
            word.contains(|c: char| c.is_ascii_digit())
        });
        if telling.len() < FEWEST_MARKED {
            return None;
        }
        let (number, most) = self.best_of(&telling)?;
        (2 * common(&telling, named) < most).then_some(number)
    }

    /// Returns the text held back as part of the current sentence.
    fn go_on(&mut self, given: &mut String) {
        given.push_str(&self.held);
        self.sentence.push_str(&self.held);
        self.held.clear();
    }

    fn end_sentence(&mut self, given: &mut String) {
        if let Some(number) = self.rests_on() {
            given.push_str(&format!(" [{number}]"));
        }
        given.push_str(&self.held);
        self.held.clear();
        self.sentence.clear();
    }

    fn is_marked(&self) -> bool {
        !marks(&self.sentence).is_empty()
    }

    /// The number of the passage that the current sentence rests on, if it has no mark already.
    fn rests_on(&self) -> Option<usize> {
        if self.sentence.trim_end().ends_with(':') || self.is_marked() {
            return None;
        }
        let telling = telling_words(&self.sentence, |_| false);
        if telling.len() < FEWEST {
            return None;
        }
        self.best_of(&telling).map(|(number, _)| number)
    }

    /// The number of the passage that has most of these words, of equals the best ranked, and how many it has; `None` if it
    /// has fewer than two thirds.
    fn best_of(&self, telling: &[String]) -> Option<(usize, usize)> {
        let shares = self.passages.iter().map(|passage| common(telling, passage));
        let (number, most) = (1..)
            .zip(shares)
            .max_by_key(|&(number, share)| (share, usize::MAX - number))?;
        (3 * most >= 2 * telling.len()).then_some((number, most))
    }
}

fn ends_sentence(c: char) -> bool {
    matches!(c, '.' | '!' | '?') || needs_no_blank(c)
}

fn needs_no_blank(c: char) -> bool {
    matches!(c, '。' | '！' | '？')
}

#[cfg(test)]
mod tests {
    use ken_testing::{cases, with};
    use proptest::prelude::*;

    use super::*;

    fn passage(text: &str, in_prompt: bool) -> Retrieved {
        with!(Retrieved::default(), text: text.to_owned(), in_prompt: in_prompt)
    }

    fn passages() -> [Retrieved; 4] {
        [
            passage("The bronze bell over the harbour was cast in 1734.", true),
            passage("Traders sell apples and candles on Saturday.", false),
            passage(
                "The ferry leaves the northern pier at noon. 钟铸于一七三四年。",
                true,
            ),
            passage("The bronze bell over the harbour is heavy.", true),
        ]
    }

    fn marked(text: &str) -> String {
        let mut attribution = Attribution::new(&passages());
        attribution.take(text) + &attribution.finish()
    }

    #[test]
    fn sentences_get_the_number_of_the_passage_that_holds_their_words() {
        for (text, expected) in cases![
            "The bronze bell was cast in 1734. The ferry leaves the pier at noon!\n" =>
                "The bronze bell was cast in 1734 [1]. The ferry leaves the pier at noon [2]!\n";
            // Of equal passages the first.
            "A bronze bell, in the harbour" => "A bronze bell, in the harbour [1]";
            "1. A heavy bronze bell.\n2. Yes." => "1. A heavy bronze bell [3].\n2. Yes.";
            "钟铸于一七三四年。好。" => "钟铸于一七三四年 [2]。好。";
        ] {
            assert_eq!(marked(text), expected);
        }
    }

    #[test]
    fn a_number_gives_way_to_that_of_the_passage_that_has_the_words() {
        for (text, expected) in cases![
            "The bell was cast in 1734 [2]." => "The bell was cast in 1734 [1].";
            "Cast in 1734. [2] The ferry leaves at noon [3]!" =>
                "Cast in 1734. [1] The ferry leaves at noon [2]!";
            // Only the first of a sentence, and none where the words are in no passage.
            "Cast in 1734 [2][3]." => "Cast in 1734 [1][3].";
            "Cast in copper in 1735 [2]." => "Cast in copper in 1735 [2].";
            // One word is too little, and a number without a passage is shown as such.
            "In 1734 [2]." => "In 1734 [2].";
            "The bell was cast in 1734 [7]." => "The bell was cast in 1734 [7].";
            "`cast[2]` in 1734, harbour[" => "`cast[2]` in 1734, harbour[ [1]";
        ] {
            assert_eq!(marked(text), expected);
        }
    }

    #[test]
    fn what_has_marks_rests_on_nothing_or_is_code_stays_as_it_is() {
        for text in [
            "The bronze bell was cast in 1734 [3].",
            "The bronze bell was cast in 1734. [3]\n",
            "The harbour sells bronze candles on Sunday.",
            // A passage that was not read.
            "Traders sell apples on Saturday.",
            "The bell was cast.",
            "The bronze bell over the harbour:\n",
            "```\nThe bronze bell was cast in 1734.\n```\n",
            "",
        ] {
            assert_eq!(marked(text), text);
        }
        assert_eq!(
            marked("It is old. [3] The bronze bell was cast in 1734."),
            "It is old. [3] The bronze bell was cast in 1734 [1]."
        );
        assert_eq!(
            marked("```\n.\n```\nThe bronze bell was cast in 1734."),
            "```\n.\n```\nThe bronze bell was cast in 1734 [1]."
        );
    }

    proptest! {
        #[test]
        fn pieces_and_marks_change_nothing_else(
            words in prop::collection::vec(
                prop::sample::select(vec![
                    "bronze ", "bell ", "harbour", ". ", ".", "?\n", "[1]", " [2]", "钟铸于一七三四年", "。",
                    "```", "\n", "e.g. ", "cast ", "1734",
                ]),
                0..30,
            ),
            size in 1..9_usize,
        ) {
            let text = words.concat();
            let mut attribution = Attribution::new(&passages());
            let mut given = String::new();
            let chars: Vec<char> = text.chars().collect();
            for piece in chars.chunks(size) {
                given.push_str(&attribution.take(&piece.iter().collect::<String>()));
            }
            given.push_str(&attribution.finish());
            prop_assert_eq!(&given, &marked(&text));
            let unmarked = |text: &str| {
                let alike = text.replace("[2]", "[1]").replace("[3]", "[1]");
                alike.replace(" [1]", "")
            };
            prop_assert_eq!(unmarked(&given), unmarked(&text));
        }
    }
}
