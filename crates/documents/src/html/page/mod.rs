//! The text of a page, as it grows from tags and words: lines, cells, headings.

mod table;

use std::iter;
use std::mem;
use std::ops::Range;

use ken_corpus::Outline;
use serde_json::{Map, Value};

use self::table::Table;
use super::elements::{ends_foreign_content, heading_level, line_breaks};
use super::formula::{Formula, Script};
use super::list::{ListKind, Lists};
use super::ruby::Ruby;
use super::scope::{Scopes, Start};
use crate::numerals::Style;
use crate::record::one_line;
use crate::strike::STRUCK;

/// The longest term that begins the line of its definition, in bytes.
const LONGEST_TERM: usize = 120;

/// The texts of links by which a heading or a name is linked to.
const HANDLES: [&str; 3] = ["¶", "§", "🔗"];

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
    /// How many bytes of labels beside several rows were repeated.
    repeated: usize,
    lists: Lists,
    /// The number that is due before the next text.
    number: Option<String>,
    /// The offset of the last term, until it is defined.
    term: Option<usize>,
    /// Whether the next text defines the term before it.
    defines: bool,
    ruby: Option<Ruby>,
    /// Whether the text is struck out, and whether the mark of that is due before the next one.
    struck: bool,
    struck_due: bool,
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

/// The attributes of a start tag that matter for the text.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Attributes {
    pub(super) self_closing: bool,
    pub(super) hidden: bool,
    pub(super) shadow: bool,
    pub(super) columns: u32,
    pub(super) rows: u32,
    /// The number of the first item of a list, or of an item.
    pub(super) first: Option<u64>,
    /// How the items of a list are numbered.
    pub(super) style: Style,
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
                // What was deleted holds no longer.
                hidden: tag.hidden || name == b"del",
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
            b"li" => self.start_item(tag.first),
            b"dt" => self.start_term(),
            b"dd" => self.start_definition(),
            b"s" | b"strike" if !tag.self_closing => self.start_struck(),
            b"q" if !tag.self_closing => self.text("“"),
            b"ruby" | b"rb" | b"rt" | b"rp" if !tag.self_closing => self.start_ruby(name),
            b"table" => self.start_table(),
            b"tr" => self.start_row(),
            b"td" | b"th" => self.start_cell(tag.columns, tag.rows, name == b"th"),
            _ => {}
        }
        if let Some(kind) = ListKind::of(name) {
            let is_numbered = kind == ListKind::Ordered;
            let first = is_numbered.then_some(tag.first.unwrap_or(1));
            self.start_list(kind, first, tag.style);
        }
        self.keep_apart(name);
        if !matches!(name, b"table" | b"tr") {
            self.break_lines(line_breaks(name));
        }
        if let Some(level) = heading_level(name).filter(|_| !tag.self_closing) {
            self.start_heading(level);
        }
    }

    pub(super) fn end(&mut self, name: &[u8]) {
        if !self.scopes.ends_element(name) {
            return;
        }
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
            b"s" | b"strike" => self.end_struck(),
            b"q" => self.text("”"),
            b"ruby" => self.end_ruby(),
            b"rb" | b"rt" | b"rp" => {
                if let Some(ruby) = &mut self.ruby {
                    ruby.end_part();
                }
            }
            b"td" | b"th" => self.end_cell(),
            b"tr" => self.end_row(),
            b"table" => self.end_table(),
            _ if heading_level(name).is_some() => self.end_heading(),
            _ => {}
        }
        if let Some(kind) = ListKind::of(name) {
            self.end_list(kind);
        }
        self.keep_apart(name);
        if !matches!(name, b"table" | b"tr") {
            self.break_lines(line_breaks(name));
        }
    }

    /// Breaks the line at least `count` times, except at the start of a cell.
    pub(crate) fn break_lines(&mut self, count: usize) {
        if count == 0 {
            return;
        }
        self.end_ruby();
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
        self.keep_apart(name);
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
    pub(crate) fn start_list(&mut self, kind: ListKind, first: Option<u64>, style: Style) {
        self.lists.start(kind, first, style, self.tables.len());
    }

    pub(crate) fn end_list(&mut self, kind: ListKind) {
        if self.lists.end(kind, self.tables.len()) {
            self.number = None;
        }
    }

    /// Starts an item, which may have a number of its own.
    pub(crate) fn start_item(&mut self, own: Option<u64>) {
        self.number = self.lists.item(own);
    }

    pub(crate) fn start_term(&mut self) {
        self.term = Some(self.text.len());
    }

    /// Starts the definition of the last term, whose line it continues.
    pub(crate) fn start_definition(&mut self) {
        let Some(start) = self.term.take() else {
            return;
        };
        let term = self.text.get(start..).unwrap_or_default().trim();
        let headings = &self.outline.headings;
        let is_heading = headings.last().is_some_and(|last| last.offset >= start);
        self.defines =
            !term.is_empty() && term.len() <= LONGEST_TERM && !term.contains('\n') && !is_heading;
    }

    /// Keeps the definition of a term off its line if it begins with this element.
    fn keep_apart(&mut self, name: &[u8]) {
        self.defines &= line_breaks(name) == 0 || matches!(name, b"dd" | b"p" | b"div");
    }

    pub(crate) fn start_struck(&mut self) {
        self.struck_due |= !mem::replace(&mut self.struck, true);
    }

    pub(crate) fn end_struck(&mut self) {
        if mem::take(&mut self.struck) && !mem::take(&mut self.struck_due) {
            self.text(STRUCK);
        }
    }

    fn start_ruby(&mut self, name: &[u8]) {
        if name == b"ruby" {
            self.end_ruby();
            self.ruby = Some(Ruby::default());
        } else if let Some(ruby) = &mut self.ruby {
            ruby.start(name);
        }
    }

    fn end_ruby(&mut self) {
        if let Some(readings) = self.ruby.take().and_then(Ruby::finish) {
            self.space = false;
            self.settle();
            self.text.push_str(&readings);
        }
    }

    pub(crate) fn start_preformatted(&mut self) {
        self.preformatted += 1;
        self.preformatted_begins = true;
        self.keep_lines_of_cell();
    }

    pub(crate) fn end_preformatted(&mut self) {
        self.preformatted = self.preformatted.saturating_sub(1);
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
        if self.ruby.as_mut().is_some_and(|ruby| ruby.takes(text)) {
            return;
        }
        if self.link_start.is_some() && HANDLES.contains(&text.trim()) {
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
        if mem::take(&mut self.defines) {
            if !self.text.ends_with([':', '：', '.', '?', '!']) {
                self.text.push(':');
            }
            self.breaks = 0;
            self.space = true;
        }
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
        if mem::take(&mut self.struck_due) {
            self.text.push_str(STRUCK);
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
        self.end_ruby();
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
