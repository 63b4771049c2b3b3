//! The encoding and the glyphs' names within a CFF font program.

use std::collections::HashMap;

use super::glyph_name::characters;

/// The most glyphs of a font.
const MOST_GLYPHS: usize = 1 << 16;
/// The number of strings that the format itself defines.
const STANDARD_STRINGS: usize = 391;
/// The entries of [`STANDARD`] for a name without a character, and for a space.
const NOTHING: &str = "-0";
const SPACE: &str = "SP";
/// The characters of the strings that the format defines; those of the expert set in their plain
/// form.
const STANDARD: &str = "-0 SP ! \" # $ % & ’ ( ) * + , - . / 0 1 2 3 4 5 6 7 8 9 : ; < = > ? @ A B C D E F G H I J \
    K L M N O P Q R S T U V W X Y Z [ \\ ] ^ _ ‘ a b c d e f g h i j k l m n o p q r s t u v w \
    x y z { | } ~ ¡ ¢ £ ⁄ ¥ ƒ § ¤ ' “ « ‹ › ﬁ ﬂ – † ‡ · ¶ • ‚ „ ” » … ‰ ¿ ` ´ ˆ ˜ ¯ ˘ ˙ ¨ ˚ ¸ ˝ \
    ˛ ˇ — Æ ª Ł Ø Œ º æ ı ł ø œ ß ¹ ¬ µ ™ Ð ½ ± Þ ¼ ÷ ¦ ° þ ¾ ² ® − ð × ³ © Á Â Ä À Å Ã Ç É Ê Ë \
    È Í Î Ï Ì Ñ Ó Ô Ö Ò Õ Š Ú Û Ü Ù Ý Ÿ Ž á â ä à å ã ç é ê ë è í î ï ì ñ ó ô ö ò õ š ú û ü ù ý \
    ÿ ž ! -0 $ $ & -0 ⁽ ⁾ ‥ ․ 0 1 2 3 4 5 6 7 8 9 , -0 . ? a b ¢ d e i l m ⁿ o r s t ﬀ ﬃ ﬄ ₍ ₎ \
    ˆ - -0 A B C D E F G H I J K L M N O P Q R S T U V W X Y Z ₡ -0 -0 ˜ ¡ ¢ Ł Š Ž -0 ˘ -0 ˙ -0 \
    ‒ - ˛ ˚ ¸ ¿ ⅛ ⅜ ⅝ ⅞ ⅓ ⅔ ⁰ ⁴ ⁵ ⁶ ⁷ ⁸ ⁹ ₀ ₁ ₂ ₃ ₄ ₅ ₆ ₇ ₈ ₉ ¢ $ . , À Á Â Ã Ä Å Æ Ç È É Ê Ë Ì \
    Í Î Ï Ð Ñ Ò Ó Ô Õ Ö Œ Ø Ù Ú Û Ü Ý Þ Ÿ ";

/// The glyphs of a program.
#[derive(Debug, Default)]
pub(super) struct Cff {
    /// The characters of codes; empty if the program names an encoding that PDF knows.
    pub(super) encoding: HashMap<u8, String>,
    /// The characters of glyphs, in their order; empty for fonts whose glyphs have numbers.
    pub(super) glyphs: Vec<String>,
}

/// Reads a bare CFF program or one in an OpenType file; `None` if it is broken.
pub(super) fn read(program: &[u8]) -> Option<Cff> {
    let program = match program.starts_with(b"OTTO") {
        true => table(program)?,
        false => program,
    };
    // PDF knows only the first version of the format.
    if program.first() != Some(&1) {
        return None;
    }
    let header = usize::from(*program.get(2)?);
    let names = Index::at(program, header)?;
    let tops = Index::at(program, names.end)?;
    let strings = Index::at(program, tops.end)?;
    let top = operators(tops.item(0)?);
    let offset = |operator: u16| usize::try_from(*top.get(&operator)?.first()?).ok();
    if top.contains_key(&ROS) {
        return Some(Cff::default());
    }
    let count = Index::at(program, offset(CHAR_STRINGS)?)?.count;
    let charset = charset(program, offset(CHARSET).unwrap_or(0), count)?;
    let glyphs: Vec<String> = charset.iter().map(|&id| string(id, &strings)).collect();
    let encoding = match offset(ENCODING).unwrap_or(0) {
        0 | 1 => HashMap::new(),
        at => encoding(program, at, &glyphs, &strings).unwrap_or_default(),
    };
    Some(Cff { encoding, glyphs })
}

const CHARSET: u16 = 15;
const ENCODING: u16 = 16;
const CHAR_STRINGS: u16 = 17;
/// Glyphs have numbers instead of names.
const ROS: u16 = 12 << 8 | 30;

/// The CFF table of an OpenType file.
fn table(file: &[u8]) -> Option<&[u8]> {
    let count = number(file, 4, 2)?;
    let mut records = file.get(12..)?.chunks_exact(16).take(count);
    let record = records.find(|record| record.starts_with(b"CFF "))?;
    let start = number(record, 8, 4)?;
    file.get(start..)
}

/// The big-endian number of `length` bytes from `start`.
pub(super) fn number(bytes: &[u8], start: usize, length: usize) -> Option<usize> {
    let bytes = bytes.get(start..start.checked_add(length)?)?;
    Some(
        bytes
            .iter()
            .fold(0, |number, &byte| number << 8 | usize::from(byte)),
    )
}

/// A list of byte strings.
struct Index<'a> {
    program: &'a [u8],
    count: usize,
    /// The bytes of an offset, the start of the offsets, and the start of the data less one.
    width: usize,
    offsets: usize,
    data: usize,
    /// The end of the index.
    end: usize,
}

impl<'a> Index<'a> {
    fn at(program: &'a [u8], start: usize) -> Option<Self> {
        let count = number(program, start, 2)?;
        let width = match count {
            0 => 0,
            _ => {
                number(program, start.checked_add(2)?, 1).filter(|width| (1..=4).contains(width))?
            }
        };
        let offsets = start + 3;
        let data = (offsets + (count + 1) * width).checked_sub(1)?;
        let mut index = Self {
            program,
            count,
            width,
            offsets,
            data,
            end: start + 2,
        };
        if count > 0 {
            index.end = index.offset(count)?;
        }
        Some(index)
    }

    fn offset(&self, item: usize) -> Option<usize> {
        let offset = number(self.program, self.offsets + item * self.width, self.width)?;
        self.data.checked_add(offset)
    }

    fn item(&self, item: usize) -> Option<&'a [u8]> {
        (item < self.count).then_some(())?;
        self.program.get(self.offset(item)?..self.offset(item + 1)?)
    }
}

/// The operators of a dictionary and their operands; real numbers count as 0.
fn operators(mut bytes: &[u8]) -> HashMap<u16, Vec<i64>> {
    let mut operators = HashMap::new();
    let mut operands = Vec::new();
    while let [first, rest @ ..] = bytes {
        let first = *first;
        bytes = rest;
        let mut take = |count: usize| {
            let (taken, rest) = bytes.split_at(count.min(bytes.len()));
            bytes = rest;
            taken
                .iter()
                .fold(0, |number: i64, &byte| number << 8 | i64::from(byte))
        };
        match first {
            12 => {
                let second = u16::try_from(take(1)).unwrap_or(0);
                operators.insert(12 << 8 | second, std::mem::take(&mut operands));
            }
            0..=21 => {
                operators.insert(u16::from(first), std::mem::take(&mut operands));
            }
            28 => operands.push(take(2)),
            29 => operands.push(take(4)),
            30 => {
                while bytes
                    .first()
                    .is_some_and(|byte| byte & 0xf != 0xf && byte >> 4 != 0xf)
                {
                    bytes = &bytes[1..];
                }
                bytes = bytes.get(1..).unwrap_or_default();
                operands.push(0);
            }
            32..=246 => operands.push(i64::from(first) - 139),
            247..=250 => operands.push((i64::from(first) - 247) * 256 + take(1) + 108),
            251..=254 => operands.push(-(i64::from(first) - 251) * 256 - take(1) - 108),
            _ => {}
        }
    }
    operators
}

/// The string ids of the glyphs.
fn charset(program: &[u8], start: usize, count: usize) -> Option<Vec<usize>> {
    let count = count.min(MOST_GLYPHS);
    // The sets that the format defines. The expert ones agree with this only in their first glyphs.
    if start <= 2 {
        return Some((0..count).collect());
    }
    let mut ids = vec![0];
    let mut place = start + 1;
    let (step, width) = match program.get(start)? {
        0 => (2, 0),
        1 => (3, 1),
        _ => (4, 2),
    };
    while ids.len() < count {
        let first = number(program, place, 2)?;
        let more = number(program, place + 2, width)?;
        let left = count - ids.len();
        ids.extend((first..=first + more).take(left));
        place += step;
    }
    Some(ids)
}

/// The characters of codes, as the program lists them.
fn encoding(
    program: &[u8],
    start: usize,
    glyphs: &[String],
    strings: &Index<'_>,
) -> Option<HashMap<u8, String>> {
    let mut codes = HashMap::new();
    let format = *program.get(start)?;
    let count = number(program, start + 1, 1)?;
    let mut place = start + 2;
    let mut glyph = 1;
    let mut add = |code: usize, text: Option<&String>| {
        if let (Ok(code), Some(text)) = (u8::try_from(code), text)
            && !text.is_empty()
        {
            codes.insert(code, text.clone());
        }
    };
    for _ in 0..count {
        let first = number(program, place, 1)?;
        let more = match format & 0x7f {
            0 => 0,
            _ => number(program, place + 1, 1)?,
        };
        place += if format & 0x7f == 0 { 1 } else { 2 };
        for code in first..=first + more {
            add(code, glyphs.get(glyph));
            glyph += 1;
        }
    }
    if format & 0x80 != 0 {
        for supplement in 0..number(program, place, 1)? {
            let entry = place + 1 + 3 * supplement;
            let text = string(number(program, entry + 1, 2)?, strings);
            add(number(program, entry, 1)?, Some(&text));
        }
    }
    Some(codes)
}

/// The characters of a string that is a glyph's name.
fn string(id: usize, strings: &Index<'_>) -> String {
    match id.checked_sub(STANDARD_STRINGS) {
        Some(own) => strings
            .item(own)
            .and_then(|name| characters(&String::from_utf8_lossy(name)))
            .unwrap_or_default(),
        None => match STANDARD.split(' ').nth(id) {
            Some(SPACE) => " ".to_owned(),
            Some(NOTHING) | None => String::new(),
            Some(characters) => characters.to_owned(),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pdf::font::listed;

    fn index(items: &[&[u8]]) -> Vec<u8> {
        let mut bytes = (items.len() as u16).to_be_bytes().to_vec();
        if !items.is_empty() {
            bytes.push(1);
            let mut offset = 1;
            bytes.push(offset);
            for item in items {
                offset += item.len() as u8;
                bytes.push(offset);
            }
            bytes.extend(items.concat());
        }
        bytes
    }

    /// A program with the glyphs .notdef, fi (standard), one by its own name, and A to C.
    fn program(encoding: &[u8]) -> Vec<u8> {
        let charset = [1, 0, 109, 0, 1, 135, 0, 0, 34, 2];
        let glyphs = index(&[&b"x"[..]; 6]);
        let frame = |top: &[u8]| {
            let mut bytes = vec![1, 0, 4, 1];
            bytes.extend(index(&[b"F"]));
            bytes.extend(index(&[top]));
            bytes.extend(index(&[b"eacute.sc"]));
            bytes.extend(index(&[]));
            bytes
        };
        let operand = |number: usize| [29, 0, 0, (number >> 8) as u8, number as u8];
        let top = |start: usize| {
            let places = [
                start,
                start + charset.len(),
                start + charset.len() + encoding.len(),
            ];
            let mut top = Vec::new();
            for (place, operator) in places.into_iter().zip([15, 16, 17]) {
                top.extend(operand(place));
                top.push(operator);
            }
            top
        };
        let start = frame(&top(0)).len();
        [
            frame(&top(start)),
            charset.to_vec(),
            encoding.to_vec(),
            glyphs,
        ]
        .concat()
    }

    fn codes(encoding: &[u8]) -> HashMap<u8, String> {
        read(&program(encoding)).unwrap().encoding
    }

    #[test]
    fn encodings_of_all_kinds() {
        let all = listed(&[(12, "ﬁ"), (14, "é"), (65, "A"), (66, "B"), (67, "C")]);
        assert_eq!(codes(&[0, 5, 12, 14, 65, 66, 67]), all);
        assert_eq!(codes(&[1, 3, 12, 0, 14, 0, 65, 2]), all);
        let supplement = codes(&[0x80, 1, 12, 1, 99, 0, 16]);
        assert_eq!(supplement, listed(&[(12, "ﬁ"), (99, "/")]));
        let glyphs = ["", "ﬁ", "é", "A", "B", "C"];
        assert_eq!(read(&program(&[0, 0])).unwrap().glyphs, glyphs);
    }

    #[test]
    fn standard_strings() {
        let found = |id| string(id, &Index::at(&[0, 0], 0).unwrap());
        let ids = [0, 1, 17, 34, 109, 228, 239, 378, 390].map(found);
        assert_eq!(ids, ["", " ", "0", "A", "ﬁ", "ž", "0", "Ÿ", ""]);
    }

    #[test]
    fn broken_programs_are_none_or_less() {
        let whole = program(&[1, 3, 12, 0, 14, 0, 65, 2]);
        for end in 0..whole.len() {
            let _ = read(&whole[..end]);
            let mut damaged = whole.clone();
            damaged[end] = 0xff;
            let _ = read(&damaged);
        }
    }
}
