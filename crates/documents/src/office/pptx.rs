//! Presentations: the slides in their order, each with its title as a heading, its texts, its tables and the
//! speaker's notes. Hidden slides are read, too.

use std::collections::HashMap;

use super::labels::LONGEST_LABEL;
use super::shapes::{Block, Shape, is_shape};
use super::{properties, relations};
use crate::error::ReadError;
use crate::numerals::{Style, shown};
use crate::package::Package;
use crate::place::Place;
use crate::prose::Prose;
use crate::raised::changes_number;
use crate::record::{Contents, one_line};
use crate::strike;
use crate::table::Row;
use crate::watch::Watch;
use crate::xml::{Element, Node, Xml};

pub(super) fn contents(package: &mut Package, watch: &Watch) -> Result<Contents, ReadError> {
    let main = relations::main_part("ppt/presentation.xml", package, watch)?;
    let relations = relations::of(&main, package, watch)?;
    let slides: HashMap<&str, &str> = relations
        .iter()
        .map(|relation| (relation.id.as_str(), relation.target.as_str()))
        .collect();
    let (title, metadata) = properties::of("docProps/core.xml", package, watch)?;
    let place = package.place.clone();
    let mut prose = Prose::new(&place, watch);
    let mut first = None;
    for (number, id) in (1..).zip(slide_ids(&main, package, watch)?) {
        let Some(&slide) = slides.get(id.as_str()) else {
            continue;
        };
        let shapes = Shapes::read(slide, package, &place, watch)?;
        first = first.or_else(|| shapes.title.clone());
        let heading = match &shapes.title {
            Some(title) => format!("Slide {number}: {title}"),
            None => format!("Slide {number}"),
        };
        prose.page();
        prose.heading(2, &heading)?;
        shapes.write(&mut prose)?;
        for relation in relations::of(slide, package, watch)? {
            match relation.kind.as_str() {
                "notesSlide" => {
                    let notes = Shapes::read(&relation.target, package, &place, watch)?;
                    if !notes.blocks.is_empty() {
                        prose.paragraph("Notes:")?;
                        notes.write(&mut prose)?;
                    }
                }
                "diagramData" => {
                    Shapes::read(&relation.target, package, &place, watch)?.write(&mut prose)?;
                }
                _ => {}
            }
        }
    }
    Ok(prose.finish(title.or(first), metadata))
}

/// The slides in their order, by the ids of their relations.
fn slide_ids(main: &str, package: &mut Package, watch: &Watch) -> Result<Vec<String>, ReadError> {
    let text = package.needed(main)?;
    let place = package.place.clone();
    let mut xml = Xml::new(&text, package.format(), &place, watch);
    xml.root("presentation")?;
    let mut ids = Vec::new();
    while let Some(node) = xml.next()? {
        if let Node::Start(element) = node
            && element.name() == "sldId"
        {
            ids.extend(element.prefixed("r:id"));
        }
    }
    Ok(ids)
}

/// The content of a slide.
#[derive(Default)]
struct Shapes {
    title: Option<String>,
    blocks: Vec<Block>,
}

/// The deepest level of an item, from 0.
const DEEPEST: usize = 8;

/// The role of a shape.
#[derive(Default, Clone, Copy, PartialEq)]
enum Purpose {
    #[default]
    Text,
    Title,
    Body,
    /// Date, footer, number, or the picture of the slide in its notes.
    Frame,
}

impl Shapes {
    fn read(
        part: &str,
        package: &mut Package,
        place: &Place,
        watch: &Watch,
    ) -> Result<Self, ReadError> {
        let mut reading = Reading::default();
        let Some(text) = package.text(part)? else {
            return Ok(Self::default());
        };
        let mut xml = Xml::new(&text, package.format(), place, watch);
        while let Some(node) = xml.next()? {
            match node {
                // A fallback for elements that are read.
                Node::Start(element) if element.name() == "Fallback" => xml.skip()?,
                Node::Start(element) => reading.start(&element),
                Node::Text(text) if reading.in_text => reading.text(&text),
                Node::Text(_) => {}
                Node::End(end) => reading.end(end.name()),
            }
            if reading.cells > watch.budget.parts() {
                return Err(watch.too_many(place.clone(), "cells"));
            }
        }
        Ok(Self {
            title: reading.title,
            blocks: reading.slide.ordered(),
        })
    }

    fn write(&self, prose: &mut Prose) -> Result<(), ReadError> {
        self.blocks.iter().try_for_each(|block| block.write(prose))
    }
}

/// How a paragraph is numbered.
struct Numbering {
    /// Its look, such as `arabicPeriod`.
    kind: String,
    first: u32,
}

impl Numbering {
    fn mark(&self, count: u32) -> String {
        let style = match self.kind.get(..7).unwrap_or_default() {
            "alphaLc" => Style::Letter,
            "alphaUc" => Style::CapitalLetter,
            "romanLc" => Style::Roman,
            "romanUc" => Style::CapitalRoman,
            _ => Style::Decimal,
        };
        let number = shown(count, style);
        match self.kind.as_str() {
            kind if kind.ends_with("ParenBoth") => format!("({number})"),
            kind if kind.ends_with("ParenR") => format!("{number})"),
            kind if kind.ends_with("Plain") => number,
            _ => format!("{number}."),
        }
    }
}

/// A slide while it is read.
#[derive(Default)]
struct Reading {
    title: Option<String>,
    slide: Shape<Block>,
    /// The open shapes: groups, and one in the last of them.
    open: Vec<Shape<Block>>,
    purpose: Purpose,
    paragraph: String,
    level: usize,
    /// How the paragraph is numbered, if it is, and the last number at each level; 0 before the first.
    numbering: Option<Numbering>,
    counts: [u32; DEEPEST + 1],
    in_text: bool,
    /// Whether the open run is raised, or struck out.
    is_raised: bool,
    is_struck: bool,
    /// Whether the paragraph ends in struck out text so far.
    ends_struck: bool,
    table: Option<Vec<Row>>,
    cell: String,
    /// Whether the open cell continues the one above it.
    continues: bool,
    cells: u64,
}

impl Reading {
    fn start(&mut self, element: &Element<'_>) {
        self.in_text = element.name() == "t";
        if let Some(shape) = self.open.last_mut() {
            shape.place(element);
        }
        match element.name() {
            name if is_shape(name) => {
                self.purpose = Purpose::Text;
                self.counts = Default::default();
                self.open.push(Shape::default());
            }
            "ph" => {
                let kind = element.attribute("type").unwrap_or_default();
                self.purpose = match kind.as_str() {
                    "title" | "ctrTitle" => Purpose::Title,
                    "sldNum" | "dt" | "ftr" | "hdr" | "sldImg" => Purpose::Frame,
                    "subTitle" => Purpose::Text,
                    _ => Purpose::Body,
                };
            }
            "p" => {
                self.paragraph.clear();
                (self.level, self.numbering, self.ends_struck) = (0, None, false);
            }
            "pPr" => {
                let level = element.attribute("lvl").unwrap_or_default();
                self.level = level.parse().unwrap_or(0).min(DEEPEST);
            }
            "buAutoNum" => {
                let first = element.attribute("startAt");
                self.numbering = Some(Numbering {
                    kind: element.attribute("type").unwrap_or_default(),
                    first: first.and_then(|first| first.parse().ok()).unwrap_or(1),
                });
            }
            "r" | "fld" => (self.is_raised, self.is_struck) = (false, false),
            "rPr" => {
                let baseline = element.attribute("baseline").unwrap_or_default();
                self.is_raised = baseline.parse().unwrap_or(0) > 0;
                let strike = element.attribute("strike");
                self.is_struck = strike.is_some_and(|strike| strike != "noStrike");
            }
            "br" => self.paragraph.push('\n'),
            "tab" => self.paragraph.push('\t'),
            "tbl" => self.table = Some(Vec::new()),
            "tr" => {
                if let Some(rows) = &mut self.table {
                    rows.push(Row::new());
                }
            }
            "tc" => {
                self.cell.clear();
                self.cells += 1;
                let merged = element.attribute("vMerge");
                self.continues = matches!(merged.as_deref(), Some("1" | "true"));
            }
            "cNvPr" => {
                let words = element
                    .attribute("descr")
                    .and_then(|words| one_line(&words));
                let words = words.filter(|_| self.purpose == Purpose::Text && self.table.is_none());
                if let Some(words) = words {
                    self.push(Block::Paragraph(format!("[{words}]")));
                }
            }
            _ => {}
        }
    }

    fn text(&mut self, text: &str) {
        if !text.trim().is_empty() {
            strike::switch(&mut self.paragraph, &mut self.ends_struck, self.is_struck);
        }
        if self.is_raised && changes_number(&self.paragraph, text) {
            self.paragraph.push('^');
        }
        self.paragraph.push_str(text);
    }

    fn end(&mut self, name: &str) {
        self.in_text = false;
        match name {
            "p" => self.end_paragraph(),
            "tc" => self.end_cell(),
            "tbl" => {
                if let Some(rows) = self.table.take() {
                    self.push(Block::Table(rows));
                }
            }
            name if is_shape(name) => {
                self.purpose = Purpose::Text;
                if let Some(shape) = self.open.pop() {
                    self.open.last_mut().unwrap_or(&mut self.slide).add(shape);
                }
            }
            _ => {}
        }
    }

    /// Adds a block to the open shape.
    fn push(&mut self, block: Block) {
        let shape = self.open.last_mut().unwrap_or(&mut self.slide);
        shape.content.push(block);
    }

    fn end_cell(&mut self) {
        let text = std::mem::take(&mut self.cell);
        let Some([above @ .., row]) = self.table.as_deref_mut() else {
            return;
        };
        // The file also has the cells that a wide one covers, and those that continue one above.
        let label = above.last().and_then(|above| above.get(row.len()));
        let text = match label {
            Some((_, label))
                if self.continues && text.is_empty() && label.len() <= LONGEST_LABEL =>
            {
                label.clone()
            }
            _ => text,
        };
        row.push((row.len(), text));
    }

    /// Adds an item. Below it, numbers begin again.
    fn item(&mut self, text: &str) {
        let numbering = self.numbering.take();
        let last = self.counts.get(self.level).copied().unwrap_or(0);
        let count = numbering.as_ref().map(|numbering| match last {
            0 => numbering.first,
            last => last.saturating_add(1),
        });
        let counts = self.counts.iter_mut().skip(self.level);
        for (below, level) in counts.enumerate() {
            *level = count.filter(|_| below == 0).unwrap_or(0);
        }
        let mark = numbering.zip(count);
        let mark = mark.map_or("-".to_owned(), |(numbering, count)| numbering.mark(count));
        let indent = "  ".repeat(self.level);
        self.push(Block::Line(format!("{indent}{mark} {text}")));
    }

    fn end_paragraph(&mut self) {
        strike::switch(&mut self.paragraph, &mut self.ends_struck, false);
        let text = std::mem::take(&mut self.paragraph);
        let text = text.trim();
        if text.is_empty() {
            return;
        }
        if self.table.is_some() {
            if !self.cell.is_empty() {
                self.cell.push('\n');
            }
            self.cell.push_str(text);
            return;
        }
        match self.purpose {
            Purpose::Frame => {}
            Purpose::Title => {
                let title = self.title.get_or_insert_default();
                if !title.is_empty() {
                    title.push(' ');
                }
                title.push_str(&one_line(text).unwrap_or_default());
            }
            Purpose::Body => self.item(text),
            Purpose::Text if self.numbering.is_some() => self.item(text),
            Purpose::Text => {
                self.counts = Default::default();
                let paragraph = Block::Paragraph(text.to_owned());
                self.push(paragraph);
            }
        }
    }
}
