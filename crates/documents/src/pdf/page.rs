//! The text that a page draws, by interpreting the operators of its content that move or write
//! text.

use std::rc::Rc;

use lopdf::{
    DecompressError, Dictionary, Document as Pdf, Error as PdfError, Object, ObjectId, Stream,
    decode_text_string,
};

use super::annotation::{self, Look, annotations};
use super::content::Operations;
use super::font::{Font, Fonts, number};
use super::layout::{Edge, Layout, Pen};
use super::matrix::Matrix;
use super::work::Work;
use crate::error::ReadError;

/// How deep forms may nest; a form that draws itself would never end.
const DEEPEST_FORM: usize = 12;
/// A code with unknown meaning may be a space if it is narrower than this share of the font size.
const NARROW: f32 = 0.35;
/// How many graphics states a page may save.
const SAVED_STATES: usize = 1000;

/// The text of a page.
#[derive(Debug)]
pub(super) struct PageText {
    /// Empty if there is none, or if the page's content is broken.
    pub(super) text: String,
    /// The lines at the top and the bottom.
    pub(super) edges: Vec<Edge>,
    /// How many codes with unknown meaning it draws.
    pub(super) unread: usize,
}

/// The text of a page, with that of its forms and annotations.
///
/// # Errors
/// [`ReadError::TooMuchWork`], [`ReadError::DocumentTooLarge`], [`ReadError::Stopped`].
pub(super) fn text<'a>(
    pdf: &'a Pdf,
    page: ObjectId,
    fonts: &mut Fonts<'a>,
    work: &mut Work<'_>,
) -> Result<PageText, ReadError> {
    let resources = page_resources(pdf, page);
    let content = decompressed(
        pdf.get_page_content_with_limit(page, work.content_left()),
        work,
    )?;
    let mut drawing = Drawing {
        pdf,
        fonts,
        layout: Layout::default(),
        unread: 0,
        replacement: None,
        work,
    };
    if let Some(content) = content {
        drawing.draw(&content, &resources, State::default(), 0)?;
    }
    for annotation in annotations(pdf, page) {
        drawing.annotation(annotation, &resources)?;
    }
    let (text, edges) = drawing.layout.finish();
    Ok(PageText {
        text,
        edges,
        unread: drawing.unread,
    })
}

/// Content to draw; `None` if it is broken.
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

/// The part of the graphics state that concerns text.
#[derive(Clone)]
struct State {
    page: Matrix,
    font: Option<Rc<Font>>,
    size: f32,
    character_spacing: f32,
    word_spacing: f32,
    /// The horizontal scaling; 1 is none.
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
    /// How many codes had no known meaning.
    unread: usize,
    /// The text that the content declares for its codes, in place of their meaning.
    replacement: Option<Replacement>,
    work: &'f mut Work<'w>,
}

/// A text that replaces the codes drawn up to the end of marked content.
struct Replacement {
    text: String,
    /// How many marks within it are open.
    open: usize,
    /// The start and the end of its place.
    place: Option<(Pen, Pen)>,
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
        for operation in Operations::of(content) {
            self.work.step()?;
            let operands = &operation.operands;
            let value = |index: usize| operands.get(index).map_or(0.0, |it| number(self.pdf, it));
            let mut next_line = |x: f32, y: f32| {
                line = Matrix::shift(x, y).then(line);
                line
            };
            match operation.operator {
                b"q" if kept.len() < SAVED_STATES => kept.push(state.clone()),
                b"Q" => {
                    if let Some(before) = kept.pop() {
                        state = before;
                    }
                }
                b"cm" => state.page = Matrix::read(self.pdf, operands).then(state.page),
                b"BT" => {
                    line = Matrix::IDENTITY;
                    pen = line;
                }
                b"Tm" => {
                    line = Matrix::read(self.pdf, operands);
                    pen = line;
                }
                b"Td" => pen = next_line(value(0), value(1)),
                b"TD" => {
                    state.leading = -value(1);
                    pen = next_line(value(0), value(1));
                }
                b"T*" => pen = next_line(0.0, -state.leading),
                b"TL" => state.leading = value(0),
                b"Tc" => state.character_spacing = value(0),
                b"Tw" => state.word_spacing = value(0),
                b"Tz" => state.stretch = value(0) / 100.0,
                b"Tf" => {
                    state.size = value(1);
                    let font = self.resource(resources, b"Font", operands);
                    let font = font.and_then(|font| font.as_dict().ok());
                    let font = font.map(|font| self.fonts.font(font, self.work));
                    state.font = font.transpose()?;
                }
                b"Tj" | b"TJ" => self.show(operands, &state, &mut pen)?,
                b"'" | b"\"" => {
                    if operation.operator == b"\"" {
                        state.word_spacing = value(0);
                        state.character_spacing = value(1);
                    }
                    pen = next_line(0.0, -state.leading);
                    let text = operands.last().map_or(&[][..], std::slice::from_ref);
                    self.show(text, &state, &mut pen)?;
                }
                b"Do" => {
                    let form = self.resource(resources, b"XObject", operands);
                    if let Some(form) = form.and_then(|form| form.as_stream().ok()) {
                        self.form(form, resources, &state, depth + 1)?;
                    }
                }
                b"BDC" => self.begin_mark(resources, operands),
                b"BMC" => self.begin_mark(resources, &[]),
                b"EMC" => self.end_mark()?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Begins marked content, which may declare its text.
    fn begin_mark(&mut self, resources: &[&'a Dictionary], operands: &[Object]) {
        if let Some(replacement) = &mut self.replacement {
            replacement.open += 1;
            return;
        }
        let named = || self.resource(resources, b"Properties", operands.get(1..)?);
        let properties = operands
            .get(1)
            .and_then(|properties| properties.as_dict().ok());
        let properties = properties.or_else(|| named()?.as_dict().ok());
        let text =
            properties.and_then(|properties| properties.get_deref(b"ActualText", self.pdf).ok());
        let text = text.and_then(|text| decode_text_string(text).ok());
        self.replacement = text.map(|text| Replacement {
            text,
            open: 0,
            place: None,
        });
    }

    /// Ends marked content.
    fn end_mark(&mut self) -> Result<(), ReadError> {
        match self.replacement.take() {
            Some(mut replacement) if replacement.open > 0 => {
                replacement.open -= 1;
                self.replacement = Some(replacement);
            }
            Some(Replacement {
                text,
                place: Some((from, to)),
                ..
            }) => {
                self.work.write(text.len())?;
                self.layout.write(&text, from, to);
            }
            _ => {}
        }
        Ok(())
    }

    /// Draws a form field, a note or a stamp.
    fn annotation(
        &mut self,
        annotation: &'a Object,
        resources: &[&'a Dictionary],
    ) -> Result<(), ReadError> {
        // Many pages may share one long list.
        self.work.draw(0)?;
        let Ok((_, Object::Dictionary(annotation))) = self.pdf.dereference(annotation) else {
            return Ok(());
        };
        match annotation::look(self.pdf, annotation) {
            Look::Nothing => Ok(()),
            Look::Form(form, page) => {
                let state = State {
                    page,
                    ..State::default()
                };
                self.form(form, resources, &state, 1)
            }
            Look::Text(text, lines) => {
                self.work.write(text.len())?;
                for (line, from, to) in lines {
                    self.layout
                        .write(text.get(line).unwrap_or_default(), from, to);
                }
                Ok(())
            }
        }
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
            state.page = Matrix::read(self.pdf, matrix).then(state.page);
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
            let step = -number(self.pdf, part) / 1000.0 * state.size;
            let is_vertical = state.font.as_ref().is_some_and(|font| font.is_vertical());
            let shift = match is_vertical {
                true => Matrix::shift(0.0, step),
                false => Matrix::shift(step * state.stretch, 0.0),
            };
            *pen = shift.then(*pen);
            return Ok(());
        };
        let Some(font) = &state.font else {
            return Ok(());
        };
        let is_vertical = font.is_vertical();
        let mut rest = text.as_slice();
        while !rest.is_empty() {
            let (glyph, length) = font.glyph(rest);
            rest = rest.get(length..).unwrap_or_default();
            self.work.step()?;
            let text = glyph.text.as_deref().unwrap_or_default();
            self.work.write(text.len())?;
            self.unread += usize::from(glyph.text.is_none());
            let step = |pen: &mut Matrix, length: f32| {
                let shift = match is_vertical {
                    true => Matrix::shift(0.0, length),
                    false => Matrix::shift(length * state.stretch, 0.0),
                };
                *pen = shift.then(*pen);
            };
            let from = position(*pen, state, is_vertical);
            let down = if is_vertical { -1.0 } else { 1.0 };
            step(pen, down * glyph.width * state.size);
            let to = position(*pen, state, is_vertical);
            match &mut self.replacement {
                Some(replacement) => {
                    let (first, _) = replacement.place.unwrap_or((from, to));
                    replacement.place = Some((first, to));
                }
                // A code that is left out leaves a gap.
                None if glyph.text.is_none() && glyph.width < NARROW => {}
                None => self.layout.write(text, from, to),
            }
            let spacing = match glyph.is_space {
                true => state.character_spacing + state.word_spacing,
                false => state.character_spacing,
            };
            step(pen, spacing);
        }
        Ok(())
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

/// The position of the pen on the page, and the direction of writing.
fn position(pen: Matrix, state: &State, is_vertical: bool) -> Pen {
    let [a, b, c, d, x, y] = pen.then(state.page).0;
    // A negative size or scaling turns the writing around.
    let (right, up) = match is_vertical {
        true => (-c * state.size, -d * state.size),
        false => {
            let along = state.size * state.stretch;
            (a * along, b * along)
        }
    };
    let length = right.hypot(up);
    let direction = if length > 0.0 {
        (right / length, up / length)
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
