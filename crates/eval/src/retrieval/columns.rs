//! Columns of judgments and runs, separated by spaces, or by tabs if a line has the right number of them, and the
//! pairs that lines are about.

use std::collections::HashMap;

/// The line of each pair of a query and a document.
#[derive(Default)]
pub(super) struct PairLines(HashMap<[String; 2], usize>);

impl PairLines {
    /// Records a pair; returns its earlier line, if it has one.
    pub(super) fn note(&mut self, query: &str, document: &str, line: usize) -> Option<usize> {
        self.0.insert([query, document].map(str::to_owned), line)
    }
}

/// The columns of a line; `None` if their number is different.
pub(super) fn columns<const N: usize>(line: &str) -> Option<[&str; N]> {
    let by_tabs: Vec<&str> = line.trim().split('\t').map(str::trim).collect();
    let by_spaces = || line.split_whitespace().collect::<Vec<&str>>();
    let columns = if by_tabs.len() == N {
        by_tabs
    } else {
        by_spaces()
    };
    let columns: [&str; N] = columns.try_into().ok()?;
    columns.iter().all(|c| !c.is_empty()).then_some(columns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spaces_separate_unless_tabs_do() {
        assert_eq!(columns("q  0 d\t1\r\n"), Some(["q", "0", "d", "1"]));
        assert_eq!(columns("q\ta b.md\t1\n"), Some(["q", "a b.md", "1"]));
        assert_eq!(columns::<3>("q\t\t1\n"), None);
        assert_eq!(columns::<4>("q 0 d"), None);
    }
}
