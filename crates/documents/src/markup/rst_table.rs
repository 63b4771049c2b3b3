//! The tables of reStructuredText: those drawn as a grid, those with lines above and below them, lists of rows, and
//! comma-separated values.

use crate::table::Row;

/// The most columns.
const MOST_COLUMNS: usize = 256;
/// The longest cell that is repeated in the rows beside it, in bytes.
const LONGEST_LABEL: usize = 256;

/// The rows of the drawn table that begins at the line `from`, and how many lines it takes. `None` if there is no table,
/// or it has more than `most` cells or bytes.
pub(super) fn drawn(lines: &[&str], from: usize, most: u64) -> Option<(Vec<Row>, usize)> {
    let before = from.checked_sub(1).and_then(|before| lines.get(before));
    let lines = lines.get(from..)?;
    let first = lines.first()?.trim();
    match first.as_bytes() {
        // Within a grid that is none, no other one begins; to try each line would take time by their square.
        [b'+', b'-' | b'=', ..] if !before.is_some_and(|line| is_in_grid(line)) => {
            grid(lines, most)
        }
        [b'=', ..] if is_border(first) => simple(lines, most),
        _ => None,
    }
}

/// A row while its lines are read.
type Cells = Vec<String>;

fn row(cells: &[String]) -> Row {
    let cells = cells.iter().map(|cell| cell.trim().to_owned());
    let row = cells.enumerate();
    row.filter(|(_, cell)| !cell.is_empty()).collect()
}

fn is_in_grid(line: &str) -> bool {
    line.trim_start().starts_with(['+', '|'])
}

/// A table with bars between all cells and lines between all rows.
fn grid(lines: &[&str], most: u64) -> Option<(Vec<Row>, usize)> {
    let length = lines.iter().take_while(|line| is_in_grid(line)).count();
    let bytes: usize = lines.iter().take(length).map(|line| line.len()).sum();
    if bytes as u64 > most {
        return None;
    }
    let lines: Vec<Vec<char>> = lines
        .iter()
        .take(length)
        .map(|line| line.trim().chars().collect())
        .collect();
    // A column begins wherever a crossing is drawn.
    let mut bars: Vec<usize> = Vec::new();
    for line in lines.iter().filter(|line| line.first() == Some(&'+')) {
        let crossings = line.iter().enumerate().filter(|(_, c)| **c == '+');
        bars.extend(crossings.map(|(place, _)| place));
        bars.sort_unstable();
        bars.dedup();
        if bars.len() > MOST_COLUMNS {
            return None;
        }
    }
    let is_whole = lines.len() > 2 && lines.last()?.first() == Some(&'+');
    if !is_whole || bars.len() < 2 || (bars.len() * length) as u64 > most {
        return None;
    }
    let mut rows = Vec::new();
    let mut cells: Cells = vec![String::new(); bars.len()];
    let mut has_text = false;
    for line in lines.iter().skip(1) {
        let is_rule = |column: usize| {
            let inside = bars.get(column).and_then(|bar| line.get(bar + 1));
            matches!(inside, Some('-' | '='))
        };
        if is_rule(0) || (1..bars.len()).any(|column| is_crossing(line, &bars, column)) {
            if std::mem::take(&mut has_text) {
                rows.push(row(&cells));
                let long = cells.iter_mut().filter(|cell| cell.len() > LONGEST_LABEL);
                long.for_each(String::clear);
            }
            // A cell that spans several rows holds for each of them.
            let ended = cells
                .iter_mut()
                .enumerate()
                .filter(|(column, _)| is_rule(*column));
            ended.for_each(|(_, cell)| cell.clear());
            continue;
        }
        has_text = true;
        add_line(line, &bars, &mut cells);
    }
    Some((rows, length))
}

/// Whether a line between rows crosses or begins at the bar before a column.
fn is_crossing(line: &[char], bars: &[usize], column: usize) -> bool {
    let Some(&bar) = bars.get(column) else {
        return false;
    };
    line.get(bar) == Some(&'+') && matches!(line.get(bar + 1), Some('-' | '='))
}

/// Adds the parts of a line between bars to the cells of a row.
fn add_line(line: &[char], bars: &[usize], cells: &mut [String]) {
    let mut start = 0;
    for column in 1..bars.len() {
        let (Some(&from), Some(&to)) = (bars.get(start), bars.get(column)) else {
            continue;
        };
        // Without a bar, the cell spans the next column, too.
        if !matches!(line.get(to), None | Some('|' | '+')) {
            continue;
        }
        let inside = line.iter().take(to).skip(from + 1).collect::<String>();
        if let Some(cell) = cells.get_mut(start) {
            cell.push(' ');
            cell.push_str(inside.trim());
        }
        start = column;
    }
}

/// Whether a line has two rows of equals signs at least, one above each column.
fn is_border(line: &str) -> bool {
    let line = line.trim();
    line.contains("= ") && line.chars().all(|c| matches!(c, '=' | ' '))
}

/// A table whose columns are told by the lines above and below it.
fn simple(lines: &[&str], most: u64) -> Option<(Vec<Row>, usize)> {
    let first = lines.first()?;
    let indent = first.chars().take_while(|c| c.is_whitespace()).count();
    let signs: Vec<char> = first.chars().skip(indent).collect();
    let starts: Vec<usize> = (0..signs.len())
        .filter(|&at| signs[at] == '=' && (at == 0 || signs[at - 1] == ' '))
        .collect();
    // The second line is the last one, or that below the names of the columns.
    let mut borders = (1..lines.len()).filter(|&at| is_border(lines[at]));
    let mut last = borders.next()?;
    if lines
        .get(last + 1)
        .is_some_and(|after| !after.trim().is_empty())
    {
        last = borders.next()?;
    }
    if starts.len() > MOST_COLUMNS || (starts.len() * last) as u64 > most {
        return None;
    }
    let mut rows: Vec<Cells> = Vec::new();
    for line in lines.iter().take(last).skip(1) {
        let is_rule = line.chars().all(|c| matches!(c, '=' | '-' | ' '));
        if line.trim().is_empty() || (is_rule && line.contains("--")) || is_border(line) {
            continue;
        }
        let line: Vec<char> = line.chars().skip(indent).collect();
        let second = starts.get(1).copied().unwrap_or(line.len());
        let is_continued = line.iter().take(second).all(|c| c.is_whitespace());
        if rows.is_empty() || !is_continued {
            rows.push(vec![String::new(); starts.len()]);
        }
        if let Some(cells) = rows.last_mut() {
            add_columns(&line, &starts, cells);
        }
    }
    Some((rows.iter().map(|cells| row(cells)).collect(), last + 1))
}

/// Adds the parts of a line from these places on to the cells of a row.
fn add_columns(line: &[char], starts: &[usize], cells: &mut [String]) {
    let mut column = 0;
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(line.len());
        // Text over the gap between columns spans both.
        let is_apart = start == 0 || line.get(start - 1).is_none_or(|c| c.is_whitespace());
        if is_apart {
            column = index;
        }
        let part: String = line.iter().take(end).skip(start).collect();
        if let Some(cell) = cells.get_mut(column) {
            if is_apart {
                cell.push(' ');
                cell.push_str(part.trim());
            } else {
                cell.push_str(part.trim_end());
            }
        }
    }
}

/// The rows of a list, of which each item is a list of cells; `None` if there are more than `most` lines.
pub(super) fn listed(lines: &[&str], most: u64) -> Option<Vec<Row>> {
    if lines.len() as u64 > most {
        return None;
    }
    let mut rows: Vec<Cells> = Vec::new();
    // Where the marks of cells stand.
    let mut mark = 0;
    for line in lines {
        let words = line.trim_start();
        let indent = line.len() - words.len();
        let begun = words.strip_prefix("* ").map(str::trim_start);
        if let Some(cell) = begun.and_then(|words| words.strip_prefix('-')) {
            mark = line.len() - cell.len() - 1;
            rows.push(vec![cell.to_owned()]);
        } else if let Some(cells) = rows.last_mut() {
            match words.strip_prefix('-').filter(|_| indent == mark) {
                Some(cell) => cells.push(cell.to_owned()),
                None => {
                    if let Some(cell) = cells.last_mut() {
                        cell.push('\n');
                        cell.push_str(words);
                    }
                }
            }
        }
    }
    Some(rows.iter().map(|cells| row(cells)).collect())
}

/// The rows of lines of comma-separated values; `None` if they have more than `most` cells or bytes.
pub(super) fn separated(lines: &[&str], most: u64) -> Option<Vec<Row>> {
    let cells = lines
        .iter()
        .map(|line| 1 + line.matches(',').count() as u64);
    (cells.sum::<u64>() <= most).then(|| {
        let lines = lines.iter().filter(|line| !line.trim().is_empty());
        lines.map(|line| row(&values(line))).collect()
    })
}

/// The values of a line; commas in quotes do not separate them, and a doubled quote stands for one.
fn values(line: &str) -> Cells {
    let mut values = Vec::new();
    let (mut value, mut is_quoted) = (String::new(), false);
    let mut characters = line.trim().chars().peekable();
    while let Some(character) = characters.next() {
        match character {
            '"' if is_quoted && characters.next_if_eq(&'"').is_some() => value.push('"'),
            '"' => is_quoted = !is_quoted,
            ',' if !is_quoted => values.push(std::mem::take(&mut value)),
            character => value.push(character),
        }
    }
    values.push(value);
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: &[&[&str]]) {
        let lines: Vec<&str> = text.lines().collect();
        let (rows, length) = drawn(&lines, 0, 10_000).unwrap();
        assert_eq!(length, lines.len());
        let shown: Vec<Vec<String>> = rows
            .iter()
            .map(|row| {
                row.iter()
                    .map(|(column, cell)| format!("{column} {cell}"))
                    .collect()
            })
            .collect();
        assert_eq!(shown, expected);
    }

    #[test]
    fn grids() {
        check(
            "+-------+----------+\n| Pump  | Bar      |\n+=======+==========+\n| seven | 9 at     |\n|       | the most |\n+-------+----------+",
            &[&["0 Pump", "1 Bar"], &["0 seven", "1 9 at the most"]],
        );
        // A cell over two columns, and one beside two rows.
        check(
            "+---+---+---+\n| A | B     |\n+---+---+---+\n| c | d | e |\n|   +---+---+\n|   | f | g |\n+---+---+---+",
            &[
                &["0 A", "1 B"],
                &["0 c", "1 d", "2 e"],
                &["0 c", "1 f", "2 g"],
            ],
        );
    }

    #[test]
    fn a_long_cell_beside_rows_stands_once() {
        let long: &str = &"x".repeat(LONGEST_LABEL);
        for (label, expected) in [("x", ["x", "x y"]), (long, [long, "y"])] {
            let (line, rest) = ("-".repeat(label.len()), " ".repeat(label.len() - 1));
            let grid = format!("+{line}+-+\n|{label}|a|\n|{rest} +-+\n|y{rest}|b|\n+{line}+-+");
            let [first, second] = expected.map(|label| format!("0 {label}"));
            check(
                &grid,
                &[&[first.as_str(), "1 a"], &[second.as_str(), "1 b"]],
            );
        }
    }

    #[test]
    fn a_grid_begins_at_its_first_line() {
        let lines = ["| a", "+-+", "|b|", "+-+"];
        assert!(drawn(&lines, 1, 1000).is_none());
        assert!(drawn(&lines[1..], 0, 1000).is_some());
    }

    #[test]
    fn simple_tables() {
        check(
            "=====  =====\nPump   Bar\n=====  =====\nseven  9 at the\n       most\neight\n=====  =====",
            &[
                &["0 Pump", "1 Bar"],
                &["0 seven", "1 9 at the most"],
                &["0 eight"],
            ],
        );
        check(
            "===  ===  ===\n  Both    C\n--------  ---\na    b    c\n===  ===  ===",
            &[&["0 Both", "2 C"], &["0 a", "1 b", "2 c"]],
        );
    }

    #[test]
    fn what_is_no_table() {
        for text in [
            "+ a\n+ b",
            "+--+\n| a",
            "== ==\na b",
            "====\na\n====",
            "+-+-+",
        ] {
            let lines: Vec<&str> = text.lines().collect();
            assert_eq!(drawn(&lines, 0, 1000), None, "{text}");
        }
        let lines = ["== ==", "a  b", "== =="];
        assert!(drawn(&lines, 0, 1).is_none());
    }
}
