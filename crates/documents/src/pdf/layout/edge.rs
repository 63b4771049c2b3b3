//! The lines that stand apart at the top and the bottom of a page, where running heads and page numbers are.

use std::ops::Range;

use super::line::{Line, fields};

/// A step of this multiple of the font size sets lines apart.
const APART: f32 = 1.75;
/// Lines whose heights differ by less than this share of the font size are a row.
const ROW: f32 = 0.5;
/// The most rows of a head, and the most lines in these.
const MOST_ROWS: usize = 3;
const MOST_LINES: usize = 16;
/// Text of more than this multiple of the usual size is a title.
const LARGE: f32 = 1.15;

/// A line at the top or the bottom of a page.
#[derive(Debug)]
pub(in crate::pdf) struct Edge {
    /// Its bytes in the text of the page.
    pub(in crate::pdf) range: Range<usize>,
    /// The texts between wide gaps.
    pub(in crate::pdf) fields: Vec<String>,
    /// Its position on the page, growing downwards.
    pub(in crate::pdf) place: f32,
    pub(in crate::pdf) size: f32,
    /// Whether it is larger than most text of the page.
    pub(in crate::pdf) is_large: bool,
}

/// A line, and its bytes in the text of the page.
pub(super) type Written<'l, 'r> = (&'l Line<'r>, Range<usize>);

/// The lines at the edges of a page, given all its lines.
pub(super) fn edges(lines: &[Written<'_, '_>]) -> Vec<Edge> {
    let usual = usual_size(lines.iter().map(|(line, range)| (line.size, range.len())));
    let mut sorted: Vec<&Written<'_, '_>> = lines.iter().collect();
    sorted.sort_by(|(a, _), (b, _)| a.place.total_cmp(&b.place));
    let top = apart(&sorted);
    let (at_top, rest) = sorted.split_at(top);
    let from_bottom: Vec<&Written<'_, '_>> = rest.iter().rev().copied().collect();
    let at_bottom = from_bottom.iter().take(apart(&from_bottom));
    let edges = at_top.iter().chain(at_bottom);
    edges
        .map(|(line, range)| Edge {
            range: range.clone(),
            fields: fields(line),
            place: line.place,
            size: line.size,
            is_large: line.size > LARGE * usual,
        })
        .collect()
}

/// How many lines, from the edge of a page on, are set apart from the others. A page of one row is all edge.
fn apart(lines: &[&Written<'_, '_>]) -> usize {
    let mut rows = 1;
    for (index, pair) in lines.windows(2).enumerate() {
        let [(last, _), (line, _)] = pair else {
            continue;
        };
        let size = last.size.max(line.size);
        let step = (line.place - last.place).abs();
        if step > APART * size {
            // The names of the columns of a table are no head.
            let is_table = last.pieces.len() > 1 && last.pieces.len() == line.pieces.len();
            return if is_table { 0 } else { index + 1 };
        }
        rows += usize::from(step > ROW * size);
        if rows > MOST_ROWS || index > MOST_LINES {
            return 0;
        }
    }
    if rows == 1 { lines.len() } else { 0 }
}

/// The font size of most text, given sizes and their bytes of text.
pub(super) fn usual_size(texts: impl Iterator<Item = (f32, usize)>) -> f32 {
    let mut sizes: Vec<(f32, usize)> = texts.collect();
    sizes.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let half = sizes.iter().map(|(_, bytes)| bytes).sum::<usize>() / 2;
    let mut before = 0;
    let usual = sizes.iter().find(|(_, bytes)| {
        before += bytes;
        before > half
    });
    usual.map_or(0.0, |(size, _)| *size)
}
