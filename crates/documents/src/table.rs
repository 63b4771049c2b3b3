//! Tables as lines: each row repeats the headers of its cells, so that it can be understood alone.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use crate::error::ReadError;
use crate::prose::Prose;
use crate::record::one_line;

/// The longest header of a column, in characters.
const LONGEST_HEADER: usize = 80;

/// What stands in a cell for a value that is missing, in lower case.
const MISSING: [&str; 5] = ["n/a", "na", "none", "tbd", "unknown"];

/// The most columns whose marked names are kept.
const MOST_NAMED: usize = 1000;

/// The non-empty cells of a row with their columns, from 0, in order.
pub(crate) type Row = Vec<(usize, String)>;

/// The state of a table after its rows so far.
#[derive(Debug, Default)]
pub(crate) struct Table {
    /// The headers of the columns; `None` before they are known, none if the table has no header.
    header: Option<Row>,
    /// Whether the last row was empty, so that another table may begin.
    gap: bool,
    /// The columns in which rows below the header have numbers.
    numeric: BTreeSet<usize>,
    /// The columns under cells of the next row that stand over several, and those under such cells of a header above it.
    due: Vec<Range<usize>>,
    groups: Vec<Range<usize>>,
}

impl Table {
    /// Notes that a cell of the next row stands over these columns.
    pub(crate) fn group(&mut self, columns: Range<usize>) {
        if columns.len() > 1 && self.due.len() < MOST_NAMED {
            self.due.push(columns);
        }
    }

    /// Writes a row. The first row of at least two cells that read like names is the header: it becomes a
    /// line, and its cells precede those of the rows below it. After an empty row, a single cell is a title or a remark,
    /// and another table begins with a row beyond the columns of the last one, or with one of words below numbers.
    pub(crate) fn row(&mut self, cells: &Row, prose: &mut Prose) -> Result<(), ReadError> {
        let groups = std::mem::take(&mut self.due);
        let cells = worded(cells.iter().map(|(column, cell)| (*column, cell.as_str())));
        if cells.is_empty() {
            self.gap = true;
            return Ok(());
        }
        if std::mem::take(&mut self.gap) {
            let is_wide = self.header.as_ref().is_some_and(|header| header.len() > 1);
            if let [(_, words)] = cells.as_slice()
                && is_wide
                && !is_number(words)
            {
                self.gap = true;
                prose.block();
                return prose.line(words);
            }
            if self.is_followed_by_table(&cells) {
                (self.header, self.numeric) = (None, BTreeSet::new());
                prose.block();
            }
        }
        if self.header.is_some() {
            let numbers = cells.iter().filter(|(_, cell)| is_number(cell));
            self.numeric.extend(numbers.map(|(column, _)| *column));
        }
        if let Some(line) = self.completed(&cells) {
            return prose.line(&line);
        }
        let begins = self.header.is_none();
        let line = self.line(cells);
        if begins && let Some(header) = self.header.as_mut().filter(|header| !header.is_empty()) {
            spread(header, &groups);
            self.groups = groups;
        }
        prose.line(&line)
    }

    /// The line of a row of names below a header with names over several columns: both together name a column. `None` if
    /// the row is no such one.
    fn completed(&mut self, cells: &Row) -> Option<String> {
        let groups = std::mem::take(&mut self.groups);
        let header = self.header.as_mut()?;
        let is_grouped = |column: &usize| groups.iter().any(|columns| columns.contains(column));
        let is_name = |(column, cell): &(usize, String)| {
            let is_repeated = named(header, *column) == Some(cell.as_str());
            let is_word = is_short(cell) && (!is_number(cell) || is_year(cell));
            is_repeated || (is_grouped(column) && is_word)
        };
        let has_names = cells.iter().any(|(column, _)| is_grouped(column));
        if !has_names || !cells.iter().all(is_name) {
            return None;
        }
        for (column, cell) in cells.iter().filter(|(column, _)| is_grouped(column)) {
            let index = header.binary_search_by_key(column, |(column, _)| *column);
            if let Ok(index) = index
                && let Some((_, name)) = header.get_mut(index)
            {
                name.push(' ');
                name.push_str(cell);
            }
        }
        Some(joined(header))
    }

    /// Whether a row after a gap belongs to another table.
    fn is_followed_by_table(&self, cells: &Row) -> bool {
        let names = |cell: &str| {
            cell.contains(char::is_alphabetic) && !MISSING.contains(&cell.to_lowercase().as_str())
        };
        let is_below_numbers = || {
            cells
                .iter()
                .any(|(column, _)| self.numeric.contains(column))
        };
        !self.spans(cells)
            || (cells.len() > 1
                && cells
                    .iter()
                    .all(|(_, cell)| names(cell) && !is_number(cell))
                && is_header(cells)
                && is_below_numbers())
    }

    /// The line of a row, as in [`Table::row`]; the cells are not empty.
    pub(crate) fn line(&mut self, cells: Row) -> String {
        if let Some(header) = &self.header {
            return row_under(header, &cells);
        }
        let line = joined(&cells);
        // A single cell above a table is its title.
        if cells.len() > 1 {
            let header = if is_header(&cells) { cells } else { Row::new() };
            self.header = Some(header);
        }
        line
    }

    /// The line of a row whose cells the document marks as names of columns. Below another such row, the names of that
    /// one hold in all other columns.
    pub(crate) fn names(&mut self, cells: Row, is_below_names: bool) -> String {
        let line = joined(&cells);
        let above = self.header.take().filter(|_| is_below_names);
        let is_kept = |(column, name): &(usize, String)| *column < MOST_NAMED && is_short(name);
        let names = cells.into_iter().filter(is_kept);
        let names: BTreeMap<usize, String> = above.into_iter().flatten().chain(names).collect();
        self.header = Some(names.into_iter().collect());
        line
    }

    /// From now on, only rows of [`Table::names`] are headers.
    pub(crate) fn expect_no_names(&mut self) {
        self.header.get_or_insert_default();
    }

    /// Whether all cells of a row stand under a header.
    fn spans(&self, cells: &Row) -> bool {
        let header = self.header.as_deref().unwrap_or_default();
        cells
            .iter()
            .all(|(column, _)| named(header, *column).is_some())
    }
}

/// Names each column under a name that stands over several.
fn spread(header: &mut Row, groups: &[Range<usize>]) {
    for columns in groups {
        let Some(name) = named(header, columns.start).map(str::to_owned) else {
            continue;
        };
        for column in columns.clone().skip(1).take(MOST_NAMED) {
            let place = header.binary_search_by_key(&column, |(column, _)| *column);
            if let Err(index) = place
                && header.len() < MOST_NAMED
            {
                header.insert(index, (column, name.clone()));
            }
        }
    }
}

/// Writes a whole table as a block.
pub(crate) fn write(rows: &[Row], prose: &mut Prose) -> Result<(), ReadError> {
    prose.block();
    let mut table = Table::default();
    for row in rows {
        table.row(row, prose)?;
        table.gap = false;
    }
    prose.block();
    Ok(())
}

/// The cells with words, each on one line.
pub(crate) fn worded<'c>(cells: impl Iterator<Item = (usize, &'c str)>) -> Row {
    cells
        .filter_map(|(column, cell)| Some((column, one_line(cell)?)))
        .collect()
}

/// The header of a column.
fn named(header: &[(usize, String)], column: usize) -> Option<&str> {
    let index = header.binary_search_by_key(&column, |(column, _)| *column);
    Some(header.get(index.ok()?)?.1.as_str())
}

/// Whether a row reads like the names of columns: most cells are words, or all others are years.
fn is_header(cells: &Row) -> bool {
    let (Some((first, _)), Some((last, _))) = (cells.first(), cells.last()) else {
        return false;
    };
    let words = cells.iter().filter(|(_, cell)| !is_number(cell)).count();
    let years = cells.iter().filter(|(_, cell)| is_year(cell)).count();
    // The corner above the names of rows may be empty.
    let are_years = words + years == cells.len() && (words > 0 || *first > 0);
    // A colon makes a cell the label of the one beside it.
    cells
        .iter()
        .all(|(_, cell)| is_short(cell) && !cell.ends_with(':'))
        && (words * 2 >= cells.len() || are_years)
        && cells.len() * 2 > last.saturating_sub(*first)
}

/// Whether a text is short enough to precede the cells of a column.
pub(crate) fn is_short(cell: &str) -> bool {
    cell.chars().take(LONGEST_HEADER + 1).count() <= LONGEST_HEADER
}

/// Whether a row holds a number other than a year, which few names of columns are.
pub(crate) fn has_numbers(cells: &Row) -> bool {
    let mut texts = cells.iter().map(|(_, cell)| cell);
    texts.any(|cell| is_number(cell) && !is_year(cell))
}

fn is_number(cell: &str) -> bool {
    let digits = cell.chars().filter(char::is_ascii_digit).count();
    digits > 0 && cell.chars().all(|c| !c.is_alphabetic())
}

fn is_year(cell: &str) -> bool {
    cell.len() == 4 && matches!(cell.parse(), Ok(1500..=2500))
}

fn row_under(header: &Row, cells: &Row) -> String {
    let parts: Vec<String> = cells
        .iter()
        .map(|(column, cell)| match named(header, *column) {
            Some(name) => format!("{}: {cell}", name),
            None => cell.clone(),
        })
        .collect();
    parts.join(if header.is_empty() { " | " } else { "; " })
}

fn joined(cells: &Row) -> String {
    let cells: Vec<&str> = cells.iter().map(|(_, cell)| cell.as_str()).collect();
    cells.join(" | ")
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;
    use crate::place::Place;
    use crate::watch::Watch;

    #[track_caller]
    fn check(rows: &[&[&str]], expected: &str) {
        let mut prose = Prose::new(&Place::whole(Path::new("x")), &Watch::default());
        let mut table = Table::default();
        for row in rows {
            let cells = row.iter().map(|cell| (*cell).to_owned());
            let cells: Row = cells.enumerate().collect();
            table.row(&cells, &mut prose).unwrap();
        }
        let text = prose.finish(None, serde_json::Map::new()).text;
        assert_eq!(text, expected);
    }

    #[test]
    fn rows_repeat_their_header() {
        check(
            &[&["Pump", "Bar"], &["seven", "9"], &["eight", ""]],
            "Pump | Bar\nPump: seven; Bar: 9\nPump: eight",
        );
        check(
            &[&["Report", ""], &["", "2023", "Unit"], &["Oil", "4", "l"]],
            "Report\n2023 | Unit\nOil; 2023: 4; Unit: l",
        );
    }

    #[test]
    fn numbers_are_no_header() {
        check(&[&["1", "2"], &["3", "4"]], "1 | 2\n3 | 4");
        check(
            &[&["By:", "Ito"], &["On:", "7 May"]],
            "By: | Ito\nOn: | 7 May",
        );
        check(&[&["1999", "2001"], &["3", "4"]], "1999 | 2001\n3 | 4");
        check(
            &[&["Name", "2023", "2024"], &["oil", "1", "2"]],
            "Name | 2023 | 2024\nName: oil; 2023: 1; 2024: 2",
        );
        check(
            &[&["", "2023", "2024"], &["oil", "1", "2"]],
            "2023 | 2024\noil; 2023: 1; 2024: 2",
        );
    }

    #[test]
    fn names_over_several_columns_hold_for_each() {
        type Line<'l> = (&'l [(usize, &'l str)], &'l [Range<usize>]);
        let lines = |rows: &[Line<'_>]| {
            let mut prose = Prose::new(&Place::whole(Path::new("x")), &Watch::default());
            let mut table = Table::default();
            for (cells, groups) in rows {
                groups.iter().for_each(|group| table.group(group.clone()));
                let cells = cells
                    .iter()
                    .map(|(column, cell)| (*column, (*cell).to_owned()));
                table.row(&cells.collect(), &mut prose).unwrap();
            }
            prose.finish(None, serde_json::Map::new()).text
        };
        let header: Line<'_> = (&[(0, "Deck"), (1, "2023"), (3, "2024")], &[1..3, 3..5]);
        let names: &[(usize, &str)] = &[
            (0, "Deck"),
            (1, "May"),
            (2, "June"),
            (3, "May"),
            (4, "June"),
        ];
        let values: &[(usize, &str)] = &[(0, "Upper"), (1, "1"), (2, "2"), (3, "3"), (4, "4")];
        assert_eq!(
            lines(&[header, (names, &[]), (values, &[])]),
            "Deck | 2023 | 2024\nDeck | 2023 May | 2023 June | 2024 May | 2024 June\n\
             Deck: Upper; 2023 May: 1; 2023 June: 2; 2024 May: 3; 2024 June: 4"
        );
        assert_eq!(
            lines(&[header, (values, &[]), (names, &[])]),
            "Deck | 2023 | 2024\nDeck: Upper; 2023: 1; 2023: 2; 2024: 3; 2024: 4\n\
             Deck: Deck; 2023: May; 2023: June; 2024: May; 2024: June"
        );
        let over = 1..3;
        let contact: Line<'_> = (&[(0, "Name"), (1, "Contact")], std::slice::from_ref(&over));
        assert_eq!(
            lines(&[contact, (&[(0, "Ito"), (1, "mail"), (2, "call")], &[])]),
            "Name | Contact\nName: Ito; Contact: mail; Contact: call"
        );
    }

    #[test]
    fn tables_of_the_same_columns_stand_below_one_another() {
        check(
            &[
                &["Pump", "Bar"],
                &["seven", "9"],
                &[],
                &["eight", "n/a"],
                &[],
                &["nine", "12"],
                &[],
                &["Crew"],
                &["Name", "Born"],
                &["Ito", "1971"],
                &[],
                &["As of May"],
                &["Brandt", "1980"],
                &[],
                &["Dock", "Depth", "Length"],
                &["A", "4", "90"],
            ],
            "Pump | Bar\nPump: seven; Bar: 9\nPump: eight; Bar: n/a\nPump: nine; Bar: 12\n\nCrew\n\n\
             Name | Born\nName: Ito; Born: 1971\n\nAs of May\nName: Brandt; Born: 1980\n\n\
             Dock | Depth | Length\nDock: A; Depth: 4; Length: 90",
        );
    }

    #[test]
    fn after_a_gap_another_table_may_begin() {
        check(
            &[
                &["A", "B"],
                &["1", "2"],
                &[],
                &["3", "4"],
                &[],
                &["", "", "C", "D"],
                &["", "", "5", "6"],
            ],
            "A | B\nA: 1; B: 2\nA: 3; B: 4\n\n\
             C | D\nC: 5; D: 6",
        );
    }
}
