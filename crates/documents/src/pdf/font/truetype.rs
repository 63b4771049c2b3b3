//! The characters of the glyphs of a TrueType font program, by its own table from characters to
//! glyphs, inverted.

use super::cff::number;

/// The most entries read from a table.
const MOST_ENTRIES: usize = 1 << 17;
/// The most glyphs of a font.
const MOST_GLYPHS: usize = 1 << 16;

/// The characters of glyphs, in their order; `None` if the program is broken or has no table.
pub(super) fn glyphs(program: &[u8]) -> Option<Vec<String>> {
    let count = number(program, 4, 2)?;
    let mut records = program.get(12..)?.chunks_exact(16).take(count);
    let record = records.find(|record| record.starts_with(b"cmap"))?;
    let tables = program.get(number(record, 8, 4)?..)?;
    let count = number(tables, 2, 2)?;
    let mut records: Vec<&[u8]> = tables.get(4..)?.chunks_exact(8).take(count).collect();
    // All of Unicode is best, then its first plane; other tables do not map characters.
    records.retain(|record| rank(record).is_some());
    records.sort_by_key(|record| rank(record));
    let table = tables.get(number(records.first()?, 4, 4)?..)?;
    let mut glyphs = Glyphs::default();
    match number(table, 0, 2)? {
        4 => segments(table, &mut glyphs),
        12 => groups(table, &mut glyphs),
        _ => None,
    }?;
    Some(glyphs.characters).filter(|glyphs| !glyphs.is_empty())
}

/// The rank of the table of a record; lower is better.
fn rank(record: &[u8]) -> Option<usize> {
    match (number(record, 0, 2)?, number(record, 2, 2)?) {
        (3, 10) => Some(0),
        (0, 4 | 6) => Some(1),
        (3, 1) => Some(2),
        (0, 0..=3) => Some(3),
        _ => None,
    }
}

#[derive(Default)]
struct Glyphs {
    characters: Vec<String>,
    entries: usize,
}

impl Glyphs {
    /// Adds a character of a glyph; only the first one counts. `None` once there are too many.
    fn add(&mut self, glyph: usize, code: usize) -> Option<()> {
        self.entries += 1;
        let character = u32::try_from(code).ok().and_then(char::from_u32);
        if let Some(character) = character
            && (1..MOST_GLYPHS).contains(&glyph)
            && !super::glyph_name::is_private(character)
            && !character.is_control()
        {
            if self.characters.len() <= glyph {
                self.characters.resize(glyph + 1, String::new());
            }
            if self.characters[glyph].is_empty() {
                self.characters[glyph].push(character);
            }
        }
        (self.entries < MOST_ENTRIES).then_some(())
    }
}

/// Format 4: ranges of characters of the first plane.
fn segments(table: &[u8], glyphs: &mut Glyphs) -> Option<()> {
    let length = number(table, 6, 2)? & !1;
    for entry in (0..length).step_by(2) {
        let last = number(table, 14 + entry, 2)?;
        let first = number(table, 16 + length + entry, 2)?;
        let shift = number(table, 16 + 2 * length + entry, 2)?;
        let place = 16 + 3 * length + entry;
        let offset = number(table, place, 2)?;
        for code in first..=last {
            let glyph = match offset {
                0 => (code + shift) & 0xffff,
                offset => match number(table, place + offset + 2 * (code - first), 2) {
                    Some(glyph) if glyph > 0 => (glyph + shift) & 0xffff,
                    _ => 0,
                },
            };
            if glyphs.add(glyph, code).is_none() {
                return Some(());
            }
        }
    }
    Some(())
}

/// Format 12: ranges of all characters.
fn groups(table: &[u8], glyphs: &mut Glyphs) -> Option<()> {
    let count = number(table, 12, 4)?;
    for group in table.get(16..)?.chunks_exact(12).take(count) {
        let (first, last) = (number(group, 0, 4)?, number(group, 4, 4)?);
        let glyph = number(group, 8, 4)?;
        for code in first..=last {
            if glyphs
                .add(glyph.saturating_add(code - first), code)
                .is_none()
            {
                return Some(());
            }
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shorts(numbers: &[u16]) -> Vec<u8> {
        numbers
            .iter()
            .flat_map(|number| number.to_be_bytes())
            .collect()
    }

    fn program(encoding: u16, table: &[u8]) -> Vec<u8> {
        let mut file = shorts(&[0, 1, 1, 0, 0, 0]);
        file.extend(b"cmap");
        file.extend(shorts(&[0, 0, 0, 28, 0, 0]));
        file.extend(shorts(&[0, 1, 3, encoding, 0, 12]));
        file.extend(table);
        file
    }

    /// The characters A to C are the glyphs 5 to 7; é is glyph 9, by a list.
    fn first_plane() -> Vec<u8> {
        let ends = [0x43, 0xe9, 0xffff];
        let starts = [0x41, 0xe9, 0xffff];
        let shifts = [5_u16.wrapping_sub(0x41), 0, 1];
        let mut numbers = vec![4, 0, 0, 6, 0, 0, 0];
        numbers.extend(ends);
        numbers.push(0);
        numbers.extend(starts);
        numbers.extend(shifts);
        numbers.extend([0, 4, 0, 9]);
        program(1, &shorts(&numbers))
    }

    #[test]
    fn tables_of_both_kinds() {
        let glyphs = glyphs(&first_plane()).unwrap();
        assert_eq!(glyphs, ["", "", "", "", "", "A", "B", "C", "", "é"]);
        let table = shorts(&[12, 0, 0, 0, 0, 0, 0, 1, 1, 0xf600, 1, 0xf601, 0, 1]);
        let glyphs = super::glyphs(&program(10, &table)).unwrap();
        assert_eq!(glyphs, ["", "😀", "😁"]);
    }

    #[test]
    fn broken_tables_come_to_an_end() {
        let whole = first_plane();
        for end in 0..whole.len() {
            let _ = glyphs(&whole[..end]);
            let mut damaged = whole.clone();
            damaged[end] = 0xff;
            let _ = glyphs(&damaged);
        }
        let endless = shorts(&[12, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0xffff, 0xffff, 0, 1]);
        assert!(glyphs(&program(10, &endless)).unwrap().len() <= MOST_GLYPHS);
        assert_eq!(glyphs(&program(0, &endless)), None);
    }
}
