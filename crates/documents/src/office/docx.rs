//! Word files: paragraphs, headings by their styles, lists, tables, text boxes, notes. Deleted text, field
//! codes, headers and footers are left out.

use std::collections::HashMap;

use super::equation::Equation;
use super::labels::LONGEST_LABEL;
use super::numbering::Numbering;
use super::styles::{self, Role, Styles};
use super::{properties, relations};
use crate::error::ReadError;
use crate::package::Package;
use crate::place::Place;
use crate::prose::Prose;
use crate::raised::changes_number;
use crate::record::Contents;
use crate::strike;
use crate::symbols;
use crate::table::{self, Row};
use crate::watch::Watch;
use crate::xml::{Element, Node, Xml};

/// The most columns of a cell.
const WIDEST: usize = 64;

/// The deepest level of a list, from 0.
const DEEPEST: usize = 8;

/// The elements that are left out with their content: text that was deleted or moved away, pronunciations, and
/// fallbacks for elements that are read.
const LEFT_OUT: [&str; 7] = [
    "del",
    "moveFrom",
    "Fallback",
    "instrText",
    "delText",
    "delInstrText",
    "rt",
];

pub(super) fn contents(package: &mut Package, watch: &Watch) -> Result<Contents, ReadError> {
    let main = relations::main_part("word/document.xml", package, watch)?;
    let relations = relations::of(&main, package, watch)?;
    let part = |kind: &str| {
        let relation = relations.iter().find(|relation| relation.kind == kind);
        relation.map(|relation| relation.target.clone())
    };
    let styles = match part("styles") {
        Some(part) => Styles::read(&part, package, watch)?,
        None => Styles::default(),
    };
    let numbering = match part("numbering") {
        Some(part) => Numbering::read(&part, package, watch)?,
        None => Numbering::default(),
    };
    let (title, metadata) = properties::of("docProps/core.xml", package, watch)?;
    let text = package.needed(&main)?;
    let place = package.place.clone();
    let mut body = Body::new(&styles, numbering, &place, watch);
    let mut xml = Xml::new(&text, package.format(), &place, watch);
    xml.root("document")?;
    body.read(&mut xml)?;
    for kind in ["footnotes", "endnotes"] {
        let Some(part) = part(kind) else { continue };
        if let Some(text) = package.text(&part)? {
            body.in_notes = Some(Note::new(kind));
            body.read(&mut Xml::new(&text, package.format(), &place, watch))?;
        }
    }
    let title = title.or(body.title);
    Ok(body.prose.finish(title, metadata))
}

/// A document so far.
struct Body<'s> {
    styles: &'s Styles,
    numbering: Numbering,
    prose: Prose,
    title: Option<String>,
    /// The open paragraphs: one in a text box is open within another.
    paragraphs: Vec<Paragraph>,
    /// The open tables.
    tables: Vec<Table>,
    /// The number of cells so far.
    cells: u64,
    /// How the open run shows its text.
    run: Run,
    equation: Option<Equation>,
    /// Whether the open control shows what to enter, and how many such controls are open.
    is_placeholder: bool,
    placeholders: usize,
    /// The numbers of notes by their ids, by the starts of their marks.
    notes: HashMap<&'static str, HashMap<String, usize>>,
    /// The open note, if notes are read.
    in_notes: Option<Note>,
    place: Place,
    watch: &'s Watch,
}

#[derive(Default)]
struct Run {
    font: String,
    is_struck: bool,
    is_hidden: bool,
    is_raised: bool,
}

#[derive(Default)]
struct Paragraph {
    text: String,
    is_struck: bool,
    role: Option<Role>,
    /// The list that it is an item of.
    list: Option<String>,
    /// How deep a list it is in, from 0.
    level: usize,
    /// The number of open tables at its beginning.
    tables: usize,
}

impl Paragraph {
    fn strike(&mut self, is_struck: bool) {
        strike::switch(&mut self.text, &mut self.is_struck, is_struck);
    }
}

#[derive(Default)]
struct Table {
    rows: Vec<Row>,
    row: Row,
    cell: String,
    /// The column of the open cell, from 0.
    column: usize,
    /// The number of columns of the open cell.
    span: usize,
    /// Whether the open cell continues the one above it.
    continues: bool,
}

/// A footnote or an endnote.
struct Note {
    /// The start of its mark.
    mark: &'static str,
    id: String,
}

impl Note {
    fn new(kind: &str) -> Self {
        Self {
            mark: mark_of(kind),
            id: String::new(),
        }
    }
}

/// Whether an element is left out with its content; also what paragraphs, runs and tables looked like before a change.
fn is_left_out(name: &str) -> bool {
    LEFT_OUT.contains(&name) || name.ends_with("PrChange")
}

/// The start of the marks of notes, which tells footnotes from endnotes.
fn mark_of(kind: &str) -> &'static str {
    if kind.starts_with("end") { "e" } else { "" }
}

impl<'s> Body<'s> {
    fn new(styles: &'s Styles, numbering: Numbering, place: &Place, watch: &'s Watch) -> Self {
        Self {
            styles,
            numbering,
            prose: Prose::new(place, watch),
            cells: 0,
            place: place.clone(),
            watch,
            title: None,
            paragraphs: Vec::new(),
            tables: Vec::new(),
            run: Run::default(),
            equation: None,
            is_placeholder: false,
            placeholders: 0,
            notes: HashMap::new(),
            in_notes: None,
        }
    }

    fn read(&mut self, xml: &mut Xml<'_>) -> Result<(), ReadError> {
        let mut in_text = false;
        while let Some(node) = xml.next()? {
            match node {
                Node::Start(element) if is_left_out(element.name()) => xml.skip()?,
                Node::Start(element) => {
                    in_text = element.name() == "t";
                    self.start(&element);
                }
                Node::Text(text) if in_text && !self.run.is_hidden && self.placeholders == 0 => {
                    if let Some(paragraph) = self.paragraphs.last_mut() {
                        if !text.trim().is_empty() {
                            paragraph.strike(self.run.is_struck);
                        }
                        if self.run.is_raised && changes_number(&paragraph.text, &text) {
                            paragraph.text.push('^');
                        }
                        paragraph
                            .text
                            .push_str(&symbols::text(&self.run.font, &text));
                    }
                }
                Node::Text(_) => {}
                Node::End(end) => {
                    in_text = false;
                    self.end(end.name())?;
                }
            }
        }
        Ok(())
    }

    fn start(&mut self, element: &Element<'_>) {
        let value = || element.attribute("val").unwrap_or_default();
        match element.name() {
            "p" => {
                // An equation is within one paragraph.
                self.equation = None;
                self.paragraphs.push(Paragraph {
                    tables: self.tables.len(),
                    ..Paragraph::default()
                });
            }
            "tbl" => self.tables.push(Table::default()),
            "sdt" => self.is_placeholder = false,
            "showingPlcHdr" => {
                self.is_placeholder = !matches!(value().as_str(), "0" | "false");
            }
            "sdtContent" => {
                let is_placeholder = std::mem::take(&mut self.is_placeholder);
                self.placeholders += usize::from(is_placeholder || self.placeholders > 0);
            }
            "footnote" | "endnote" => {
                if let Some(note) = &mut self.in_notes {
                    // The lines that separate notes from the text have a type.
                    note.id = match element.attribute("type") {
                        None => element.attribute("id").unwrap_or_default(),
                        Some(_) => String::new(),
                    };
                }
            }
            name => {
                if let Some(table) = self.tables.last_mut() {
                    match name {
                        "tc" => table.span = 1,
                        "gridBefore" => table.column = value().parse().unwrap_or(0).min(WIDEST),
                        "gridSpan" => table.span = value().parse().unwrap_or(1).clamp(1, WIDEST),
                        "vMerge" => table.continues = value() != "restart",
                        _ => {}
                    }
                }
                self.start_in_paragraph(name, element);
            }
        }
    }

    /// Begins an element of the open paragraph.
    fn start_in_paragraph(&mut self, name: &str, element: &Element<'_>) {
        let value = || element.attribute("val").unwrap_or_default();
        let Some(paragraph) = self.paragraphs.last_mut() else {
            return;
        };
        if let Some(equation) = &mut self.equation {
            equation.start(name, &mut paragraph.text);
            equation.property(name, value(), &mut paragraph.text);
        }
        match name {
            "oMath" => self.equation = Some(Equation::default()),
            "r" => self.run = Run::default(),
            "rFonts" => self.run.font = element.attribute("ascii").unwrap_or_default(),
            "vanish" => self.run.is_hidden = !matches!(value().as_str(), "0" | "false"),
            "strike" | "dstrike" => {
                self.run.is_struck = !matches!(value().as_str(), "0" | "false");
            }
            "vertAlign" => self.run.is_raised = value() == "superscript",
            "pStyle" => {
                let style = value();
                paragraph.role = self.styles.role(&style);
                if let Some((list, level)) = self.styles.list(&style) {
                    paragraph.list = Some(list.to_owned()).filter(|list| list != "0");
                    paragraph.level = level.min(DEEPEST);
                }
            }
            "outlineLvl" => paragraph.role = styles::level(&value()).or(paragraph.role),
            "numId" => paragraph.list = Some(value()).filter(|list| list != "0"),
            "ilvl" => paragraph.level = value().parse().unwrap_or(0).min(DEEPEST),
            "tab" | "ptab" => paragraph.text.push('\t'),
            "br" | "cr" => paragraph.text.push('\n'),
            "noBreakHyphen" => paragraph.text.push('-'),
            "sym" => paragraph.text.extend(symbol(element)),
            "footnoteReference" | "endnoteReference" => {
                let mark = mark_of(name);
                let notes = self.notes.entry(mark).or_default();
                let next = notes.len() + 1;
                let id = element.attribute("id").unwrap_or_default();
                let number = notes.entry(id).or_insert(next);
                paragraph.text.push_str(&format!(" [{mark}{number}]"));
            }
            "docPr" => {
                if let Some(words) = element.attribute("descr").filter(|words| !words.is_empty()) {
                    paragraph.text.push_str(&format!("[{words}]"));
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) -> Result<(), ReadError> {
        if let (Some(equation), Some(paragraph)) = (&mut self.equation, self.paragraphs.last_mut())
        {
            equation.end(name, &mut paragraph.text);
        }
        match name {
            "oMath" => self.equation = None,
            "p" => {
                self.equation = None;
                if let Some(mut paragraph) = self.paragraphs.pop() {
                    paragraph.strike(false);
                    self.paragraph(&paragraph)?;
                }
            }
            "tc" => {
                if let Some(table) = self.tables.last_mut() {
                    self.cells += 1;
                    if self.cells > self.watch.budget.parts() {
                        return Err(self.watch.too_many(self.place.clone(), "cells"));
                    }
                    table.end_cell();
                }
            }
            "tr" => {
                if let Some(table) = self.tables.last_mut() {
                    let row = std::mem::take(&mut table.row);
                    table.rows.push(row);
                    table.column = 0;
                }
            }
            "tbl" => {
                if let Some(table) = self.tables.pop() {
                    self.table(&table)?;
                }
            }
            "sdtContent" => self.placeholders = self.placeholders.saturating_sub(1),
            _ => {}
        }
        Ok(())
    }

    fn paragraph(&mut self, paragraph: &Paragraph) -> Result<(), ReadError> {
        let list = paragraph.list.as_deref();
        let number = list.and_then(|list| self.numbering.count(list, paragraph.level));
        let is_in_cell = paragraph.tables > 0 && !self.tables.is_empty();
        let text = match &number {
            // A row may have nothing but its number in a cell.
            Some(number) if is_in_cell || !paragraph.text.trim().is_empty() => {
                format!("{number} {}", paragraph.text.trim())
            }
            _ => paragraph.text.clone(),
        };
        let text = text.trim();
        if text.is_empty() {
            return Ok(());
        }
        // A paragraph that is open around a table, as around a text box with one, is outside of the table.
        if paragraph.tables > 0
            && let Some(table) = self.tables.last_mut()
        {
            if !table.cell.is_empty() {
                table.cell.push('\n');
            }
            table.cell.push_str(text);
            return Ok(());
        }
        if let Some(note) = &mut self.in_notes {
            let (mark, id) = (note.mark, std::mem::take(&mut note.id));
            let number = self.notes.get(mark).and_then(|notes| notes.get(&id));
            return match number {
                None => self.prose.paragraph(text),
                Some(number) => self.prose.paragraph(&format!("[{mark}{number}] {text}")),
            };
        }
        match paragraph.role {
            Some(Role::Title) => {
                self.title.get_or_insert_with(|| text.to_owned());
                self.prose.heading(1, text)
            }
            Some(Role::Heading(level)) => self.prose.heading(level, text),
            Some(Role::Contents) => Ok(()),
            None if list.is_some() => {
                let indent = "  ".repeat(paragraph.level);
                let bullet = if number.is_some() { "" } else { "- " };
                self.prose.line_as_is(&format!("{indent}{bullet}{text}"))
            }
            None => self.prose.paragraph(text),
        }
    }

    /// Writes a table; one within a cell becomes text of that cell.
    fn table(&mut self, table: &Table) -> Result<(), ReadError> {
        self.prose.check()?;
        match self.tables.last_mut() {
            None => table::write(&table.rows, &mut self.prose),
            Some(outer) => {
                for row in &table.rows {
                    outer.cell.push('\n');
                    let cells: Vec<&str> = row.iter().map(|(_, cell)| cell.as_str()).collect();
                    outer.cell.push_str(&cells.join(" "));
                }
                Ok(())
            }
        }
    }
}

/// The character that a font of symbols shows.
fn symbol(element: &Element<'_>) -> Option<char> {
    let code = u32::from_str_radix(&element.attribute("char")?, 16).ok()?;
    symbols::shown(&element.attribute("font")?, code)
}

impl Table {
    fn end_cell(&mut self) {
        let text = std::mem::take(&mut self.cell);
        let above = self.rows.last().and_then(|row| {
            let index = row.binary_search_by_key(&self.column, |(column, _)| *column);
            row.get(index.ok()?)
        });
        let text = match above {
            // A label beside several rows applies to each of them.
            Some((_, above))
                if self.continues && text.is_empty() && above.len() <= LONGEST_LABEL =>
            {
                above.clone()
            }
            _ => text,
        };
        self.continues = false;
        self.row.push((self.column, text));
        self.column += self.span.max(1);
    }
}
