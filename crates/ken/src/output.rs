//! Output on stdout: data, as text or JSON. Progress, remarks and errors are not written here.

use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

use ken_corpus::Location;
pub(crate) use ken_report::number;
use ken_report::{Report, aligned};
use serde::Serialize;
use serde_json::Value;

use crate::excerpt::Excerpt;
use crate::failure::{Failure, ReaderGone, Result};
use crate::style::{Flow, Look, Styled};
use crate::terminal::{self, for_stdout};

/// Writes one value as one line of JSON.
pub(crate) fn json(value: &impl Serialize) -> Result<()> {
    json_line(&serde_json::to_string(value).map_err(Failure::other)?)
}

/// Writes a line that is JSON already.
pub(crate) fn json_line(line: &str) -> Result<()> {
    bytes(for_stdout(&format!("{line}\n"), terminal::json).as_bytes())
}

/// Writes one line of text.
pub(crate) fn line(text: impl fmt::Display) -> Result<()> {
    self::text(&format!(
        "{}\n",
        for_stdout(&text.to_string(), terminal::line)
    ))
}

/// Writes text as it is, without a line end, and at once: for tokens that arrive one by one, and for text with lines
/// of its own.
pub(crate) fn text(text: &str) -> Result<()> {
    bytes(for_stdout(text, terminal::text).as_bytes())
}

/// Writes a piece of a text that arrives bit by bit. On a terminal its lines break between words, and a word appears
/// when it is whole.
pub(crate) fn piece(flow: &mut Flow, piece: &str) -> Result<()> {
    match terminal::is_on_stdout() {
        true => bytes(flow.push(&terminal::text(piece)).as_bytes()),
        false => text(piece),
    }
}

/// Writes a line of parts; on a terminal, its continuation begins after `indent` spaces.
pub(crate) fn styled(line: &Styled, indent: usize) -> Result<()> {
    bytes(line.shown(indent).as_bytes())
}

/// Writes a line of words; on a terminal, it breaks between them.
pub(crate) fn sentence(text: impl fmt::Display) -> Result<()> {
    styled(&Styled::default().plain(&text.to_string()), 0)
}

/// Writes part of a passage below the line that names it, with the wanted words marked.
pub(crate) fn excerpt(excerpt: &Excerpt) -> Result<()> {
    let mut line = Styled::default().plain("      ");
    let mut end = 0;
    for mark in &excerpt.marks {
        line = line
            .plain(&excerpt.text[end..mark.start])
            .with(Look::Marked, &excerpt.text[mark.clone()]);
        end = mark.end;
    }
    styled(&line.plain(&excerpt.text[end..]), 6)
}

/// Writes a report.
pub(crate) fn report(report: &Report) -> Result<()> {
    let escaped = |text: &str| for_stdout(text, terminal::line).into_owned();
    fitted(&report.text(escaped, terminal::width()))
}

/// Writes lines; on a terminal, those that are too long for it break between words.
fn fitted(lines: &str) -> Result<()> {
    piece(&mut Flow::new(terminal::width(), 2), lines)
}

/// Writes rows with their columns aligned to the left, two spaces apart. Columns that do not fit on a terminal follow below.
pub(crate) fn table(rows: impl IntoIterator<Item = Vec<String>>) -> Result<()> {
    let mut rows: Vec<Vec<String>> = rows.into_iter().collect();
    // The name of the first column is ken's own, and may stand below an empty line.
    for cell in rows.iter_mut().flatten().skip(1) {
        *cell = for_stdout(cell, terminal::line).into_owned();
    }
    fitted(&aligned(&rows, terminal::width()))
}

/// As [`table`], below the names of the columns, which have bars between.
pub(crate) fn columns(names: &str, rows: impl IntoIterator<Item = Vec<String>>) -> Result<()> {
    let head: Vec<String> = names.split('|').map(str::to_owned).collect();
    table(std::iter::once(head).chain(rows))
}

/// Writes names with their values beside them, one pair a line.
pub(crate) fn pairs<N: Into<String>>(rows: impl IntoIterator<Item = (N, String)>) -> Result<()> {
    let rows = rows.into_iter();
    table(rows.map(|(name, value)| vec![name.into(), value]))
}

/// Writes bytes as they are.
fn bytes(data: &[u8]) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(data).and_then(|()| stdout.flush()) {
        Err(cause) if cause.kind() == io::ErrorKind::BrokenPipe => Err(ReaderGone.into()),
        outcome => Ok(outcome?),
    }
}

/// A share, or the sign for what is missing.
pub(crate) fn share(value: Option<f64>) -> String {
    number(value, 3)
}

/// The 95 % interval after its number, or nothing.
pub(crate) fn interval(interval: Option<[f64; 2]>) -> String {
    ken_report::bracketed(interval, 3)
}

/// A count with its noun, which is given in the singular.
pub(crate) fn counted<N: Copy + fmt::Display + PartialEq + From<u8>>(
    count: N,
    what: &str,
) -> String {
    let ending = if count == N::from(1) { "" } else { "s" };
    format!("{count} {what}{ending}")
}

/// The first `most` characters of a text on one line.
pub(crate) fn shortened(text: &str, most: usize) -> String {
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= most {
        return line;
    }
    let kept: String = line.chars().take(most.saturating_sub(1)).collect();
    format!("{}…", kept.trim_end())
}

/// Where a text is: its passage, and which characters of it if it is a chunk.
pub(crate) fn place(passage_id: &str, chunk: Option<&Range<usize>>) -> String {
    match chunk {
        Some(Range { start, end }) => format!("{passage_id}[{start}..{end}]"),
        None => passage_id.to_owned(),
    }
}

/// The line before a passage's text: its document's title, the headings over it, its pages.
pub(crate) fn titled(title: &str, location: &Location) -> String {
    let titled = location.titled(title);
    match location.pages() {
        Some(pages) if titled.is_empty() => pages,
        Some(pages) => format!("{titled}, {pages}"),
        None => titled,
    }
}

/// Adds a passage's location to what is shown of it.
pub(crate) fn add_location(shown: &mut Value, location: &Location) {
    if let (Some(shown), Ok(Value::Object(known))) =
        (shown.as_object_mut(), serde_json::to_value(location))
    {
        shown.extend(known);
    }
}

/// A size as people read it: `90.9 MB`, in powers of 1000.
pub(crate) fn size(bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 999.95 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    match unit {
        0 => format!("{bytes} B"),
        _ => format!("{value:.1} {}", units[unit]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_readable() {
        assert_eq!(size(0), "0 B");
        assert_eq!(size(999), "999 B");
        assert_eq!(size(1_000), "1.0 kB");
        assert_eq!(size(90_868_376), "90.9 MB");
        assert_eq!(size(999_999), "1.0 MB");
        assert_eq!(size(u64::MAX), "18446744.1 TB");
    }
}
