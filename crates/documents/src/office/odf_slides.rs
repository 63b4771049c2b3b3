//! The slides of an OpenDocument presentation: a title, the shapes in the order in which they are read, and the speaker's
//! notes.

use super::shapes::{Block, Shape};
use crate::error::ReadError;
use crate::prose::Prose;
use crate::record::one_line;
use crate::xml::Element;

/// The elements that are shapes with places of their own. A group has none.
const SHAPES: [&str; 9] = [
    "frame",
    "custom-shape",
    "rect",
    "ellipse",
    "circle",
    "polygon",
    "path",
    "caption",
    "connector",
];

/// How the names begin that programs give to slides, which say nothing.
const USUAL: [&str; 4] = ["page", "Slide", "Folie", "Diapo"];

/// The open slide.
pub(super) struct Slide {
    number: usize,
    /// The name that a person gave it.
    name: Option<String>,
    title: String,
    shapes: Shape<Block>,
    /// The open shapes.
    open: Vec<Shape<Block>>,
    in_title: bool,
    in_notes: bool,
    notes: Vec<Block>,
}

impl Slide {
    pub(super) fn new(number: usize, element: &Element<'_>) -> Self {
        let name = element.attribute("name").unwrap_or_default();
        let is_usual = USUAL.iter().any(|usual| name.starts_with(usual));
        Self {
            number,
            name: one_line(&name).filter(|_| !is_usual),
            title: String::new(),
            shapes: Shape::default(),
            open: Vec::new(),
            in_title: false,
            in_notes: false,
            notes: Vec::new(),
        }
    }

    pub(super) fn start(&mut self, element: &Element<'_>) {
        match element.name() {
            "notes" => self.in_notes = true,
            name if SHAPES.contains(&name) => {
                self.in_title = element.attribute("class").as_deref() == Some("title");
                self.open.push(Shape::drawn(element));
            }
            _ => {}
        }
    }

    pub(super) fn end(&mut self, name: &str) {
        match name {
            "notes" => self.in_notes = false,
            name if SHAPES.contains(&name) => {
                self.in_title = false;
                if let Some(shape) = self.open.pop() {
                    self.open.last_mut().unwrap_or(&mut self.shapes).add(shape);
                }
            }
            _ => {}
        }
    }

    /// Adds a block to the title, the notes or the open shape.
    pub(super) fn add(&mut self, block: Block) {
        let content = match self.in_notes {
            true => &mut self.notes,
            false => &mut self.open.last_mut().unwrap_or(&mut self.shapes).content,
        };
        match block {
            Block::Paragraph(words) if self.in_title && !self.in_notes => {
                self.title.push(' ');
                self.title.push_str(&words);
            }
            block => content.push(block),
        }
    }

    /// Writes the slide; returns its title, or else its first words.
    pub(super) fn write(self, prose: &mut Prose) -> Result<Option<String>, ReadError> {
        let title = one_line(&self.title);
        let heading = match title.as_ref().or(self.name.as_ref()) {
            Some(title) => format!("Slide {}: {title}", self.number),
            None => format!("Slide {}", self.number),
        };
        prose.page();
        prose.heading(2, &heading)?;
        let blocks = self.shapes.ordered();
        for block in &blocks {
            block.write(prose)?;
        }
        if !self.notes.is_empty() {
            prose.paragraph("Notes:")?;
        }
        for block in &self.notes {
            block.write(prose)?;
        }
        Ok(title.or_else(|| match blocks.first()? {
            Block::Paragraph(words) | Block::Line(words) => one_line(words),
            Block::Table(_) => None,
        }))
    }
}
