//! The encoding in the unencrypted part of a Type 1 font program: the glyph of each code.

use std::collections::HashMap;

use super::glyph_name::characters;
use super::token::{Token, Tokens};

/// The bytes in which the encoding must start.
const CLEAR_BYTES: usize = 256 << 10;

/// The characters of codes; `None` if the program names the standard encoding or has none.
pub(super) fn encoding(program: &[u8]) -> Option<HashMap<u8, String>> {
    let clear = &program[..program.len().min(CLEAR_BYTES)];
    let start = clear
        .windows(b"/Encoding".len())
        .position(|bytes| bytes == b"/Encoding")?;
    let mut tokens = Tokens::of(&clear[start + b"/Encoding".len()..]);
    let mut encoding = HashMap::new();
    // The code that `dup` sets, or the next one of an array.
    let mut code = None;
    let mut in_array = false;
    while let Some(token) = tokens.next() {
        match token {
            Token::Word(b"StandardEncoding") => return None,
            Token::Word(b"def" | b"readonly") => break,
            Token::Word(b"eexec") => break,
            Token::Word(b"dup") => code = tokens.next().and_then(|token| token.number()),
            Token::Open => {
                in_array = true;
                code = Some(0);
            }
            Token::Name(name) => {
                if let Some(at) = code {
                    if let (Ok(at), Some(text)) =
                        (u8::try_from(at), characters(&String::from_utf8_lossy(name)))
                    {
                        encoding.insert(at, text);
                    }
                    code = in_array.then_some(at.saturating_add(1));
                }
            }
            _ => {}
        }
    }
    Some(encoding).filter(|encoding| !encoding.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::font::listed;

    fn read(program: &str) -> Option<HashMap<u8, String>> {
        encoding(program.as_bytes())
    }

    #[test]
    fn spellings() {
        let loops = "%!PS\n/Encoding 256 array\n0 1 255 {1 index exch /.notdef put} for\n\
                     dup 12/fi put\ndup 8#101 /A put dup 16#42 /B put\ndup 7 /.notdef put\n\
                     dup 300 /C put readonly def dup 9 /D put";
        let expected = listed(&[(12, "ﬁ"), (65, "A"), (66, "B")]);
        assert_eq!(read(loops), Some(expected));
        let expected = listed(&[(1, "a"), (2, "b")]);
        assert_eq!(read("/Encoding [/.notdef /a/b] def"), Some(expected));
        assert_eq!(read("/Encoding StandardEncoding def dup 1 /a put"), None);
        assert_eq!(read("nothing"), None);
    }
}
