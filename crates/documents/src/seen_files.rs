//! The files that changed since they were last read, for a corpus that follows folders.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::documents::Documents;

/// The stamps of files when they were last read, and when they were last looked at.
#[derive(Debug, Default)]
pub struct SeenFiles {
    read: HashMap<PathBuf, Stamp>,
    looked_at: HashMap<PathBuf, Stamp>,
}

/// The length of a file and the time of its last write, which show that it changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Stamp {
    bytes: u64,
    modified: Option<SystemTime>,
}

impl SeenFiles {
    /// The files of `documents`, all of which are about to be read.
    #[must_use]
    pub fn of(documents: &Documents) -> Self {
        let read: HashMap<_, _> = stamps(documents).collect();
        Self {
            looked_at: read.clone(),
            read,
        }
    }

    /// Leaves in `documents` only the files that are new or changed, and from then on counts them as read. A file that
    /// changed since the last call may be incomplete, and one that vanished since then may be getting
    /// another name, so both wait for the next call. Returns whether any file is new, changed or gone.
    pub fn leave_changed(&mut self, documents: &mut Documents) -> bool {
        let now: HashMap<_, _> = stamps(documents).collect();
        let before = self.read.len();
        let is_there = |path: &Path| now.contains_key(path) || self.looked_at.contains_key(path);
        self.read.retain(|path, _| is_there(path));
        let is_any_gone = self.read.len() < before;
        documents.retain_files(|path| {
            let stamp = now.get(path);
            let is_due = stamp != self.read.get(path) && stamp == self.looked_at.get(path);
            if let Some(stamp) = stamp.filter(|_| is_due) {
                self.read.insert(path.to_owned(), *stamp);
            }
            is_due
        });
        self.looked_at = now;
        is_any_gone || documents.files().next().is_some()
    }
}

/// The stamps of the files whose metadata can be read.
fn stamps(documents: &Documents) -> impl Iterator<Item = (PathBuf, Stamp)> {
    documents
        .files()
        .filter_map(|path| Some((path.to_owned(), stamp(path)?)))
}

fn stamp(path: &Path) -> Option<Stamp> {
    let metadata = fs::metadata(path).ok()?;
    Some(Stamp {
        bytes: metadata.len(),
        modified: metadata.modified().ok(),
    })
}

#[cfg(test)]
mod tests {
    use std::slice::from_ref;

    use super::*;
    use crate::documents::read_documents;

    #[test]
    fn a_file_is_read_once_it_is_no_longer_written_to() {
        let dir = tempfile::tempdir().unwrap();
        let folder = dir.path().to_owned();
        let write = |name: &str, text: &str| fs::write(folder.join(name), text).unwrap();
        write("a.md", "a");
        write("b.md", "b");
        let mut seen = SeenFiles::of(&read_documents(from_ref(&folder)).unwrap());
        let mut look = || {
            let mut documents = read_documents(from_ref(&folder)).unwrap();
            let is_changed = seen.leave_changed(&mut documents);
            let ids = documents.map(|document| document.unwrap().id).collect();
            (is_changed, ids)
        };
        let nothing = (false, Vec::<String>::new());
        assert_eq!(look(), nothing);
        write("a.md", "a longer text");
        write("c.md", "c");
        assert_eq!(look(), nothing, "they may still be being written");
        write("c.md", "c, with more of it");
        assert_eq!(look(), (true, vec!["a.md".to_owned()]));
        assert_eq!(look(), (true, vec!["c.md".to_owned()]));
        assert_eq!(look(), nothing);
        fs::rename(folder.join("b.md"), folder.join("d.md")).unwrap();
        assert_eq!(look(), nothing);
        assert_eq!(look(), (true, vec!["d.md".to_owned()]));
        fs::remove_file(folder.join("d.md")).unwrap();
        assert_eq!(look(), nothing);
        assert_eq!(look(), (true, vec![]));
        assert_eq!(look(), nothing);
    }
}
