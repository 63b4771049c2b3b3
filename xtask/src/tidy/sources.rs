//! Rules for single source files: their opening, size, name and paths. How files relate is checked
//! elsewhere.

use super::{Finding, Tree};

const LINES_AT_MOST: usize = 600;

/// Names that say nothing about the content.
const EMPTY_NAMES: &[&str] = &[
    "base", "common", "helper", "helpers", "types", "util", "utils",
];

/// The starts of folders that only one machine has, spelled in halves so that the check does not find this file.
const MACHINE_FOLDERS: &[&str] = &[
    concat!("/ho", "me/"),
    concat!("/ro", "ot/"),
    concat!("/Us", "ers/"),
    concat!("/wo", "rk/"),
    concat!("C:", "\\Users"),
];

/// Every Rust file opens with its purpose.
pub(super) fn purpose_stated(tree: &Tree) -> Vec<Finding> {
    tree.ending(".rs")
        .filter(|file| !file.text.starts_with("//! "))
        .map(|file| Finding::of_file(&file.path, "does not open with `//!` and its purpose"))
        .collect()
}

/// No file of Rust or Python is too long to be read in one sitting.
pub(super) fn small_enough(tree: &Tree) -> Vec<Finding> {
    tree.ending(".rs")
        .chain(tree.ending(".py"))
        .filter_map(|file| {
            let lines = file.text.lines().count();
            (lines > LINES_AT_MOST).then(|| {
                let message = format!("has {lines} lines; at most {LINES_AT_MOST} are allowed");
                Finding::of_file(&file.path, message)
            })
        })
        .collect()
}

/// A module with a folder of its own is `mod.rs` in it, and not a file beside it.
pub(super) fn one_module_style(tree: &Tree) -> Vec<Finding> {
    tree.ending(".rs")
        .filter(|file| tree.has(file.path.trim_end_matches(".rs")))
        .map(|file| {
            Finding::of_file(
                &file.path,
                "belongs into the folder of its name, as `mod.rs`",
            )
        })
        .collect()
}

/// No module, and no folder of modules, has a name that fits everything.
pub(super) fn telling_names(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs") {
        let bare = file.path.trim_end_matches(".rs");
        if let Some(name) = bare.split('/').find(|part| EMPTY_NAMES.contains(part)) {
            let message = format!("`{name}` names no purpose");
            findings.push(Finding::of_file(&file.path, message));
        }
        for (index, line) in file.text.lines().enumerate() {
            if let Some(name) = inline_module(line).filter(|name| EMPTY_NAMES.contains(name)) {
                let message = format!("module `{name}` names no purpose");
                findings.push(Finding::of_line(&file.path, index, message));
            }
        }
    }
    findings
}

/// The name in `mod NAME {` or `pub(crate) mod NAME;`.
fn inline_module(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let first = words.next()?;
    if first != "mod" && !(first.starts_with("pub") && words.next()? == "mod") {
        return None;
    }
    words.next().map(|name| name.trim_end_matches([';', '{']))
}

/// How files are created or renamed without being synced to disk.
const UNSYNCED: &[&str] = &["fs::rename(", "fs::write(", "File::create("];

/// Where these may stand, and why.
const MAY_BE_UNSYNCED: &[(&str, &str)] = &[
    ("crates/storage/src/", "it is what syncs them"),
    (
        "crates/index/src/dense/",
        "a stage, synced as a tree before it is published",
    ),
    ("crates/corpus/src/store/staged_segment.rs", "the same"),
    (
        "crates/corpus/src/store/writer.rs",
        "the renaming of a stage, after which the folder is synced",
    ),
    (
        "crates/hub/src/",
        "downloads, which are synced before they are renamed",
    ),
];

/// Files are written through `crates/storage`, which syncs them. Tests need not.
pub(super) fn files_are_durable(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs") {
        let path = file.path.as_str();
        let may_be = MAY_BE_UNSYNCED
            .iter()
            .any(|(part, _)| path.starts_with(part));
        let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
        if !path.starts_with("crates/") || may_be || is_test {
            continue;
        }
        for (index, line) in before_tests(&file.text).lines().enumerate() {
            if let Some(call) = UNSYNCED.iter().find(|call| calls(line, call)) {
                let message = format!("`{call}..)` does not sync to disk; use ken-storage");
                findings.push(Finding::of_line(path, index, message));
            }
        }
    }
    findings
}

/// Only the command line words its commands: elsewhere they are in comments and tests only.
pub(super) fn commands_are_worded_once(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".rs") {
        let path = file.path.as_str();
        let is_library = path.starts_with("crates/") && path.contains("/src/");
        if !is_library || path.starts_with("crates/ken/") || path.ends_with("/tests.rs") {
            continue;
        }
        for (index, line) in before_tests(&file.text).lines().enumerate() {
            if line.contains("`ken ") && !line.trim_start().starts_with("//") {
                let message = "words a command of ken; name an action of ken-diagnostic";
                findings.push(Finding::of_line(path, index, message));
            }
        }
    }
    findings
}

/// Whether a line makes this call, and not one whose name only ends like it: `AtomicFile::create(`.
fn calls(line: &str, call: &str) -> bool {
    let mut places = line.match_indices(call);
    places.any(|(at, _)| !line[..at].ends_with(char::is_alphanumeric))
}

/// A file without the tests at its end.
pub(super) fn before_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests {")
        .next()
        .unwrap_or(text)
}

/// Made-up users, for tests of paths.
const EXAMPLE_USERS: &[&str] = &["ada/", "ada\""];

/// No file names a folder that only one machine has.
pub(super) fn no_machine_paths(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in &tree.files {
        for (index, line) in file.text.lines().enumerate() {
            if let Some(folder) = MACHINE_FOLDERS.iter().find(|folder| begins(line, folder)) {
                let message = format!("names the machine's own folder `{folder}`");
                findings.push(Finding::of_line(&file.path, index, message));
            }
        }
    }
    findings
}

/// Whether a path in the line begins with the folder: `~/docs/home/` does not.
fn begins(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let rest = &line[at + folder.len()..];
        if EXAMPLE_USERS.iter().any(|user| rest.starts_with(user)) {
            return false;
        }
        before.is_none_or(|c| !c.is_alphanumeric() && !matches!(c, '}' | '_' | '-' | '.' | '~'))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(check: fn(&Tree) -> Vec<Finding>, path: &str, text: &str) -> usize {
        check(&Tree::of(&[(path, text)])).len()
    }

    #[test]
    fn a_file_without_its_purpose_is_found() {
        assert_eq!(findings(purpose_stated, "a.rs", "//! For x.\n"), 0);
        assert_eq!(findings(purpose_stated, "a.rs", "use x;\n"), 1);
        assert_eq!(findings(purpose_stated, "a.rs", "//!\n"), 1);
        assert_eq!(findings(purpose_stated, "a.md", "# x\n"), 0);
    }

    #[test]
    fn a_file_that_is_too_long_is_found() {
        assert_eq!(findings(small_enough, "a.rs", &"x\n".repeat(600)), 0);
        assert_eq!(findings(small_enough, "a.rs", &"x\n".repeat(601)), 1);
    }

    #[test]
    fn a_module_beside_its_folder_is_found() {
        let check = |module| {
            let files = [(module, ""), ("a/b/c.rs", ""), ("a/bc.rs", "")];
            one_module_style(&Tree::of(&files)).len()
        };
        assert_eq!(check("a/b.rs"), 1);
        assert_eq!(check("a/b/mod.rs"), 0);
    }

    #[test]
    fn an_empty_name_is_found() {
        assert_eq!(findings(telling_names, "src/query.rs", "mod based;"), 0);
        assert_eq!(findings(telling_names, "src/utils.rs", ""), 1);
        assert_eq!(findings(telling_names, "src/common/x.rs", ""), 1);
        assert_eq!(findings(telling_names, "a.rs", "mod helpers;"), 1);
        assert_eq!(findings(telling_names, "a.rs", "    pub mod types {"), 1);
        assert_eq!(findings(telling_names, "a.rs", "pub(crate) mod base {"), 1);
    }

    #[test]
    fn a_file_that_is_not_synced_is_found() {
        let of = |path, text| findings(files_are_durable, path, text);
        let written = "fn f() {\n    std::fs::write(path, text)\n}\n";
        assert_eq!(of("crates/ken/src/a.rs", written), 1);
        assert_eq!(of("crates/ken/src/a.rs", "let f = File::create(path)?;"), 1);
        assert_eq!(of("crates/ken/src/a.rs", "std::fs::rename(a, b)?;"), 1);
        assert_eq!(of("crates/ken/src/a.rs", "ken_storage::replace(a, b)?;"), 0);
        assert_eq!(of("crates/ken/src/a.rs", "AtomicFile::create(path)?;"), 0);
        let tested = format!("fn g() {{}}\n#[cfg(test)]\nmod tests {{\n{written}}}\n");
        assert_eq!(of("crates/ken/src/a.rs", &tested), 0);
        assert_eq!(of("crates/ken/tests/a.rs", written), 0);
        assert_eq!(of("crates/storage/src/atomic.rs", written), 0);
        assert_eq!(of("xtask/src/main.rs", written), 0);
    }

    #[test]
    fn a_command_in_a_library_is_found() {
        let of = |path, text| findings(commands_are_worded_once, path, text);
        let hint = "const HINT: &str = \"run `ken probe`\";\n";
        assert_eq!(of("crates/eval/src/a.rs", hint), 1);
        assert_eq!(
            of("crates/eval/src/a.rs", "/// Written by `ken probe`.\n"),
            0
        );
        assert_eq!(of("crates/eval/tests/a.rs", hint), 0);
        assert_eq!(of("crates/ken/src/a.rs", hint), 0);
    }

    #[test]
    fn a_machine_path_is_found() {
        let folder = MACHINE_FOLDERS[0];
        let check = |line: String| findings(no_machine_paths, "a.md", &line);
        assert_eq!(check(format!("{folder}me/x")), 1);
        assert_eq!(check(format!("open(\"{folder}me\")")), 1);
        assert_eq!(check(format!("~/my{folder}x")), 0);
        assert_eq!(check(format!("\"{folder}ada\"")), 0);
        assert_eq!(check(format!("${{ROOT}}{folder}x")), 0);
    }
}
