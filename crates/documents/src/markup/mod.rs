//! Plain text with light markup: reStructuredText, Org, TeX and AsciiDoc. Headings become lines with a `#` for
//! each level, marks that only a program reads are dropped, and the rest stays as is.

mod asciidoc;
mod asciidoc_table;
mod org;
mod rst;
mod rst_table;
mod tex;

use crate::error::ReadError;
use crate::place::Place;
use crate::record::Contents;
use crate::table::Row;
use crate::watch::Watch;

/// A language of light markup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Markup {
    ReStructuredText,
    Org,
    Tex,
    AsciiDoc,
}

/// The cells of a row between bars.
fn cells(line: &str) -> Row {
    let line = line.trim();
    let line = line.strip_prefix('|').unwrap_or(line);
    let line = line.strip_suffix('|').unwrap_or(line);
    let cells = line.split('|').map(|cell| cell.trim().to_owned());
    cells.enumerate().collect()
}

/// Adds a line to a paragraph.
fn push_line(line: &str, block: &mut String) {
    if !block.is_empty() {
        block.push('\n');
    }
    block.push_str(line);
}

/// The document of a file.
pub(crate) fn contents(
    text: &str,
    markup: Markup,
    place: &Place,
    watch: &Watch,
) -> Result<Contents, ReadError> {
    match markup {
        Markup::ReStructuredText => rst::contents(text, place, watch),
        Markup::Org => org::contents(text, place, watch),
        Markup::Tex => tex::contents(text, place, watch),
        Markup::AsciiDoc => asciidoc::contents(text, place, watch),
    }
}
