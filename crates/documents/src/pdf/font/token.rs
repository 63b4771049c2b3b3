//! Tokens of PostScript, as far as maps of codes and encodings of fonts need them.

use crate::pdf::scanner::{Scanner, ends_word};

/// One word.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Token<'a> {
    /// A string, hexadecimal or literal.
    Text(Vec<u8>),
    /// A name, without its slash.
    Name(&'a [u8]),
    /// A number or an operator.
    Word(&'a [u8]),
    Open,
    Close,
}

impl Token<'_> {
    /// A whole number, of any base (`8#101`); the big-endian number of a string.
    pub(super) fn number(&self) -> Option<u32> {
        match self {
            Self::Text(bytes) if bytes.len() <= 4 => Some(number_of(bytes)),
            Self::Word(word) => {
                let word = std::str::from_utf8(word).ok()?;
                match word.split_once('#') {
                    Some((base, digits)) => {
                        let base = base.parse().ok().filter(|base| (2..=36).contains(base))?;
                        u32::from_str_radix(digits, base).ok()
                    }
                    None => word.parse().ok(),
                }
            }
            _ => None,
        }
    }
}

/// A code's bytes as a big-endian number.
pub(super) fn number_of(code: &[u8]) -> u32 {
    code.iter().fold(0, |number, &byte| {
        number.wrapping_mul(256).wrapping_add(u32::from(byte))
    })
}

/// The words of a text; comments are left out.
pub(super) struct Tokens<'a>(Scanner<'a>);

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Self(Scanner { rest: text })
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            let first = self.0.peek()?;
            match first {
                b'<' if self.0.rest.get(1) == Some(&b'<') => self.0.skip(2),
                b'>' | b'{' | b'}' | b')' => self.0.skip(1),
                b'<' => {
                    self.0.skip(1);
                    return Some(Token::Text(self.0.hexadecimal()));
                }
                b'(' => {
                    self.0.skip(1);
                    return Some(Token::Text(self.0.literal()));
                }
                b'[' | b']' => {
                    self.0.skip(1);
                    return Some(if first == b'[' {
                        Token::Open
                    } else {
                        Token::Close
                    });
                }
                b'/' => {
                    self.0.skip(1);
                    return Some(Token::Name(self.0.take_until(ends_word)));
                }
                _ => return Some(Token::Word(self.0.take_until(ends_word))),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_all_kinds() {
        let text = b"<</A 1>>%c\n<00 4g1>/B[(x(y)\\)z)12]def";
        let found: Vec<_> = Tokens::of(text).collect();
        assert_eq!(
            found,
            [
                Token::Name(b"A"),
                Token::Word(b"1"),
                Token::Text(vec![0, 0x41]),
                Token::Name(b"B"),
                Token::Open,
                Token::Text(b"x(y))z".to_vec()),
                Token::Word(b"12"),
                Token::Close,
                Token::Word(b"def"),
            ]
        );
        for broken in [&b"<"[..], b"(", b"/", b"\\", b"((", b"(\\", b"[", b">"] {
            assert!(Tokens::of(broken).count() <= 1);
        }
    }
}
