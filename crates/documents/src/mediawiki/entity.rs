//! Character references such as `&ndash;` and `&#8211;` in wikitext.

use html5gum::{Token, Tokenizer};

/// No reference is longer.
const LONGEST: usize = 34;

/// The reference that `text` starts with: its length and meaning. A non-breaking space becomes a
/// space.
pub(super) fn read(text: &str) -> Option<(usize, String)> {
    let end = text
        .bytes()
        .take(LONGEST)
        .skip(1)
        .position(|byte| !byte.is_ascii_alphanumeric() && byte != b'#')?
        + 1;
    if text.as_bytes()[end] != b';' {
        return None;
    }
    let length = end + 1;
    let mut decoded = String::new();
    for Ok(token) in Tokenizer::new(&text[..length]) {
        if let Token::String(part) = token {
            decoded.push_str(&String::from_utf8_lossy(&part));
        }
    }
    if decoded == text[..length] {
        return None;
    }
    Some((length, decoded.replace('\u{a0}', " ")))
}

/// Appends `text` with all references resolved.
pub(super) fn decode_all(mut text: &str, out: &mut String) {
    while let Some(at) = text.find('&') {
        out.push_str(&text[..at]);
        text = &text[at..];
        let length = match read(text) {
            Some((length, decoded)) => {
                out.push_str(&decoded);
                length
            }
            None => {
                out.push('&');
                1
            }
        };
        text = &text[length..];
    }
    out.push_str(text);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references() {
        let mut out = String::new();
        decode_all("a &amp; b&#8211;&#x41;&nbsp;&bogus; &; & &lt", &mut out);
        assert_eq!(out, "a & b–A &bogus; &; & &lt");
    }
}
