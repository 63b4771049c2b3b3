//! Checks that the tasks that the documents and the service's script name exist. The tests of ken's own parser check
//! its commands.

use super::{Finding, Tree};
use crate::VERBS;

const TEST_COMMAND: &str = "cargo xtask test";

/// Every `cargo xtask VERB` exists, and the README's test command is the one that the service runs.
pub(super) fn chores_exist(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    let documents = tree.files.iter();
    for file in documents.filter(|file| file.path.ends_with(".md") || file.path == ".ci/run") {
        for (index, line) in file.text.lines().enumerate() {
            for verb in chores(line) {
                let mut first_words = VERBS.iter().filter_map(|(name, _)| name.split(' ').next());
                if !first_words.any(|word| word == verb) {
                    let message = format!("names `cargo xtask {verb}`, which does not exist");
                    findings.push(Finding::of_line(&file.path, index, message));
                }
            }
        }
    }
    for path in ["README.md", ".ci/run"] {
        if !tree
            .text(path)
            .is_some_and(|text| text.contains(TEST_COMMAND))
        {
            let message = format!("does not name `{TEST_COMMAND}`");
            findings.push(Finding::of_file(path, message));
        }
    }
    findings
}

/// The first word after each `cargo xtask` in a line.
fn chores(line: &str) -> impl Iterator<Item = &str> {
    line.split("cargo xtask ").skip(1).filter_map(|rest| {
        rest.split(|c: char| !c.is_ascii_alphanumeric() && c != '-')
            .next()
            .filter(|verb| verb.starts_with(|c: char| c.is_ascii_lowercase()))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(readme: &str, script: &str) -> usize {
        chores_exist(&Tree::of(&[("README.md", readme), (".ci/run", script)])).len()
    }

    #[test]
    fn a_chore_that_is_gone_is_found() {
        assert_eq!(
            check(
                "`cargo xtask test`, `cargo xtask bench model`.",
                TEST_COMMAND
            ),
            0
        );
        assert_eq!(
            check("`cargo xtask test` `cargo xtask gone`", TEST_COMMAND),
            1
        );
    }

    #[test]
    fn a_service_that_runs_something_else_is_found() {
        assert_eq!(check("`cargo xtask test`", "cargo test"), 1);
        assert_eq!(check("nothing", TEST_COMMAND), 1);
    }
}
