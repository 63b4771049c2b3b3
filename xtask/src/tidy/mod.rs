//! The project's own rules, checked: the map is true, files stay small and open with their purpose,
//! crates depend only on what they may. It reads text and manifests; whether the code is right is for
//! clippy and the tests.

mod circles;
mod commands;
mod dependencies;
mod growth;
mod imports;
mod map;
mod sources;

use std::fmt;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

pub(crate) use self::map::{inline_code, leads_elsewhere, resolve};

/// One place that breaks a rule.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Finding {
    /// The file, relative to the root.
    path: String,
    /// The line, counted from 1, if the rule is about one.
    line: Option<usize>,
    message: String,
}

impl Finding {
    pub(crate) fn of_file(path: &str, message: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line: None,
            message: message.into(),
        }
    }

    fn of_line(path: &str, index: usize, message: impl Into<String>) -> Self {
        Self {
            line: Some(index + 1),
            ..Self::of_file(path, message)
        }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:", self.path)?;
        if let Some(line) = self.line {
            write!(formatter, "{line}:")?;
        }
        write!(formatter, " {}", self.message)
    }
}

/// The paths of the repository, with the content of its text files.
#[derive(Default)]
pub(crate) struct Tree {
    pub(crate) files: Vec<SourceFile>,
}

pub(crate) struct SourceFile {
    /// Relative to the root, with `/` between the parts.
    pub(crate) path: String,
    /// Empty for files that are not our text (data, locks).
    pub(crate) text: String,
}

impl Tree {
    pub(crate) fn read(root: &Path) -> Result<Self> {
        let files = files_below(root, is_left_out)?.into_iter().map(|path| {
            let text = match is_own_text(&path) {
                true => fs::read_to_string(root.join(&path))
                    .with_context(|| format!("cannot read {path}"))?,
                false => String::new(),
            };
            Ok(SourceFile { path, text })
        });
        Ok(Self {
            files: files.collect::<Result<_>>()?,
        })
    }

    #[cfg(test)]
    pub(crate) fn of(files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|(path, text)| SourceFile {
                path: (*path).to_owned(),
                text: (*text).to_owned(),
            })
            .collect();
        Self { files }
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        let file = self.files.iter().find(|file| file.path == path)?;
        Some(&file.text)
    }

    /// Whether a file or a folder of this name exists.
    fn has(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.files
            .iter()
            .any(|file| file.path == path || file.path.starts_with(&folder))
    }

    fn ending(&self, ending: &str) -> impl Iterator<Item = &SourceFile> {
        self.files
            .iter()
            .filter(move |file| file.path.ends_with(ending))
    }

    /// The names of the crates' folders.
    fn crates(&self) -> Vec<&str> {
        self.files
            .iter()
            .filter_map(|file| {
                file.path
                    .strip_prefix("crates/")?
                    .strip_suffix("/Cargo.toml")
            })
            .collect()
    }
}

/// The files below a folder, sorted, by their paths in it with `/` between the parts; some folders are left out.
pub(crate) fn files_below(folder: &Path, is_left_out: fn(&str) -> bool) -> Result<Vec<String>> {
    let (mut files, mut open) = (Vec::new(), vec![String::new()]);
    while let Some(prefix) = open.pop() {
        let within = folder.join(&prefix);
        let entries =
            fs::read_dir(&within).with_context(|| format!("cannot list {}", within.display()))?;
        for entry in entries {
            let entry = entry?;
            let path = format!("{prefix}{}", entry.file_name().to_string_lossy());
            match entry.file_type()? {
                kind if kind.is_file() => files.push(path),
                kind if kind.is_dir() && !is_left_out(&path) => open.push(format!("{path}/")),
                _ => {}
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Folders of which the repository holds nothing.
fn is_left_out(path: &str) -> bool {
    let built = ["target", "fuzz/target", "fuzz/corpus", "fuzz/artifacts"];
    path == ".git" || built.contains(&path)
}

fn is_own_text(path: &str) -> bool {
    let endings = [".rs", ".md", ".toml", ".sh", ".yml", ".py", ".pyi"];
    path.starts_with(".ci/") || endings.iter().any(|ending| path.ends_with(ending))
}

/// Every place that breaks a rule, in the order of the checks.
pub(crate) fn findings(root: &Path) -> Result<Vec<Finding>> {
    let tree = Tree::read(root)?;
    let checks = [
        sources::purpose_stated,
        sources::small_enough,
        sources::one_module_style,
        sources::telling_names,
        sources::files_are_durable,
        sources::commands_are_worded_once,
        sources::no_machine_paths,
        map::crates_on_map,
        growth::crates_within_their_grants,
        map::named_paths_exist,
        map::links_lead_somewhere,
        dependencies::crates_keep_apart,
        circles::no_circles,
        commands::chores_exist,
    ];
    Ok(checks.iter().flat_map(|check| check(&tree)).collect())
}
