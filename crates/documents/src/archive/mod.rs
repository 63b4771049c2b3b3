//! Archives of documents: zip and tar, one level deep. Each file in one is read by its own reader, from
//! memory, and nothing is unpacked to disk.

mod tar;

use std::path::Path;

use bytes::Bytes;

use self::tar::Tar;
use crate::error::ReadError;
use crate::files::{InputFile, Origin};
use crate::format::{Format, format_of};
use crate::package::Package;
use crate::record::{Record, Records};
use crate::source::Source;
use crate::unread::Unread;

/// Reads the records of a file in an archive.
pub(crate) type Open = Box<dyn Fn(&InputFile) -> Records + Send>;

/// The records of all files in an archive, whose ids begin with that of the archive.
pub(crate) struct Archive {
    entries: Entries,
    file: InputFile,
    unread: Unread,
    open: Open,
    /// The remaining records of the open file.
    records: Records,
    ended: bool,
}

/// The files in an archive.
enum Entries {
    Zip { package: Box<Package>, index: usize },
    Tar(Tar),
}

impl Archive {
    pub(crate) fn zip(package: Package, file: &InputFile, unread: &Unread, open: Open) -> Self {
        let package = Box::new(package);
        Self::new(Entries::Zip { package, index: 0 }, file, unread, open)
    }

    pub(crate) fn tar(source: Source, file: &InputFile, unread: &Unread, open: Open) -> Self {
        Self::new(Entries::Tar(Tar::new(source)), file, unread, open)
    }

    fn new(entries: Entries, file: &InputFile, unread: &Unread, open: Open) -> Self {
        Self {
            entries,
            file: file.clone(),
            unread: unread.clone(),
            open,
            records: Box::new(std::iter::empty()),
            ended: false,
        }
    }

    /// The next file that is read; `None` at the end.
    fn next_file(&mut self) -> Result<Option<InputFile>, ReadError> {
        loop {
            let name = match &mut self.entries {
                Entries::Zip { package, index } => {
                    if *index >= package.len() || package.is_used_up() {
                        return Ok(None);
                    }
                    *index += 1;
                    package.name(*index - 1)
                }
                Entries::Tar(tar) => match tar.next_name()? {
                    Some(name) => name,
                    None => return Ok(None),
                },
            };
            let Some(name) = name.and_then(|name| cleaned(&name)) else {
                continue;
            };
            let path = self.file.path.join(&name);
            let known = format_of(Path::new(&name));
            let Some((format, compression)) = known.filter(|(format, _)| may_be_inside(*format))
            else {
                self.unread.add(&path);
                continue;
            };
            let content = match &mut self.entries {
                Entries::Zip { package, index } => package.entry(*index - 1)?,
                Entries::Tar(tar) => tar.content(&path)?,
            };
            return Ok(Some(InputFile {
                path,
                id: format!("{}/{name}", self.file.id),
                format,
                compression,
                origin: Origin::Found,
                bytes: Some(content.len() as u64),
                content: Some(Bytes::from(content)),
            }));
        }
    }
}

impl Iterator for Archive {
    type Item = Result<Record, ReadError>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            if let Some(record) = self.records.next() {
                return Some(record);
            }
            if self.ended {
                return None;
            }
            match self.next_file() {
                Ok(Some(file)) => self.records = (self.open)(&file),
                Ok(None) => self.ended = true,
                Err(error) => {
                    // A fault in one entry of a zip archive does not affect the others.
                    self.ended = match &self.entries {
                        Entries::Zip { .. } => matches!(error, ReadError::Stopped),
                        Entries::Tar(tar) => tar.has_ended(),
                    };
                    return Some(Err(error));
                }
            }
        }
    }
}

/// Whether files of a format are read in archives. Archives are not, so that none can hold itself; nor is Parquet,
/// which is read from the disk.
fn may_be_inside(format: Format) -> bool {
    !matches!(format, Format::Zip | Format::Tar | Format::Parquet)
}

/// The path of an entry without components that lead out of the archive; `None` for hidden files and files of the
/// system.
fn cleaned(name: &str) -> Option<String> {
    let parts: Vec<&str> = name
        .split(['/', '\\'])
        .filter(|part| !matches!(*part, "" | "." | ".."))
        .collect();
    let hidden = parts
        .iter()
        .any(|part| part.starts_with('.') || *part == "__MACOSX");
    (!hidden && !parts.is_empty()).then(|| parts.join("/"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        assert_eq!(cleaned("a\\b/./c.txt").as_deref(), Some("a/b/c.txt"));
        assert_eq!(cleaned("../../etc/x.txt").as_deref(), Some("etc/x.txt"));
        assert_eq!(cleaned("a/.git/x.txt"), None);
        assert_eq!(cleaned("__MACOSX/x.txt"), None);
        assert_eq!(cleaned("//"), None);
    }
}
