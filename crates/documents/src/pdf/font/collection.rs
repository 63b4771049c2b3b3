//! The code maps of Asian fonts that PDF readers know by name, and the characters of
//! the glyphs' numbers.

use std::collections::HashMap;
use std::rc::Rc;

use hayro_cmap::{BfString, CMap, CMapName, load_embedded};

/// Maps by name, read once.
#[derive(Default)]
pub(super) struct Collections {
    known: HashMap<Vec<u8>, Option<Rc<CMap>>>,
}

impl Collections {
    /// The map of a name such as `GBK-EUC-H`; `None` for others and for `Identity-H`.
    pub(super) fn codes(&mut self, name: &[u8]) -> Option<Rc<CMap>> {
        if matches!(CMapName::from_bytes(name), CMapName::Custom(_)) {
            return None;
        }
        let read = || {
            let map = load_embedded(CMapName::from_bytes(name))?;
            CMap::parse(map, load_embedded).map(Rc::new)
        };
        let known = self.known.entry(name.to_vec());
        known.or_insert_with(read).clone()
    }

    /// The map from glyphs to characters of an ordering such as `Japan1`.
    pub(super) fn characters(&mut self, ordering: &[u8]) -> Option<Rc<CMap>> {
        self.codes(match ordering {
            b"Japan1" => b"Adobe-Japan1-UCS2",
            b"GB1" => b"Adobe-GB1-UCS2",
            b"CNS1" => b"Adobe-CNS1-UCS2",
            b"Korea1" => b"Adobe-Korea1-UCS2",
            _ => return None,
        })
    }
}

/// The ordering of the glyphs that a map leads to.
pub(super) fn ordering(map: &CMap) -> Option<&'static [u8]> {
    use hayro_cmap::CidFamily::{AdobeCNS1, AdobeGB1, AdobeJapan1, AdobeKorea1};
    match map.metadata().character_collection.as_ref()?.family {
        AdobeJapan1 => Some(b"Japan1"),
        AdobeGB1 => Some(b"GB1"),
        AdobeCNS1 => Some(b"CNS1"),
        AdobeKorea1 => Some(b"Korea1"),
        _ => None,
    }
}

/// The characters of a glyph.
pub(super) fn text(characters: &CMap, glyph: u32) -> Option<String> {
    match characters.lookup_bf_string(glyph)? {
        BfString::Char(character) => Some(character.to_string()),
        BfString::String(text) => Some(text),
    }
}

/// How many bytes the code at the start of a text has, and its glyph.
pub(super) fn code(map: &CMap, text: &[u8]) -> Option<(usize, u32)> {
    let mut code = 0;
    text.iter().take(4).zip(1u8..).find_map(|(&byte, length)| {
        code = code << 8 | u32::from(byte);
        let glyph = map.lookup_cid_code(code, length)?;
        Some((usize::from(length), glyph))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_of_all_countries() {
        let mut collections = Collections::default();
        for (name, bytes, expected) in [
            ("UniGB-UCS2-H", &b"\x6c\xf5"[..], "泵"),
            ("UniJIS-UTF16-H", b"\x30\xdd", "ポ"),
            ("UniKS-UCS2-V", b"\xd3\x8c", "펌"),
            ("GBK-EUC-H", b"\xb1\xc3a", "泵"),
            ("GBK-EUC-H", b"A\xb1", "A"),
            ("90ms-RKSJ-H", b"\x83\x7c", "ポ"),
            ("EUC-H", b"\xa5\xdd", "ポ"),
            ("H", b"\x25\x5d", "ポ"),
            ("KSCms-UHC-H", b"\xc6\xdf", "펌"),
            ("ETen-B5-H", b"\xaa\xf9", "門"),
        ] {
            let map = collections.codes(name.as_bytes()).unwrap();
            let (_, glyph) = code(&map, bytes).unwrap();
            let characters = collections.characters(ordering(&map).unwrap()).unwrap();
            assert_eq!(
                text(&characters, glyph).as_deref(),
                Some(expected),
                "{name}"
            );
        }
        assert!(collections.codes(b"Some-H").is_none());
    }
}
