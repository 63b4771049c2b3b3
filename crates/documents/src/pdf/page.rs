//! The text that a page draws, by interpreting the operators of its content that move or write
//! text.

use std::rc::Rc;

use lopdf::content::Content;
use lopdf::{
    DecompressError, Dictionary, Document as Pdf, Error as PdfError, Object, ObjectId, Stream,
};

use super::font::{Font, Fonts, number};
use super::layout::{Layout, Pen};
use super::work::Work;
use crate::error::ReadError;

/// How deep forms may be nested; a form that draws itself has no end.
const DEEPEST_FORM: usize = 12;
/// How many bytes of a text become glyphs at once.
const GLYPHS_AT_ONCE: usize = 4096;
/// How many graphics states a page may save.
const SAVED_STATES: usize = 1000;

/// The text of a page; empty where there is none, or where its content is broken.
///
/// # Errors
/// [`ReadError::TooMuchWork`], [`ReadError::DocumentTooLarge`], [`ReadError::Stopped`].
pub(super) fn text<'a>(
    pdf: &'a Pdf,
    page: ObjectId,
    fonts: &mut Fonts<'a>,
    work: &mut Work<'_>,
) -> Result<String, ReadError> {
    let resources = page_resources(pdf, page);
    let content = decompressed(
        pdf.get_page_content_with_limit(page, work.content_left()),
        work,
    )?;
    let mut drawing = Drawing {
        pdf,
        fonts,
        layout: Layout::default(),
        work,
    };
    if let Some(content) = content {
        drawing.draw(&content, &resources, State::default(), 0)?;
    }
    Ok(drawing.layout.finish())
}

/// Content to draw; `None` where it is broken.
fn decompressed(
    content: Result<Vec<u8>, PdfError>,
    work: &mut Work<'_>,
) -> Result<Option<Vec<u8>>, ReadError> {
    match content {
        Ok(content) => {
            work.content(&content)?;
            Ok(Some(content))
        }
        Err(PdfError::Decompress(DecompressError::MemoryLimitExceeded { .. })) => {
            Err(work.too_much())
        }
        Err(_) => Ok(None),
    }
}

/// The resources of a page, its own before those inherited from the page tree.
fn page_resources(pdf: &Pdf, page: ObjectId) -> Vec<&Dictionary> {
    let Ok((own, others)) = pdf.get_page_resources(page) else {
        return Vec::new();
    };
    let others = others
        .into_iter()
        .filter_map(|id| pdf.get_dictionary(id).ok());
    own.into_iter().chain(others).collect()
}

/// A transformation: `x' = a x + c y + e`, `y' = b x + d y + f`.
#[derive(Debug, Clone, Copy)]
struct Matrix([f32; 6]);

impl Matrix {
    const IDENTITY: Self = Self([1.0, 0.0, 0.0, 1.0, 0.0, 0.0]);

    fn shift(x: f32, y: f32) -> Self {
        Self([1.0, 0.0, 0.0, 1.0, x, y])
    }

    /// First `self`, then `other`.
    fn then(self, other: Self) -> Self {
        let [a, b, c, d, e, f] = self.0;
        let [oa, ob, oc, od, oe, of] = other.0;
        Self([
            a * oa + b * oc,
            a * ob + b * od,
            c * oa + d * oc,
            c * ob + d * od,
            e * oa + f * oc + oe,
            e * ob + f * od + of,
        ])
    }
}

/// The part of the graphics state that concerns text.
#[derive(Clone)]
struct State {
    page: Matrix,
    font: Option<Rc<Font>>,
    size: f32,
    character_spacing: f32,
    word_spacing: f32,
    /// Horizontal scaling, 1 for none.
    stretch: f32,
    leading: f32,
}

impl Default for State {
    fn default() -> Self {
        Self {
            page: Matrix::IDENTITY,
            font: None,
            size: 0.0,
            character_spacing: 0.0,
            word_spacing: 0.0,
            stretch: 1.0,
            leading: 0.0,
        }
    }
}

struct Drawing<'a, 'f, 'w> {
    pdf: &'a Pdf,
    fonts: &'f mut Fonts<'a>,
    layout: Layout,
    work: &'f mut Work<'w>,
}

impl<'a> Drawing<'a, '_, '_> {
    fn draw(
        &mut self,
        content: &[u8],
        resources: &[&'a Dictionary],
        mut state: State,
        depth: usize,
    ) -> Result<(), ReadError> {
        let mut kept = Vec::new();
        let mut line = Matrix::IDENTITY;
        let mut pen = Matrix::IDENTITY;
        // What precedes an error in the content is drawn.
        for operation in Content::decode_iter(content).map_while(Result::ok) {
            self.work.step()?;
            let operands = &operation.operands;
            let value = |at: usize| operands.get(at).map_or(0.0, |it| number(self.pdf, it));
            let mut next_line = |x: f32, y: f32| {
                line = Matrix::shift(x, y).then(line);
                line
            };
            match operation.operator.as_str() {
                "q" if kept.len() < SAVED_STATES => kept.push(state.clone()),
                "Q" => {
                    if let Some(before) = kept.pop() {
                        state = before;
                    }
                }
                "cm" => state.page = self.matrix(operands).then(state.page),
                "BT" => {
                    line = Matrix::IDENTITY;
                    pen = line;
                }
                "Tm" => {
                    line = self.matrix(operands);
                    pen = line;
                }
                "Td" => pen = next_line(value(0), value(1)),
                "TD" => {
                    state.leading = -value(1);
                    pen = next_line(value(0), value(1));
                }
                "T*" => pen = next_line(0.0, -state.leading),
                "TL" => state.leading = value(0),
                "Tc" => state.character_spacing = value(0),
                "Tw" => state.word_spacing = value(0),
                "Tz" => state.stretch = value(0) / 100.0,
                "Tf" => {
                    state.size = value(1);
                    let font = self.resource(resources, b"Font", operands);
                    let font = font.and_then(|font| font.as_dict().ok());
                    let font = font.map(|font| self.fonts.font(font, self.work));
                    state.font = font.transpose()?;
                }
                "Tj" | "TJ" => self.show(operands, &state, &mut pen)?,
                "'" | "\"" => {
                    if operation.operator == "\"" {
                        state.word_spacing = value(0);
                        state.character_spacing = value(1);
                    }
                    pen = next_line(0.0, -state.leading);
                    let text = operands.last().map_or(&[][..], std::slice::from_ref);
                    self.show(text, &state, &mut pen)?;
                }
                "Do" => {
                    let form = self.resource(resources, b"XObject", operands);
                    if let Some(form) = form.and_then(|form| form.as_stream().ok()) {
                        self.form(form, resources, &state, depth + 1)?;
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Draws a form: a content stream of its own within a page.
    fn form(
        &mut self,
        form: &'a Stream,
        resources: &[&'a Dictionary],
        state: &State,
        depth: usize,
    ) -> Result<(), ReadError> {
        let subtype = form.dict.get(b"Subtype").and_then(Object::as_name);
        if depth > DEEPEST_FORM || !subtype.is_ok_and(|name| name == b"Form") {
            return Ok(());
        }
        let content = form.get_plain_content_with_limit(self.work.content_left());
        let Some(content) = decompressed(content, self.work)? else {
            return Ok(());
        };
        let mut state = state.clone();
        let own = |key| form.dict.get_deref(key, self.pdf);
        if let Ok(matrix) = own(b"Matrix").and_then(Object::as_array) {
            state.page = self.matrix(matrix).then(state.page);
        }
        match own(b"Resources").and_then(Object::as_dict) {
            Ok(own) => self.draw(&content, &[own], state, depth),
            Err(_) => self.draw(&content, resources, state, depth),
        }
    }

    /// Writes strings, with the steps between them among the operands.
    fn show(
        &mut self,
        operands: &[Object],
        state: &State,
        pen: &mut Matrix,
    ) -> Result<(), ReadError> {
        for operand in operands {
            let parts = operand.as_array().map(Vec::as_slice);
            for part in parts.unwrap_or(std::slice::from_ref(operand)) {
                self.show_part(part, state, pen)?;
            }
        }
        Ok(())
    }

    fn show_part(
        &mut self,
        part: &Object,
        state: &State,
        pen: &mut Matrix,
    ) -> Result<(), ReadError> {
        let Object::String(text, _) = part else {
            let step = -number(self.pdf, part) / 1000.0 * state.size * state.stretch;
            *pen = Matrix::shift(step, 0.0).then(*pen);
            return Ok(());
        };
        let Some(font) = &state.font else {
            return Ok(());
        };
        // Not all glyphs of a text at once: each holds a string.
        for glyph in text
            .chunks(GLYPHS_AT_ONCE)
            .flat_map(|text| font.glyphs(text))
        {
            self.work.step()?;
            self.work.write(glyph.text.len())?;
            let from = position(*pen, state);
            let mut step = glyph.width * state.size;
            *pen = Matrix::shift(step * state.stretch, 0.0).then(*pen);
            let to = position(*pen, state);
            self.layout.write(&glyph.text, from, to);
            step = state.character_spacing;
            if glyph.is_space {
                step += state.word_spacing;
            }
            *pen = Matrix::shift(step * state.stretch, 0.0).then(*pen);
        }
        Ok(())
    }

    fn matrix(&self, numbers: &[Object]) -> Matrix {
        let mut matrix = Matrix::IDENTITY;
        for (place, object) in matrix.0.iter_mut().zip(numbers) {
            *place = number(self.pdf, object);
        }
        matrix
    }

    /// The resource of a kind that the first operand names.
    fn resource(
        &self,
        resources: &[&'a Dictionary],
        kind: &[u8],
        operands: &[Object],
    ) -> Option<&'a Object> {
        let name = operands.first()?.as_name().ok()?;
        resources.iter().find_map(|resources| {
            let named = resources.get_deref(kind, self.pdf).ok()?.as_dict().ok()?;
            named.get_deref(name, self.pdf).ok()
        })
    }
}

/// The position of the pen on the page.
fn position(pen: Matrix, state: &State) -> Pen {
    let [a, b, c, d, x, y] = pen.then(state.page).0;
    let length = a.hypot(b);
    let direction = if length > 0.0 {
        (a / length, b / length)
    } else {
        (1.0, 0.0)
    };
    Pen {
        x,
        y,
        direction,
        size: (c.hypot(d) * state.size).abs(),
    }
}
