//! The invariants between crates, read from the manifests: which may not depend on which. Dependencies for tests are
//! free.

use std::collections::{BTreeMap, BTreeSet};

use super::{Finding, Tree};

/// What a crate must not depend on, directly or through others.
enum Forbidden {
    AllBut(&'static [&'static str]),
    These(&'static [&'static str]),
}

/// The crates below every error.
const DIAGNOSTIC: &[&str] = &["diagnostic", "diagnostic-derive"];

const RULES: &[(&str, Forbidden)] = &[
    ("diagnostic", Forbidden::AllBut(&["diagnostic-derive"])),
    ("report", Forbidden::AllBut(&[])),
    ("storage", Forbidden::AllBut(DIAGNOSTIC)),
    ("http", Forbidden::AllBut(DIAGNOSTIC)),
    (
        "hub",
        Forbidden::AllBut(&["diagnostic", "diagnostic-derive", "storage", "http"]),
    ),
    ("language", Forbidden::AllBut(DIAGNOSTIC)),
    ("model", Forbidden::These(&["hub"])),
    ("probe", Forbidden::These(&["model"])),
    (
        "corpus",
        Forbidden::AllBut(&["diagnostic", "diagnostic-derive", "storage"]),
    ),
    (
        "documents",
        Forbidden::AllBut(&["diagnostic", "diagnostic-derive", "corpus", "storage"]),
    ),
    (
        "index",
        Forbidden::These(&["model", "milvus", "search-service"]),
    ),
    ("milvus", Forbidden::These(&["model"])),
    ("search-service", Forbidden::These(&["model"])),
    ("policy", Forbidden::These(&["model"])),
    ("ingest", Forbidden::These(&["model", "policy", "answer"])),
    (
        "answer",
        Forbidden::These(&["documents", "model", "setup", "train"]),
    ),
    ("eval", Forbidden::These(&["documents", "setup", "train"])),
    ("lab", Forbidden::These(&["documents", "setup"])),
    ("scale", Forbidden::These(&["documents", "setup", "train"])),
    (
        "setup",
        Forbidden::These(&["documents", "ingest", "eval", "lab", "scale", "train"]),
    ),
    ("world", Forbidden::These(&["documents", "setup"])),
    (
        "server",
        Forbidden::These(&[
            "documents",
            "ingest",
            "eval",
            "lab",
            "scale",
            "train",
            "world",
        ]),
    ),
];

/// The command line, whose name is not matched as a prefix: those of all our crates begin with it.
const COMMAND_LINE: (&str, &[&str]) = ("ken", &["python"]);

/// Libraries that only some crates may depend on, crates of our own among them, by the prefix of their names.
const LIBRARIES: &[(&str, &[&str])] = &[
    ("ken-testing", &[]),
    ("ken-documents", &["ingest", "ken", "python"]),
    ("ken-world", &["ken"]),
    ("lopdf", &["documents"]),
    ("hayro", &["documents"]),
    ("unicode-bidi", &["documents"]),
    ("html5gum", &["documents"]),
    ("chardetng", &["documents"]),
    ("dom_smoothie", &["documents"]),
    ("encoding_rs", &["documents"]),
    ("pulldown-cmark", &["documents"]),
    ("quick-xml", &["documents"]),
    ("mail-parser", &["documents"]),
    ("encoding_rs", &["documents"]),
    ("parquet", &["documents", "lab"]),
    ("candle", &["model", "train"]),
    ("indicatif", &["ken"]),
    ("pyo3", &["python"]),
    ("anyhow", &["xtask"]),
    ("clap", &["ken"]),
    ("milvus-sdk", &["milvus"]),
    ("postgres", &["search-service"]),
    ("tokio", &["milvus", "search-service", "server"]),
    ("axum", &["server"]),
    ("hyper", &["server"]),
    ("opentelemetry", &["server"]),
    ("ken-server", &["ken"]),
];

/// Every crate keeps to its invariants.
pub(super) fn crates_keep_apart(tree: &Tree) -> Vec<Finding> {
    let direct: BTreeMap<&str, BTreeSet<String>> = tree
        .crates()
        .into_iter()
        .filter_map(|name| {
            let manifest = tree.text(&format!("crates/{name}/Cargo.toml"))?;
            Some((name, dependencies(manifest)))
        })
        .collect();
    let mut findings = Vec::new();
    for (name, libraries) in &direct {
        let path = format!("crates/{name}/Cargo.toml");
        for library in libraries {
            let starting = LIBRARIES
                .iter()
                .filter(|(start, _)| library.starts_with(start));
            let whole = Some(&COMMAND_LINE).filter(|(name, _)| library == name);
            for (_, allowed) in starting.chain(whole) {
                if !allowed.contains(name) {
                    let message = match allowed.join(" and ").as_str() {
                        "" => format!("depends on {library}, which is for tests only"),
                        allowed => format!("depends on {library}, which only {allowed} may"),
                    };
                    findings.push(Finding::of_file(&path, message));
                }
            }
        }
        let reached = crates_reached(&direct, name);
        for (_, forbidden) in RULES.iter().filter(|(of, _)| of == name) {
            for other in &reached {
                let broken = match forbidden {
                    Forbidden::AllBut(crates) => !crates.contains(other),
                    Forbidden::These(crates) => crates.contains(other),
                };
                if broken {
                    let message = format!("reaches the crate `{other}`, which it must not");
                    findings.push(Finding::of_file(&path, message));
                }
            }
        }
    }
    findings
}

/// All crates that a crate depends on, directly or through others.
fn crates_reached<'tree>(
    direct: &BTreeMap<&'tree str, BTreeSet<String>>,
    name: &str,
) -> BTreeSet<&'tree str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![name];
    while let Some(next) = open.pop() {
        for dependency in direct.get(next).into_iter().flatten() {
            let name = dependency.strip_prefix("ken-").unwrap_or_default();
            if let Some((&known, _)) = direct.get_key_value(name)
                && reached.insert(known)
            {
                open.push(known);
            }
        }
    }
    reached
}

/// The names under a manifest's `[dependencies]` and `[build-dependencies]`, for all targets.
fn dependencies(manifest: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut inside = false;
    for line in manifest.lines().map(str::trim) {
        if let Some(section) = line.strip_prefix('[') {
            let section = section.trim_end_matches(']');
            let (table, name) = match section.rsplit_once("dependencies.") {
                Some((before, name)) => (format!("{before}dependencies"), Some(name)),
                None => (section.to_owned(), None),
            };
            let counts = table.ends_with("dependencies") && !table.ends_with("dev-dependencies");
            inside = counts && name.is_none();
            names.extend(name.filter(|_| counts).map(str::to_owned));
        } else if inside && !line.starts_with('#') {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            if !name.is_empty() {
                names.insert(name.trim_matches('"').to_owned());
            }
        }
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;

    const MODEL: (&str, &str) = ("crates/model/Cargo.toml", "");

    fn check(files: &[(&str, &str)]) -> Vec<String> {
        let findings = crates_keep_apart(&Tree::of(files));
        findings.iter().map(Finding::to_string).collect()
    }

    #[test]
    fn all_spellings_of_a_dependency_are_read() {
        let manifest = "[dependencies]\na = \"1\"\nb.workspace = true\n# c = 1\n\
             [dependencies.d]\nversion = \"1\"\n[dev-dependencies]\ne = \"1\"\n\
             [dev-dependencies.f]\n[target.'cfg(unix)'.dependencies]\ng = \"1\"\n\
             [build-dependencies]\nh = \"1\"\n[lints]\nworkspace = true\n";
        let found: Vec<String> = dependencies(manifest).into_iter().collect();
        assert_eq!(found, ["a", "b", "d", "g", "h"]);
    }

    #[test]
    fn a_direct_breach_is_found() {
        let index = (
            "crates/index/Cargo.toml",
            "[dependencies]\nken-model = { workspace = true }\n",
        );
        let found = check(&[MODEL, index]);
        assert_eq!(
            found,
            ["crates/index/Cargo.toml: reaches the crate `model`, which it must not"]
        );
    }

    #[test]
    fn a_breach_through_another_crate_is_found() {
        let study = (
            "crates/eval/Cargo.toml",
            "[dependencies]\nken-model = { workspace = true }\n",
        );
        let policy = (
            "crates/policy/Cargo.toml",
            "[dependencies]\nken-eval = { workspace = true }\n",
        );
        assert_eq!(check(&[MODEL, study]).len(), 0);
        assert_eq!(check(&[MODEL, study, policy]).len(), 1);
    }

    #[test]
    fn corpus_may_reach_no_other_crate_but_its_tests_may() {
        let with = |section: &str| format!("[{section}]\nken-model = {{ workspace = true }}\n");
        let path = "crates/corpus/Cargo.toml";
        assert_eq!(check(&[MODEL, (path, &with("dependencies"))]).len(), 1);
        assert_eq!(check(&[MODEL, (path, &with("dev-dependencies"))]).len(), 0);
    }

    #[test]
    fn readers_of_documents_are_kept_from_what_opens_a_corpus() {
        let documents = ("crates/documents/Cargo.toml", "");
        let ingest = (
            "crates/ingest/Cargo.toml",
            "[dependencies]\nken-documents = { workspace = true }\n",
        );
        assert_eq!(check(&[documents, ingest]).len(), 0);
        let index = ("crates/index/Cargo.toml", ingest.1);
        assert_eq!(check(&[documents, index]).len(), 1);
        let study = (
            "crates/eval/Cargo.toml",
            "[dependencies]\nken-ingest = { workspace = true }\n",
        );
        assert_eq!(check(&[documents, ingest, study]).len(), 1);
    }

    #[test]
    fn setup_is_kept_from_the_command_line_and_from_training() {
        let setup = |library: &str| format!("[dependencies]\n{library} = {{ workspace = true }}\n");
        let train = ("crates/train/Cargo.toml", "");
        let path = "crates/setup/Cargo.toml";
        for library in ["clap", "indicatif", "ken-train"] {
            assert_eq!(
                check(&[train, (path, &setup(library))]).len(),
                1,
                "{library}"
            );
        }
        assert_eq!(check(&[train, (path, &setup("toml"))]).len(), 0);
        let study = (
            "crates/eval/Cargo.toml",
            "[dependencies]\nken-setup.workspace = true\n",
        );
        assert_eq!(check(&[(path, ""), study]).len(), 1);
    }

    #[test]
    fn a_library_in_the_wrong_crate_is_found() {
        let manifest = "[dependencies]\ncandle-core = { workspace = true }\n";
        assert_eq!(check(&[("crates/model/Cargo.toml", manifest)]).len(), 0);
        assert_eq!(check(&[("crates/probe/Cargo.toml", manifest)]).len(), 1);
    }

    #[test]
    fn python_is_known_to_its_package_only() {
        let manifest = "[dependencies]\npyo3 = { workspace = true }\n";
        assert_eq!(check(&[("crates/python/Cargo.toml", manifest)]).len(), 0);
        assert_eq!(
            check(&[("crates/ken/Cargo.toml", manifest)]),
            ["crates/ken/Cargo.toml: depends on pyo3, which only python may"]
        );
        let manifest = "[dependencies]\nken = { workspace = true }\n";
        assert_eq!(check(&[("crates/python/Cargo.toml", manifest)]).len(), 0);
        assert_eq!(check(&[("crates/server/Cargo.toml", manifest)]).len(), 1);
    }

    #[test]
    fn models_for_tests_are_kept_out_of_programs() {
        let manifest = |section| format!("[{section}]\nken-testing = {{ workspace = true }}\n");
        let path = "crates/ken/Cargo.toml";
        assert_eq!(check(&[(path, &manifest("dev-dependencies"))]).len(), 0);
        assert_eq!(
            check(&[(path, &manifest("dependencies"))]),
            ["crates/ken/Cargo.toml: depends on ken-testing, which is for tests only"]
        );
    }
}
