//! Environments: verbatim text and formulas are copied, drawings left out, tables written by rows.

use super::Writer;
use super::argument::{after_argument, after_arguments, after_options, argument, label};
use super::remark::VERBATIM;
use crate::error::ReadError;
use crate::table::{self, Row};

/// The environments that show no text, or draw it.
const LEFT_OUT: [&str; 6] = [
    "comment",
    "filecontents",
    "filecontents*",
    "tikzpicture",
    "pgfpicture",
    "picture",
];

/// The environments of formulas, without a star.
const FORMULAS: [&str; 9] = [
    "equation",
    "align",
    "alignat",
    "flalign",
    "gather",
    "multline",
    "eqnarray",
    "displaymath",
    "math",
];

/// The environments of tables, and how many arguments they have.
const TABLES: [(&str, usize); 8] = [
    ("tabular", 1),
    ("tabular*", 2),
    ("tabularx", 2),
    ("tabulary", 2),
    ("longtable", 1),
    ("supertabular", 1),
    ("array", 1),
    ("tblr", 1),
];

/// Other environments with arguments that are not shown, and how many these are.
const ARGUMENTS: [(&str, usize); 13] = [
    ("thebibliography", 1),
    ("minipage", 1),
    ("multicols", 1),
    ("column", 1),
    ("adjustbox", 1),
    ("subfigure", 1),
    ("subtable", 1),
    ("spacing", 1),
    ("otherlanguage", 1),
    ("otherlanguage*", 1),
    ("wrapfigure", 2),
    ("wraptable", 2),
    ("list", 2),
];

/// The environments that begin with a name, which their options complete.
const NAMED: [(&str, &str); 16] = [
    ("theorem", "Theorem"),
    ("lemma", "Lemma"),
    ("proposition", "Proposition"),
    ("corollary", "Corollary"),
    ("definition", "Definition"),
    ("remark", "Remark"),
    ("example", "Example"),
    ("proof", "Proof"),
    ("claim", "Claim"),
    ("conjecture", "Conjecture"),
    ("problem", "Problem"),
    ("exercise", "Exercise"),
    ("thm", "Theorem"),
    ("lem", "Lemma"),
    ("prop", "Proposition"),
    ("defn", "Definition"),
];

/// The lists, of which one has numbers, and how deep they are counted.
const ENUMERATION: &str = "enumerate";
const LISTS: [&str; 3] = [ENUMERATION, "itemize", "description"];
const DEEPEST_LIST: usize = 64;

/// The level of the heading of a slide, and of the list of references.
pub(super) const SLIDE_LEVEL: usize = 4;
const REFERENCES_LEVEL: usize = 2;

/// A table so far.
#[derive(Default)]
pub(super) struct Grid {
    rows: Vec<Row>,
    row: Row,
    column: usize,
    /// The columns of the open cell.
    span: usize,
    /// How many tables are open in its cells.
    inner: usize,
    /// Where the rows that are repeated on each page begin.
    head: usize,
    cells: u64,
}

impl Writer<'_> {
    /// Begins the environment whose name `text` begins with. Returns the rest after its arguments, or after the environment
    /// if it is copied or left out.
    pub(super) fn begin<'t>(&mut self, text: &'t str) -> Result<&'t str, ReadError> {
        let Some((name, rest)) = argument(text) else {
            return Ok(text);
        };
        if let Some(rest) = self.copy(name, rest)? {
            return Ok(rest);
        }
        if let Some((_, count)) = TABLES.iter().find(|(table, _)| *table == name) {
            self.begin_table()?;
            return Ok(after_arguments(rest, *count));
        }
        match name {
            "frame" => {
                let rest = after_options(rest);
                if let Some((title, rest)) = argument(rest) {
                    self.heading(SLIDE_LEVEL, title)?;
                    return Ok(rest);
                }
            }
            "thebibliography" => self.heading(REFERENCES_LEVEL, "References")?,
            _ => self.begin_list(name, rest),
        }
        self.out.push('\n');
        let plain = name.trim_end_matches('*');
        if let Some((_, shown)) = NAMED.iter().find(|(named, _)| *named == plain) {
            let (words, rest) = label(rest).unwrap_or(("", rest));
            let words = self.words(words)?;
            let title = match words.trim() {
                "" => (*shown).to_owned(),
                words if words.starts_with(shown) => words.to_owned(),
                words => format!("{shown} ({words})"),
            };
            self.out.push_str(&format!("{title}. "));
            return Ok(rest.trim_start());
        }
        let count = ARGUMENTS.iter().find(|(other, _)| *other == name);
        Ok(after_options(after_arguments(
            rest,
            count.map_or(0, |(_, count)| *count),
        )))
    }

    /// Ends an environment.
    pub(super) fn end<'t>(&mut self, text: &'t str) -> Result<&'t str, ReadError> {
        let Some((name, rest)) = argument(text) else {
            return Ok(text);
        };
        if self.arguments == 0
            && TABLES.iter().any(|(table, _)| *table == name)
            && let Some(grid) = &mut self.table
        {
            match grid.inner {
                0 => self.end_table()?,
                _ => grid.inner -= 1,
            }
        } else {
            if LISTS.contains(&name) {
                self.lists.pop();
            }
            self.out.push('\n');
        }
        Ok(rest)
    }

    /// Begins a list, if the environment is one. Its options may tell the number of its first item.
    fn begin_list(&mut self, name: &str, rest: &str) {
        if !LISTS.contains(&name) || self.lists.len() >= DEEPEST_LIST {
            return;
        }
        let options = label(rest).map_or("", |(options, _)| options);
        let first = options.split(',').find_map(|option| {
            let value = option.trim().strip_prefix("start")?.trim_start();
            value.strip_prefix('=')?.trim().parse::<u64>().ok()
        });
        let before = first.unwrap_or(1).saturating_sub(1);
        self.lists.push((name == ENUMERATION).then_some(before));
    }

    /// Copies an environment that is not TeX, or a formula. Returns the rest after it; `None` if it is of another kind, or
    /// does not end.
    fn copy<'t>(&mut self, name: &str, rest: &'t str) -> Result<Option<&'t str>, ReadError> {
        let is_formula = FORMULAS.contains(&name.trim_end_matches('*'));
        if !(is_formula || LEFT_OUT.contains(&name) || VERBATIM.contains(&name)) {
            return Ok(None);
        }
        let Some((inside, rest)) = self.until(rest, &format!("\\end{{{name}}}")) else {
            return Ok(None);
        };
        if LEFT_OUT.contains(&name) {
            return Ok(Some(rest));
        }
        if is_formula {
            self.display(match name.starts_with("alignat") {
                true => after_argument(inside),
                false => inside,
            });
            return Ok(Some(rest));
        }
        let code = after_argument(after_options(inside)).trim_matches('\n');
        if self.arguments == 0 && self.table.is_none() {
            self.flush()?;
            self.prose.paragraph(code)?;
        } else {
            self.out.push_str(&format!("\n{code}\n"));
        }
        Ok(Some(rest))
    }

    fn begin_table(&mut self) -> Result<(), ReadError> {
        match &mut self.table {
            _ if self.arguments > 0 => self.out.push('\n'),
            Some(grid) => {
                grid.inner += 1;
                self.out.push(' ');
            }
            None => {
                self.flush()?;
                self.table = Some(Grid::default());
            }
        }
        Ok(())
    }

    /// Writes the table that is open.
    pub(super) fn end_table(&mut self) -> Result<(), ReadError> {
        self.end_row()?;
        match self.table.take() {
            Some(grid) => table::write(&grid.rows, &mut self.prose),
            None => Ok(()),
        }
    }

    /// The table whose cells the text is in, if it is in any and not in an argument or a table within a cell.
    fn grid(&mut self) -> Option<&mut Grid> {
        let is_nested = self.arguments > 0;
        self.table
            .as_mut()
            .filter(|grid| !is_nested && grid.inner == 0)
    }

    /// Ends a cell at an ampersand.
    pub(super) fn end_cell(&mut self) -> Result<(), ReadError> {
        let is_in_table = self.table.is_some();
        let most = self.watch.budget.parts();
        let text = std::mem::take(&mut self.out);
        let Some(grid) = self.grid() else {
            self.out = text;
            self.out.push(if is_in_table { ' ' } else { '&' });
            return Ok(());
        };
        grid.row.push((grid.column, text));
        grid.column += std::mem::take(&mut grid.span).max(1);
        grid.cells += 1;
        match grid.cells > most {
            true => Err(self.watch.too_many(self.place.clone(), "cells")),
            false => Ok(()),
        }
    }

    /// Ends a row, or a line outside of tables.
    pub(super) fn end_row(&mut self) -> Result<(), ReadError> {
        if self.grid().is_none() {
            let mark = if self.table.is_some() { ' ' } else { '\n' };
            self.out.push(mark);
            return Ok(());
        }
        self.end_cell()?;
        if let Some(grid) = self.grid() {
            grid.column = 0;
            let row = std::mem::take(&mut grid.row);
            if row.iter().any(|(_, cell)| !cell.trim().is_empty()) {
                grid.rows.push(row);
            }
        }
        Ok(())
    }

    /// Notes that the open cell has several columns.
    pub(super) fn span(&mut self, columns: &str) {
        if let Some(grid) = self.grid() {
            let columns = columns.trim().parse::<usize>();
            grid.span = columns.unwrap_or(1).min(super::MOST_COLUMNS);
        }
    }

    /// Drops the rows that a long table repeats on each page but the first.
    pub(super) fn end_repeated_rows(&mut self, name: &str) {
        let Some(grid) = self.grid() else { return };
        if grid.head > 0 {
            grid.rows.truncate(grid.head);
        }
        if matches!(name, "endfirsthead" | "endhead") {
            grid.head = grid.rows.len();
        }
    }
}
