//! The characters and widths of the codes of a font.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use lopdf::{Dictionary, Document as Pdf, Object};

use super::work::Work;
use crate::error::ReadError;

/// The largest decompressed map of a font's codes; large ones have a few hundred thousand bytes.
const FONT_BYTES: usize = 4 << 20;
/// Widths are in thousandths of the font size.
const WIDTH_UNIT: f32 = 0.001;
/// The width of codes in simple fonts that give none: the standard fonts, which readers know.
const USUAL_WIDTH: f32 = 500.0;

/// How many widths of a composite font are read; more than one for each code would be redundant.
const MOST_WIDTHS: usize = 1 << 17;

/// A cache of a document's fonts.
pub(super) struct Fonts<'a> {
    pdf: &'a Pdf,
    known: HashMap<*const Dictionary, Rc<Font>>,
}

impl<'a> Fonts<'a> {
    pub(super) fn new(pdf: &'a Pdf) -> Self {
        Self {
            pdf,
            known: HashMap::new(),
        }
    }

    pub(super) fn font(
        &mut self,
        dictionary: &'a Dictionary,
        work: &mut Work<'_>,
    ) -> Result<Rc<Font>, ReadError> {
        Ok(Rc::clone(match self.known.entry(dictionary) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let font = Font::read(self.pdf, dictionary);
                work.draw(font.cost())?;
                place.insert(Rc::new(font))
            }
        }))
    }
}

/// One font.
pub(super) struct Font {
    codes: Codes,
    widths: HashMap<u32, f32>,
    usual_width: f32,
    /// The factor from widths to the font size.
    unit: f32,
}

enum Codes {
    /// One byte a code.
    Simple(Vec<String>),
    /// Two bytes a code. Codes that a font does not map have no known meaning.
    Composite(HashMap<u32, String>),
}

/// One code of a text.
pub(super) struct Glyph {
    pub(super) text: String,
    /// In units of the font size.
    pub(super) width: f32,
    /// Whether it is the single byte 32, to which word spacing applies.
    pub(super) is_space: bool,
}

impl Font {
    fn read(pdf: &Pdf, dictionary: &Dictionary) -> Self {
        match is_of_type(dictionary, b"Type0") {
            true => Self::composite(pdf, dictionary),
            false => Self::simple(pdf, dictionary),
        }
    }

    fn simple(pdf: &Pdf, dictionary: &Dictionary) -> Self {
        let all = (0..=u8::MAX).map(|code| vec![code]);
        let mapped = to_unicode(pdf, dictionary, all.clone());
        let encoding = dictionary.get_font_encoding_with_limit(pdf, FONT_BYTES);
        let codes = all.map(|code| {
            let encoded = || encoding.as_ref().ok()?.bytes_to_string(&code).ok();
            let known = mapped.get(&number_of(&code)).cloned();
            known.or_else(encoded).unwrap_or_default()
        });
        let first = dictionary.get_deref(b"FirstChar", pdf).map_or(0, code);
        let widths = array(pdf, dictionary, b"Widths");
        let widths = (first..).zip(widths.iter().take(256));
        let widths = widths.map(|(code, width)| (code, number(pdf, width)));
        let is_drawn = is_of_type(dictionary, b"Type3");
        let unit = array(pdf, dictionary, b"FontMatrix")
            .first()
            .filter(|_| is_drawn)
            .map_or(WIDTH_UNIT, |unit| number(pdf, unit));
        Self {
            codes: Codes::Simple(codes.collect()),
            widths: widths.collect(),
            usual_width: USUAL_WIDTH,
            unit,
        }
    }

    fn composite(pdf: &Pdf, dictionary: &Dictionary) -> Self {
        let mut widths = HashMap::new();
        let mut usual_width = 1000.0;
        let descendant = array(pdf, dictionary, b"DescendantFonts")
            .first()
            .and_then(|font| pdf.dereference(font).ok())
            .and_then(|(_, font)| font.as_dict().ok());
        if let Some(descendant) = descendant {
            if let Ok(width) = descendant.get_deref(b"DW", pdf) {
                usual_width = number(pdf, width);
            }
            read_widths(pdf, array(pdf, descendant, b"W"), &mut widths);
        }
        Self {
            codes: Codes::Composite(to_unicode(
                pdf,
                dictionary,
                (0..=u16::MAX).map(|code| code.to_be_bytes().to_vec()),
            )),
            widths,
            usual_width,
            unit: WIDTH_UNIT,
        }
    }

    /// The cost of reading it and of what it holds, in bytes of content that take as long to draw.
    fn cost(&self) -> usize {
        const COMPOSITE: usize = 128 << 10;
        const ENTRY: usize = 128;
        match &self.codes {
            Codes::Simple(_) => ENTRY * 256,
            Codes::Composite(map) => COMPOSITE + ENTRY * map.len(),
        }
    }

    /// The glyphs of a text.
    pub(super) fn glyphs(&self, text: &[u8]) -> Vec<Glyph> {
        match &self.codes {
            Codes::Simple(codes) => text
                .iter()
                .map(|&code| {
                    let text = codes.get(usize::from(code));
                    self.glyph(u32::from(code), text, code == b' ')
                })
                .collect(),
            Codes::Composite(map) => text
                .chunks(2)
                .map(|bytes| {
                    let code = number_of(bytes);
                    self.glyph(code, map.get(&code), false)
                })
                .collect(),
        }
    }

    fn glyph(&self, code: u32, text: Option<&String>, is_space: bool) -> Glyph {
        Glyph {
            text: text.cloned().unwrap_or_default(),
            width: self.widths.get(&code).unwrap_or(&self.usual_width) * self.unit,
            is_space,
        }
    }
}

/// The characters of codes by the font's own map to Unicode, which takes precedence over its
/// encoding.
fn to_unicode(
    pdf: &Pdf,
    dictionary: &Dictionary,
    codes: impl Iterator<Item = Vec<u8>>,
) -> HashMap<u32, String> {
    let Ok(map) = dictionary.get(b"ToUnicode") else {
        return HashMap::new();
    };
    let mut alone = Dictionary::new();
    alone.set("Type", Object::Name(b"Font".to_vec()));
    alone.set("ToUnicode", map.clone());
    let Ok(map) = alone.get_font_encoding_with_limit(pdf, FONT_BYTES) else {
        return HashMap::new();
    };
    // A broken map is replaced by the standard encoding, in which the code 0 is nothing at all.
    if map.bytes_to_string(&[0]).is_ok_and(|text| text.is_empty()) {
        return HashMap::new();
    }
    codes
        .filter_map(|code| Some((number_of(&code), map.bytes_to_string(&code).ok()?)))
        .filter(|(_, text)| !text.is_empty() && !text.contains(char::REPLACEMENT_CHARACTER))
        .collect()
}

/// A code's bytes as a big-endian number.
fn number_of(code: &[u8]) -> u32 {
    code.iter()
        .fold(0, |number, &byte| 256 * number + u32::from(byte))
}

/// The widths of a composite font: `first [width …]` or `first last width`.
fn read_widths(pdf: &Pdf, array: &[Object], widths: &mut HashMap<u32, f32>) {
    let mut left = MOST_WIDTHS;
    let mut rest = array.iter().map(|object| pdf.dereference(object));
    while left > 0
        && let (Some(Ok((_, first))), Some(Ok((_, next)))) = (rest.next(), rest.next())
    {
        let first = code(first);
        if let Ok(listed) = next.as_array() {
            left = left.saturating_sub(listed.len().max(1));
            for (code, width) in (first..=0xffff).zip(listed) {
                widths.insert(code, number(pdf, width));
            }
        } else if let Some(Ok((_, width))) = rest.next() {
            let width = number(pdf, width);
            let last = code(next);
            left = left.saturating_sub(last.saturating_sub(first) as usize + 1);
            for code in first..=last {
                widths.insert(code, width);
            }
        }
    }
}

/// A code of two bytes.
fn code(object: &Object) -> u32 {
    let code = object.as_i64().unwrap_or(0);
    u32::try_from(code).unwrap_or(0).min(0xffff)
}

fn is_of_type(font: &Dictionary, subtype: &[u8]) -> bool {
    let own = font.get(b"Subtype").and_then(Object::as_name);
    own.is_ok_and(|own| own == subtype)
}

fn array<'a>(pdf: &'a Pdf, dictionary: &'a Dictionary, key: &[u8]) -> &'a [Object] {
    dictionary
        .get_deref(key, pdf)
        .and_then(Object::as_array)
        .map_or(&[], Vec::as_slice)
}

/// A number, or 0 for anything else.
pub(super) fn number(pdf: &Pdf, object: &Object) -> f32 {
    pdf.dereference(object)
        .and_then(|(_, object)| object.as_float())
        .unwrap_or(0.0)
}
