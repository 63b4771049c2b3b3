//! Reports for a terminal.

use std::collections::BTreeSet;

use crate::{Report, Section, Table};

impl Report {
    /// The report as lines of text, without notes, folded tables, figures and provenance. Each cell and each line passes through
    /// `escape`, which must return one line. Tables are [`aligned`] within `most` characters.
    pub fn text(&self, escape: impl Fn(&str) -> String, most: usize) -> String {
        let mut text = String::new();
        // A heading is written only if a section follows it.
        let mut headings: Vec<&String> = Vec::new();
        for section in &self.sections {
            let content = match section {
                Section::Heading(heading) => {
                    headings.clear();
                    headings.push(heading);
                    continue;
                }
                Section::Subheading(heading) => {
                    headings.push(heading);
                    continue;
                }
                Section::Note(_) | Section::Details(_) | Section::Figure(_) => continue,
                Section::Text(line) => escape(line) + "\n",
                Section::Terms(terms) => {
                    let rows = terms
                        .iter()
                        .map(|(name, value)| vec![escape(name), escape(value)]);
                    aligned(&rows.collect::<Vec<_>>(), most)
                }
                Section::Table(table) => aligned(&rows(table, &escape), most),
            };
            for heading in headings.drain(..) {
                let apart = if text.is_empty() { "" } else { "\n" };
                text += &format!("{apart}{}\n", escape(heading));
            }
            text += &content;
        }
        text
    }
}

/// The head and the rows of a table; empty if it has no rows.
fn rows(table: &Table, escape: impl Fn(&str) -> String) -> Vec<Vec<String>> {
    let rows = table.shown().into_iter();
    rows.map(|cells| cells.iter().map(|cell| escape(cell)).collect())
        .collect()
}

/// The spaces between two columns.
const GAP: usize = 2;

/// Rows with their columns aligned to the left, two spaces apart. If they take more than `most` characters, the columns stand in
/// several blocks below one another, each of which begins with those that tell the rows apart.
pub fn aligned(rows: &[Vec<String>], most: usize) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let widths: Vec<usize> = (0..columns)
        .map(|column| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            cells.map(|cell| cell.chars().count()).max().unwrap_or(0)
        })
        .collect();
    let keys = keys(rows, &widths, most / 2);
    let blocks = blocks(&widths, keys, most).into_iter().map(|columns| {
        let lines = rows.iter().map(|row| {
            let cells = (columns.iter())
                .filter_map(|&column| row.get(column).map(|cell| (cell, widths[column])))
                .map(|(cell, width)| format!("{cell:<width$}"));
            let line = cells.collect::<Vec<_>>().join(&" ".repeat(GAP));
            format!("{}\n", line.trim_end())
        });
        lines.collect::<String>()
    });
    blocks.collect::<Vec<_>>().join("\n")
}

/// How many of the first columns, within `most` characters, tell the rows apart; 1 if none do.
fn keys(rows: &[Vec<String>], widths: &[usize], most: usize) -> usize {
    let ends = widths.iter().scan(0, |end, width| {
        *end += width + GAP;
        Some(*end)
    });
    let fitting = ends.take_while(|end| *end <= most).count();
    let tells = |count: &usize| {
        let keys = rows.iter().map(|row| &row[..row.len().min(*count)]);
        keys.collect::<BTreeSet<_>>().len() == rows.len()
    };
    (1..=fitting).find(tells).unwrap_or(1)
}

/// The columns of each block: the keys, and at least one other if there are any.
fn blocks(widths: &[usize], keys: usize, most: usize) -> Vec<Vec<usize>> {
    let of_keys: usize = widths.iter().take(keys).map(|width| width + GAP).sum();
    let mut blocks: Vec<Vec<usize>> = Vec::new();
    let mut taken = 0;
    for (column, width) in widths.iter().enumerate().skip(keys) {
        match blocks.last_mut() {
            Some(block) if taken + GAP + width <= most => {
                block.push(column);
                taken += GAP + width;
            }
            _ => {
                blocks.push((0..keys).chain([column]).collect());
                taken = of_keys + width;
            }
        }
    }
    if blocks.is_empty() {
        blocks.push((0..widths.len()).collect());
    }
    blocks
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Column;

    #[test]
    fn columns_are_aligned() {
        let rows = [["model", "size"], ["a", "1"]].map(|row| row.map(String::from).to_vec());
        assert_eq!(aligned(&rows, usize::MAX), "model  size\na      1\n");
        assert_eq!(aligned(&[], 80), "");
    }

    #[test]
    fn a_table_that_is_too_wide_is_folded() {
        let rows = [
            ["model", "size", "right", "time"],
            ["small", "1", "0.250", "7 ms"],
        ];
        let rows = rows.map(|row| row.map(String::from).to_vec());
        let whole = "model  size  right  time\nsmall  1     0.250  7 ms\n";
        assert_eq!(aligned(&rows, 24), whole);
        let folded = "model  size  right\nsmall  1     0.250\n\nmodel  time\nsmall  7 ms\n";
        assert_eq!(aligned(&rows, 23), folded);
        // Each block has another column, however narrow the terminal is.
        assert_eq!(aligned(&rows, 1).lines().count(), 3 * 2 + 2);
    }

    #[test]
    fn each_block_tells_the_rows_apart() {
        let rows = [
            ["method", "ratio", "right", "contains an answer"],
            ["random", "0", "0.5", "0.5"],
            ["random", "0.5", "0.4", "0.4"],
        ];
        let rows = rows.map(|row| row.map(String::from).to_vec());
        let folded = "method  ratio  right\nrandom  0      0.5\nrandom  0.5    0.4\n\n\
            method  ratio  contains an answer\nrandom  0      0.5\nrandom  0.5    0.4\n";
        assert_eq!(aligned(&rows, 36), folded);
        // The keys take at most half of the room.
        assert!(aligned(&rows, 26).contains("\n\nmethod  contains an answer\n"));
        assert_eq!(aligned(&[vec!["alone".to_owned()]], 3), "alone\n");
    }

    #[test]
    fn parts_are_apart_and_columns_that_say_nothing_left_out() {
        let column = |name: &str| Column::plain(name, name);
        let table = Table {
            name: "t".to_owned(),
            columns: vec![column("name"), column("k"), column("n")],
            rows: vec![
                vec!["a\u{1b}".into(), None::<f64>.into(), "".into()],
                vec!["b".into(), None::<f64>.into(), 2_usize.into()],
            ],
        };
        let sections = [
            Section::Text("said".to_owned()),
            Section::Heading("Figures alone".to_owned()),
            Section::Note("explained".to_owned()),
            Section::Heading("Part".to_owned()),
            table.into(),
            Section::Note("explained".to_owned()),
            Section::Terms(vec![("name".to_owned(), "value".to_owned())]),
        ];
        let text =
            Report::new("title", sections).text(|text| text.replace('\u{1b}', "?"), usize::MAX);
        assert_eq!(text, "said\n\nPart\nname  n\na?\nb     2\nname  value\n");
    }
}
