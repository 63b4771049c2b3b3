//! What a source file imports, names and defines, read without the language's grammar: `use` trees, paths, and the
//! names after `fn`, `struct` and the like. Comments and tests are left out, strings are not, so a string that looks
//! like a path counts as one.

use std::collections::BTreeSet;

use super::sources::before_tests;

/// A file of a crate.
pub(super) struct Module {
    /// Below `src`.
    pub(super) file: String,
    pub(super) imports: Vec<Import>,
    /// The paths in its code, `use` aside, as their names.
    pub(super) paths: BTreeSet<Vec<String>>,
    /// The names of what it defines.
    pub(super) defined: BTreeSet<String>,
    /// Modules below it that exist for tests only.
    pub(super) tests: Vec<String>,
}

/// One name that a `use` brings in.
pub(super) struct Import {
    pub(super) path: Vec<String>,
    /// Its name here; `*` for all names.
    pub(super) name: String,
    pub(super) is_public: bool,
}

impl Module {
    pub(super) fn of(file: &str, text: &str) -> Self {
        let code: String = before_tests(text)
            .lines()
            .flat_map(|line| [line.split("//").next().unwrap_or_default(), "\n"])
            .collect();
        let tokens = tokens(&code);
        let mut module = Self {
            file: file.to_owned(),
            imports: Vec::new(),
            paths: BTreeSet::new(),
            defined: BTreeSet::new(),
            tests: Vec::new(),
        };
        const TESTS: &[&str] = &["#", "[", "cfg", "(", "test", ")", "]", "mod"];
        let mut at = 0;
        while let Some(&token) = tokens.get(at) {
            let next = tokens.get(at + 1).copied().unwrap_or_default();
            match token {
                "use" => {
                    let before = &tokens[..at];
                    let is_public = before.ends_with(&["pub"])
                        || matches!(before, [.., "pub", "(", _, ")"])
                        || matches!(before, [.., "pub", "(", "in", _, ")"]);
                    at += 1;
                    module.import(&tokens, &mut at, &[], is_public);
                    continue;
                }
                "fn" | "struct" | "enum" | "trait" | "type" | "const" | "static" | "union" => {
                    module.defined.insert(next.to_owned());
                }
                "#" if tokens[at..].starts_with(TESTS) => {
                    let name = tokens.get(at + TESTS.len()).copied().unwrap_or_default();
                    module.tests.push(name.to_owned());
                }
                name if is_name(name) => {
                    let mut path = vec![name.to_owned()];
                    while let Some(&["::", name]) =
                        tokens.get(at + 1..at + 3).filter(|next| is_name(next[1]))
                    {
                        path.push(name.to_owned());
                        at += 2;
                    }
                    module.paths.insert(path);
                }
                _ => {}
            }
            at += 1;
        }
        module
    }

    /// Takes one tree of a `use`; anything else ends it.
    fn import(&mut self, tokens: &[&str], at: &mut usize, prefix: &[String], is_public: bool) {
        let mut path = prefix.to_vec();
        let name = loop {
            let token = tokens.get(*at).copied().unwrap_or_default();
            *at += 1;
            match token {
                "{" => {
                    while !matches!(tokens.get(*at), None | Some(&("}" | ";"))) {
                        self.import(tokens, at, &path, is_public);
                        *at += usize::from(tokens.get(*at) == Some(&","));
                    }
                    *at += 1;
                    return;
                }
                "*" => break token.to_owned(),
                name if is_name(name) => path.push(name.to_owned()),
                _ => return,
            }
            match tokens.get(*at) {
                Some(&"::") => *at += 1,
                Some(&"as") => {
                    let name = tokens.get(*at + 1).copied().unwrap_or_default();
                    *at += 2;
                    break name.to_owned();
                }
                _ => {
                    if path.len() > 1 && path.last().is_some_and(|name| name == "self") {
                        path.pop();
                    }
                    break path.last().cloned().unwrap_or_default();
                }
            }
        };
        self.imports.push(Import {
            path,
            name,
            is_public,
        });
    }
}

/// Splits code into names, `::` and single marks.
fn tokens(code: &str) -> Vec<&str> {
    let mut tokens = Vec::new();
    let mut rest = code.trim_start();
    while let Some(first) = rest.chars().next() {
        let in_name = |c: char| c.is_alphanumeric() || c == '_';
        let length = match first {
            first if in_name(first) => rest.find(|c| !in_name(c)).unwrap_or(rest.len()),
            ':' if rest.starts_with("::") => 2,
            first => first.len_utf8(),
        };
        let (token, behind) = rest.split_at(length);
        tokens.push(token);
        rest = behind.trim_start();
    }
    tokens
}

fn is_name(token: &str) -> bool {
    token.starts_with(|c: char| c.is_alphabetic() || c == '_')
}
