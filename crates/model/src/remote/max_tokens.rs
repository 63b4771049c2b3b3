//! Enforces `max_tokens` on an endpoint. A text only roughly shows its number of tokens: a token is seldom more than
//! a word, and no text averages 32 bytes per token. Twice as many words as tokens, and 32 bytes per token, are more
//! than any endpoint sends that respects the limit; longer texts are cut there.

use ken_language::Finish;

use super::response::Choice;

const WORDS_PER_TOKEN: usize = 2;
const BYTES_PER_TOKEN: usize = 32;
/// Allowance for a few tokens, one of which may be long.
const LEAST_WORDS: usize = 8;
const LEAST_BYTES: usize = 512;

/// The rest of a text that is still to come.
pub(super) struct Allowance {
    words: usize,
    bytes: usize,
    in_word: bool,
}

impl Allowance {
    pub(super) fn of(max_tokens: usize) -> Self {
        Self {
            words: max_tokens.saturating_mul(WORDS_PER_TOKEN).max(LEAST_WORDS),
            bytes: max_tokens.saturating_mul(BYTES_PER_TOKEN).max(LEAST_BYTES),
            in_word: false,
        }
    }

    /// Takes the next part of a completion. Cuts off the excess, which ends the completion by its length. Returns
    /// whether it did.
    pub(super) fn take(&mut self, part: &mut Choice) -> bool {
        let kept = self.bytes_of(&part.text);
        let is_cut = kept < part.text.len();
        if is_cut {
            part.text.truncate(kept);
            // It is unknown which tokens wrote the rest.
            part.tokens.clear();
            part.finish = Some(Finish::Length);
        }
        is_cut
    }

    /// How many bytes of the next piece of a text fit.
    fn bytes_of(&mut self, piece: &str) -> usize {
        for (offset, character) in piece.char_indices() {
            let is_in_word = !character.is_whitespace();
            let begins = is_in_word && !self.in_word;
            if self.bytes < character.len_utf8() || (begins && self.words == 0) {
                return offset;
            }
            self.bytes -= character.len_utf8();
            self.words -= usize::from(begins);
            self.in_word = is_in_word;
        }
        piece.len()
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::with;
    use proptest::prelude::*;

    use super::*;

    fn part(text: &str) -> Choice {
        with!(Choice::default(), text: text.to_owned())
    }

    /// The text that is kept, and how it ended.
    fn kept(text: &str, max_tokens: usize) -> (String, Option<Finish>) {
        let mut part = part(text);
        Allowance::of(max_tokens).take(&mut part);
        (part.text, part.finish)
    }

    #[test]
    fn what_no_tokens_can_be_is_cut() {
        let (text, finish) = kept(&"word ".repeat(20_000), 64);
        assert_eq!(
            (text.split(' ').count() - 1, finish),
            (128, Some(Finish::Length))
        );
        for endless in ["x", "海", " "] {
            let (text, finish) = kept(&endless.repeat(1 << 20), 64);
            let bytes = 64 * BYTES_PER_TOKEN;
            assert!(
                text.len() <= bytes && text.len() > bytes - 3,
                "{}",
                text.len()
            );
            assert_eq!(finish, Some(Finish::Length));
        }
    }

    #[test]
    fn what_so_many_tokens_can_be_is_kept() {
        let dashes = "-".repeat(256);
        for (text, max_tokens) in [
            ("Within 21 days to the Halden depot.", 8),
            (" New York City", 1),
            (dashes.as_str(), 1),
            ("", 0),
        ] {
            assert_eq!(kept(text, max_tokens), (text.to_owned(), None));
        }
    }

    proptest! {
        #[test]
        fn a_text_in_pieces_is_cut_where_the_whole_one_is(
            pieces in prop::collection::vec("[a 海\n]{0,30}", 0..60),
            max_tokens in 0_usize..40,
        ) {
            let mut allowance = Allowance::of(max_tokens);
            let mut text = String::new();
            for piece in &pieces {
                let mut part = part(piece);
                let is_cut = allowance.take(&mut part);
                text += &part.text;
                if is_cut {
                    break;
                }
            }
            prop_assert_eq!(text, kept(&pieces.concat(), max_tokens).0);
        }
    }
}
