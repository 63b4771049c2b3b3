//! Rich Text Format: paragraphs, headings by their outline level, tables. Pictures, embedded objects, field
//! codes, headers and footers are left out.

use std::collections::HashMap;

use encoding_rs::{Encoding, WINDOWS_1252};
use serde_json::Map;

use crate::budget::Budget;
use crate::error::ReadError;
use crate::format::Format;
use crate::place::Place;
use crate::prose::Prose;
use crate::raised::changes_number;
use crate::record::{Contents, one_line};
use crate::table::{Row, Table};
use crate::watch::Watch;

/// Groups whose content is not text of the document.
const LEFT_OUT: [&str; 21] = [
    "fonttbl",
    "colortbl",
    "stylesheet",
    "pict",
    "object",
    "header",
    "headerl",
    "headerr",
    "headerf",
    "footer",
    "footerl",
    "footerr",
    "footerf",
    "fldinst",
    "themedata",
    "datastore",
    "listtable",
    "listoverridetable",
    "rsidtbl",
    "xmlnstbl",
    // What other programs show in place of a shape.
    "shprslt",
];

/// The control words that stand for characters.
const MARKS: [(&str, &str); 9] = [
    ("emdash", "—"),
    ("endash", "–"),
    ("lquote", "‘"),
    ("rquote", "’"),
    ("ldblquote", "“"),
    ("rdblquote", "”"),
    ("bullet", "•"),
    ("emspace", " "),
    ("enspace", " "),
];

/// What precedes the text of a footnote.
const NOTE: &str = " (";

/// Control words between two checks of the stop flag.
const WORDS_PER_CHECK: usize = 4096;

/// The document of a file.
pub(crate) fn contents(bytes: &[u8], place: &Place, watch: &Watch) -> Result<Contents, ReadError> {
    if !bytes.trim_ascii_start().starts_with(b"{\\rtf") {
        let reason = "it does not begin as one";
        return Err(ReadError::broken(&place.path, Format::Rtf, reason));
    }
    let mut body = Body {
        encoding: WINDOWS_1252,
        fonts: HashMap::new(),
        font: 0,
        groups: vec![Group::default()],
        bytes: Vec::new(),
        skip: 0,
        high: None,
        text: String::new(),
        around: Vec::new(),
        title: String::new(),
        level: None,
        row: Row::new(),
        cell: String::new(),
        table: None,
        in_table: false,
        prose: Prose::new(place, watch),
    };
    let mut rest = bytes;
    let mut words = 0_usize;
    while let Some((&first, after)) = rest.split_first() {
        rest = after;
        match first {
            b'{' => {
                body.flush();
                if body.groups.len() > Budget::DEPTH {
                    let place = place.clone();
                    return Err(ReadError::TooDeep { place });
                }
                let group = body.group().clone();
                body.groups.push(group);
            }
            b'}' => {
                body.flush();
                body.end_group()?;
            }
            b'\\' => {
                words += 1;
                if words.is_multiple_of(WORDS_PER_CHECK) {
                    watch.check()?;
                }
                rest = body.control(rest)?;
            }
            b'\r' | b'\n' => {}
            byte => body.byte(byte),
        }
    }
    body.flush();
    body.end_row()?;
    let cell = std::mem::take(&mut body.cell);
    body.text.insert_str(0, &cell);
    body.paragraph()?;
    let title = one_line(&body.title);
    Ok(body.prose.finish(title, Map::new()))
}

/// The settings that hold up to the end of a group.
#[derive(Debug, Clone)]
struct Group {
    /// Whether its content is not text of the document.
    silent: bool,
    /// Whether that holds for text boxes in it, too.
    left_out: bool,
    /// Whether its letters are not shown.
    hidden: bool,
    in_title: bool,
    /// Whether it is in the list of fonts.
    in_fonts: bool,
    in_note: bool,
    raised: bool,
    /// The encoding of its font; `None` if it is that of the document.
    encoding: Option<&'static Encoding>,
    /// How many substitute characters follow one of Unicode.
    substitutes: usize,
}

impl Default for Group {
    fn default() -> Self {
        Self {
            silent: false,
            left_out: false,
            hidden: false,
            in_title: false,
            in_fonts: false,
            in_note: false,
            raised: false,
            encoding: None,
            substitutes: 1,
        }
    }
}

impl Group {
    fn is_read(&self) -> bool {
        self.in_title || !(self.silent || self.hidden)
    }
}

/// The paragraph around an open text box.
struct Around {
    /// The number of open groups in the box.
    depth: usize,
    text: String,
    level: Option<usize>,
    in_table: bool,
}

/// A document so far.
struct Body {
    encoding: &'static Encoding,
    /// The encodings of fonts that have one of their own.
    fonts: HashMap<i64, &'static Encoding>,
    /// The number of the font that is being listed.
    font: i64,
    /// The open groups, never none.
    groups: Vec<Group>,
    /// Bytes that are not decoded yet.
    bytes: Vec<u8>,
    /// How many substitutes are still to be skipped.
    skip: usize,
    /// The first half of a character that takes two.
    high: Option<u16>,
    text: String,
    /// The paragraphs around the open text boxes.
    around: Vec<Around>,
    title: String,
    /// The level of the paragraph, if it is a heading.
    level: Option<usize>,
    row: Row,
    cell: String,
    table: Option<Table>,
    /// Whether the paragraph is part of a row.
    in_table: bool,
    prose: Prose,
}

impl Body {
    fn group(&mut self) -> &mut Group {
        if self.groups.is_empty() {
            self.groups.push(Group::default());
        }
        let last = self.groups.len() - 1;
        &mut self.groups[last]
    }

    fn byte(&mut self, byte: u8) {
        if self.skip > 0 {
            self.skip -= 1;
        } else if self.group().is_read() {
            self.bytes.push(byte);
        }
    }

    /// Decodes the pending bytes.
    fn flush(&mut self) {
        if !self.bytes.is_empty() {
            let bytes = std::mem::take(&mut self.bytes);
            let encoding = self.group().encoding.unwrap_or(self.encoding);
            let (text, _) = encoding.decode_without_bom_handling(&bytes);
            self.write(&text);
        }
        self.skip = 0;
    }

    fn write(&mut self, text: &str) {
        let group = self.group();
        let (is_read, in_title, raised) = (group.is_read(), group.in_title, group.raised);
        // The mark of a note, which precedes its text, is not shown.
        let begins_note = group.in_note && self.text.ends_with(NOTE);
        let text = if begins_note { text.trim_start() } else { text };
        match in_title {
            true => self.title.push_str(text),
            false if is_read => {
                if raised && changes_number(&self.text, text) {
                    self.text.push('^');
                }
                self.text.push_str(text);
            }
            false => {}
        }
    }

    /// Reads a control word or symbol; `rest` begins after the backslash. Returns the rest after it.
    fn control<'b>(&mut self, rest: &'b [u8]) -> Result<&'b [u8], ReadError> {
        let (name, number, after) = control_word(rest);
        if name.is_empty() {
            return Ok(self.symbol(rest));
        }
        if name == "u" {
            if let Some(number) = number {
                self.unicode(number);
            }
            return Ok(after);
        }
        self.flush();
        if LEFT_OUT.contains(&name) {
            let group = self.group();
            (group.silent, group.left_out) = (true, true);
            group.in_fonts = name == "fonttbl";
            return Ok(after);
        }
        if self.letters(name, number) {
            return Ok(after);
        }
        match name {
            "bin" => {
                let count = usize::try_from(number.unwrap_or_default()).unwrap_or_default();
                return Ok(after.get(count..).unwrap_or_default());
            }
            "uc" => {
                let count = usize::try_from(number.unwrap_or(1));
                self.group().substitutes = count.unwrap_or(1).min(16);
            }
            // Metadata, of which only the title is read.
            "info" => self.group().silent = true,
            "title" => self.group().in_title = self.group().silent,
            "footnote" => self.begin_note(),
            "shptxt" | "dptxbxtext" if !self.group().left_out => self.begin_box(),
            "outlinelevel" => {
                let level = number.and_then(|level| usize::try_from(level).ok());
                self.level = level.filter(|&level| level < 9).map(|level| level + 1);
            }
            "pard" if !self.group().in_note => (self.level, self.in_table) = (None, false),
            "intbl" if !self.group().silent => self.in_table = true,
            "par" if self.group().in_note => self.write(" "),
            "par" | "sect" | "page" if !self.group().silent => self.paragraph()?,
            "line" => self.write("\n"),
            "tab" => self.write("\t"),
            "cell" | "nestcell" if !self.group().silent => {
                self.cell.push_str(&std::mem::take(&mut self.text));
                let column = self.row.len();
                self.row.push((column, std::mem::take(&mut self.cell)));
            }
            "row" if !self.group().silent => self.end_row()?,
            _ => {
                if let Some((_, mark)) = MARKS.iter().find(|(word, _)| *word == name) {
                    self.write(mark);
                }
            }
        }
        Ok(after)
    }

    /// Reads a control word that tells how letters are coded or shown; false for others.
    fn letters(&mut self, name: &str, number: Option<i64>) -> bool {
        let (is_on, value) = (number != Some(0), number.unwrap_or_default());
        let font = self.font;
        let group = self.groups.last_mut();
        let in_fonts = group.as_ref().is_some_and(|group| group.in_fonts);
        let Some(group) = group else { return false };
        match name {
            "ansicpg" => self.encoding = encoding_of(value),
            "f" if in_fonts => self.font = value,
            "fcharset" if in_fonts => {
                if let Some(encoding) = encoding_of_charset(value) {
                    self.fonts.insert(font, encoding);
                }
            }
            "f" => group.encoding = self.fonts.get(&value).copied(),
            "v" | "deleted" => group.hidden = is_on,
            "super" => group.raised = is_on,
            "nosupersub" => group.raised = false,
            "plain" => (group.hidden, group.raised, group.encoding) = (false, false, None),
            _ => return false,
        }
        true
    }

    /// Begins a footnote, whose group other programs may skip.
    fn begin_note(&mut self) {
        let around = self.groups.len().checked_sub(2);
        let is_silent = around.is_some_and(|around| self.groups[around].silent);
        let group = self.group();
        let is_first = !group.in_note;
        (group.silent, group.in_note, group.raised) = (is_silent, true, false);
        if is_first {
            self.write(NOTE);
        }
    }

    /// Begins a text box, whose paragraphs precede the one that it is in.
    fn begin_box(&mut self) {
        self.group().silent = false;
        self.around.push(Around {
            depth: self.groups.len(),
            text: std::mem::take(&mut self.text),
            level: self.level.take(),
            in_table: self.in_table,
        });
    }

    fn end_group(&mut self) -> Result<(), ReadError> {
        if self.groups.len() < 2 {
            return Ok(());
        }
        let depth = self.groups.len();
        if let Some(around) = self.around.pop_if(|around| around.depth == depth) {
            self.paragraph()?;
            (self.text, self.level, self.in_table) = (around.text, around.level, around.in_table);
        }
        let ended = self.groups.pop();
        if ended.is_some_and(|group| group.in_note && group.is_read()) && !self.group().in_note {
            let kept = self.text.trim_end().len();
            self.text.truncate(kept);
            self.text.push(')');
        }
        Ok(())
    }

    /// Ends a row of a table; outside of tables, there is none.
    fn end_row(&mut self) -> Result<(), ReadError> {
        self.in_table = false;
        if self.row.is_empty() {
            return Ok(());
        }
        if self.table.is_none() {
            self.prose.block();
        }
        let table = self.table.get_or_insert_default();
        table.row(&std::mem::take(&mut self.row), &mut self.prose)
    }

    fn symbol<'b>(&mut self, rest: &'b [u8]) -> &'b [u8] {
        let Some((&mark, after)) = rest.split_first() else {
            return rest;
        };
        match mark {
            b'\'' => {
                let digits = after
                    .get(..2)
                    .and_then(|digits| std::str::from_utf8(digits).ok());
                let byte = digits.and_then(|digits| u8::from_str_radix(digits, 16).ok());
                if let Some(byte) = byte {
                    self.byte(byte);
                    return after.get(2..).unwrap_or_default();
                }
            }
            b'\\' | b'{' | b'}' => self.byte(mark),
            b'~' => self.byte(b' '),
            b'_' => self.byte(b'-'),
            // A group that only some programs know.
            b'*' => {
                self.flush();
                self.group().silent = true;
            }
            b'\r' | b'\n' => self.byte(b'\n'),
            _ => {}
        }
        after
    }

    /// Adds a character by its number, which is signed and has 16 bits.
    fn unicode(&mut self, number: i64) {
        // Bytes before it are decoded first; those after it are its substitutes.
        self.flush();
        self.skip = self.group().substitutes;
        let skip = self.skip;
        let unit = u16::try_from(number.rem_euclid(1 << 16)).unwrap_or_default();
        let units = match self.high.take() {
            Some(high) => vec![high, unit],
            None if (0xd800..0xdc00).contains(&unit) => {
                self.high = Some(unit);
                return;
            }
            None => vec![unit],
        };
        let text = String::from_utf16_lossy(&units);
        self.write(&text);
        self.skip = skip;
    }

    fn paragraph(&mut self) -> Result<(), ReadError> {
        let text = std::mem::take(&mut self.text);
        // A paragraph within a row is part of a cell.
        if self.in_table || !self.row.is_empty() {
            self.cell.push_str(&text);
            self.cell.push('\n');
            return Ok(());
        }
        if text.trim().is_empty() {
            return Ok(());
        }
        if self.table.take().is_some() {
            self.prose.block();
        }
        match self.level {
            Some(level) => self.prose.heading(level, &text),
            None => self.prose.paragraph(&text),
        }
    }
}

/// The control word that a text begins with, empty for a symbol; its number; and the rest after them.
fn control_word(text: &[u8]) -> (&str, Option<i64>, &[u8]) {
    let letters = text.iter().take_while(|byte| byte.is_ascii_alphabetic());
    let (name, after) = text.split_at(letters.count());
    let digits = after.iter().enumerate();
    let digits =
        digits.take_while(|(i, byte)| byte.is_ascii_digit() || (*i == 0 && **byte == b'-'));
    let (number, after) = after.split_at(digits.count());
    let number = std::str::from_utf8(number).ok();
    let number = number.and_then(|number| number.parse::<i64>().ok());
    let name = std::str::from_utf8(name).unwrap_or_default();
    (name, number, after.strip_prefix(b" ").unwrap_or(after))
}

/// The encoding of a font's set of characters; `None` if it is that of the document.
fn encoding_of_charset(charset: i64) -> Option<&'static Encoding> {
    let code_page = match charset {
        77 => 10_000,
        128 => 932,
        129 | 130 => 949,
        134 => 936,
        136 => 950,
        161 => 1253,
        162 => 1254,
        163 => 1258,
        177 => 1255,
        178 => 1256,
        186 => 1257,
        204 => 1251,
        222 => 874,
        238 => 1250,
        _ => return None,
    };
    Some(encoding_of(code_page))
}

fn encoding_of(code_page: i64) -> &'static Encoding {
    let label = match code_page {
        866 => "ibm866".to_owned(),
        932 => "shift_jis".to_owned(),
        936 => "gbk".to_owned(),
        949 => "euc-kr".to_owned(),
        950 => "big5".to_owned(),
        10_000 => "macintosh".to_owned(),
        65001 => "utf-8".to_owned(),
        other => format!("windows-{other}"),
    };
    Encoding::for_label(label.as_bytes()).unwrap_or(WINDOWS_1252)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ken_testing::has;

    use super::*;

    fn read(rtf: &[u8]) -> Result<Contents, ReadError> {
        contents(rtf, &Place::whole(Path::new("t.rtf")), &Watch::default())
    }

    #[test]
    fn a_file() {
        let contents = read(
            br"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0 Arial;}}{\info{\title Tides}{\author Ito}}{\*\generator x;}
\pard\outlinelevel0 High water\par
\pard Caf\'e9 \u8211? {\b bold}{\v hidden}\line next\par
\trowd\cellx1\cellx2\intbl Pump\cell Bar\cell\row
\trowd\intbl seven\cell 9\cell\row
\pard Last\u-10179?\u-8704?\par{\header no}{\field{\*\fldinst HYPERLINK}{\fldrslt link}}}",
        )
        .unwrap();
        has!(contents, title.as_deref(): Some("Tides"),
            text: "# High water\n\nCafé – bold\nnext\n\nPump | Bar\nPump: seven; Bar: 9\n\nLast😀\n\nlink");
    }

    #[test]
    fn code_pages() {
        let contents = read(br"{\rtf1\ansi\ansicpg1251 \'cf\'f0\'e8\'e2\'e5\'f2}").unwrap();
        assert_eq!(contents.text, "Привет");
        let contents = read(br"{\rtf1\ansi\ansicpg866 \'8f\'e0\'a8}").unwrap();
        assert_eq!(contents.text, "При");
    }

    #[test]
    fn deleted_text_is_left_out_and_soft_hyphens_too() {
        let contents =
            read(br"{\rtf1 It {\revised opens}{\deleted closes\plain  and} op\u173?ens. \deleted no\deleted0  yes}");
        assert_eq!(contents.unwrap().text, "It opens and opens.  yes");
    }

    #[test]
    fn fonts_have_their_own_encodings() {
        let contents = read(
            br"{\rtf1\ansi\ansicpg1252{\fonttbl{\f0\fcharset0 Arial;}{\f1\fcharset204 Arial Cyr;}{\f2\fcharset128 Mincho;}}\f0 Caf\'e9 {\f1 \'cf\'f0\'e8\'e2\'e5\'f2} {\f2 \'93\'8c} \f1 \'e0\plain \'e0}",
        );
        assert_eq!(contents.unwrap().text, "Café Привет 東 аà");
    }

    #[test]
    fn notes_and_raised_text() {
        let contents = read(
            br"{\rtf1 Read{\super\chftn}{\*\footnote\chftn\~\pard In 1734.\par} on. 10{\super 6} Pa, 3{\super rd}\par}",
        );
        assert_eq!(contents.unwrap().text, "Read (In 1734.) on. 10^6 Pa, 3rd");
    }

    #[test]
    fn text_boxes_are_read_once() {
        let contents = read(
            br"{\rtf1 It {\shp{\*\shpinst\shpleft1{\sp{\sn shapeType}{\sv 202}}{\shptxt\pard First.\par Second.}}{\shprslt{\*\do{\dptxbxtext First.\par}}}}opens.\par
{\*\do\dobxpage{\dptxbxtext Old.\par}}{\header{\shp{\*\shpinst{\shptxt Head.\par}}}}Last.}",
        );
        let text = "First.\n\nSecond.\n\nIt opens.\n\nOld.\n\nLast.";
        assert_eq!(contents.unwrap().text, text);
    }

    #[test]
    fn paragraphs_in_cells() {
        let contents = read(
            br"{\rtf1\trowd\cellx1\cellx2{\intbl{\pard\intbl Pump\par}\cell}{\pard\intbl Bar\par\cell}\intbl\row
\trowd\intbl seven\par a\cell 9\cell\row\pard Last\par}",
        );
        assert_eq!(
            contents.unwrap().text,
            "Pump | Bar\nPump: seven a; Bar: 9\n\nLast"
        );
    }

    #[test]
    fn what_is_broken() {
        assert!(read(b"{\\html}").is_err());
        assert!(read(&[b"{\\rtf1", &b"{".repeat(200)[..]].concat()).is_err());
        assert_eq!(read(b"{\\rtf1 a\\bin99999 b\\'").unwrap().text, "a");
        assert_eq!(read(b"{\\rtf1 a}}}}b\\u").unwrap().text, "ab");
    }
}
