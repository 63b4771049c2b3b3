//! The characters and widths of the codes of a font.

mod cff;
mod cmap;
mod collection;
mod composite;
mod encoding;
mod glyph_name;
mod glyph_order;
mod simple;
mod standard;
mod token;
mod truetype;
mod type1;

use std::borrow::Cow;
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::rc::Rc;

use lopdf::{Dictionary, Document as Pdf, Object};

use self::cmap::CMap;
use self::collection::Collections;
use self::composite::Composite;
use self::simple::Simple;
use super::work::Work;
use crate::error::ReadError;

/// The largest decompressed map or program of a font; large maps have a few hundred thousand
/// bytes, and larger programs are those of fonts that have a map.
const FONT_BYTES: usize = 4 << 20;
/// Widths are in thousandths of the font size.
const WIDTH_UNIT: f32 = 0.001;

/// A cache of a document's fonts.
pub(super) struct Fonts<'a> {
    pdf: &'a Pdf,
    known: HashMap<*const Dictionary, Rc<Font>>,
    collections: Collections,
}

impl<'a> Fonts<'a> {
    pub(super) fn new(pdf: &'a Pdf) -> Self {
        Self {
            pdf,
            known: HashMap::new(),
            collections: Collections::default(),
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
                let font = match is_of_type(dictionary, b"Type0") {
                    true => Font::Composite(Box::new(Composite::read(
                        self.pdf,
                        dictionary,
                        &mut self.collections,
                    ))),
                    false => Font::Simple(Simple::read(self.pdf, dictionary)),
                };
                work.draw(font.cost())?;
                place.insert(Rc::new(font))
            }
        }))
    }
}

/// One font.
pub(super) enum Font {
    Simple(Simple),
    Composite(Box<Composite>),
}

/// One code of a text.
pub(super) struct Glyph<'a> {
    /// `None` if the meaning of the code is unknown.
    pub(super) text: Option<Cow<'a, str>>,
    /// How far it moves the pen, in units of the font size: to the right, or down in a vertical
    /// font.
    pub(super) width: f32,
    /// Whether it is the single byte 32, to which word spacing applies.
    pub(super) is_space: bool,
}

impl Font {
    /// The cost of reading and keeping it, in bytes of content that take as long to draw.
    fn cost(&self) -> usize {
        match self {
            Self::Simple(font) => font.cost(),
            Self::Composite(font) => font.cost(),
        }
    }

    /// The first glyph of a text, and its length in bytes, at least one.
    pub(super) fn glyph(&self, text: &[u8]) -> (Glyph<'_>, usize) {
        match self {
            Self::Simple(font) => (font.glyph(text.first().copied().unwrap_or_default()), 1),
            Self::Composite(font) => font.glyph(text),
        }
    }

    /// Whether its text runs down.
    pub(super) fn is_vertical(&self) -> bool {
        match self {
            Self::Simple(_) => false,
            Self::Composite(font) => font.is_vertical(),
        }
    }
}

/// A font's own map to Unicode, which takes precedence over its encoding; and its size in bytes.
fn to_unicode(pdf: &Pdf, font: &Dictionary) -> (CMap, usize) {
    let stream = font
        .get_deref(b"ToUnicode", pdf)
        .and_then(Object::as_stream);
    let text = stream.and_then(|stream| stream.get_plain_content_with_limit(FONT_BYTES));
    let text = text.unwrap_or_default();
    (CMap::read(&text), text.len())
}

fn descriptor<'a>(pdf: &'a Pdf, font: &'a Dictionary) -> Option<&'a Dictionary> {
    let descriptor = font.get_deref(b"FontDescriptor", pdf);
    descriptor.and_then(Object::as_dict).ok()
}

/// The flags of a font's descriptor.
fn flags(pdf: &Pdf, font: &Dictionary) -> i64 {
    let flags = descriptor(pdf, font).and_then(|entries| entries.get_deref(b"Flags", pdf).ok());
    flags.and_then(|flags| flags.as_i64().ok()).unwrap_or(0)
}

/// The program of a font, from its descriptor.
fn program(pdf: &Pdf, font: &Dictionary) -> Option<Vec<u8>> {
    let descriptor = descriptor(pdf, font)?;
    let files = [&b"FontFile3"[..], b"FontFile", b"FontFile2"];
    let file = files
        .iter()
        .find_map(|key| descriptor.get_deref(key, pdf).ok()?.as_stream().ok())?;
    file.get_plain_content_with_limit(FONT_BYTES).ok()
}

fn is_of_type(font: &Dictionary, subtype: &[u8]) -> bool {
    let own = font.get(b"Subtype").and_then(Object::as_name);
    own.is_ok_and(|own| own == subtype)
}

fn name<'a>(pdf: &'a Pdf, dictionary: &'a Dictionary, key: &[u8]) -> Option<&'a [u8]> {
    dictionary.get_deref(key, pdf).ok()?.as_name().ok()
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

/// What a font's codes are said to be, as tests write it.
#[cfg(test)]
fn listed<C: Copy + Eq + std::hash::Hash>(codes: &[(C, &str)]) -> HashMap<C, String> {
    let codes = codes.iter().map(|&(code, text)| (code, text.to_owned()));
    codes.collect()
}
