//! Incremental detokenization: emits a completion token by token. An endpoint that does not stream generates past the
//! point where the caller stops, and one that streams may send several tokens at a time; the surplus is dropped, with
//! its log probabilities.
//!
//! The part of the text that each token generated follows from the tokens' texts, if they add up to the text.

use std::ops::ControlFlow;

use ken_language::Finish;

use super::response::{Choice, Token};

/// The longest token text that is searched for within a text, so that searching takes time linear in
/// the length of the text.
const MAX_SEARCHED_BYTES: usize = 64;

/// How much of a completion has been emitted.
#[derive(Debug, Default)]
pub(super) struct Emitted {
    /// Bytes of the text.
    bytes: usize,
    /// Tokens aligned with the text, and the bytes that they generated. The last one may extend past the end of the
    /// text, such as a token that contains a stop string.
    tokens: usize,
    covered: usize,
    /// Whether the last of these tokens are parts of characters, whose length is unknown.
    in_character: bool,
    /// Tokens that had arrived by the last emission.
    known: usize,
}

impl Choice {
    /// Emits what has arrived since the last call. If the caller breaks, the text and its log probabilities end with
    /// the token during which it did; the log probabilities are dropped if that token is unknown.
    pub(super) fn emit(
        &mut self,
        emitted: &mut Emitted,
        on_piece: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while emitted.bytes < self.text.len() {
            let (end, tokens) = emitted.next(&self.text, &self.tokens);
            let piece = &self.text[emitted.bytes..end];
            emitted.bytes = end;
            if on_piece(piece).is_break() {
                // A token that arrived alone needs no text.
                let alone = self.tokens.len() <= emitted.known + 1;
                let kept = tokens.or(alone.then_some(self.tokens.len()));
                self.tokens.truncate(kept.unwrap_or(0));
                self.text.truncate(end);
                self.finish = Some(Finish::Cancelled);
                return ControlFlow::Break(());
            }
        }
        emitted.known = self.tokens.len();
        ControlFlow::Continue(())
    }
}

impl Emitted {
    /// Where the next piece of a text ends, and how many tokens have generated the text up to there; `None` if their
    /// texts do not show it, so that the piece is the rest of the text.
    fn next(&mut self, text: &str, tokens: &[Token]) -> (usize, Option<usize>) {
        loop {
            let end = self.covered.min(text.len());
            if end > self.bytes && text.is_char_boundary(end) {
                return (end, Some(self.tokens));
            }
            let Some(token) = tokens.get(self.tokens) else {
                return (text.len(), self.in_character.then_some(self.tokens));
            };
            let rest = &text.as_bytes()[end..];
            let shared = rest.len().min(token.text.len());
            if rest[..shared] == token.text[..shared] {
                self.covered = end + token.text.len();
                self.in_character &= token.text.is_empty();
            } else if token.is_part_of_character() {
                self.in_character = true;
            } else if self.in_character
                && token.text.len() <= MAX_SEARCHED_BYTES
                && let Some(offset) = rest.windows(token.text.len()).position(|w| w == token.text)
            {
                self.covered = end + offset + token.text.len();
                self.in_character = false;
            } else {
                return (text.len(), None);
            }
            self.tokens += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::{has, with};

    use super::*;

    fn choice(text: &str, tokens: &[&str]) -> Choice {
        let token = |text: &&str| Token {
            logprob: -1.0,
            margin: None,
            text: text.as_bytes().to_vec(),
        };
        with!(Choice::default(), text: text.to_owned(), tokens: tokens.iter().map(token).collect(),
            finish: Some(Finish::End))
    }

    /// Emits what has arrived until the first line break.
    fn emit(choice: &mut Choice, emitted: &mut Emitted, pieces: &mut Vec<String>) -> bool {
        let flow = choice.emit(emitted, &mut |piece| {
            pieces.push(piece.to_owned());
            ken_language::break_if(piece.contains('\n'))
        });
        flow.is_break()
    }

    /// The pieces, and the remaining text and tokens.
    fn emit_line(mut choice: Choice) -> (Vec<String>, String, usize) {
        let mut pieces = Vec::new();
        emit(&mut choice, &mut Emitted::default(), &mut pieces);
        (pieces, choice.text, choice.tokens.len())
    }

    #[test]
    fn what_follows_the_token_of_the_break_is_dropped() {
        for (text, tokens, pieces, kept) in [
            (" Oslo\nQ: x", &[" Os", "lo", "\n", "Q", ": x"][..], 3, 3),
            (" Oslo\nQ: x", &[" Oslo\nQ", ": x"], 1, 1),
            // Without a break, the end and a stop string count as tokens too.
            (" Oslo", &[" Os", "lo", "</s>"], 2, 3),
            (" Oslo", &[" Os", "lo stop"], 2, 2),
            // The parts of the character.
            ("海b\nc", &["\u{fffd}", "\u{fffd}", "b", "\n", "c"], 2, 4),
            ("a🙂", &["a", "bytes:\\xf0\\x9f", "bytes:\\x99\\x82"], 2, 3),
            // Token texts that are missing or do not match.
            (" Oslo\nQ", &["", "", "", ""], 1, 0),
            (" Oslo\nQ", &["▁Oslo", "\n", "Q"], 1, 0),
            (" Oslo\nQ", &[" Os", "lo"], 3, 0),
            (" Oslo\n", &[""], 1, 1),
            (" Oslo\n", &[], 1, 0),
        ] {
            let (found, left, tokens_left) = emit_line(choice(text, tokens));
            assert!(text.starts_with(&found.concat()), "{found:?}");
            assert_eq!(found.concat(), left, "{text:?}");
            assert_eq!((found.len(), tokens_left), (pieces, kept), "{text:?}");
        }
    }

    #[test]
    fn the_bytes_of_a_character_are_emitted_together() {
        let mut character = choice("海\nx", &["", "", "\n", "x"]);
        character.tokens[0].text = vec![0xe6, 0xb5];
        character.tokens[1].text = vec![0xb7];
        let expected = vec!["海".to_owned(), "\n".to_owned()];
        assert_eq!(emit_line(character), (expected, "海\n".to_owned(), 3));
    }

    #[test]
    fn a_stream_is_emitted_as_it_arrives() {
        let mut emitted = Emitted::default();
        let mut so_far = Choice::default();
        let mut pieces = Vec::new();
        for (text, tokens) in [
            (" Os", &[" Os"][..]),
            // Its text arrives later.
            ("", &["\u{fffd}"]),
            ("海", &["\u{fffd}"]),
            ("lo\nQ: ", &["lo", "\n", "Q", ": "]),
        ] {
            let new = choice(text, tokens);
            so_far.text.push_str(&new.text);
            so_far.tokens.extend(new.tokens);
            let broke = emit(&mut so_far, &mut emitted, &mut pieces);
            assert_eq!(broke, text.contains('\n'));
        }
        assert_eq!(pieces, [" Os", "海", "lo", "\n"]);
        has!(so_far, text.as_str(): " Os海lo\n", tokens.len(): 5, finish: Some(Finish::Cancelled));
    }
}
