//! Tokens of PostScript, as far as maps of codes and encodings of fonts need them.

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
pub(super) struct Tokens<'a> {
    rest: &'a [u8],
}

impl<'a> Tokens<'a> {
    pub(super) fn of(text: &'a [u8]) -> Self {
        Self { rest: text }
    }

    /// Takes the bytes before the first for which `ends` is true.
    fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|&byte| ends(byte));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    fn literal(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut depth = 1;
        let mut taken = 0;
        let mut bytes = self.rest.iter();
        while let Some(&byte) = bytes.next() {
            taken += 1;
            match byte {
                b'\\' => {
                    taken += 1;
                    text.extend(bytes.next());
                    continue;
                }
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            text.push(byte);
        }
        self.skip(taken);
        text
    }
}

impl<'a> Iterator for Tokens<'a> {
    type Item = Token<'a>;

    fn next(&mut self) -> Option<Token<'a>> {
        loop {
            self.take_until(|byte| !is_space(byte));
            let &first = self.rest.first()?;
            match first {
                b'%' => {
                    self.take_until(|byte| matches!(byte, b'\n' | b'\r'));
                }
                b'<' if self.rest.get(1) == Some(&b'<') => self.skip(2),
                b'>' | b'{' | b'}' | b')' => self.skip(1),
                b'<' => {
                    self.skip(1);
                    let digits = self.take_until(|byte| matches!(byte, b'>'));
                    self.skip(1);
                    return Some(Token::Text(hexadecimal(digits)));
                }
                b'(' => {
                    self.skip(1);
                    return Some(Token::Text(self.literal()));
                }
                b'[' | b']' => {
                    self.skip(1);
                    return Some(if first == b'[' {
                        Token::Open
                    } else {
                        Token::Close
                    });
                }
                b'/' => {
                    self.skip(1);
                    return Some(Token::Name(self.take_until(ends_word)));
                }
                _ => return Some(Token::Word(self.take_until(ends_word))),
            }
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\0' | b'\t'..=b'\r' | b' ')
}

fn ends_word(byte: u8) -> bool {
    is_space(byte)
        || matches!(
            byte,
            b'(' | b')' | b'<' | b'>' | b'[' | b']' | b'{' | b'}' | b'/' | b'%'
        )
}

/// The bytes of hexadecimal digits. Other characters among them are skipped, and a last single digit is the
/// high one.
pub(in crate::pdf) fn hexadecimal(digits: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .iter()
        .filter_map(|&digit| char::from(digit).to_digit(16))
        .filter_map(|digit| u8::try_from(digit).ok())
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0))
        .collect()
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
