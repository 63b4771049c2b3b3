//! The characters of the 256 codes of a simple font.

use std::collections::HashMap;

use lopdf::{Dictionary, Document as Pdf, Object};

use super::{cff, flags, glyph_name, glyph_order, is_of_type, name, program, type1};
use crate::symbols::{dingbats, symbol};

/// The flag of fonts that have the usual letters, whose encoding is the standard one unless they name another.
const NONSYMBOLIC: i64 = 1 << 5;
/// How many entries of an encoding are read; more than two for each code would be redundant.
const MOST_DIFFERENCES: usize = 1024;
/// The characters of all codes; empty for those without a known meaning.
///
/// Entries are independent: a meaningless name costs only its own code.
pub(super) fn characters(pdf: &Pdf, font: &Dictionary) -> Vec<String> {
    let encoding = font.get_deref(b"Encoding", pdf).ok();
    let entries = encoding.and_then(|encoding| encoding.as_dict().ok());
    let named = match entries {
        Some(entries) => name(pdf, entries, b"BaseEncoding"),
        None => encoding.and_then(|encoding| encoding.as_name().ok()),
    };
    let mut codes = base(pdf, font, named);
    if let Some(entries) = entries {
        // The glyph names of Type 3 fonts are arbitrary: there the base says more.
        let is_arbitrary = named.is_some() && is_of_type(font, b"Type3");
        let font_name = name(pdf, font, b"BaseFont").unwrap_or_default();
        differ(pdf, entries, font_name, &mut codes, is_arbitrary);
    }
    // In all encodings, this code is the space, unless something else is known.
    if let Some(space) = codes
        .get_mut(usize::from(b' '))
        .filter(|text| text.is_empty())
    {
        space.push(' ');
    }
    codes
}

/// The meaning of the codes before differences.
fn base(pdf: &Pdf, font: &Dictionary, named: Option<&[u8]>) -> Vec<String> {
    let own_name = name(pdf, font, b"BaseFont").unwrap_or_default();
    let program = program(pdf, font);
    if program.is_none() && contains(own_name, b"Symbol") {
        return symbol();
    }
    if program.is_none() && contains(own_name, b"Dingbats") {
        return dingbats();
    }
    let known = [
        &b"WinAnsiEncoding"[..],
        b"MacRomanEncoding",
        b"MacExpertEncoding",
    ];
    if let Some(named) = named.filter(|named| known.contains(named)) {
        return glyph_name::encoding(&String::from_utf8_lossy(named));
    }
    let usual = match is_of_type(font, b"TrueType") && flags(pdf, font) & NONSYMBOLIC == 0 {
        true => "WinAnsiEncoding",
        false => "StandardEncoding",
    };
    let mut codes = glyph_name::encoding(usual);
    let own = match named {
        Some(b"StandardEncoding") => None,
        _ => program.as_deref().and_then(built_in),
    };
    if let Some(own) = own {
        codes = vec![String::new(); 256];
        for (code, text) in own {
            codes[usize::from(code)] = text;
        }
    }
    codes
}

/// The encoding in the font's program.
fn built_in(program: &[u8]) -> Option<HashMap<u8, String>> {
    let encoding = match program.starts_with(b"%!") || program.starts_with(&[0x80]) {
        true => type1::encoding(program)?,
        false => cff::read(program)?.encoding,
    };
    Some(encoding).filter(|encoding| !encoding.is_empty())
}

/// Applies the differences. One that names no glyph only fills a gap, and changes nothing.
fn differ(
    pdf: &Pdf,
    entries: &Dictionary,
    font_name: &[u8],
    codes: &mut [String],
    is_arbitrary: bool,
) {
    let differences = super::array(pdf, entries, b"Differences");
    let mut named = Vec::new();
    let mut code = 0_i64;
    for entry in differences.iter().take(MOST_DIFFERENCES) {
        let Ok((_, entry)) = pdf.dereference(entry) else {
            continue;
        };
        match entry {
            Object::Name(name) => {
                if name != b".notdef" {
                    named.push((code, String::from_utf8_lossy(name)));
                }
                code = code.saturating_add(1);
            }
            number => code = number.as_i64().unwrap_or(code),
        }
    }
    let names = || named.iter().map(|(_, name)| name.as_ref());
    // If numbers below the space occur, they number glyphs rather than characters.
    let is_order = names().any(|name| glyph_number(name).is_some_and(|number| number < 0x20));
    let order = is_order.then(|| glyph_order::glyphs(font_name)).flatten();
    let numbering = Numbering::of(names()).filter(|_| order.is_none());
    let ordered = |name: &str| {
        let character = order.as_ref()?.get(glyph_number(name)?)?;
        (!character.is_empty()).then(|| character.clone())
    };
    for (code, name) in named {
        let place = usize::try_from(code)
            .ok()
            .and_then(|code| codes.get_mut(code));
        if let Some(place) = place {
            let known = glyph_name::characters(&name);
            let numbered = || ordered(&name).or_else(|| numbering?.character(&name));
            match known.or_else(numbered) {
                Some(text) => *place = text,
                None if is_arbitrary => {}
                None => place.clear(),
            }
        }
    }
}

/// The number in the name of a glyph such as `g36`.
fn glyph_number(name: &str) -> Option<usize> {
    name.strip_prefix('g')?.parse().ok()
}

/// How the names of a font's glyphs number characters: `g65`, `C0065`, `G41`.
#[derive(Clone, Copy)]
struct Numbering {
    base: u32,
    /// The characters of numbers that differ in TeX's fonts.
    of_tex: &'static [(u32, &'static str)],
}

/// The ligatures, quotes and dashes of TeX's fonts, in its newer encoding (T1) and its older one.
const OF_TEX: [&[(u32, &str)]; 2] = [
    &[(16, "“”"), (21, "–—"), (27, "ﬀﬁﬂﬃﬄ")],
    &[(11, "ﬀﬁﬂﬃﬄ"), (34, "”"), (92, "“"), (123, "–—")],
];

impl Numbering {
    /// How many names must be numbers.
    const LEAST: usize = 2;

    fn of<'a>(names: impl Iterator<Item = &'a str>) -> Option<Self> {
        let mut prefix = None;
        let (mut count, mut others, mut base) = (0, 0, 10);
        let mut has_ligatures = [false; 2];
        for name in names {
            let name = name.split_once('.').map_or(name, |(name, _)| name);
            if name.is_empty() || glyph_name::characters(name).is_some() {
                continue;
            }
            let Some((start, digits)) = parts(name) else {
                others += 1;
                continue;
            };
            if *prefix.get_or_insert(start) != start {
                return None;
            }
            if digits.bytes().any(|digit| !digit.is_ascii_digit()) {
                base = 16;
            }
            count += 1;
            let number = digits.parse().unwrap_or(0);
            has_ligatures[0] |= (27..=31).contains(&number);
            has_ligatures[1] |= (11..=15).contains(&number);
        }
        let of_tex = match (base, has_ligatures) {
            (10, [true, false]) => OF_TEX[0],
            (10, [false, true]) => OF_TEX[1],
            _ => &[],
        };
        (count >= Self::LEAST && count > others).then_some(Self { base, of_tex })
    }

    fn character(self, name: &str) -> Option<String> {
        let name = name.split_once('.').map_or(name, |(name, _)| name);
        let (_, digits) = parts(name)?;
        let number = u32::from_str_radix(digits, self.base).ok()?;
        let mut of_tex = self.of_tex.iter().filter_map(|&(first, characters)| {
            let index = number.checked_sub(first)?;
            characters.chars().nth(index as usize)
        });
        if let Some(character) = of_tex.next() {
            return Some(character.to_string());
        }
        let character = char::from_u32(number)?;
        let is_plain = matches!(number, 0x20..=0x7e | 0xa0..=0xff);
        is_plain.then(|| character.to_string())
    }
}

/// The letters at the start of a name, and the digits after them.
fn parts(name: &str) -> Option<(&str, &str)> {
    let mut starts = [1, 2]
        .into_iter()
        .filter_map(|length| name.split_at_checked(length));
    starts.find(|(start, digits)| {
        let number = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let letters = start.bytes().all(|letter| letter.is_ascii_alphabetic());
        letters && number && (2..=4).contains(&digits.len())
    })
}

/// Replaces the private characters to which a font called Symbol is mapped: its codes, from
/// U+F000 on.
pub(super) fn read_symbols<'a>(font_name: &[u8], texts: impl Iterator<Item = &'a mut String>) {
    if !contains(font_name, b"Symbol") {
        return;
    }
    let symbol = symbol();
    for text in texts {
        if text.chars().any(glyph_name::is_private) {
            let read = |character: char| {
                let code = u32::from(character).checked_sub(0xf000);
                let known = code.and_then(|code| symbol.get(code as usize));
                let known = known.filter(|known| !known.is_empty()).cloned();
                known.unwrap_or_else(|| character.to_string())
            };
            *text = text.chars().map(read).collect();
        }
    }
}

fn contains(name: &[u8], part: &[u8]) -> bool {
    name.windows(part.len()).any(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fonts_of_signs() {
        let symbol = symbol();
        assert_eq!(
            [&symbol[0x61], &symbol[0x7e], &symbol[0xb3]],
            ["α", "∼", "≥"]
        );
        assert_eq!(
            [&symbol[0xd1], &symbol[0xe5], &symbol[0xfe]],
            ["∇", "∑", "⎭"]
        );
        assert!(symbol[0xf0].is_empty() && symbol[0x80].is_empty());
        let dingbats = dingbats();
        assert_eq!(
            [&dingbats[0x34], &dingbats[0x6c], &dingbats[0xd8]],
            ["✔", "●", "➘"]
        );
        assert_eq!(
            [
                &dingbats[0x77],
                &dingbats[0x80],
                &dingbats[0xa9],
                &dingbats[0xb5],
                &dingbats[0xb6]
            ],
            ["◗", "❨", "♦", "⑩", "❶"]
        );
        assert_eq!(
            [&dingbats[0xd6], &dingbats[0xfe], &dingbats[0xf0]],
            ["↔", "➾", ""]
        );
    }

    #[test]
    fn names_that_are_numbers() {
        let character = |names: &[&str], name| {
            let numbering = Numbering::of(names.iter().copied());
            numbering.and_then(|numbering| numbering.character(name))
        };
        assert_eq!(
            character(&["g65", ".notdef", "g66"], "g65").as_deref(),
            Some("A")
        );
        assert_eq!(character(&["G41", "G4A"], "G41").as_deref(), Some("A"));
        assert_eq!(
            character(&["C0065", "C0066"], "C0065").as_deref(),
            Some("A")
        );
        let newer = ["a16", "a28", "a65"];
        assert_eq!(
            newer.map(|name| character(&newer, name).unwrap()),
            ["“", "ﬁ", "A"]
        );
        let older = ["a12", "a92", "a65"];
        assert_eq!(
            older.map(|name| character(&older, name).unwrap()),
            ["ﬁ", "“", "A"]
        );
        assert_eq!(character(&["a12", "a28"], "a12"), None);
        assert_eq!(character(&["g65", "x66"], "g65"), None);
        assert_eq!(character(&["g65", "mystery", "enigma"], "g65"), None);
        assert_eq!(character(&["g1", "g2"], "g1"), None);
        assert_eq!(character(&["é65", "é66"], "é65"), None);
    }
}
