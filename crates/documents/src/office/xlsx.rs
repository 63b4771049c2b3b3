//! Workbooks of Excel: the sheets in their order, row by row, with the values that were computed last.

use std::collections::HashMap;
use std::ops::Range;

use super::labels::Labels;
use super::number::{self, Epoch, NumberFormat};
use super::{properties, relations};
use crate::error::ReadError;
use crate::package::Package;
use crate::prose::Prose;
use crate::record::Contents;
use crate::table::{Row, Table};
use crate::watch::Watch;
use crate::xml::{Element, Node, Xml};

/// The most columns of a sheet.
const MOST_COLUMNS: usize = 16_384;

pub(super) fn contents(package: &mut Package, watch: &Watch) -> Result<Contents, ReadError> {
    let main = relations::main_part("xl/workbook.xml", package, watch)?;
    let relations = relations::of(&main, package, watch)?;
    let part = |kind: &str| {
        let relation = relations.iter().find(|relation| relation.kind == kind);
        relation.map(|relation| relation.target.clone())
    };
    let (title, metadata) = properties::of("docProps/core.xml", package, watch)?;
    let book = Book::read(&main, package, watch)?;
    let values = Values {
        shared: match part("sharedStrings") {
            Some(part) => shared_strings(&part, package, watch)?,
            None => Vec::new(),
        },
        formats: match part("styles") {
            Some(part) => number_formats(&part, package, watch)?,
            None => Vec::new(),
        },
        epoch: book.epoch,
    };
    let place = package.place.clone();
    let mut prose = Prose::new(&place, watch);
    // A sheet that is a chart has no rows.
    let worksheets: HashMap<&str, &str> = relations
        .iter()
        .filter(|relation| relation.kind == "worksheet")
        .map(|relation| (relation.id.as_str(), relation.target.as_str()))
        .collect();
    for (name, id) in &book.sheets {
        let Some(sheet) = worksheets.get(id.as_str()) else {
            continue;
        };
        prose.heading(2, &format!("Sheet: {name}"))?;
        if let Some(text) = package.text(sheet)? {
            let read = |part| Xml::new(part, package.format(), &place, watch);
            let mut merged = Merged::read(&mut read(merged_cells(&text)), watch)?;
            rows(&mut read(&text), &values, &mut merged, &mut prose)?;
        }
    }
    // Every workbook has names of sheets, which say little as a title.
    let mut contents = prose.finish(title, metadata);
    contents.title = contents.title.filter(|title| !title.starts_with("Sheet: "));
    Ok(contents)
}

/// The sheets of a workbook: their names, and the ids of their relations.
#[derive(Default)]
struct Book {
    sheets: Vec<(String, String)>,
    epoch: Epoch,
}

impl Book {
    fn read(main: &str, package: &mut Package, watch: &Watch) -> Result<Self, ReadError> {
        let text = package.needed(main)?;
        let place = package.place.clone();
        let mut xml = Xml::new(&text, package.format(), &place, watch);
        xml.root("workbook")?;
        let mut book = Self::default();
        while let Some(node) = xml.next()? {
            let Node::Start(element) = node else { continue };
            match element.name() {
                "sheet" => {
                    let name = element.attribute("name").unwrap_or_default();
                    let id = element.prefixed("r:id").or_else(|| element.attribute("id"));
                    book.sheets.extend(id.map(|id| (name, id)));
                }
                "workbookPr" => {
                    let of_1904 = element.attribute("date1904");
                    if matches!(of_1904.as_deref(), Some("1" | "true")) {
                        book.epoch = Epoch::Of1904;
                    }
                }
                _ => {}
            }
        }
        Ok(book)
    }
}

/// The tables that the values of cells refer to.
struct Values {
    shared: Vec<String>,
    /// The formats, by the number of a cell's style.
    formats: Vec<NumberFormat>,
    epoch: Epoch,
}

fn shared_strings(
    part: &str,
    package: &mut Package,
    watch: &Watch,
) -> Result<Vec<String>, ReadError> {
    let Some(text) = package.text(part)? else {
        return Ok(Vec::new());
    };
    let place = package.place.clone();
    let mut xml = Xml::new(&text, package.format(), &place, watch);
    let mut strings = Vec::new();
    let mut in_text = false;
    while let Some(node) = xml.next()? {
        match node {
            Node::Start(element) => match element.name() {
                "si" => {
                    if strings.len() as u64 >= watch.budget.parts().saturating_mul(2) {
                        return Err(watch.too_many(place.clone(), "texts"));
                    }
                    strings.push(String::new());
                }
                // The pronunciation of a text.
                "rPh" => xml.skip()?,
                name => in_text = name == "t",
            },
            Node::Text(text) if in_text => {
                if let Some(string) = strings.last_mut() {
                    string.push_str(&text);
                }
            }
            Node::End(_) => in_text = false,
            Node::Text(_) => {}
        }
    }
    Ok(strings.into_iter().map(unescaped).collect())
}

/// A text with its escapes resolved, such as `_x000D_` for a character that XML cannot hold.
fn unescaped(text: String) -> String {
    if !text.contains("_x") {
        return text;
    }
    let mut resolved = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, after)) = rest.split_once("_x") {
        resolved.push_str(before);
        let digits = after.get(..4).filter(|_| after.get(4..5) == Some("_"));
        let code = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        match code.and_then(char::from_u32) {
            Some(character) => {
                let shows = !character.is_control() || character.is_whitespace();
                resolved.extend(Some(character).filter(|_| shows));
                rest = after.get(5..).unwrap_or_default();
            }
            None => {
                resolved.push_str("_x");
                rest = after;
            }
        }
    }
    resolved + rest
}

fn number_formats(
    part: &str,
    package: &mut Package,
    watch: &Watch,
) -> Result<Vec<NumberFormat>, ReadError> {
    let Some(text) = package.text(part)? else {
        return Ok(Vec::new());
    };
    let place = package.place.clone();
    let mut xml = Xml::new(&text, package.format(), &place, watch);
    let mut custom = HashMap::new();
    let mut formats = Vec::new();
    let mut in_cells = false;
    while let Some(node) = xml.next()? {
        match node {
            Node::Start(element) => {
                let id = || element.attribute("numFmtId")?.parse::<u32>().ok();
                match element.name() {
                    "numFmt" => {
                        let code = element.attribute("formatCode").unwrap_or_default();
                        custom.extend(id().map(|id| (id, number::of_code(&code))));
                    }
                    "cellXfs" => in_cells = true,
                    "xf" if in_cells => {
                        let id = id().unwrap_or_default();
                        let format = custom.get(&id).cloned();
                        formats.push(format.unwrap_or_else(|| number::built_in(id)));
                    }
                    _ => {}
                }
            }
            Node::End(end) if end.name() == "cellXfs" => in_cells = false,
            _ => {}
        }
    }
    Ok(formats)
}

/// A cell while it is read.
#[derive(Default)]
struct Cell {
    column: usize,
    kind: String,
    style: usize,
    value: String,
    /// How its value is computed.
    formula: String,
}

/// The merged cells of a sheet, which are in the file after its rows: the part of the sheet that lists them.
fn merged_cells(sheet: &str) -> &str {
    const LIST: &str = "mergeCells";
    let closing = sheet.rfind("mergeCells>");
    let listed = closing.and_then(|closing| {
        let opening = sheet.get(..closing)?.rfind(LIST)?;
        let start = sheet.get(..opening)?.rfind('<')?;
        sheet.get(start..closing + LIST.len() + 1)
    });
    listed.unwrap_or_default()
}

/// The merged cells of a sheet.
#[derive(Default)]
struct Merged {
    /// The labels beside rows.
    labels: Labels,
    /// The columns under cells of one row that stand over several, by row.
    groups: HashMap<u64, Vec<Range<usize>>>,
}

impl Merged {
    /// Reads the part of a sheet that lists them.
    fn read(xml: &mut Xml<'_>, watch: &Watch) -> Result<Self, ReadError> {
        let (mut merged, most) = (Self::default(), watch.budget.parts());
        while let Some(node) = xml.next()? {
            let Node::Start(element) = node else { continue };
            let range = match element.name() {
                "mergeCell" => element.attribute("ref").unwrap_or_default(),
                _ => continue,
            };
            let Some((first, last)) = range.split_once(':') else {
                continue;
            };
            let columns = column_of(first).zip(column_of(last));
            let rows = row_of(first).zip(row_of(last));
            let Some(((column, right), (from, to))) = columns.zip(rows) else {
                continue;
            };
            merged.labels.note(column, from, to, most);
            if from == to && (merged.groups.len() as u64) < most {
                merged
                    .groups
                    .entry(from)
                    .or_default()
                    .push(column..right + 1);
            }
        }
        Ok(merged)
    }
}

/// Writes the rows of a sheet.
fn rows(
    xml: &mut Xml<'_>,
    values: &Values,
    merged: &mut Merged,
    prose: &mut Prose,
) -> Result<(), ReadError> {
    let mut table = Table::default();
    let mut row = Row::new();
    let mut cell = Cell::default();
    let (mut in_value, mut last_row, mut next_column, mut bytes) = (false, 0, 0, 0);
    while let Some(node) = xml.next()? {
        match node {
            Node::Start(element) => match element.name() {
                "row" => {
                    let number = element.attribute("r").and_then(|r| r.parse::<u64>().ok());
                    let number = number.unwrap_or(last_row + 1);
                    // Empty rows need not be in the file.
                    if number > last_row + 1 && last_row > 0 {
                        table.row(&Row::new(), prose)?;
                    }
                    last_row = number;
                    (next_column, bytes) = (0, 0);
                    row.clear();
                }
                "c" => {
                    cell = cell_of(&element, next_column);
                    next_column = cell.column + 1;
                }
                "v" | "t" => in_value = true,
                "f" => cell.formula = xml.text()?,
                "rPh" => xml.skip()?,
                _ => {}
            },
            Node::Text(text) if in_value => cell.value.push_str(&text),
            Node::Text(_) => {}
            Node::End(end) => match end.name() {
                "v" | "t" => in_value = false,
                "c" => {
                    let text = values.text(std::mem::take(&mut cell));
                    bytes += text.len();
                    prose.admit(bytes)?;
                    push(next_column - 1, text, &mut row);
                }
                "row" => {
                    merged.labels.complete(last_row, &mut row);
                    for columns in merged.groups.remove(&last_row).unwrap_or_default() {
                        table.group(columns);
                    }
                    table.row(&row, prose)?;
                }
                // Ranges that stand for charts or headers follow.
                "sheetData" => break,
                _ => {}
            },
        }
    }
    prose.block();
    Ok(())
}

/// Adds a cell to a row, unless it is empty or out of order.
fn push(column: usize, text: String, row: &mut Row) {
    let follows = row.last().is_none_or(|(last, _)| *last < column);
    if !text.is_empty() && follows && column < MOST_COLUMNS {
        row.push((column, text));
    }
}

fn cell_of(element: &Element<'_>, next_column: usize) -> Cell {
    let column = element.attribute("r").and_then(|place| column_of(&place));
    let style = element.attribute("s").and_then(|style| style.parse().ok());
    Cell {
        column: column.unwrap_or(next_column).min(MOST_COLUMNS),
        kind: element.attribute("t").unwrap_or_default(),
        style: style.unwrap_or_default(),
        ..Cell::default()
    }
}

/// The row of a cell's name, e.g. 3 of `AB3`.
fn row_of(name: &str) -> Option<u64> {
    let digits = name.trim_start_matches(|c: char| c.is_ascii_alphabetic());
    digits.parse().ok()
}

/// The column of a cell's name, e.g. 27 of `AB3`.
fn column_of(name: &str) -> Option<usize> {
    let mut column = 0_usize;
    for letter in name.bytes().take_while(u8::is_ascii_alphabetic).take(4) {
        column = column * 26 + usize::from(letter.to_ascii_uppercase() - b'A') + 1;
    }
    column.checked_sub(1)
}

impl Values {
    /// The text that a cell shows.
    fn text(&self, cell: Cell) -> String {
        // Some programs write formulas without the values that Excel would compute.
        if cell.value.trim().is_empty() && !cell.formula.trim().is_empty() && cell.kind.is_empty() {
            return format!("={}", cell.formula.trim());
        }
        match cell.kind.as_str() {
            "s" => {
                let index = cell.value.trim().parse::<usize>().ok();
                let shared = index.and_then(|index| self.shared.get(index));
                shared.cloned().unwrap_or_default()
            }
            "str" | "inlineStr" => unescaped(cell.value),
            "e" | "d" => cell.value,
            "b" => match cell.value.trim() {
                "0" => "FALSE".to_owned(),
                _ => "TRUE".to_owned(),
            },
            _ => {
                let general = NumberFormat::General;
                let format = self.formats.get(cell.style).unwrap_or(&general);
                number::shown(&cell.value, format, self.epoch)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_cells_are_listed_behind_the_rows() {
        for (sheet, listed) in [
            (
                "<s><sheetData/><mergeCells><m/></mergeCells><x/></s>",
                "<mergeCells><m/></mergeCells>",
            ),
            (
                "<s><x:mergeCells n=\"1\"></x:mergeCells></s>",
                "<x:mergeCells n=\"1\"></x:mergeCells>",
            ),
            ("<s><mergeCells/></s>", ""),
            ("<s>mergeCells></s>", ""),
            ("", ""),
        ] {
            assert_eq!(merged_cells(sheet), listed);
        }
    }

    #[test]
    fn escapes() {
        for (written, shown) in [
            ("a_x000D_\nb_x0009_c", "a\r\nb\tc"),
            ("_x005F_x000D_ _x0001_", "_x000D_ "),
            ("a_x_xyz_ _xD83D_ _x12", "a_x_xyz_ _xD83D_ _x12"),
        ] {
            assert_eq!(unescaped(written.to_owned()), shown);
        }
    }

    #[test]
    fn columns() {
        assert_eq!(column_of("A1"), Some(0));
        assert_eq!(column_of("AB3"), Some(27));
        assert_eq!(column_of("XFD1"), Some(16_383));
        assert_eq!(column_of("1"), None);
        assert!(column_of("ZZZZZZZZZZZZZZZZZZ1") > Some(16_384));
    }
}
