//! The text of a page, as it grows from tags and words: lines, cells, headings.

use std::iter;
use std::mem;
use std::ops::Range;

use ken_corpus::Outline;
use serde_json::{Map, Value};

use super::elements::{ends_foreign_content, heading_level, line_breaks};
use super::formula::{Formula, Script};
use super::scope::{Scopes, Start};
use crate::record::one_line;

/// The longest header that the passages of a table repeat, in bytes.
const LONGEST_HEADER: usize = 200;
/// The columns of a table in which cells that reach down are followed.
const MOST_COLUMNS: usize = 64;
/// The most columns that one cell counts as.
const WIDEST_CELL: u32 = 16;
/// How deep lists are counted.
const DEEPEST_LIST: usize = 64;

/// A page so far.
#[derive(Default)]
pub(crate) struct Page {
    text: String,
    /// Line breaks that are due before the next text, at most 2.
    breaks: usize,
    /// Ends of cells that are due before the next text.
    tabs: usize,
    /// Whether a space is due before the next text.
    space: bool,
    scopes: Scopes,
    formula: Option<Formula>,
    script: Option<Script>,
    /// The offset of the last link.
    link_start: Option<usize>,
    /// Whether the open link is the mark of a note.
    in_mark: bool,
    preformatted: usize,
    /// Whether a line break now does not belong to the preformatted text.
    preformatted_begins: bool,
    tables: Vec<Table>,
    /// The numbers of the next items of the open lists; `None` for lists without numbers.
    lists: Vec<Option<u64>>,
    /// The number that is due before the next text.
    number: Option<u64>,
    title: Option<String>,
    in_title: bool,
    /// The offset of the open heading, and its level.
    heading_start: Option<(usize, u8)>,
    outline: Outline,
    /// The first heading of any level.
    first_heading: Option<Heading>,
    /// The first heading of the first level.
    main_heading: Option<String>,
    pub(super) metadata: Map<String, Value>,
    /// Whether the tags are within a paragraph of Markdown.
    pub(crate) inline: bool,
}

/// A heading, and its place in the text.
#[derive(Debug, Clone)]
pub(crate) struct Heading {
    pub(crate) text: String,
    pub(crate) place: Range<usize>,
}

/// A table that is being read.
#[derive(Default)]
struct Table {
    row: u32,
    column: usize,
    /// The offset of the open cell.
    cell: Option<usize>,
    /// Whether the last cell has several lines.
    tall: bool,
    /// The columns that the last cell takes beyond its own.
    wide: u32,
    /// The last row that a cell above reaches, for each column.
    reached: Vec<u32>,
    /// The offset of the open row.
    row_start: usize,
    /// Whether it has cells so far that do not belong to a header.
    has_values: bool,
    header: Option<Range<usize>>,
}

/// The attributes of a start tag that matter for the text.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Attributes {
    pub(super) self_closing: bool,
    pub(super) hidden: bool,
    pub(super) shadow: bool,
    pub(super) columns: u32,
    pub(super) rows: u32,
    /// The number of the first item of a list.
    pub(super) first: Option<u64>,
    /// Whether the items of a list have letters.
    pub(super) lettered: bool,
    /// Whether it is a link to a note.
    pub(super) to_note: bool,
}

impl Page {
    pub(super) fn hidden(&self) -> bool {
        self.scopes.hidden()
    }

    /// Whether the tags are in a drawing or a formula, in which no element holds raw text.
    pub(super) fn in_foreign_content(&self) -> bool {
        self.scopes.in_drawing() || self.formula.is_some()
    }

    pub(super) fn start(&mut self, name: &[u8], tag: Attributes) {
        if self.ends_formula(name) {
            self.end_formula();
        }
        self.scopes.start(
            name,
            Start {
                self_closing: tag.self_closing,
                hidden: tag.hidden,
                shadow: tag.shadow,
                in_formula: self.formula.is_some(),
                inline: self.inline,
            },
        );
        if self.hidden() {
            return;
        }
        if let Some(formula) = &mut self.formula {
            if name == b"mspace" {
                self.text.push(' ');
            } else {
                formula.start(name, &mut self.text);
                if tag.self_closing {
                    formula.end(name, &mut self.text);
                }
            }
            return;
        }
        match name {
            b"title" if !tag.self_closing && !self.inline => {
                self.in_title = self.title.is_none();
                self.title.get_or_insert_default();
            }
            b"math" if !tag.self_closing => {
                self.settle();
                self.formula = Some(Formula::default());
            }
            b"sup" | b"sub" if !tag.self_closing => self.start_script(name == b"sup"),
            b"a" => self.start_link(tag),
            b"pre" if !tag.self_closing => self.start_preformatted(),
            b"ol" if !tag.lettered => self.start_list(Some(tag.first.unwrap_or(1))),
            b"ol" | b"ul" | b"menu" => self.start_list(None),
            b"li" => self.start_item(),
            b"table" => self.start_table(),
            b"tr" => self.start_row(),
            b"td" | b"th" => self.start_cell(tag.columns, tag.rows, name == b"th"),
            _ => {}
        }
        if !matches!(name, b"table" | b"tr") {
            self.break_lines(line_breaks(name));
        }
        if let Some(level) = heading_level(name).filter(|_| !tag.self_closing) {
            self.start_heading(level);
        }
    }

    pub(super) fn end(&mut self, name: &[u8]) {
        let closed = self.scopes.end(name);
        if self.hidden() {
            return;
        }
        if closed {
            return self.break_lines(line_breaks(name));
        }
        if let Some(formula) = &mut self.formula {
            if name == b"math" || ends_foreign_content(name) {
                self.end_formula();
            } else {
                formula.end(name, &mut self.text);
                return;
            }
        }
        match name {
            b"title" => self.in_title = false,
            b"a" => {
                self.link_start = None;
                if mem::take(&mut self.in_mark) {
                    self.end_script();
                }
            }
            b"pre" => self.end_preformatted(),
            b"sup" | b"sub" => self.end_script(),
            b"ol" | b"ul" | b"menu" => self.end_list(),
            b"td" | b"th" => self.end_cell(),
            b"tr" => self.end_row(),
            b"table" => self.end_table(),
            _ if heading_level(name).is_some() => self.end_heading(),
            _ => {}
        }
        if !matches!(name, b"table" | b"tr") {
            self.break_lines(line_breaks(name));
        }
    }

    /// Breaks the line at least `count` times, except at the start of a cell.
    pub(crate) fn break_lines(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        self.script = None;
        let cell = self.tables.last().and_then(|table| table.cell);
        if cell != Some(self.text.len()) {
            self.breaks = self.breaks.max(count);
        }
    }

    /// An element of HTML starts that Markdown spells otherwise.
    pub(crate) fn start_block(&mut self, name: &[u8], breaks: usize) {
        self.scopes.end_by(name);
        self.end_formula();
        if !self.hidden() {
            self.break_lines(breaks);
        }
    }

    /// Ends a paragraph, and with it the elements that its inline tags opened.
    pub(crate) fn end_paragraph(&mut self, breaks: usize) {
        self.scopes.end_paragraph();
        self.end_formula();
        self.in_title = false;
        if !self.hidden() {
            self.break_lines(breaks);
        }
    }

    pub(crate) fn start_heading(&mut self, level: u8) {
        self.heading_start = Some((self.text.len(), level));
    }

    pub(crate) fn end_heading(&mut self) {
        let Some((start, level)) = self.heading_start.take() else {
            return;
        };
        let solid = self.text.trim_end().len();
        self.text.truncate(solid.max(start));
        let heading = self.text.get(start..).unwrap_or_default().trim();
        if heading.is_empty() {
            return;
        }
        let offset = self.text.len() - heading.len();
        self.outline
            .headings
            .push(ken_corpus::Heading { offset, level });
        if level == 1 && self.main_heading.is_none() {
            self.main_heading = Some(heading.to_owned());
        }
        if self.first_heading.is_none() {
            self.first_heading = Some(Heading {
                text: heading.to_owned(),
                place: start..self.text.len(),
            });
        }
    }

    /// Starts a list, whose first item may have a number.
    pub(crate) fn start_list(&mut self, first: Option<u64>) {
        if self.lists.len() < DEEPEST_LIST {
            self.lists.push(first);
        }
    }

    pub(crate) fn end_list(&mut self) {
        self.lists.pop();
        self.number = None;
    }

    pub(crate) fn start_item(&mut self) {
        let next = self.lists.last_mut();
        self.number = next.and_then(|next| {
            let number = *next;
            *next = number.map(|number| number.saturating_add(1));
            number
        });
    }

    pub(crate) fn start_preformatted(&mut self) {
        self.preformatted += 1;
        self.preformatted_begins = true;
    }

    pub(crate) fn end_preformatted(&mut self) {
        self.preformatted = self.preformatted.saturating_sub(1);
    }

    pub(crate) fn start_table(&mut self) {
        // A table in a cell starts a line of its own.
        if mem::take(&mut self.tabs) > 0 {
            self.breaks = self.breaks.max(1);
        }
        self.break_lines(2);
        self.tables.push(Table::default());
    }

    pub(crate) fn end_table(&mut self) {
        self.end_row();
        let header = self.tables.pop().and_then(|table| table.header);
        let end = self.text.len();
        // A table in a cell belongs to the row around it.
        if let Some(header) = header.filter(|header| self.tables.is_empty() && header.end < end) {
            self.outline.tables.push(ken_corpus::Table { header, end });
        }
        self.break_lines(2);
    }

    pub(crate) fn start_row(&mut self) {
        self.end_row();
        if let Some(table) = self.tables.last_mut() {
            table.row += 1;
        }
    }

    pub(crate) fn end_row(&mut self) {
        self.end_cell();
        if let Some(table) = self.tables.last_mut() {
            if table.row == 1 && table.column > 1 && !table.has_values {
                let row = self.text.get(table.row_start..).unwrap_or_default();
                let start = table.row_start + row.len() - row.trim_start_matches(['\n', ' ']).len();
                let header = start..self.text.trim_end().len().max(start);
                let is_line = !self.text[header.clone()].contains('\n');
                table.header =
                    Some(header).filter(|header| is_line && header.len() <= LONGEST_HEADER);
            }
            table.column = 0;
            table.wide = 0;
            table.tall = false;
        }
        self.tabs = 0;
        self.breaks = self.breaks.max(1);
    }

    /// Starts a cell of `columns` columns and `rows` rows, of a header or not.
    pub(crate) fn start_cell(&mut self, columns: u32, rows: u32, heads: bool) {
        self.end_cell();
        if self.tables.is_empty() {
            self.tables.push(Table::default());
        }
        let Some(table) = self.tables.last_mut() else {
            return;
        };
        table.has_values |= !heads;
        if table.column == 0 {
            table.row_start = self.text.len();
        } else {
            // A cell of several lines is not a value: the next one starts a line, too.
            self.tabs += usize::from(!table.tall);
            let wide = usize::try_from(mem::take(&mut table.wide)).unwrap_or_default();
            self.tabs += wide;
            table.column += wide;
        }
        while table
            .reached
            .get(table.column)
            .is_some_and(|&row| row >= table.row)
        {
            table.column += 1;
            self.tabs += 1;
        }
        table.wide = columns.clamp(1, WIDEST_CELL) - 1;
        if rows > 1 && table.column < MOST_COLUMNS {
            table
                .reached
                .resize(table.reached.len().max(table.column + 1), 0);
            table.reached[table.column] = table.row.saturating_add(rows - 1);
        }
        table.column += 1;
        table.cell = Some(self.text.len());
        self.space = false;
    }

    pub(crate) fn end_cell(&mut self) {
        let Some(start) = self.tables.last_mut().and_then(|table| table.cell.take()) else {
            return;
        };
        let cell = self.text.get(start..).unwrap_or_default();
        let tall = cell.trim_start().contains('\n');
        // Those before an empty cell are still due.
        if !cell.is_empty() {
            self.breaks = usize::from(tall);
        }
        self.space = false;
        if let Some(table) = self.tables.last_mut() {
            table.tall = tall;
        }
    }

    fn start_link(&mut self, tag: Attributes) {
        self.link_start = (!tag.self_closing).then_some(self.text.len());
        self.in_mark = tag.to_note && !tag.self_closing && self.script.is_none();
        if self.in_mark {
            self.start_script(true);
        }
        if let Some(script) = &mut self.script {
            script.link = true;
        }
    }

    fn start_script(&mut self, raised: bool) {
        // A mark of a note is raised once.
        if self.in_mark && self.script.is_some() {
            return;
        }
        let attached = self.breaks == 0 && self.tabs == 0 && !self.space && self.script.is_none();
        self.script = attached.then_some(Script {
            raised,
            start: self.text.len(),
            link: self.link_start == Some(self.text.len()),
        });
    }

    fn end_script(&mut self) {
        if let Some(script) = self.script.take()
            && !self.text.is_empty()
        {
            script.finish(&mut self.text);
        }
    }

    fn ends_formula(&self, name: &[u8]) -> bool {
        let Some(formula) = &self.formula else {
            return false;
        };
        line_breaks(name) > 0 || (ends_foreign_content(name) && !formula.in_words())
    }

    fn end_formula(&mut self) {
        if let Some(mut formula) = self.formula.take() {
            formula.finish_all(&mut self.text);
        }
    }

    pub(crate) fn text(&mut self, text: &str) {
        if self.hidden() {
            return;
        }
        if self.in_title {
            if let Some(title) = &mut self.title {
                title.push_str(text);
            }
            return;
        }
        if let Some(formula) = &self.formula {
            formula.text(text, &mut self.text);
            return;
        }
        if self.preformatted > 0 {
            let begins = mem::take(&mut self.preformatted_begins);
            let text = text.strip_prefix('\n').filter(|_| begins).unwrap_or(text);
            return self.verbatim(text);
        }
        self.space |= text.starts_with(|c: char| c.is_ascii_whitespace());
        for word in text.split_ascii_whitespace() {
            self.settle();
            // Where a word may be hyphenated, it is not.
            self.text.extend(word.split('\u{ad}'));
            self.space = true;
        }
        self.space = text.ends_with(|c: char| c.is_ascii_whitespace())
            || (self.space && text.trim_ascii().is_empty());
    }

    /// Text whose spaces count.
    pub(crate) fn verbatim(&mut self, text: &str) {
        if !text.is_empty() && !self.hidden() {
            self.settle();
            self.text.push_str(text);
        }
    }

    /// Writes the line breaks, ends of cells or the space that are due.
    fn settle(&mut self) {
        if self.breaks > 0 && !self.text.is_empty() {
            let solid = self.text.trim_end_matches([' ', '\t']).len();
            if self.preformatted == 0 {
                self.text.truncate(solid);
            }
            let present = self.text.bytes().rev().take(self.breaks);
            let present = present.take_while(|&byte| byte == b'\n').count();
            self.text
                .extend(iter::repeat_n('\n', self.breaks - present));
        }
        self.text.extend(iter::repeat_n('\t', self.tabs));
        if self.breaks == 0 && self.tabs == 0 && self.space && !self.text.is_empty() {
            self.text.push(' ');
        }
        if let Some(number) = self.number.take() {
            self.text.push_str(&format!("{number}. "));
        }
        self.breaks = 0;
        self.tabs = 0;
        self.space = false;
    }

    pub(crate) fn length(&self) -> usize {
        self.text.len()
    }

    /// The title, from its element; the headings; the text.
    pub(crate) fn finish(mut self) -> Finished {
        self.end_formula();
        self.end_heading();
        Finished {
            title: self.title.and_then(|title| one_line(&title)),
            main_heading: self.main_heading,
            first_heading: self.first_heading,
            outline: self.outline,
            text: self.text,
            metadata: self.metadata,
        }
    }
}

/// A page that was read.
pub(crate) struct Finished {
    /// The title element's text.
    pub(crate) title: Option<String>,
    /// The first heading of the first level.
    pub(crate) main_heading: Option<String>,
    /// The first heading of any level.
    pub(crate) first_heading: Option<Heading>,
    /// The places of headings and tables.
    pub(crate) outline: Outline,
    pub(crate) text: String,
    pub(crate) metadata: Map<String, Value>,
}

impl Finished {
    /// The outline of a part of the text.
    pub(crate) fn outline_of(&self, part: &str) -> Outline {
        let before = (part.as_ptr() as usize).saturating_sub(self.text.as_ptr() as usize);
        self.outline.clone().of_rest(before)
    }
}
