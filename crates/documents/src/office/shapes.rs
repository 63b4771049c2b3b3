//! The shapes of a slide: what stands in them, and the order in which they are read.

use crate::error::ReadError;
use crate::prose::Prose;
use crate::table::{self, Row};
use crate::xml::Element;

/// The elements that are shapes.
const SHAPES: [&str; 5] = ["sp", "grpSp", "graphicFrame", "pic", "cxnSp"];

/// Whether an element is a shape, or a group of shapes.
pub(super) fn is_shape(name: &str) -> bool {
    SHAPES.contains(&name)
}

/// A piece of the text of a slide.
#[derive(Debug)]
pub(super) enum Block {
    Paragraph(String),
    /// An item of a list, with its mark.
    Line(String),
    Table(Vec<Row>),
}

impl Block {
    pub(super) fn write(&self, prose: &mut Prose) -> Result<(), ReadError> {
        match self {
            Self::Paragraph(text) => prose.paragraph(text),
            Self::Line(text) => prose.line_as_is(text),
            Self::Table(rows) => table::write(rows, prose),
        }
    }
}

/// A shape or a group of shapes, with content of a type `T`.
#[derive(Debug)]
pub(super) struct Shape<T> {
    frame: Option<Frame>,
    pub(super) content: Vec<T>,
    /// The shapes in it.
    parts: Vec<Self>,
}

/// The place of a shape in the coordinates of the group around it, which grow to the right and downwards.
#[derive(Debug, Clone, Copy)]
struct Frame {
    left: i64,
    top: i64,
    height: i64,
}

impl<T> Default for Shape<T> {
    fn default() -> Self {
        Self {
            frame: None,
            content: Vec::new(),
            parts: Vec::new(),
        }
    }
}

impl<T> Shape<T> {
    /// Reads an element that may tell the place of the shape.
    pub(super) fn place(&mut self, element: &Element<'_>) {
        let number = |name| element.attribute(name)?.parse::<i64>().ok();
        match element.name() {
            "off" if self.frame.is_none() => {
                let corner = number("x").zip(number("y"));
                self.frame = corner.map(|(left, top)| Frame {
                    left,
                    top,
                    height: 0,
                });
            }
            "ext" => {
                if let Some(frame) = self.frame.as_mut().filter(|frame| frame.height == 0) {
                    frame.height = number("cy").unwrap_or(0);
                }
            }
            _ => {}
        }
    }

    /// A shape of OpenDocument, whose element may tell its place.
    pub(super) fn drawn(element: &Element<'_>) -> Self {
        let number = |name| length(&element.attribute(name)?);
        let corner = number("x").zip(number("y"));
        Self {
            frame: corner.map(|(left, top)| Frame {
                left,
                top,
                height: number("height").unwrap_or(0),
            }),
            ..Self::default()
        }
    }

    /// Adds a shape that has ended, unless it has no content.
    pub(super) fn add(&mut self, shape: Self) {
        let frame = shape.frame;
        let content = shape.ordered();
        if !content.is_empty() {
            self.parts.push(Self {
                frame,
                content,
                parts: Vec::new(),
            });
        }
    }

    /// Its own content and that of the shapes in it: from top to bottom, those side by side from left to right; in
    /// their order in the file, if the place of one is not known, since a layout gives it.
    pub(super) fn ordered(self) -> Vec<T> {
        let mut parts: Vec<(i64, i64, Self)> = Vec::with_capacity(self.parts.len());
        let are_placed = self.parts.iter().all(|shape| shape.frame.is_some());
        for shape in self.parts {
            let (top, left) = match shape.frame {
                Some(frame) if are_placed => (frame.top, frame.left),
                _ => (0, 0),
            };
            parts.push((top, left, shape));
        }
        parts.sort_by_key(|(top, ..)| *top);
        // A row begins with a shape below the middle of one in the row before.
        let (mut row, mut middle) = (0, i64::MAX);
        for (top, _, shape) in &mut parts {
            let height = shape.frame.map_or(0, |frame| frame.height.max(0));
            if *top > middle {
                (row, middle) = (row + 1, i64::MAX);
            }
            middle = middle.min(top.saturating_add(height / 2));
            *top = row;
        }
        parts.sort_by_key(|(row, left, _)| (*row, *left));
        let parts = parts.into_iter().flat_map(|(.., shape)| shape.content);
        self.content.into_iter().chain(parts).collect()
    }
}

/// A length such as `2.5cm`, in micrometers.
fn length(text: &str) -> Option<i64> {
    let (number, unit) = text.split_at(text.find(|c: char| c.is_ascii_alphabetic())?);
    let micrometers = match unit {
        "mm" => 1000.0,
        "cm" => 10_000.0,
        "in" => 25_400.0,
        "pt" => 25_400.0 / 72.0,
        _ => return None,
    };
    Some((number.parse::<f64>().ok()? * micrometers) as i64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths() {
        for (text, micrometers) in [
            ("2.5cm", Some(25_000)),
            ("10mm", Some(10_000)),
            ("-1in", Some(-25_400)),
            ("72pt", Some(25_400)),
            ("5", None),
            ("5em", None),
            ("cm", None),
        ] {
            assert_eq!(length(text), micrometers, "{text}");
        }
    }

    /// The names of shapes in their order, given their places: left, top and height.
    fn ordered(shapes: &[(&'static str, Option<[i64; 3]>)]) -> String {
        let mut slide = Shape::default();
        for (name, place) in shapes {
            slide.add(Shape {
                frame: place.map(|[left, top, height]| Frame { left, top, height }),
                content: vec![*name],
                parts: Vec::new(),
            });
        }
        slide.ordered().concat()
    }

    #[test]
    fn shapes_are_read_in_rows() {
        for (shapes, expected) in [
            // A row of boxes that are not quite aligned, above another box.
            (
                &[
                    ("d", Some([0, 90, 20])),
                    ("c", Some([200, 9, 20])),
                    ("b", Some([100, 12, 20])),
                    ("a", Some([0, 10, 20])),
                ][..],
                "abcd",
            ),
            // A column at the side of two boxes.
            (
                &[
                    ("c", Some([50, 60, 20])),
                    ("a", Some([0, 0, 100])),
                    ("b", Some([50, 0, 20])),
                ][..],
                "abc",
            ),
            // A place that only the layout tells.
            (&[("a", Some([0, 90, 20])), ("b", None)][..], "ab"),
            (
                &[
                    ("b", Some([i64::MAX, i64::MAX, i64::MAX])),
                    ("a", Some([0, i64::MIN, -1])),
                ][..],
                "ab",
            ),
        ] {
            assert_eq!(ordered(shapes), expected);
        }
    }
}
