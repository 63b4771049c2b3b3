//! Maps of codes to characters (ToUnicode) and to glyphs (CMaps), read entry by entry, so that
//! a malformed entry costs only itself.

use std::collections::HashMap;

use super::glyph_name::characters;
use super::token::{Token, Tokens, number_of};

/// The most characters of a map; more than one for each code would be redundant.
const MOST_CHARACTERS: usize = 1 << 17;
/// The most spaces of codes, which are compared with each code that is drawn.
const MOST_SPACES: usize = 32;
/// The most ranges of codes.
const MOST_RANGES: usize = 1 << 16;

/// A map of codes.
#[derive(Debug, Default)]
pub(super) struct CMap {
    /// The spaces of valid codes: the lowest and the highest byte at each place.
    spaces: Vec<(Vec<u8>, Vec<u8>)>,
    /// The characters of codes.
    pub(super) characters: HashMap<u32, String>,
    /// Codes of some length from a lowest to a highest, and the glyph of the lowest; sorted.
    glyphs: Vec<(usize, u32, u32, u32)>,
    /// The map that this one completes.
    pub(super) base: Option<Vec<u8>>,
    pub(super) is_vertical: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Section {
    Spaces,
    Characters,
    CharacterRanges,
    Glyphs,
    GlyphRanges,
}

impl Section {
    fn beginning(word: &[u8]) -> Option<Self> {
        Some(match word {
            b"begincodespacerange" => Self::Spaces,
            b"beginbfchar" => Self::Characters,
            b"beginbfrange" => Self::CharacterRanges,
            b"begincidchar" => Self::Glyphs,
            b"begincidrange" => Self::GlyphRanges,
            _ => return None,
        })
    }

    /// The number of words in an entry.
    fn words(self) -> usize {
        match self {
            Self::Spaces | Self::Characters | Self::Glyphs => 2,
            Self::CharacterRanges | Self::GlyphRanges => 3,
        }
    }
}

impl CMap {
    pub(super) fn read(text: &[u8]) -> Self {
        let mut map = Self::default();
        let mut tokens = Tokens::of(text);
        let mut section = None;
        let mut entry: Vec<Token<'_>> = Vec::new();
        while let Some(token) = tokens.next() {
            if let Token::Word(word) = token
                && token.number().is_none()
            {
                if word == b"usecmap"
                    && let Some(Token::Name(name)) = entry.last()
                {
                    map.base = Some(name.to_vec());
                }
                match Section::beginning(word) {
                    Some(begun) => section = Some(begun),
                    None if word.starts_with(b"end") => section = None,
                    None => {}
                }
                entry.clear();
                continue;
            }
            let Some(kind) = section else {
                if entry.last() == Some(&Token::Name(b"WMode")) {
                    map.is_vertical = token.number() == Some(1);
                }
                entry = vec![token];
                continue;
            };
            if token == Token::Open {
                map.list(kind, &entry, &mut tokens);
                entry.clear();
                continue;
            }
            entry.push(token);
            if entry.len() == kind.words() {
                map.add(kind, &entry);
                entry.clear();
            }
        }
        map.glyphs.sort_unstable();
        map
    }

    fn add(&mut self, section: Section, entry: &[Token<'_>]) {
        match (section, entry) {
            (Section::Spaces, [Token::Text(low), Token::Text(high)]) => {
                let lengths = (1..=4).contains(&low.len()) && low.len() == high.len();
                if lengths && self.spaces.len() < MOST_SPACES {
                    self.spaces.push((low.clone(), high.clone()));
                }
            }
            (Section::Characters, [code, target]) => {
                if let (Some(code), Token::Text(_) | Token::Name(_)) = (code.number(), target) {
                    self.insert(code, units(target), 0);
                }
            }
            (Section::CharacterRanges, [low, high, target]) => {
                if let (Some(low), Some(high)) = (low.number(), high.number()) {
                    let units = units(target);
                    let last = high.min(low.saturating_add(0xffff));
                    for code in low..=last {
                        if self.characters.len() >= MOST_CHARACTERS {
                            break;
                        }
                        self.insert(code, units.clone(), code - low);
                    }
                }
            }
            (Section::Glyphs, [Token::Text(code), glyph]) => {
                self.glyph_range(code, code, glyph.number());
            }
            (Section::GlyphRanges, [Token::Text(low), Token::Text(high), glyph]) => {
                self.glyph_range(low, high, glyph.number());
            }
            _ => {}
        }
    }

    /// Reads the characters of a range one by one, up to the end of the list.
    fn list(&mut self, section: Section, entry: &[Token<'_>], tokens: &mut Tokens<'_>) {
        let mut code = match (section, entry) {
            (Section::CharacterRanges, [low, _]) => low.number(),
            _ => None,
        };
        for token in tokens.by_ref().take_while(|token| *token != Token::Close) {
            if let Some(at) = code {
                self.insert(at, units(&token), 0);
                code = at.checked_add(1);
            }
        }
    }

    fn insert(&mut self, code: u32, mut units: Vec<u16>, offset: u32) {
        if let Some(last) = units.last_mut() {
            // No range is longer than 65,536.
            *last = last.wrapping_add(u16::try_from(offset).unwrap_or(0));
        }
        // An empty target means that the code draws nothing; one without a valid character leaves it unknown.
        let is_nothing = units.is_empty();
        let mut text = String::from_utf16_lossy(&units);
        text.retain(|character| !matches!(character, '\0' | char::REPLACEMENT_CHARACTER));
        if (is_nothing || !text.is_empty()) && self.characters.len() < MOST_CHARACTERS {
            self.characters.insert(code, text);
        }
    }

    fn glyph_range(&mut self, low: &[u8], high: &[u8], glyph: Option<u32>) {
        let (first, last) = (number_of(low), number_of(high));
        if let Some(glyph) = glyph
            && (1..=4).contains(&low.len())
            && self.glyphs.len() < MOST_RANGES
        {
            self.glyphs.push((low.len(), first, last, glyph));
        }
    }

    /// The length in bytes of the code at the start of a text; `None` if the map does not tell.
    pub(super) fn length(&self, text: &[u8]) -> Option<usize> {
        let fits = |(low, high): &&(Vec<u8>, Vec<u8>)| {
            text.len() >= low.len()
                && low
                    .iter()
                    .zip(high)
                    .zip(text)
                    .all(|((low, high), byte)| (low..=high).contains(&byte))
        };
        let lengths = |(low, _): &(Vec<u8>, Vec<u8>)| low.len();
        let fitting = self.spaces.iter().filter(fits).map(lengths).min();
        fitting.or_else(|| self.spaces.iter().map(lengths).min())
    }

    /// The glyph of a code of some length.
    pub(super) fn glyph(&self, code: u32, length: usize) -> Option<u32> {
        let end = self
            .glyphs
            .partition_point(|&(of, low, ..)| (of, low) <= (length, code));
        let &(of, low, high, glyph) = self.glyphs.get(end.checked_sub(1)?)?;
        (of == length && code <= high).then_some(())?;
        glyph.checked_add(code - low)
    }

    /// The number of entries.
    pub(super) fn len(&self) -> usize {
        self.characters.len() + self.glyphs.len() + self.spaces.len()
    }
}

/// The target of an entry, as UTF-16.
fn units(target: &Token<'_>) -> Vec<u16> {
    match target {
        Token::Text(bytes) if bytes.len() == 1 => vec![u16::from(bytes[0])],
        Token::Text(bytes) => bytes
            .chunks_exact(2)
            .map(|pair| u16::from_be_bytes([pair[0], pair[1]]))
            .collect(),
        Token::Name(name) => characters(&String::from_utf8_lossy(name))
            .unwrap_or_else(|| "\0".to_owned())
            .encode_utf16()
            .collect(),
        _ => Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::font::listed;

    fn characters_of(text: &str) -> HashMap<u32, String> {
        CMap::read(text.as_bytes()).characters
    }

    #[test]
    fn odd_entries_cost_themselves_alone() {
        let text = "/CMapName /My Font,0 def 9 beginbfchar % a comment\r<01> <0041>\n<02> <>\n<03> <0>\
                    <04> /eacute <05> /mystery <06> <D83DDE00> <0 7> <00 42> def <08> <43>";
        let expected = [(1, "A"), (2, ""), (4, "é"), (6, "😀"), (7, "B"), (8, "C")];
        assert_eq!(characters_of(text), listed(&expected));
    }

    #[test]
    fn ranges_and_lists() {
        let text = "begincmap 2 beginbfrange <10> <12> <00660061> <20>\n<23>\n[\n<0041>\n/b <>\n<0043>] \
                    endbfrange beginbfrange <30><30><0078>";
        let expected = [
            (0x10, "fa"),
            (0x11, "fb"),
            (0x12, "fc"),
            (0x20, "A"),
            (0x21, "b"),
            (0x22, ""),
            (0x23, "C"),
            (0x30, "x"),
        ];
        assert_eq!(characters_of(text), listed(&expected));
    }

    #[test]
    fn codes_of_mixed_lengths() {
        let map = CMap::read(
            b"/WMode 1 def /Base usecmap 2 begincodespacerange <00> <7F> <8140> <9FFC> endcodespacerange \
              begincidrange <20> <7e> 231 <8140> <817e> 633 endcidrange begincidchar <889f> 5 endcidchar",
        );
        assert_eq!(map.length(b"a\x81"), Some(1));
        assert_eq!(map.length(b"\x81\x40"), Some(2));
        assert_eq!(map.length(b"\xff\xff"), Some(1));
        assert_eq!(map.glyph(0x21, 1), Some(232));
        assert_eq!(map.glyph(0x21, 2), None);
        assert_eq!(map.glyph(0x8141, 2), Some(634));
        assert_eq!(map.glyph(0x889f, 2), Some(5));
        assert_eq!(map.base.as_deref(), Some(&b"Base"[..]));
        assert!(map.is_vertical);
    }

    #[test]
    fn ranges_that_claim_too_much_are_cut() {
        let claims = "beginbfrange ".to_owned() + &"<00000000> <FFFFFFFF> <0041> ".repeat(9);
        assert!(CMap::read(claims.as_bytes()).characters.len() <= MOST_CHARACTERS);
    }
}
