//! The files below a folder.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The contents of all files below a folder, by their paths relative to it.
pub(super) fn below(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            if path.is_dir() {
                open.push(path);
            } else {
                let bytes = fs::read(&path).expect("a file");
                let relative = path.strip_prefix(folder).expect("it lies below");
                all.insert(relative.to_owned(), bytes);
            }
        }
    }
    all
}
