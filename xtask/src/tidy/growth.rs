//! The ratchet: a crate has no more lines of code than the table in `ARCHITECTURE.md` grants it, so that
//! growth is decided in a diff. Blank lines, comments and tests are not counted.

use super::{Finding, Tree};

const MAP: &str = "ARCHITECTURE.md";

/// How far a crate may stay below its grant before the grant has to be lowered, in percent.
const SLACK_PERCENT: usize = 3;

/// Every crate keeps within its grant, and no grant stays far above its crate.
pub(super) fn crates_within_their_grants(tree: &Tree) -> Vec<Finding> {
    let Some(map) = tree.text(MAP) else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for name in tree.crates() {
        let row = map.lines().enumerate().find_map(|(index, line)| {
            let cells = line.strip_prefix(&format!("| `crates/{name}` |"))?;
            let lines = cells.trim_end_matches(" |").rsplit('|').next()?;
            Some((index, lines.trim().replace(',', "").parse::<usize>()))
        });
        let lines = code_lines(tree, name);
        let message = match row {
            Some((_, Ok(granted))) if lines > granted => {
                format!("grants crates/{name} {granted} lines of code; it has {lines}")
            }
            Some((_, Ok(granted))) if (granted - lines) * 100 > granted * SLACK_PERCENT => {
                format!("grants crates/{name} {granted} lines of code; {lines} are enough")
            }
            Some((_, Err(_))) => format!("grants crates/{name} no number; it has {lines} lines"),
            // Another rule says that every crate has a row.
            Some((_, Ok(_))) | None => continue,
        };
        let index = row.map_or(0, |(index, _)| index);
        findings.push(Finding::of_line(MAP, index, message));
    }
    findings
}

/// The lines of a crate that are neither blank, nor comment, nor test.
fn code_lines(tree: &Tree, name: &str) -> usize {
    let folder = format!("crates/{name}/");
    tree.ending(".rs")
        .filter_map(|file| Some((file.path.strip_prefix(&folder)?, &file.text)))
        .filter(|(path, _)| !is_for_tests(path))
        .map(|(_, text)| code_lines_of(text))
        .sum()
}

fn is_for_tests(path: &str) -> bool {
    ["tests", "benches", "examples"]
        .iter()
        .any(|folder| path.split('/').any(|part| part == *folder))
        || path.ends_with("/tests.rs")
}

fn code_lines_of(text: &str) -> usize {
    let mut lines = 0;
    // The indentation of the `#[cfg(test)]` whose item is being skipped.
    let mut passing: Option<usize> = None;
    let mut has_opened = false;
    for line in text.lines() {
        let code = line.trim();
        if code.is_empty() || code.starts_with("//") {
            continue;
        }
        let indentation = line.len() - line.trim_start().len();
        match passing {
            None if code.starts_with("#[cfg(test)]") || code.starts_with("#[cfg(all(test") => {
                passing = Some(indentation);
                has_opened = false;
            }
            None => lines += 1,
            // Formatted code closes an item at the indentation of its start.
            Some(start) if indentation == start => {
                let is_over = if has_opened {
                    code.starts_with('}')
                } else {
                    code.ends_with([';', '}'])
                };
                has_opened |= code.ends_with('{');
                if is_over {
                    passing = None;
                }
            }
            Some(_) => {}
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    const CODE: &str = "//! Purpose.\n\nuse std::fmt;\n\n/// Doc.\nfn one() {\n    two();\n}\n\n\
        #[cfg(test)]\nuse std::fs;\n\n#[cfg(test)]\nmod tests {\n    fn three() {\n    }\n}\n";

    #[test]
    fn code_is_neither_blank_nor_comment_nor_test() {
        assert_eq!(code_lines_of(CODE), 4);
        assert_eq!(code_lines_of("#[cfg(test)]\nmod tests;\nmod code;\n"), 1);
        assert_eq!(
            code_lines_of(
                "#[cfg(test)]\nfn seen(\n    a: u8,\n) -> u8 {\n    a\n}\nfn code() {}\n"
            ),
            1
        );
    }

    #[test]
    fn a_crate_keeps_within_its_grant() {
        let granted = |lines: &str| {
            let map = format!("| `crates/index` | search | {lines} |\n");
            let tree = Tree::of(&[
                (MAP, map.as_str()),
                ("crates/index/Cargo.toml", ""),
                ("crates/index/src/lib.rs", CODE),
                ("crates/index/tests/all.rs", CODE),
            ]);
            crates_within_their_grants(&tree).len()
        };
        assert_eq!(granted("4"), 0);
        assert_eq!(granted("3"), 1);
        assert_eq!(granted("1,000"), 1);
        assert_eq!(granted("many"), 1);
    }
}
