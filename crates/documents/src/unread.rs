//! The files in folders and archives whose formats are not read, counted by extension.

use std::collections::BTreeMap;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The most extensions counted separately; files with others are counted together.
const MOST_KINDS: usize = 200;

/// The most bytes of an extension.
const LONGEST: usize = 16;

/// The files that were passed over because their formats are not read. Clones share the counts.
#[derive(Debug, Clone, Default)]
pub struct Unread(Arc<Mutex<BTreeMap<String, UnreadKind>>>);

/// The files of one extension that are not read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnreadKind {
    /// In lower case, without its dot; empty for files that have none.
    pub extension: String,
    /// The number of files.
    pub files: u64,
    /// The first file.
    pub example: PathBuf,
}

impl Unread {
    pub(crate) fn add(&self, path: &Path) {
        let mut kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut extension = extension_of(path);
        if kinds.len() >= MOST_KINDS && !kinds.contains_key(&extension) {
            "…".clone_into(&mut extension);
        }
        let kind = kinds
            .entry(extension)
            .or_insert_with_key(|extension| UnreadKind {
                extension: extension.clone(),
                files: 0,
                example: path.to_owned(),
            });
        kind.files += 1;
    }

    /// The kinds so far, the most frequent first.
    #[must_use]
    pub fn kinds(&self) -> Vec<UnreadKind> {
        let kinds = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let mut kinds: Vec<UnreadKind> = kinds.values().cloned().collect();
        kinds.sort_by_key(|kind| (std::cmp::Reverse(kind.files), kind.extension.is_empty()));
        kinds
    }
}

/// "3 .doc, 1 .png, 2 without extension"; empty if all files are read.
impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, kind) in self.kinds().into_iter().enumerate() {
            let comma = if number > 0 { ", " } else { "" };
            match kind.extension.as_str() {
                "" => write!(f, "{comma}{} without extension", kind.files)?,
                extension => write!(f, "{comma}{} .{extension}", kind.files)?,
            }
        }
        Ok(())
    }
}

fn extension_of(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default().to_string_lossy();
    let plain = extension.len() <= LONGEST && extension.chars().all(char::is_alphanumeric);
    match plain {
        true => extension.to_lowercase(),
        false => String::new(),
    }
}
