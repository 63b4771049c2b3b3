//! One spelling for letters that are written in several ways.

use unicode_normalization::UnicodeNormalization;

/// Compatibility form without accents, joined letters apart (`ß`, `æ`), digits of all scripts as those of ASCII, and
/// nothing that is invisible within a word. Marks that are more than an accent (the vowels of Indic scripts, the
/// voicing of kana, the breve that makes another letter of a Cyrillic one) stay. So does the case, which parts words.
pub(super) fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_owned();
    }
    let mut under = ' ';
    let mut is_accent = |c: char| {
        let is_mark = ('\u{300}'..='\u{36f}').contains(&c);
        if !is_mark {
            under = c;
        }
        is_mark && !(c == '\u{306}' && matches!(under, '\u{400}'..='\u{52f}'))
    };
    let mut folded = String::with_capacity(text.len());
    for c in text
        .nfkd()
        .filter(|&c| !is_accent(c) && !is_invisible(c))
        .nfc()
    {
        match plain(c) {
            Some(letters) => folded.push_str(letters),
            None => folded.push(ascii_digit(c).unwrap_or(c)),
        }
    }
    folded
}

/// Soft hyphens, and what tells renderers where a word may or may not be broken or joined.
fn is_invisible(c: char) -> bool {
    matches!(
        c,
        '\u{ad}' | '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}'
    )
}

/// Latin letters that have no decomposition, as they are written without them.
fn plain(c: char) -> Option<&'static str> {
    Some(match c {
        'ß' => "ss",
        'ẞ' => "SS",
        'æ' => "ae",
        'Æ' => "AE",
        'œ' => "oe",
        'Œ' => "OE",
        'ø' => "o",
        'Ø' => "O",
        'ł' => "l",
        'Ł' => "L",
        'đ' | 'ð' => "d",
        'Đ' | 'Ð' => "D",
        'þ' => "th",
        'Þ' => "Th",
        'ħ' => "h",
        'Ħ' => "H",
        'ı' => "i",
        _ => return None,
    })
}

/// The first digits of the scripts that have their own, ten in a row each.
const ZEROS: [u32; 21] = [
    0x660, 0x6f0, 0x7c0, 0x966, 0x9e6, 0xa66, 0xae6, 0xb66, 0xbe6, 0xc66, 0xce6, 0xd66, 0xde6,
    0xe50, 0xed0, 0xf20, 0x1040, 0x1090, 0x17e0, 0x1810, 0x1946,
];

fn ascii_digit(c: char) -> Option<char> {
    let digit = ZEROS.iter().find_map(|zero| {
        let value = u32::from(c).checked_sub(*zero)?;
        (value < 10).then_some(value)
    });
    char::from_digit(digit?, 10)
}
