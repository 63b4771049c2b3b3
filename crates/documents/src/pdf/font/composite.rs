//! Fonts whose codes may have several bytes.

use std::borrow::Cow;
use std::collections::HashMap;
use std::rc::Rc;

use lopdf::{Dictionary, Document as Pdf, Object};

use super::cmap::CMap;
use super::collection::{self, Collections};
use super::token::number_of;
use super::{
    FONT_BYTES, Glyph, WIDTH_UNIT, array, cff, encoding, glyph_order, is_of_type, name, number,
    program, to_unicode, truetype,
};

/// The most widths of a font; more than one for each code would be redundant.
const MOST_WIDTHS: usize = 1 << 17;

pub(in super::super) struct Composite {
    codes: Codes,
    /// The characters of codes.
    map: HashMap<u32, String>,
    characters: Characters,
    is_vertical: bool,
    /// The widths of glyphs, in thousandths of the font size.
    widths: HashMap<u32, f32>,
    usual_width: f32,
    /// The number of bytes read for it, and of entries.
    bytes: usize,
    entries: usize,
}

/// How the bytes of a text become codes and glyphs.
enum Codes {
    /// Two bytes are a code, which is its glyph.
    Identity,
    /// By a map in the file, which may complete one that readers know.
    Own(CMap, Option<Rc<hayro_cmap::CMap>>),
    /// By a map that readers know.
    Known(Rc<hayro_cmap::CMap>),
}

/// The meaning of codes or glyphs that the font's own map lacks.
enum Characters {
    Unknown,
    /// Codes are UTF-16 themselves.
    OfCodes,
    /// The glyphs are of a known collection.
    OfCollection(Rc<hayro_cmap::CMap>),
    /// The font's program names its glyphs.
    OfGlyphs(Vec<String>),
}

impl Composite {
    pub(super) fn read(pdf: &Pdf, font: &Dictionary, collections: &mut Collections) -> Self {
        let (mut map, mut bytes) = to_unicode(pdf, font);
        let font_name = name(pdf, font, b"BaseFont").unwrap_or_default();
        encoding::read_symbols(font_name, map.characters.values_mut());
        let descendant = array(pdf, font, b"DescendantFonts")
            .first()
            .and_then(|font| pdf.dereference(font).ok())
            .and_then(|(_, font)| font.as_dict().ok());
        let encoding = name(pdf, font, b"Encoding");
        let (codes, size) = codes(pdf, font, encoding, collections);
        bytes += size;
        let is_vertical = match &codes {
            Codes::Own(map, _) => map.is_vertical,
            _ => encoding.is_some_and(|name| name.ends_with(b"-V") || name == b"V"),
        };
        // A map given by name means that codes are characters.
        let is_unicode = name(pdf, font, b"ToUnicode").is_some();
        let characters = if is_unicode {
            Characters::OfCodes
        } else {
            characters(
                pdf,
                descendant,
                &codes,
                map.characters.is_empty(),
                collections,
            )
        };
        let mut widths = HashMap::new();
        let mut usual_width = 1000.0;
        if let Some(descendant) = descendant {
            if let Ok(width) = descendant.get_deref(b"DW", pdf) {
                usual_width = number(pdf, width);
            }
            read_widths(pdf, array(pdf, descendant, b"W"), &mut widths);
        }
        let entries = map.len() + widths.len();
        Self {
            codes,
            map: map.characters,
            characters,
            is_vertical,
            widths,
            usual_width,
            bytes,
            entries,
        }
    }

    pub(super) fn cost(&self) -> usize {
        const FONT: usize = 128 << 10;
        const ENTRY: usize = 128;
        FONT + ENTRY * self.entries + self.bytes / 8
    }

    pub(super) fn is_vertical(&self) -> bool {
        self.is_vertical
    }

    pub(super) fn glyph(&self, text: &[u8]) -> (Glyph<'_>, usize) {
        let two = text.len().clamp(1, 2);
        let (length, glyph) = match &self.codes {
            Codes::Identity => (two, None),
            Codes::Known(map) => {
                let (length, glyph) = collection::code(map, text).unwrap_or((two, 0));
                (length.min(text.len().max(1)), Some(glyph))
            }
            Codes::Own(own, base) => {
                let known = base
                    .as_deref()
                    .and_then(|base| collection::code(base, text));
                let length = own.length(text).or_else(|| known.map(|(length, _)| length));
                let length = length.unwrap_or(two).clamp(1, text.len().max(1));
                let code = number_of(text.get(..length).unwrap_or_default());
                let of_base = known
                    .filter(|&(of, _)| of == length)
                    .map(|(_, glyph)| glyph);
                (length, own.glyph(code, length).or(of_base))
            }
        };
        let bytes = text.get(..length).unwrap_or_default();
        let code = number_of(bytes);
        let glyph = glyph.unwrap_or(code);
        let width = match self.is_vertical {
            true => 1000.0,
            false => self.widths.get(&glyph).copied().unwrap_or(self.usual_width),
        };
        let glyph = Glyph {
            text: self.text(code, glyph),
            width: width * WIDTH_UNIT,
            is_space: bytes == b" ",
        };
        (glyph, length)
    }

    fn text(&self, code: u32, glyph: u32) -> Option<Cow<'_, str>> {
        if let Some(text) = self.map.get(&code) {
            return Some(Cow::Borrowed(text));
        }
        match &self.characters {
            Characters::Unknown => None,
            Characters::OfCodes => {
                let character = char::from_u32(code).filter(|&character| character != '\0');
                character.map(|character| Cow::Owned(character.to_string()))
            }
            Characters::OfCollection(map) => collection::text(map, glyph).map(Cow::Owned),
            Characters::OfGlyphs(names) => usize::try_from(glyph)
                .ok()
                .and_then(|glyph| names.get(glyph))
                .filter(|text| !text.is_empty())
                .map(|text| Cow::Borrowed(text.as_str())),
        }
    }
}

/// How the bytes of a font's text become codes; and how many bytes its own map has.
fn codes(
    pdf: &Pdf,
    font: &Dictionary,
    encoding: Option<&[u8]>,
    collections: &mut Collections,
) -> (Codes, usize) {
    if let Some(known) = encoding.and_then(|name| collections.codes(name)) {
        return (Codes::Known(known), 0);
    }
    let stream = font.get_deref(b"Encoding", pdf).and_then(Object::as_stream);
    let Ok(stream) = stream else {
        return (Codes::Identity, 0);
    };
    let text = stream.get_plain_content_with_limit(FONT_BYTES);
    let text = text.unwrap_or_default();
    let mut map = CMap::read(&text);
    if let Ok(mode) = stream.dict.get_deref(b"WMode", pdf) {
        map.is_vertical = mode.as_i64().is_ok_and(|mode| mode == 1);
    }
    let base = name(pdf, &stream.dict, b"UseCMap").or(map.base.as_deref());
    let base = base.and_then(|name| collections.codes(name));
    (Codes::Own(map, base), text.len())
}

/// The source of the meaning of codes without an entry in the font's own map.
fn characters(
    pdf: &Pdf,
    descendant: Option<&Dictionary>,
    codes: &Codes,
    has_no_map: bool,
    collections: &mut Collections,
) -> Characters {
    let information = descendant
        .and_then(|font| font.get_deref(b"CIDSystemInfo", pdf).ok())
        .and_then(|information| information.as_dict().ok());
    let ordering = information
        .and_then(|information| information.get_deref(b"Ordering", pdf).ok())
        .and_then(|ordering| ordering.as_str().or_else(|_| ordering.as_name()).ok());
    let of_codes = match codes {
        Codes::Known(map) | Codes::Own(_, Some(map)) => collection::ordering(map),
        _ => None,
    };
    let collection = [of_codes, ordering].into_iter().flatten();
    let mut collection = collection.filter_map(|ordering| collections.characters(ordering));
    if let Some(collection) = collection.next() {
        return Characters::OfCollection(collection);
    }
    // The program is read only if needed: those of large fonts are large.
    let glyphs = descendant
        .filter(|_| has_no_map)
        .map(|font| glyphs(pdf, font));
    match glyphs {
        Some(glyphs) if !glyphs.is_empty() => Characters::OfGlyphs(glyphs),
        _ => Characters::Unknown,
    }
}

/// The characters of glyphs, by their numbers in the file: from the names in the font's program, or from the order
/// in a widespread font.
fn glyphs(pdf: &Pdf, font: &Dictionary) -> Vec<String> {
    let glyphs = match program(pdf, font) {
        Some(program) => {
            let by_name = || cff::read(&program).map(|program| program.glyphs);
            truetype::glyphs(&program).or_else(by_name)
        }
        None if is_of_type(font, b"CIDFontType2") => {
            name(pdf, font, b"BaseFont").and_then(glyph_order::glyphs)
        }
        None => None,
    };
    let glyphs = glyphs.unwrap_or_default();
    let map = font
        .get_deref(b"CIDToGIDMap", pdf)
        .and_then(Object::as_stream);
    let map = map.and_then(|map| map.get_plain_content_with_limit(FONT_BYTES));
    let Ok(map) = map else {
        return glyphs;
    };
    let numbers = map.chunks_exact(2).take(1 << 16).map(number_of);
    let glyph = |number: u32| glyphs.get(usize::try_from(number).ok()?).cloned();
    numbers
        .map(|number| glyph(number).unwrap_or_default())
        .collect()
}

/// The widths of glyphs: `first [width …]` or `first last width`.
fn read_widths(pdf: &Pdf, array: &[Object], widths: &mut HashMap<u32, f32>) {
    let mut left = MOST_WIDTHS;
    let mut rest = array.iter().map(|object| pdf.dereference(object));
    while left > 0
        && let (Some(Ok((_, first))), Some(Ok((_, next)))) = (rest.next(), rest.next())
    {
        let first = glyph_number(first);
        if let Ok(listed) = next.as_array() {
            left = left.saturating_sub(listed.len().max(1));
            for (glyph, width) in (first..=0xffff).zip(listed) {
                widths.insert(glyph, number(pdf, width));
            }
        } else if let Some(Ok((_, width))) = rest.next() {
            let width = number(pdf, width);
            let last = glyph_number(next);
            left = left.saturating_sub(last.saturating_sub(first) as usize + 1);
            for glyph in first..=last {
                widths.insert(glyph, width);
            }
        }
    }
}

/// A number of two bytes.
fn glyph_number(object: &Object) -> u32 {
    let number = object.as_i64().unwrap_or(0);
    u32::try_from(number).unwrap_or(0).min(0xffff)
}
