//! The annotations on a page: values of form fields, notes and stamps.

use std::ops::Range;

use lopdf::{Dictionary, Document as Pdf, Object, ObjectId, Stream, decode_text_string};

use super::font::number;
use super::layout::Pen;
use super::matrix::Matrix;

/// The flags of annotations that are not shown.
const HIDDEN: i64 = 1 << 1 | 1 << 5;
/// How deep fields may nest.
const DEEPEST_FIELD: usize = 32;
/// The default size of a font, and of its lines.
const SIZE: f32 = 10.0;
const LINE: f32 = 12.0;

/// How an annotation looks.
pub(super) enum Look<'a> {
    Nothing,
    /// Content to draw, and its place.
    Form(&'a Stream, Matrix),
    /// A text, and its lines with the places that they are drawn from and to.
    Text(String, Vec<(Range<usize>, Pen, Pen)>),
}

/// The annotations of a page, as they are listed.
pub(super) fn annotations(pdf: &Pdf, page: ObjectId) -> &[Object] {
    let list = pdf
        .get_dictionary(page)
        .and_then(|page| page.get_deref(b"Annots", pdf))
        .and_then(Object::as_array);
    list.map_or(&[][..], Vec::as_slice)
}

/// How an annotation looks: by its own drawing, or by its text if it has none.
pub(super) fn look<'a>(pdf: &'a Pdf, annotation: &'a Dictionary) -> Look<'a> {
    let flags = annotation.get_deref(b"F", pdf).and_then(Object::as_i64);
    let kind = annotation
        .get_deref(b"Subtype", pdf)
        .and_then(Object::as_name);
    let kind = kind.unwrap_or_default();
    if flags.unwrap_or(0) & HIDDEN != 0 || kind == b"Popup" {
        return Look::Nothing;
    }
    let Some(corners) = corners(pdf, annotation, b"Rect") else {
        return Look::Nothing;
    };
    if let Some(form) = appearance(pdf, annotation) {
        return Look::Form(form, placed(pdf, form, corners));
    }
    let text = match kind {
        b"Widget" => value(pdf, annotation),
        b"FreeText" => annotation.get_deref(b"Contents", pdf).ok().and_then(text),
        _ => None,
    };
    match text.filter(|text| !text.trim().is_empty()) {
        Some(text) => lines(text, corners),
        None => Look::Nothing,
    }
}

/// The drawing of an annotation in its current state.
fn appearance<'a>(pdf: &'a Pdf, annotation: &'a Dictionary) -> Option<&'a Stream> {
    let looks = annotation.get_deref(b"AP", pdf).ok()?.as_dict().ok()?;
    let look = looks.get_deref(b"N", pdf).ok()?;
    match look.as_dict() {
        Ok(states) => {
            let state = annotation.get_deref(b"AS", pdf).ok()?.as_name().ok()?;
            states.get_deref(state, pdf).ok()?.as_stream().ok()
        }
        Err(_) => look.as_stream().ok(),
    }
}

/// The left, lower, right and upper side of a rectangle.
fn corners(pdf: &Pdf, dictionary: &Dictionary, key: &[u8]) -> Option<[f32; 4]> {
    let numbers = dictionary.get_deref(key, pdf).ok()?.as_array().ok()?;
    let [a, b, c, d] = numbers.as_slice() else {
        return None;
    };
    let [a, b, c, d] = [a, b, c, d].map(|side| number(pdf, side));
    Some([a.min(c), b.min(d), a.max(c), b.max(d)])
}

/// The transformation by which a drawing fills a rectangle.
fn placed(pdf: &Pdf, form: &Stream, [left, low, right, high]: [f32; 4]) -> Matrix {
    let Some([x0, y0, x1, y1]) = corners(pdf, &form.dict, b"BBox") else {
        return Matrix::shift(left, low);
    };
    let own = form
        .dict
        .get_deref(b"Matrix", pdf)
        .and_then(Object::as_array);
    let own = own.map_or(Matrix::IDENTITY, |own| Matrix::read(pdf, own));
    let points = [(x0, y0), (x0, y1), (x1, y0), (x1, y1)].map(|(x, y)| own.point(x, y));
    let least = |of: fn(&(f32, f32)) -> f32| points.iter().map(of).fold(f32::MAX, f32::min);
    let most = |of: fn(&(f32, f32)) -> f32| points.iter().map(of).fold(f32::MIN, f32::max);
    let (x, y) = (least(|point| point.0), least(|point| point.1));
    let (width, height) = (most(|point| point.0) - x, most(|point| point.1) - y);
    let scale = |of: f32, to: f32| if of > 0.0 && to > 0.0 { to / of } else { 1.0 };
    let (across, up) = (scale(width, right - left), scale(height, high - low));
    Matrix([across, 0.0, 0.0, up, left - x * across, low - y * up])
}

/// The value of a form field: its own, or that of the field around it.
fn value(pdf: &Pdf, field: &Dictionary) -> Option<String> {
    let mut field = field;
    for _ in 0..DEEPEST_FIELD {
        if let Ok(value) = field.get_deref(b"V", pdf) {
            return match value {
                Object::Array(values) => {
                    let values = values
                        .iter()
                        .filter_map(|value| pdf.dereference(value).ok());
                    let values: Vec<String> = values.filter_map(|(_, value)| text(value)).collect();
                    Some(values.join("\n"))
                }
                value => text(value),
            };
        }
        field = field.get_deref(b"Parent", pdf).ok()?.as_dict().ok()?;
    }
    None
}

/// The text of a string. Names are states of buttons, which mean nothing to a reader.
fn text(object: &Object) -> Option<String> {
    object.as_str().ok()?;
    decode_text_string(object).ok()
}

/// The lines of a text, from the top of a rectangle.
fn lines<'a>(text: String, [left, low, right, high]: [f32; 4]) -> Look<'a> {
    let mut lines = Vec::new();
    let mut y = (high - LINE).max(low);
    let mut start = 0;
    for line in text.split(['\n', '\r']) {
        let pen = |x| Pen {
            x,
            y,
            direction: (1.0, 0.0),
            size: SIZE,
        };
        if !line.trim().is_empty() {
            lines.push((start..start + line.len(), pen(left), pen(right)));
            y -= LINE;
        }
        start += line.len() + 1;
    }
    Look::Text(text, lines)
}
