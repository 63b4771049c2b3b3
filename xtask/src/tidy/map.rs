//! Checks that `ARCHITECTURE.md` is a true map, and that links between the documents lead somewhere. It does not
//! judge what the documents say.

use super::{Finding, Tree};

const MAP: &str = "ARCHITECTURE.md";

/// The places of the project's own files: an inline path that begins like this must exist.
const PLACES: &[&str] = &[
    ".cargo/",
    ".ci/",
    ".github/",
    "crates/",
    "docs/",
    "packaging/",
    "results/",
    "torture/",
    "xtask/",
];

/// Packages besides the crates.
const TOOLS: &[&str] = &["torture", "xtask"];

/// Every crate stands on the map.
pub(super) fn crates_on_map(tree: &Tree) -> Vec<Finding> {
    let Some(map) = tree.text(MAP) else {
        return vec![Finding::of_file(MAP, "does not exist")];
    };
    let named: Vec<&str> = map.lines().flat_map(inline_code).collect();
    tree.crates()
        .into_iter()
        .map(|name| format!("crates/{name}"))
        .chain(
            TOOLS
                .iter()
                .filter(|name| tree.has(name))
                .map(|name| (*name).to_owned()),
        )
        .filter(|path| !named.iter().any(|code| code.trim_end_matches('/') == path))
        .map(|path| Finding::of_file(MAP, format!("does not name `{path}`")))
        .collect()
}

/// Every path that a document names in backticks exists.
pub(super) fn named_paths_exist(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".md") {
        for (index, line) in file.text.lines().enumerate() {
            for code in inline_code(line) {
                let ours = PLACES.iter().any(|place| code.starts_with(place));
                let pattern = code.contains(['*', '<', '{', ' ']);
                if ours && !pattern && !tree.has(code.trim_end_matches('/')) {
                    let message = format!("names `{code}`, which does not exist");
                    findings.push(Finding::of_line(&file.path, index, message));
                }
            }
        }
    }
    findings
}

/// Every relative link in a document leads to a file or folder, and its anchor to a heading there.
pub(super) fn links_lead_somewhere(tree: &Tree) -> Vec<Finding> {
    let mut findings = Vec::new();
    for file in tree.ending(".md") {
        for (index, line) in file.text.lines().enumerate() {
            for target in link_targets(line) {
                let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
                let path = match path {
                    "" => Some(file.path.clone()),
                    path => resolve(&file.path, path).filter(|path| tree.has(path)),
                };
                let there = path.is_some_and(|path| {
                    let text = tree.text(&path).unwrap_or_default();
                    anchor.is_empty() || headings(text).any(|heading| heading == anchor)
                });
                if !there {
                    let message = format!("links to {target}, which does not exist");
                    findings.push(Finding::of_line(&file.path, index, message));
                }
            }
        }
    }
    findings
}

/// The anchors of a document's headings, as GitHub makes them.
fn headings(text: &str) -> impl Iterator<Item = String> {
    let headings = text.lines().filter(|line| line.starts_with('#'));
    headings.map(|line| {
        let title = line.trim_start_matches('#').trim().to_lowercase();
        let kept = title
            .chars()
            .filter(|c| c.is_alphanumeric() || " -_".contains(*c));
        kept.map(|c| if c == ' ' { '-' } else { c }).collect()
    })
}

/// What stands between single backticks in a line.
pub(crate) fn inline_code(line: &str) -> impl Iterator<Item = &str> {
    let fence = line.trim_start().starts_with("```");
    line.split('`')
        .skip(1)
        .step_by(2)
        .filter(move |code| !fence && !code.is_empty())
}

/// The relative targets of the links `[text](target)` in a line, with their anchors.
fn link_targets(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split([')', ' ']).next()?;
        (!target.is_empty() && !leads_elsewhere(target)).then_some(target)
    })
}

/// Whether a link leads out of the repository or site.
pub(crate) fn leads_elsewhere(target: &str) -> bool {
    target.contains("://") || target.starts_with("mailto:")
}

/// The target of a link in a file, relative to the root as the file is; `None` if it leaves the root.
pub(crate) fn resolve(file: &str, target: &str) -> Option<String> {
    let folder = file.rsplit_once('/').map_or("", |(folder, _)| folder);
    let mut parts: Vec<&str> = folder.split('/').filter(|part| !part.is_empty()).collect();
    for part in target.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                parts.pop()?;
            }
            name => parts.push(name),
        }
    }
    Some(parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_is_not_on_the_map_is_found() {
        let tree = |map| {
            Tree::of(&[
                (MAP, map),
                ("crates/index/Cargo.toml", ""),
                ("torture/Cargo.toml", ""),
                ("xtask/Cargo.toml", ""),
            ])
        };
        assert_eq!(
            crates_on_map(&tree("`crates/index/` `torture` `xtask`")),
            []
        );
        assert_eq!(crates_on_map(&tree("`crates/index`")).len(), 2);
        assert_eq!(
            crates_on_map(&tree("crates/index `torture` `xtask`")).len(),
            1
        );
    }

    #[test]
    fn a_missing_map_is_found() {
        assert_eq!(crates_on_map(&Tree::default()).len(), 1);
    }

    #[test]
    fn a_named_path_that_is_gone_is_found() {
        let tree = |text| Tree::of(&[(MAP, text), ("crates/index/src/lib.rs", "")]);
        let there = "`crates/index`, `crates/*`, `crates/index/src/lib.rs`, `a/b`";
        assert_eq!(named_paths_exist(&tree(there)), []);
        assert_eq!(named_paths_exist(&tree("\n`crates/gone`"))[0].line, Some(2));
    }

    #[test]
    fn a_dead_link_is_found() {
        let tree = |text| Tree::of(&[("docs/a/b.md", text), ("docs/c.md", "## A `part`, and -")]);
        let alive = "# Top\n[c](../c.md#a-part-and--) [web](https://x.org/y) [here](#top) [d](..)";
        assert_eq!(links_lead_somewhere(&tree(alive)), []);
        assert_eq!(links_lead_somewhere(&tree("[c](../c.md#part)")).len(), 1);
        assert_eq!(links_lead_somewhere(&tree("[here](#top)")).len(), 1);
        assert_eq!(links_lead_somewhere(&tree("[c](c.md)")).len(), 1);
        assert_eq!(links_lead_somewhere(&tree("[c](../../../c.md)")).len(), 1);
    }
}
