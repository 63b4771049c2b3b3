//! Circles between the files of a crate: files none of which can be read, or moved, without the others. It follows
//! paths through `use`, re-exports and module names to the file that defines the item. A module may use what its
//! parent defines, re-exporting an item does not count as using it, and tests are left out. It knows no types, so it
//! misses methods of another file's type.

use std::collections::{BTreeMap, BTreeSet};

use super::imports::Module;
use super::{Finding, Tree};

/// How many re-exports are followed from one to the next.
const MOST_STEPS: usize = 16;

/// No files of a crate depend on one another in a circle.
pub(super) fn no_circles(tree: &Tree) -> Vec<Finding> {
    let mut crates: BTreeMap<&str, Vec<(&str, &str)>> = BTreeMap::new();
    for file in tree.ending(".rs") {
        if let Some((folder, name)) = file.path.split_once("/src/") {
            crates.entry(folder).or_default().push((name, &file.text));
        }
    }
    let mut findings = Vec::new();
    for (folder, files) in crates {
        for circle in Modules::of(&files).circles() {
            if let Some(first) = circle.keys().next() {
                let uses = circle
                    .iter()
                    .map(|(file, used)| format!("{file} uses {}", used.join(", ")));
                let uses: Vec<String> = uses.collect();
                let message = format!("is in a circle of files: {}", uses.join("; "));
                findings.push(Finding::of_file(&format!("{folder}/src/{first}"), message));
            }
        }
    }
    findings
}

/// The modules of a crate that are files, by their paths: `store::segment`; the root is empty.
struct Modules(BTreeMap<String, Module>);

/// The target of a path.
enum Target<'a> {
    Module(&'a str),
    /// An item that this module defines.
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
            // Each circle appears once for each of its files.
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

    /// The other modules from which this one uses something, except its parents.
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

    /// The target of a path in the module `from`; `None` for other crates.
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

    /// The target of a path that begins below the module `within`.
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

/// The module path of a file below `src`.
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

/// The parent of a module; `None` for the root.
fn above(module: &str) -> Option<&str> {
    let above = module.rsplit_once("::").map_or("", |(above, _)| above);
    (!module.is_empty()).then_some(above)
}

/// Everything that a module uses, directly or through others.
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

    /// The number of circles with these two files.
    fn circle_count(b: &str, c: &str) -> usize {
        let files = [ROOT, ("crates/a/src/b.rs", b), ("crates/a/src/c.rs", c)];
        no_circles(&Tree::of(&files)).len()
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
            assert_eq!(circle_count("use crate::c::D;", back), 1, "{back}");
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
            assert_eq!(circle_count("use crate::c::D;", back), 0, "{back}");
        }
    }

    #[test]
    fn reexports_lead_to_what_they_name() {
        let back = "use crate::b::F;";
        assert_eq!(circle_count("use crate::D;", back), 1);
        assert_eq!(circle_count("fn f() { super::e(); }", back), 1);
        // Modules may use what the root defines.
        assert_eq!(circle_count("use crate::X;", back), 0);
    }

    #[test]
    fn a_module_may_use_the_one_around_it() {
        let inner = |outer, inner| {
            let files = [
                ("crates/a/src/b/mod.rs", outer),
                ("crates/a/src/b/c.rs", inner),
            ];
            no_circles(&Tree::of(&[ROOT, files[0], files[1]])).len()
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
        let found = no_circles(&files("use super::b::f;"));
        assert_eq!(
            found.iter().map(Finding::to_string).collect::<Vec<_>>(),
            [
                "crates/a/src/b/e.rs: is in a circle of files: b/e.rs uses c.rs; \
              c.rs uses d.rs; d.rs uses b/e.rs"
            ]
        );
        assert_eq!(no_circles(&files("use super::b::g;")), []);
    }

    #[test]
    fn modules_of_tests_are_left_out() {
        let root = "#[cfg(test)]\nmod stub;\nmod b;\n";
        let tree = Tree::of(&[
            ("crates/a/src/lib.rs", root),
            ("crates/a/src/b.rs", "use crate::stub::S;"),
            ("crates/a/src/stub.rs", "use crate::b::F;"),
        ]);
        assert_eq!(no_circles(&tree), []);
    }
}
