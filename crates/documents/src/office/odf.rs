//! OpenDocument: texts, workbooks and presentations, all of one vocabulary. Deleted text, the lines of
//! indexes, pronunciations and remarks are left out.

use std::collections::HashMap;

use super::labels::Labels;
use super::odf_lists::Lists;
use super::odf_slides::Slide;
use super::properties;
use super::shapes::Block;
use crate::error::ReadError;
use crate::format::Format;
use crate::html::Formula;
use crate::package::Package;
use crate::place::Place;
use crate::prose::Prose;
use crate::raised::changes_number;
use crate::record::{Contents, one_line};
use crate::strike;
use crate::table::{Row, Table};
use crate::watch::Watch;
use crate::xml::{Element, Node, Xml};

/// The most columns of a sheet.
const MOST_COLUMNS: usize = 16_384;
/// The most repetitions of a row or a cell; more are there only for looks.
const MOST_REPEATS: usize = 1000;
/// The most spaces written at once.
const MOST_SPACES: usize = 64;

/// The elements that are left out with their content.
const LEFT_OUT: [&str; 10] = [
    "tracked-changes",
    "annotation",
    "table-of-content",
    "alphabetical-index",
    "user-index",
    "illustration-index",
    "forms",
    "scripts",
    "covered-table-cell",
    "ruby-text",
];

pub(super) fn contents(package: &mut Package, watch: &Watch) -> Result<Contents, ReadError> {
    let manifest = package.text("META-INF/manifest.xml")?;
    if manifest.is_some_and(|manifest| manifest.contains("encryption-data")) {
        let path = package.place.path.clone();
        return Err(ReadError::EncryptedFile { path });
    }
    let (title, metadata) = properties::of("meta.xml", package, watch)?;
    let text = package.needed("content.xml")?;
    let place = package.place.clone();
    let mut body = Body::new(package.format(), &place, watch);
    if let Some(styles) = package.text("styles.xml")? {
        let mut xml = Xml::new(&styles, package.format(), &place, watch);
        while let Some(node) = xml.next()? {
            if let Node::Start(element) = node {
                body.lists.define(&element);
            }
        }
    }
    body.read(
        &mut Xml::new(&text, package.format(), &place, watch),
        package,
    )?;
    body.prose.block();
    for note in &body.notes {
        body.prose.paragraph(note)?;
    }
    let mut contents = body.prose.finish(title.or(body.title), metadata);
    // Every workbook has names of sheets, which say little as a title.
    contents.title = contents.title.filter(|title| !title.starts_with("Sheet: "));
    Ok(contents)
}

/// A document so far.
struct Body<'s> {
    format: Format,
    prose: Prose,
    /// The title of the first slide.
    title: Option<String>,
    paragraphs: Vec<Paragraph>,
    lists: Lists,
    /// Whether the next paragraph begins an item, and the number of that.
    item: bool,
    number: Option<String>,
    /// The open tables, the outermost of a workbook among them.
    tables: Vec<Open>,
    slides: usize,
    slide: Option<Slide>,
    /// The texts of footnotes, in order.
    notes: Vec<String>,
    /// The mark and the text of the open note.
    note: Option<(String, String)>,
    in_citation: bool,
    /// The style that is being read, and what styles do to words.
    style: String,
    looks: HashMap<String, Look>,
    /// The looks of the open spans.
    spans: Vec<Look>,
    cells: u64,
    place: Place,
    watch: &'s Watch,
}

/// What a style does to words.
#[derive(Debug, Default, Clone, Copy)]
struct Look {
    is_hidden: bool,
    is_raised: bool,
    is_struck: bool,
}

#[derive(Default)]
struct Paragraph {
    text: String,
    is_struck: bool,
    /// The level of a heading, from 1, and its number.
    level: Option<usize>,
    number: Option<String>,
}

impl Paragraph {
    fn strike(&mut self, is_struck: bool) {
        strike::switch(&mut self.text, &mut self.is_struck, is_struck);
    }
}

/// An open table.
#[derive(Default)]
struct Open {
    /// The rows of a table in a text.
    rows: Vec<Row>,
    /// The state of a sheet, which is written row by row.
    sheet: Option<Table>,
    row: Row,
    column: usize,
    cell: String,
    /// The bytes of the texts in `row`.
    row_bytes: usize,
    row_repeats: usize,
    cell_repeats: usize,
    /// How many rows are above the open one, and the labels beside rows.
    rows_above: u64,
    labels: Labels,
}

impl<'s> Body<'s> {
    fn new(format: Format, place: &Place, watch: &'s Watch) -> Self {
        Self {
            format,
            prose: Prose::new(place, watch),
            title: None,
            paragraphs: Vec::new(),
            lists: Lists::default(),
            item: false,
            number: None,
            tables: Vec::new(),
            slides: 0,
            slide: None,
            notes: Vec::new(),
            note: None,
            in_citation: false,
            style: String::new(),
            looks: HashMap::new(),
            spans: Vec::new(),
            cells: 0,
            place: place.clone(),
            watch,
        }
    }

    fn read(&mut self, xml: &mut Xml<'_>, package: &mut Package) -> Result<(), ReadError> {
        while let Some(node) = xml.next()? {
            match node {
                Node::Start(element) if LEFT_OUT.contains(&element.name()) => {
                    if element.name() == "covered-table-cell"
                        && let Some(table) = self.tables.last_mut()
                    {
                        table.column += repeats(&element, "number-columns-repeated", MOST_COLUMNS);
                    }
                    xml.skip()?;
                }
                Node::Start(element) if matches!(element.name(), "title" | "desc") => {
                    let words = one_line(&xml.text()?).map(|words| format!("[{words}]"));
                    match (words, self.paragraphs.last_mut(), &mut self.slide) {
                        (Some(words), Some(paragraph), _) => paragraph.text.push_str(&words),
                        (Some(words), None, Some(slide)) => slide.add(Block::Paragraph(words)),
                        _ => {}
                    }
                }
                Node::Start(element) if element.name() == "object" => {
                    let part = element.attribute("href").unwrap_or_default();
                    let part = format!("{}/content.xml", part.trim_matches(['.', '/']));
                    if let Some(text) = package.text(&part)? {
                        let formula = self.formula(&text)?;
                        self.push(&formula);
                    }
                }
                Node::Start(element) => self.start(&element)?,
                Node::Text(text) if self.in_citation => {
                    if let Some((mark, _)) = &mut self.note {
                        mark.push_str(&text);
                    }
                }
                Node::Text(_) if self.spans.iter().any(|look| look.is_hidden) => {}
                Node::Text(text) => {
                    let look = self.spans.last().copied().unwrap_or_default();
                    if let Some(paragraph) = self.paragraphs.last_mut() {
                        if !text.trim().is_empty() {
                            paragraph.strike(look.is_struck);
                        }
                        if look.is_raised && changes_number(&paragraph.text, &text) {
                            paragraph.text.push('^');
                        }
                        push_words(&text, &mut paragraph.text);
                    }
                }
                Node::End(end) => self.end(end.name())?,
            }
        }
        Ok(())
    }

    fn start(&mut self, element: &Element<'_>) -> Result<(), ReadError> {
        if let Some(slide) = &mut self.slide {
            slide.start(element);
        }
        match element.name() {
            "p" => self.paragraphs.push(Paragraph::default()),
            "h" => {
                let level = element.attribute("outline-level");
                let level = level.and_then(|level| level.parse().ok()).unwrap_or(1);
                // One that is an item of a list has the number of that.
                let number = match self.lists.depth() > 0 && std::mem::take(&mut self.item) {
                    true => self.number.take(),
                    false => self.lists.heading(level, element),
                };
                self.paragraphs.push(Paragraph {
                    level: Some(level),
                    number: number.filter(|number| !number.trim().is_empty()),
                    ..Paragraph::default()
                });
            }
            "s" => {
                let count = repeats_of(element.attribute("c"), MOST_SPACES);
                self.push(&" ".repeat(count));
            }
            "style" => self.style = element.attribute("name").unwrap_or_default(),
            "list-style" | "list-level-style-number" => self.lists.define(element),
            "text-properties" => self.look(element),
            "span" => {
                let style = element.attribute("style-name").unwrap_or_default();
                self.spans
                    .push(self.looks.get(&style).copied().unwrap_or_default());
            }
            "tab" => self.push("\t"),
            "line-break" => self.push("\n"),
            "list" => self.lists.start(element),
            "list-item" => {
                self.item = true;
                self.number = self.lists.item(element);
            }
            "list-header" => (self.item, self.number) = (true, None),
            "note" => self.note = Some(Default::default()),
            "note-citation" => self.in_citation = true,
            "page" => {
                self.slides += 1;
                self.slide = Some(Slide::new(self.slides, element));
            }
            "table" => {
                let sheet = self.format == Format::Ods && self.tables.is_empty();
                if sheet {
                    let name = element.attribute("name").unwrap_or_default();
                    self.prose.heading(2, &format!("Sheet: {name}"))?;
                    self.prose.block();
                }
                self.tables.push(Open {
                    sheet: sheet.then(Table::default),
                    ..Open::default()
                });
            }
            "table-row" => {
                if let Some(table) = self.tables.last_mut() {
                    table.row.clear();
                    (table.column, table.row_bytes) = (0, 0);
                    table.row_repeats = repeats(element, "number-rows-repeated", MOST_REPEATS);
                }
            }
            "table-cell" => {
                if let Some(table) = self.tables.last_mut() {
                    table.cell.clear();
                    let spanned = repeats(element, "number-rows-spanned", usize::MAX);
                    let first = table.rows_above;
                    let last = first.saturating_add(spanned as u64 - 1);
                    let most = self.watch.budget.parts();
                    table.labels.note(table.column, first, last, most);
                    table.cell_repeats = repeats(element, "number-columns-repeated", MOST_COLUMNS);
                    let wide = repeats(element, "number-columns-spanned", MOST_COLUMNS);
                    if let Some(sheet) = &mut table.sheet {
                        sheet.group(table.column..table.column + wide);
                    }
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Reads what the open style does to words.
    fn look(&mut self, element: &Element<'_>) {
        let position = element.attribute("text-position").unwrap_or_default();
        let through = ["text-line-through-style", "text-line-through-type"];
        let look = Look {
            is_struck: through.iter().any(|name| {
                element
                    .attribute(name)
                    .is_some_and(|through| through != "none")
            }),
            is_hidden: element.attribute("display").as_deref() == Some("none"),
            is_raised: position.starts_with("super")
                || position.starts_with(|c: char| ('1'..='9').contains(&c)),
        };
        if look.is_hidden || look.is_raised || look.is_struck {
            self.looks.insert(self.style.clone(), look);
        }
    }

    fn end(&mut self, name: &str) -> Result<(), ReadError> {
        if let Some(slide) = &mut self.slide {
            slide.end(name);
        }
        match name {
            "p" | "h" => {
                if let Some(mut paragraph) = self.paragraphs.pop() {
                    paragraph.strike(false);
                    self.paragraph(&paragraph)?;
                }
            }
            "style" => self.style.clear(),
            "page" => {
                if let Some(slide) = self.slide.take() {
                    let title = slide.write(&mut self.prose)?;
                    self.title = self.title.take().or(title.filter(|_| self.slides == 1));
                }
            }
            "span" => drop(self.spans.pop()),
            "list" => self.lists.end(),
            "note-citation" => self.in_citation = false,
            "note" => {
                if let Some((mark, text)) = self.note.take() {
                    let mark = mark.trim();
                    self.push(&format!(" [{mark}]"));
                    self.notes.push(format!("[{mark}] {}", text.trim()));
                }
            }
            "table-cell" => self.end_cell()?,
            "table-row" => self.end_row()?,
            "table" => {
                if let Some(table) = self.tables.pop() {
                    match self.tables.last_mut() {
                        None => self.add(Block::Table(table.rows))?,
                        Some(outer) => {
                            for row in &table.rows {
                                let cells: Vec<&str> =
                                    row.iter().map(|(_, cell)| cell.as_str()).collect();
                                outer.cell.push('\n');
                                outer.cell.push_str(&cells.join(" "));
                            }
                        }
                    }
                    self.prose.block();
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The formula in a part, as a line of text; nothing if the part is something else.
    fn formula(&self, part: &str) -> Result<String, ReadError> {
        let mut xml = Xml::new(part, self.format, &self.place, self.watch);
        let (mut formula, mut line) = (Formula::default(), String::new());
        let mut is_root = true;
        while let Some(node) = xml.next()? {
            match node {
                Node::Start(element) if std::mem::take(&mut is_root) => {
                    if element.name() != "math" {
                        break;
                    }
                }
                // The formula in another language.
                Node::Start(element) if element.name() == "annotation" => xml.skip()?,
                Node::Start(element) => formula.start(element.name().as_bytes(), &mut line),
                Node::End(end) => formula.end(end.name().as_bytes(), &mut line),
                Node::Text(words) => formula.text(&words, &mut line),
            }
        }
        formula.finish_all(&mut line);
        Ok(line)
    }

    fn push(&mut self, words: &str) {
        if let Some(paragraph) = self.paragraphs.last_mut() {
            paragraph.text.push_str(words);
        }
    }

    fn paragraph(&mut self, paragraph: &Paragraph) -> Result<(), ReadError> {
        let text = paragraph.text.trim();
        if text.is_empty() {
            return Ok(());
        }
        if let Some((_, note)) = &mut self.note {
            note.push_str(text);
            note.push('\n');
            return Ok(());
        }
        if let Some(table) = self.tables.last_mut() {
            if !table.cell.is_empty() {
                table.cell.push('\n');
            }
            table.cell.push_str(text);
            return Ok(());
        }
        if let Some(level) = paragraph.level.filter(|_| self.slide.is_none()) {
            return match &paragraph.number {
                Some(number) => self.prose.heading(level, &format!("{number} {text}")),
                None => self.prose.heading(level, text),
            };
        }
        let depth = self.lists.depth();
        if depth > 0 && std::mem::take(&mut self.item) {
            let indent = "  ".repeat(depth.min(9) - 1);
            let number = self.number.take();
            let mark = number.as_deref().unwrap_or("-");
            return self.add(Block::Line(format!("{indent}{mark} {text}")));
        }
        self.add(Block::Paragraph(text.to_owned()))
    }

    /// Writes a block, or keeps it up to the end of its slide.
    fn add(&mut self, block: Block) -> Result<(), ReadError> {
        match &mut self.slide {
            Some(slide) => {
                slide.add(block);
                Ok(())
            }
            None => block.write(&mut self.prose),
        }
    }

    fn end_cell(&mut self) -> Result<(), ReadError> {
        let Some(table) = self.tables.last_mut() else {
            return Ok(());
        };
        let text = std::mem::take(&mut table.cell);
        let columns = std::mem::take(&mut table.cell_repeats).max(1);
        if !text.is_empty() {
            let copies = columns.min(MOST_REPEATS);
            self.cells += copies as u64;
            if self.cells > self.watch.budget.parts() {
                return Err(self.watch.too_many(self.place.clone(), "cells"));
            }
            table.row_bytes += copies * text.len();
            self.prose.admit(table.row_bytes)?;
            for copy in 0..copies {
                table.row.push((table.column + copy, text.clone()));
            }
        }
        table.column = (table.column + columns).min(MOST_COLUMNS);
        Ok(())
    }

    fn end_row(&mut self) -> Result<(), ReadError> {
        let Some(table) = self.tables.last_mut() else {
            return Ok(());
        };
        let mut row = std::mem::take(&mut table.row);
        let repeats = std::mem::take(&mut table.row_repeats).max(1);
        let own = row.len();
        table.labels.complete(table.rows_above, &mut row);
        table.rows_above += repeats as u64;
        // Repeating an empty row adds nothing.
        let repeats = if row.is_empty() { 1 } else { repeats };
        self.cells += (row.len() * repeats - own) as u64;
        if self.cells > self.watch.budget.parts() {
            return Err(self.watch.too_many(self.place.clone(), "cells"));
        }
        match &mut table.sheet {
            Some(sheet) => {
                for _ in 0..repeats {
                    sheet.row(&row, &mut self.prose)?;
                }
            }
            None => table.rows.push(row),
        }
        Ok(())
    }
}

fn repeats(element: &Element<'_>, name: &str, most: usize) -> usize {
    repeats_of(element.attribute(name), most)
}

fn repeats_of(written: Option<String>, most: usize) -> usize {
    let count = written.and_then(|count| count.parse().ok());
    count.unwrap_or(1).clamp(1, most)
}

/// Appends text; a run of white space is one space, as OpenDocument defines.
fn push_words(text: &str, out: &mut String) {
    let blank = |c: char| matches!(c, ' ' | '\t' | '\n' | '\r');
    for (number, word) in text.split(blank).enumerate() {
        if number > 0 && !out.ends_with([' ', '\n', '\t']) && !out.is_empty() {
            out.push(' ');
        }
        out.push_str(word);
    }
}
