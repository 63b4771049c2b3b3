//! Fonts whose codes have one byte.

use std::borrow::Cow;

use lopdf::{Dictionary, Document as Pdf, Object};

use super::{
    Glyph, WIDTH_UNIT, array, descriptor, encoding, flags, is_of_type, name, number, standard,
    to_unicode,
};

/// The flags of a font's descriptor that this uses.
const FIXED_PITCH: i64 = 1;
const SERIF: i64 = 2;

pub(in super::super) struct Simple {
    /// The characters of each code; empty if unknown.
    characters: Vec<String>,
    /// The width of each code.
    widths: Vec<f32>,
    /// The number of bytes read for it.
    bytes: usize,
}

impl Simple {
    pub(super) fn read(pdf: &Pdf, font: &Dictionary) -> Self {
        let (mut map, bytes) = to_unicode(pdf, font);
        let font_name = name(pdf, font, b"BaseFont").unwrap_or_default();
        encoding::read_symbols(font_name, map.characters.values_mut());
        let mut characters = encoding::characters(pdf, font);
        for (code, own) in (0..).zip(&mut characters) {
            let mapped = map.characters.remove(&code);
            if let Some(mapped) = mapped.filter(|mapped| !mapped.is_empty()) {
                *own = mapped;
            }
        }
        let widths = widths(pdf, font, &characters);
        Self {
            characters,
            widths,
            bytes,
        }
    }

    pub(super) fn cost(&self) -> usize {
        const FONT: usize = 128 * 256;
        FONT + self.bytes / 8
    }

    pub(super) fn glyph(&self, code: u8) -> Glyph<'_> {
        let place = usize::from(code);
        let text = self.characters.get(place).map_or("", String::as_str);
        // Strings may hold line ends, which draw nothing.
        let is_nothing = text.is_empty() && matches!(code, b'\0' | b'\t' | b'\n' | b'\r');
        Glyph {
            text: (is_nothing || !text.is_empty()).then_some(Cow::Borrowed(text)),
            width: self.widths.get(place).copied().unwrap_or_default(),
            is_space: code == b' ',
        }
    }
}

/// The widths of all codes, in units of the font size.
fn widths(pdf: &Pdf, font: &Dictionary, characters: &[String]) -> Vec<f32> {
    let unit = match is_of_type(font, b"Type3") {
        true => array(pdf, font, b"FontMatrix")
            .first()
            .map_or(WIDTH_UNIT, |unit| number(pdf, unit)),
        false => WIDTH_UNIT,
    };
    let flags = flags(pdf, font);
    let font_name = String::from_utf8_lossy(name(pdf, font, b"BaseFont").unwrap_or_default());
    let given = array(pdf, font, b"Widths");
    let missing = descriptor(pdf, font)
        .filter(|_| !given.is_empty())
        .and_then(|entries| entries.get_deref(b"MissingWidth", pdf).ok())
        .map(|width| number(pdf, width));
    let usual = |text: &String| {
        let character = text.chars().next().unwrap_or('\0');
        let (fixed, serif) = (flags & FIXED_PITCH != 0, flags & SERIF != 0);
        f32::from(standard::width(&font_name, fixed, serif, character))
    };
    let mut widths: Vec<f32> = characters
        .iter()
        .map(|text| missing.unwrap_or_else(|| usual(text)))
        .collect();
    let first = font.get_deref(b"FirstChar", pdf).and_then(Object::as_i64);
    let first = usize::try_from(first.unwrap_or(0)).unwrap_or(0);
    for (width, given) in widths.iter_mut().skip(first).zip(given) {
        *width = number(pdf, given);
    }
    widths.iter().map(|width| width * unit).collect()
}
