//! The characters of fonts of symbols, whose codes are their own.

use std::borrow::Cow;

/// The codes of the font Symbol from 0x20 and from 0xa0.
const SYMBOL: [(u8, &str); 2] = [
    (
        0x20,
        " !∀#∃%&∋()∗+,−./0123456789:;<=>?≅ΑΒΧΔΕΦΓΗΙϑΚΛΜΝΟΠΘΡΣΤΥςΩΞΨΖ[∴]⊥_\u{203e}αβχδεφγηιϕκλμνοπθρστυϖωξψζ{|}∼",
    ),
    (
        0xa0,
        "€ϒ′≤⁄∞ƒ♣♦♥♠↔←↑→↓°±″≥×∝∂•÷≠≡≈…⏐⎯↵ℵℑℜ℘⊗⊕∅∩∪⊃⊇⊄⊂⊆∈∉∠∇®©™∏√⋅¬∧∨⇔⇐⇑⇒⇓◊〈®©™∑⎛⎜⎝⎡⎢⎣⎧⎨⎩⎪\0〉∫⌠⎮⌡⎞⎟⎠⎤⎥⎦⎫⎬⎭",
    ),
];
/// The codes of the font ZapfDingbats that are out of order, from a first one on.
const DINGBATS: [(u8, &str); 12] = [
    (0x20, " "),
    (0x25, "☎"),
    (0x2a, "☛☞"),
    (0x48, "★"),
    (0x6c, "●"),
    (0x6e, "■"),
    (0x73, "▲▼◆"),
    (0x77, "◗"),
    (0x80, "❨❩❪❫❬❭❮❯❰❱❲❳❴❵"),
    (0xa8, "♣♦♥♠①②③④⑤⑥⑦⑧⑨⑩"),
    (0xd5, "→↔↕"),
    (0xf0, "\0"),
];
/// The codes of the font Wingdings for which there are usual characters.
const WINGDINGS: [(u8, &str); 19] = [
    (0x20, " "),
    (0x22, "✂"),
    (0x28, "☎✆✉"),
    (0x36, "⌛"),
    (0x46, "☞"),
    (0x4a, "☺😐☹"),
    (0x52, "☼"),
    (0x6c, "●"),
    (0x6e, "■□"),
    (0x71, "❑❒"),
    (0x75, "◆❖"),
    (0x80, "⓪①②③④⑤⑥⑦⑧⑨⑩⓿❶❷❸❹❺❻❼❽❾❿"),
    (0x9f, "•"),
    (0xa7, "▪□"),
    (0xab, "★"),
    (0xd8, "➢"),
    (0xdf, "←→↑↓↖↗↙↘"),
    (0xef, "⇦⇨⇧⇩⬄⇳"),
    (0xfb, "✗✓☒☑"),
];

/// The character of a code of Symbol or Wingdings, which may be shifted to the private characters from U+F000 on.
/// In any other font, a code is a character of Unicode.
pub(crate) fn shown(font: &str, code: u32) -> Option<char> {
    let code = match code {
        0xf000..=0xf0ff => code - 0xf000,
        code => code,
    };
    let all: &[(u8, &str)] = match font {
        "Symbol" => &SYMBOL,
        "Wingdings" => &WINGDINGS,
        _ => return char::from_u32(code),
    };
    all.iter().find_map(|&(first, characters)| {
        let index = usize::try_from(code.checked_sub(u32::from(first))?).ok()?;
        characters.chars().nth(index)
    })
}

/// A text in a font, in which the private characters of fonts of symbols are what these show.
pub(crate) fn text<'t>(font: &str, text: &'t str) -> Cow<'t, str> {
    if !matches!(font, "Symbol" | "Wingdings") {
        return text.into();
    }
    let character = |character: char| match u32::from(character) {
        code @ 0xf000..=0xf0ff => shown(font, code).unwrap_or(character),
        _ => character,
    };
    text.chars().map(character).collect::<String>().into()
}

/// The characters of the codes of the font Symbol; empty for those without one.
pub(crate) fn symbol() -> Vec<String> {
    let mut codes = vec![String::new(); 256];
    set(&mut codes, &SYMBOL);
    codes
}

/// The characters of the codes of the font ZapfDingbats; empty for those without one.
pub(crate) fn dingbats() -> Vec<String> {
    let mut codes = vec![String::new(); 256];
    for code in (0x21..=0x7e).chain(0xa1..=0xfe) {
        let first = if code < 0x80 {
            0x2701 - 0x21
        } else {
            0x2761 - 0xa1
        };
        let character = char::from_u32(first + code).unwrap_or_default();
        codes[code as usize] = character.to_string();
    }
    set(&mut codes, &DINGBATS);
    codes
}

/// Sets the characters of consecutive codes, from a first one on; `\0` is none.
fn set(codes: &mut [String], all: &[(u8, &str)]) {
    for &(first, characters) in all {
        let places = codes.iter_mut().skip(usize::from(first));
        for (place, character) in places.zip(characters.chars()) {
            place.clear();
            place.extend(Some(character).filter(|&character| character != '\0'));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_fonts() {
        for (font, code, expected) in [
            ("Symbol", 0xf061, Some('α')),
            ("Symbol", 0xb0, Some('°')),
            ("Wingdings", 0xf0fc, Some('✓')),
            ("Wingdings", 0xf0fe, Some('☑')),
            ("Wingdings", 0xf021, None),
            ("Arial", 0x2019, Some('’')),
        ] {
            assert_eq!(shown(font, code), expected, "{font} {code:x}");
        }
        for (font, expected) in [("Symbol", "Δ α"), ("Arial", "\u{f044} \u{f061}")] {
            assert_eq!(text(font, "\u{f044} \u{f061}"), expected);
        }
    }
}
