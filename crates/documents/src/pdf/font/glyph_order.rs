//! The order of the glyphs in widespread fonts. Files that do not tell the meaning of their glyphs
//! often number them as these fonts do.

use super::glyph_name;

/// The first letters of the names of fonts whose first glyphs are in the order of the Macintosh's
/// character set.
const MACINTOSH: [&str; 7] = [
    "Arial",
    "CourierNew",
    "Georgia",
    "Tahoma",
    "TimesNewRoman",
    "Trebuchet",
    "Verdana",
];
/// The characters of glyphs of Cambria, from a first one on.
const CAMBRIA: [(usize, &str); 14] = [
    (3, " ABCDEFGHIJKLMNOPQRSTUVWXYZ"),
    (131, "abcdefghijklmnopqrstuvwxyz"),
    (428, "&"),
    (481, ",;:."),
    (486, "-"),
    (491, "?"),
    (495, "’"),
    (498, "“”"),
    (512, "/"),
    (514, "–"),
    (523, "()"),
    (820, "_'"),
    (882, "0123456789"),
    (938, "+"),
];

/// The characters of a font's glyphs, in their order; `None` if it is unknown.
pub(super) fn glyphs(font_name: &[u8]) -> Option<Vec<String>> {
    let font_name = String::from_utf8_lossy(font_name).replace(' ', "");
    // Fonts that the file holds in part have a mark before their names.
    let font_name = font_name
        .split_once('+')
        .map_or(&*font_name, |(_, own)| own);
    if font_name.starts_with("Cambria") {
        let mut glyphs = Vec::new();
        for (first, characters) in CAMBRIA {
            glyphs.resize(first, String::new());
            glyphs.extend(characters.chars().map(String::from));
        }
        return Some(glyphs);
    }
    MACINTOSH
        .iter()
        .find(|known| font_name.starts_with(*known))?;
    let mut glyphs = glyph_name::encoding("MacRomanEncoding");
    // The order has no control characters, and three glyphs before the space.
    glyphs.remove(0x7f);
    Some(glyphs.split_off(usize::from(b' ' - 3)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn orders_of_both_kinds() {
        let glyph = |font: &str, at: usize| glyphs(font.as_bytes()).unwrap()[at].clone();
        let arial = [3, 36, 97, 98, 112, 181].map(|at| glyph("Arial,Bold", at));
        assert_eq!(arial, [" ", "A", "~", "Ä", "é", "”"]);
        let cambria = [3, 4, 131, 481, 891, 938].map(|at| glyph("ABCDEF+Cambria-Bold", at));
        assert_eq!(cambria, [" ", "A", "a", ",", "9", "+"]);
        assert_eq!(glyph("Times New Roman", 36), "A");
        assert!(glyphs(b"Calibri").is_none());
    }
}
