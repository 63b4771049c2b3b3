//! Handing out what an endpoint wrote, token by token. An endpoint that does not stream writes on
//! behind the place where the caller breaks off, and one that streams may send several tokens at a
//! time; what the caller has no use for is dropped, and its log probabilities with it.
//!
//! Which part of a text a token wrote is told by the tokens' texts, where they make it up.

use std::ops::ControlFlow;

use ken_language::Finish;

use super::answer::{Choice, Token};

/// The longest text of a token that is looked for within a text, so that looking takes no longer than
/// the text is long.
const SOUGHT_BYTES: usize = 64;

/// How much of a text was handed out.
#[derive(Debug, Default)]
pub(super) struct Handed {
    /// Bytes of the text.
    bytes: usize,
    /// Tokens that were laid upon the text, and the bytes that they wrote. The last one may go on
    /// behind the text, as one that holds a stop string does.
    tokens: usize,
    covered: usize,
    /// Whether the last of these tokens are parts of characters, of which nobody knows how far they
    /// reach.
    in_character: bool,
    /// Tokens that had come when text was handed out last.
    known: usize,
}

impl Choice {
    /// Hands out what has come of the text since the last time. Where the caller breaks off, the text
    /// ends with the token in which it did, and so do the log probabilities; there are none where
    /// nobody knows which token that is.
    pub(super) fn hand_out(
        &mut self,
        handed: &mut Handed,
        on_piece: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        while handed.bytes < self.text.len() {
            let (end, tokens) = handed.next(&self.text, &self.tokens);
            let piece = &self.text[handed.bytes..end];
            handed.bytes = end;
            if on_piece(piece).is_break() {
                // One that came alone needs no text.
                let alone = self.tokens.len() <= handed.known + 1;
                let kept = tokens.or(alone.then_some(self.tokens.len()));
                self.tokens.truncate(kept.unwrap_or(0));
                self.text.truncate(end);
                self.finish = Some(Finish::Cancelled);
                return ControlFlow::Break(());
            }
        }
        handed.known = self.tokens.len();
        ControlFlow::Continue(())
    }
}

impl Handed {
    /// Where the next piece of a text ends, and how many tokens have written the text by then; `None`
    /// where their texts do not tell, and the piece is all that is left.
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
                && token.text.len() <= SOUGHT_BYTES
                && let Some(at) = rest.windows(token.text.len()).position(|w| w == token.text)
            {
                self.covered = end + at + token.text.len();
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
    use super::*;

    fn choice(text: &str, tokens: &[&str]) -> Choice {
        let token = |text: &&str| Token {
            logprob: -1.0,
            margin: None,
            text: text.as_bytes().to_vec(),
        };
        Choice {
            text: text.to_owned(),
            tokens: tokens.iter().map(token).collect(),
            finish: Some(Finish::End),
        }
    }

    /// The pieces, and what is left of text and tokens, where the caller breaks off at a line break.
    fn handed_out(mut choice: Choice) -> (Vec<String>, String, usize) {
        let mut pieces = Vec::new();
        let _ = choice.hand_out(&mut Handed::default(), &mut |piece| {
            pieces.push(piece.to_owned());
            match piece.contains('\n') {
                true => ControlFlow::Break(()),
                false => ControlFlow::Continue(()),
            }
        });
        (pieces, choice.text, choice.tokens.len())
    }

    #[test]
    fn what_is_behind_the_token_of_the_break_is_dropped() {
        for (text, tokens, pieces, kept) in [
            (" Oslo\nQ: x", &[" Os", "lo", "\n", "Q", ": x"][..], 3, 3),
            (" Oslo\nQ: x", &[" Oslo\nQ", ": x"], 1, 1),
            // Not broken off: the end and a stop string are tokens too.
            (" Oslo", &[" Os", "lo", "</s>"], 2, 3),
            (" Oslo", &[" Os", "lo stop"], 2, 2),
            // The parts of a character.
            ("海b\nc", &["\u{fffd}", "\u{fffd}", "b", "\n", "c"], 2, 4),
            ("a🙂", &["a", "bytes:\\xf0\\x9f", "bytes:\\x99\\x82"], 2, 3),
            // Texts that are not told, or are others.
            (" Oslo\nQ", &["", "", "", ""], 1, 0),
            (" Oslo\nQ", &["▁Oslo", "\n", "Q"], 1, 0),
            (" Oslo\nQ", &[" Os", "lo"], 3, 0),
            (" Oslo\n", &[""], 1, 1),
            (" Oslo\n", &[], 1, 0),
        ] {
            let (found, left, tokens_left) = handed_out(choice(text, tokens));
            assert!(text.starts_with(&found.concat()), "{found:?}");
            assert_eq!(found.concat(), left, "{text:?}");
            assert_eq!((found.len(), tokens_left), (pieces, kept), "{text:?}");
        }
    }

    #[test]
    fn the_bytes_of_a_character_are_handed_out_together() {
        let mut character = choice("海\nx", &["", "", "\n", "x"]);
        character.tokens[0].text = vec![0xe6, 0xb5];
        character.tokens[1].text = vec![0xb7];
        let expected = vec!["海".to_owned(), "\n".to_owned()];
        assert_eq!(handed_out(character), (expected, "海\n".to_owned(), 3));
    }

    #[test]
    fn a_stream_is_handed_out_as_it_comes() {
        let mut handed = Handed::default();
        let mut so_far = Choice::default();
        let mut pieces = Vec::new();
        for (text, tokens) in [
            (" Os", &[" Os"][..]),
            // Its text comes later.
            ("", &["\u{fffd}"]),
            ("海", &["\u{fffd}"]),
            ("lo\nQ: ", &["lo", "\n", "Q", ": "]),
        ] {
            let new = choice(text, tokens);
            so_far.text.push_str(&new.text);
            so_far.tokens.extend(new.tokens);
            let flow = so_far.hand_out(&mut handed, &mut |piece| {
                pieces.push(piece.to_owned());
                match piece.contains('\n') {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            });
            assert_eq!(flow.is_break(), text.contains('\n'));
        }
        assert_eq!(pieces, [" Os", "海", "lo", "\n"]);
        assert_eq!(
            (so_far.text.as_str(), so_far.tokens.len()),
            (" Os海lo\n", 5)
        );
        assert_eq!(so_far.finish, Some(Finish::Cancelled));
    }
}
