//! The characters that a glyph's name stands for.

use std::sync::LazyLock;

use lopdf::{Dictionary, Document as Pdf, Object, dictionary};

/// The endings of names for another drawing of the same character.
const VARIANTS: [&str; 4] = ["oldstyle", "small", "superior", "inferior"];
/// Names of TeX's mathematical fonts that the glyph list lacks.
const OF_TEX: [(&str, &str); 9] = [
    ("epsilon1", "ε"),
    ("mapsto", "↦"),
    ("negationslash", "\u{338}"),
    ("pi1", "ϖ"),
    ("rho1", "ϱ"),
    ("vector", "\u{20d7}"),
    ("visiblespace", " "),
    ("bardbl", "‖"),
    ("nbspace", " "),
];

/// The characters of a name: of Adobe's glyph list, with a suffix (`a.sc`), of several parts
/// (`f_f_i`) or by number (`uni0041`, `u1F600`). `None` for names without a meaning, such as
/// `.notdef` and `g17`.
pub(super) fn characters(name: &str) -> Option<String> {
    let name = match name.split_once('.') {
        Some(("", _)) => return None,
        Some((name, _)) => name,
        None => name,
    };
    if let Some(characters) = of_part(name) {
        return Some(characters);
    }
    let parts = name.split('_').take(16);
    let parts: Option<String> = parts.map(of_part).collect();
    parts.filter(|characters| !characters.is_empty())
}

fn of_part(name: &str) -> Option<String> {
    let plain = || {
        let mut plain = VARIANTS.iter().filter_map(|end| name.strip_suffix(end));
        plain.next().and_then(listed)
    };
    listed(name)
        .filter(|&character| !is_private(character))
        .or_else(plain)
        .or_else(|| listed(name))
        .map(String::from)
        .or_else(|| of_tex(name))
        .or_else(|| by_number(name))
}

fn of_tex(name: &str) -> Option<String> {
    let (_, characters) = OF_TEX.iter().find(|(of, _)| *of == name)?;
    Some((*characters).to_owned())
}

/// `uni` and groups of four digits of UTF-16, or `u` and four to six digits of one character.
fn by_number(name: &str) -> Option<String> {
    let is_number = |digits: &str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    if let Some(digits) = name.strip_prefix("uni")
        && digits.len() >= 4
        && digits.len().is_multiple_of(4)
        && is_number(digits)
    {
        let units: Option<Vec<u16>> = (0..digits.len())
            .step_by(4)
            .map(|start| u16::from_str_radix(digits.get(start..start + 4)?, 16).ok())
            .collect();
        return String::from_utf16(&units?).ok();
    }
    let digits = name.strip_prefix('u')?;
    let number = u32::from_str_radix(digits, 16).ok()?;
    let character = char::from_u32(number)?;
    ((4..=6).contains(&digits.len()) && is_number(digits)).then(|| character.to_string())
}

pub(super) fn is_private(character: char) -> bool {
    ('\u{e000}'..='\u{f8ff}').contains(&character)
}

/// The character of a name in lopdf's glyph list, which is accessible only through an encoding
/// with one difference.
fn listed(name: &str) -> Option<char> {
    static NONE: LazyLock<Pdf> = LazyLock::new(Pdf::new);
    let font = dictionary! {
        "Type" => "Font",
        "Encoding" => dictionary! { "Differences" => vec![1.into(), Object::Name(name.into())] },
    };
    // If the list lacks the name, the whole encoding is the standard one.
    match font.get_font_encoding(&NONE).ok()? {
        encoding @ lopdf::Encoding::Differences(_) => {
            encoding.bytes_to_string(&[1]).ok()?.chars().next()
        }
        _ => None,
    }
}

/// The characters of the 256 codes of an encoding that PDF names.
pub(super) fn encoding(name: &str) -> Vec<String> {
    let pdf = Pdf::new();
    let font: Dictionary = dictionary! { "Type" => "Font", "Encoding" => name };
    let encoding = font.get_font_encoding(&pdf).ok();
    let character = |code| encoding.as_ref()?.bytes_to_string(&[code]).ok();
    (0..=u8::MAX)
        .map(|code| character(code).unwrap_or_default())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_all_kinds() {
        for (name, expected) in [
            ("eacute", Some("é")),
            ("fi", Some("ﬁ")),
            ("a.sc", Some("a")),
            ("nine.oldstyle", Some("9")),
            ("nineoldstyle", Some("9")),
            ("Asmall", Some("A")),
            ("f_f_i", Some("ffi")),
            ("uni0041", Some("A")),
            ("uni00410301", Some("A\u{301}")),
            ("u1F600", Some("😀")),
            ("u0041.alt", Some("A")),
            ("one.numr", Some("1")),
            (".notdef", None),
            ("", None),
            ("_", None),
            ("g17", None),
            ("uniD800", None),
            ("uné", None),
        ] {
            let found = characters(name);
            let plain = found.as_deref().map(|it| it.replace("ﬃ", "ffi"));
            assert_eq!(plain.as_deref(), expected, "{name}");
        }
    }

    #[test]
    fn encodings_by_name() {
        assert_eq!(encoding("WinAnsiEncoding")[0x80], "€");
        assert_eq!(encoding("MacRomanEncoding")[0x8e], "é");
        assert_eq!(encoding("StandardEncoding")[0xae], "ﬁ");
    }
}
