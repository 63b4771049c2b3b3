//! The namespaces of files and of categories in a wiki's own language.

const FILES: i64 = 6;
const CATEGORIES: i64 = 14;

/// The most names of each namespace: every link is compared with all.
const MOST_NAMES: usize = 64;

/// The names of the namespaces of files and categories, in lower case.
pub(super) struct Namespaces {
    files: Vec<String>,
    categories: Vec<String>,
}

impl Default for Namespaces {
    /// The English names, which every wiki accepts.
    fn default() -> Self {
        let owned = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        Self {
            files: owned(&["file", "image", "media"]),
            categories: owned(&["category"]),
        }
    }
}

impl Namespaces {
    /// Adds a name of the namespace with this number.
    pub(super) fn add(&mut self, number: i64, name: &str) {
        let names = match number {
            FILES => &mut self.files,
            CATEGORIES => &mut self.categories,
            _ => return,
        };
        let name = name.trim().to_lowercase();
        if !name.is_empty() && names.len() < MOST_NAMES && !names.contains(&name) {
            names.push(name);
        }
    }

    /// The category that a link's target names.
    pub(super) fn category<'a>(&self, target: &'a str) -> Option<&'a str> {
        let (name, title) = split(target)?;
        self.categories.contains(&name).then_some(title)
    }

    /// Whether a link's target is a picture, a sound or another file.
    pub(super) fn is_file(&self, target: &str) -> bool {
        split(target).is_some_and(|(name, _)| self.files.contains(&name))
    }
}

/// A target's namespace in lower case, and the rest.
fn split(target: &str) -> Option<(String, &str)> {
    let (name, title) = target.split_once(':')?;
    Some((name.trim().to_lowercase(), title.trim()))
}
