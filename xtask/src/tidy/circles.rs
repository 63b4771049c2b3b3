//! Circles between the files of a crate: files none of which can be read, or moved, without the
//! others. It follows paths through `use`, re-exports and module names to the file that defines
//! the item. A module may use what the module around it defines, re-exporting an item does not
//! count as using it, and tests are left out. It knows no types, so a method of another file's
//! type is not seen.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::Module;
use super::{Finding, Tree};

/// The circles that are left: a crate, and the files below its `src`. No file may be added, and one
/// that is in no circle anymore has to be removed.
const KNOWN: &[(&str, &str)] = &[
    (
        "crates/model",
        "decoder/adapter.rs decoder/checkpoint.rs decoder/origin.rs decoder/replacement.rs \
         decoder/source_tokens.rs decoder/weights.rs decoder/written.rs",
    ),
    ("crates/model", "decoder/config.rs decoder/gguf.rs"),
    ("crates/model", "decoder/error.rs decoder/options.rs"),
    ("crates/model", "language/mod.rs language/error.rs table.rs"),
];

/// How many re-exports are followed from one to the next.
const MOST_STEPS: usize = 16;

/// No files of a crate depend on one another in a circle, but for the known ones.
pub(super) fn no_circles(tree: &Tree) -> Vec<Finding> {
    unexpected(tree, KNOWN)
}

fn unexpected(tree: &Tree, known: &[(&str, &str)]) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for file in tree.ending(".rs") {
        if let Some((folder, name)) = file.path.split_once("/src/") {
            crates.entry(folder).or_default().push((name, &file.text));
        }
    }
    let mut findings = Vec::new();
    let mut left: Vec<(&str, &str)> = known
        .iter()
        .flat_map(|&(folder, files)| files.split(' ').map(move |file| (folder, file)))
        .collect();
    for (folder, files) in crates {
        let modules = Modules::of(&files);
        for circle in modules.circles() {
            left.retain(|&(of, file)| of != folder || !circle.contains_key(file));
            let is_known = known.iter().any(|&(of, files)| {
                of == folder
                    && circle
                        .keys()
                        .all(|file| files.split(' ').any(|known| known == *file))
            });
            if let Some(first) = circle.keys().next().filter(|_| !is_known) {
                let uses = circle
                    .iter()
                    .map(|(file, used)| format!("{file} uses {}", used.join(", ")));
                let uses: Vec<String> = uses.collect();
                let message = format!("is in a circle of files: {}", uses.join("; "));
                findings.push(Finding::of_file(&format!("{folder}/src/{first}"), message));
            }
        }
    }
    findings.extend(left.into_iter().map(|(folder, file)| {
        let message = "is in no circle of files anymore: remove it from the known ones";
        Finding::of_file(&format!("{folder}/src/{file}"), message)
    }));
    findings
}

/// The modules of a crate that are files, by their paths: `store::segment`; the root is empty.
struct Modules(BTreeMap<String, Module>);

/// What a path leads to.
enum Target<'a> {
    Module(&'a str),
    /// Something that this module defines.
    Item(&'a str),
}

impl Modules {
    fn of(files: &[(&str, &str)]) -> Self {
        let has_library = files.iter().any(|&(file, _)| file == "lib.rs");
        let mut modules: BTreeMap<String, Module> = files
            .iter()
            .filter(|&&(file, _)| !(has_library && file == "main.rs"))
            .map(|&(file, text)| (module_path(file), Module::of(file, text)))
            .collect();
        let for_tests: Vec<String> = modules
            .iter()
            .flat_map(|(path, module)| module.tests.iter().map(|name| below(path, name)))
            .collect();
        let is_test = |path: &str| {
            let mut of = for_tests.iter();
            of.any(|test| path == test || path.starts_with(&format!("{test}::")))
        };
        modules.retain(|path, _| !is_test(path));
        Self(modules)
    }

    /// The circles: each file, and which files of the circle it uses.
    fn circles(&self) -> Vec<BTreeMap<&str, Vec<&str>>> {
        let modules = self.0.keys().map(String::as_str);
        let uses: BTreeMap<&str, BTreeSet<&str>> = modules
            .map(|module| (module, self.used_by(module)))
            .collect();
        let reached: BTreeMap<&str, BTreeSet<&str>> = uses
            .keys()
            .map(|&module| (module, reached(&uses, module)))
            .collect();
        let file = |module: &str| self.0[module].file.as_str();
        let mut circles = Vec::new();
        for (&module, others) in &reached {
            let circle: BTreeSet<&str> = others
                .iter()
                .copied()
                .filter(|&other| reached[other].contains(module))
                .collect();
            // Each circle is met once for each of its files.
            if circle.first() == Some(&module) {
                let used = |from| {
                    uses[from]
                        .intersection(&circle)
                        .map(|&used| file(used))
                        .collect()
                };
                circles.push(
                    circle
                        .iter()
                        .map(|&from| (file(from), used(from)))
                        .collect(),
                );
            }
        }
        circles
    }

    /// The other modules of which this one uses something, but for those around it.
    fn used_by(&self, from: &str) -> BTreeSet<&str> {
        let module = &self.0[from];
        let is_used = |name: &str| module.paths.iter().any(|path| path[0] == name);
        let imports = module.imports.iter();
        let imports = imports.filter(|import| !import.is_public || is_used(&import.name));
        let imported =
            imports.filter_map(
                |import| match self.target(from, &import.path, MOST_STEPS)? {
                    Target::Module(module) => (import.name == "*").then_some(module),
                    Target::Item(module) => Some(module),
                },
            );
        let named = module.paths.iter().filter(|path| path.len() > 1);
        let named = named.filter_map(|path| match self.target(from, path, MOST_STEPS)? {
            Target::Module(_) => None,
            Target::Item(module) => Some(module),
        });
        let is_around = |used: &str| {
            let rest = from.strip_prefix(used);
            used.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        imported
            .chain(named)
            .filter(|used| !is_around(used))
            .collect()
    }

    /// What a path in the module `from` leads to; `None` for items of other crates.
    fn target(&self, from: &str, path: &[String], steps: usize) -> Option<Target<'_>> {
        let (first, rest) = path.split_first()?;
        let from = match first.as_str() {
            "crate" => "",
            "self" => from,
            "super" => above(from)?,
            name if self.0.contains_key(&below(from, name)) => return self.item(from, path, steps),
            name => {
                let import = self.0.get(from)?.imports.iter().find(|i| i.name == name)?;
                let path = [&import.path, rest].concat();
                return self.target(from, &path, steps.checked_sub(1)?);
            }
        };
        self.item(from, rest, steps)
    }

    /// What a path below the module `within` leads to.
    fn item(&self, within: &str, path: &[String], steps: usize) -> Option<Target<'_>> {
        let (within, module) = self.0.get_key_value(within)?;
        let Some((name, rest)) = path.split_first() else {
            return Some(Target::Module(within));
        };
        if name == "super" {
            return self.item(above(within)?, rest, steps);
        }
        let child = below(within, name);
        if self.0.contains_key(&child) {
            return self.item(&child, rest, steps);
        }
        if !module.defined.contains(name) {
            let steps = steps.checked_sub(1)?;
            if let Some(import) = module.imports.iter().find(|import| import.name == *name) {
                let path = [&import.path, rest].concat();
                return self.target(within, &path, steps);
            }
            for all in module.imports.iter().filter(|import| import.name == "*") {
                let from = self.target(within, &all.path, steps);
                if let Some(Target::Module(from)) = from
                    && let Some(Target::Item(owner)) = self.item(from, path, steps)
                    && self.0[owner].defined.contains(name)
                {
                    return Some(Target::Item(owner));
                }
            }
        }
        Some(Target::Item(within))
    }
}

/// The path of the module that a file below `src` is.
fn module_path(file: &str) -> String {
    let bare = file.trim_end_matches(".rs");
    let bare = bare.strip_suffix("/mod").unwrap_or(bare);
    match bare {
        "lib" | "main" => String::new(),
        bare => bare.replace('/', "::"),
    }
}

fn below(module: &str, name: &str) -> String {
    match module {
        "" => name.to_owned(),
        module => format!("{module}::{name}"),
    }
}

/// The module around this one; `None` for the root.
fn above(module: &str) -> Option<&str> {
    let above = module.rsplit_once("::").map_or("", |(above, _)| above);
    (!module.is_empty()).then_some(above)
}

/// All that is used by a module, directly and through others.
fn reached<'a>(uses: &BTreeMap<&'a str, BTreeSet<&'a str>>, from: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![from];
    while let Some(module) = open.pop() {
        open.extend(uses[module].iter().filter(|used| reached.insert(**used)));
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: (&str, &str) = (
        "crates/a/src/lib.rs",
        "mod b;\nmod c;\npub use c::{D, e};\n",
    );

    /// How many circles there are with these two files.
    fn found(b: &str, c: &str) -> usize {
        let files = [ROOT, ("crates/a/src/b.rs", b), ("crates/a/src/c.rs", c)];
        unexpected(&Tree::of(&files), &[]).len()
    }

    #[test]
    fn two_files_that_use_each_other_are_found() {
        for back in [
            "use crate::b::F;",
            "use super::b::{self, F};",
            "use crate::{b::F as G};",
            "fn g() { crate::b::f(); }",
            "use super::b;\nfn g(x: b::F) {}",
            "use super::b::*;",
            "pub use crate::b::F;\nfn g(x: F) {}",
        ] {
            assert_eq!(found("use crate::c::D;", back), 1, "{back}");
        }
    }

    #[test]
    fn what_is_no_use_is_none() {
        for back in [
            "",
            "use std::b::F;",
            "// use crate::b::F;",
            "use super::b;",
            "pub use crate::b::F;",
            "//! C.\n#[cfg(test)]\nmod tests {\n    use crate::b::F;\n}",
            "fn g() { b(); other::b::f(); }",
        ] {
            assert_eq!(found("use crate::c::D;", back), 0, "{back}");
        }
    }

    #[test]
    fn reexports_lead_to_what_they_name() {
        let back = "use crate::b::F;";
        assert_eq!(found("use crate::D;", back), 1);
        assert_eq!(found("fn f() { super::e(); }", back), 1);
        // What the root defines is none of the others' business.
        assert_eq!(found("use crate::X;", back), 0);
    }

    #[test]
    fn a_module_may_use_the_one_around_it() {
        let inner = |outer, inner| {
            let files = [
                ("crates/a/src/b/mod.rs", outer),
                ("crates/a/src/b/c.rs", inner),
            ];
            unexpected(&Tree::of(&[ROOT, files[0], files[1]]), &[]).len()
        };
        assert_eq!(inner("mod c;\nuse c::f;", "use super::G;"), 0);
        assert_eq!(inner("mod c;\nuse c::f;", "use crate::X;"), 0);
    }

    #[test]
    fn circles_pass_through_any_number_of_files() {
        let files = |last| {
            Tree::of(&[
                (
                    "crates/a/src/lib.rs",
                    "mod b;\nmod c;\nmod d;\nfn r() { b::f() }",
                ),
                ("crates/a/src/b/mod.rs", "mod e;\npub(crate) use e::f;"),
                (
                    "crates/a/src/b/e.rs",
                    "use crate::c::g;\npub(crate) fn f() {}",
                ),
                ("crates/a/src/c.rs", "use crate::d;\nfn g() { d::h() }"),
                ("crates/a/src/d.rs", last),
                ("crates/b/src/lib.rs", "use a::b;"),
            ])
        };
        let found = unexpected(&files("use super::b::f;"), &[]);
        assert_eq!(
            found.iter().map(Finding::to_string).collect::<Vec<_>>(),
            [
                "crates/a/src/b/e.rs: is in a circle of files: b/e.rs uses c.rs; \
              c.rs uses d.rs; d.rs uses b/e.rs"
            ]
        );
        assert_eq!(unexpected(&files("use super::b::g;"), &[]), []);
    }

    #[test]
    fn modules_of_tests_are_left_out() {
        let root = "#[cfg(test)]\nmod stub;\nmod b;\n";
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", root),
            ("crates/a/src/b.rs", "use crate::stub::S;"),
            ("crates/a/src/stub.rs", "use crate::b::F;"),
        ]);
        assert_eq!(unexpected(&tree, &[]), []);
    }

    #[test]
    fn known_circles_may_stay_and_have_to_go_from_the_list() {
        let tree = |back| {
            Tree::of(&[
                ROOT,
                ("crates/a/src/b.rs", "use crate::c::D;"),
                ("crates/a/src/c.rs", back),
            ])
        };
        let known = &[("crates/a", "b.rs c.rs")];
        assert_eq!(unexpected(&tree("use crate::b::F;"), known), []);
        assert_eq!(unexpected(&tree(""), known).len(), 2);
        assert_eq!(
            unexpected(&tree("use crate::b::F;"), &[("crates/a", "b.rs")]).len(),
            1
        );
    }
}
