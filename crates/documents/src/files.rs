//! Finding the files to read, in a stable order. It opens none of them.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use crate::budget::Budget;
use crate::compression::Compression;
use crate::error::ReadError;
use crate::format::{Format, compression_of, format_of};
use ken_corpus::Corpus;

/// The path that means standard input.
const STDIN: &str = "-";

/// One file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InputFile {
    /// The file; for standard input its name in messages.
    pub(crate) path: PathBuf,
    /// The id of the document where the whole file is one.
    pub(crate) id: String,
    pub(crate) format: Format,
    /// For standard input unknown before its first bytes.
    pub(crate) compression: Option<Compression>,
    pub(crate) origin: Origin,
    /// The length on disk; `None` where it is not a regular file.
    pub(crate) bytes: Option<u64>,
}

/// Why a file is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It is standard input.
    Stdin,
    /// It was given by name.
    Named,
    /// It is in a folder that was given.
    Found,
}

impl InputFile {
    /// Opens it. Of what a folder holds, only a plain file is opened, whatever it was when it was found.
    pub(crate) fn open(&self) -> io::Result<File> {
        match self.origin {
            Origin::Found => ken_storage::open(&self.path).map_err(|error| error.source),
            Origin::Named | Origin::Stdin => File::open(&self.path),
        }
    }
}

/// What a folder holds that is not read, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Where it is.
    pub path: PathBuf,
    /// Why it is not read.
    pub reason: SkipReason,
}

/// Why something in a folder is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// It is a link to a file outside the folder.
    LinkOutside,
    /// It is a link to a folder.
    LinkToFolder,
    /// It is a link that leads nowhere.
    LinkToNothing,
    /// It is neither a file nor a folder.
    Special,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LinkOutside => "it is a link out of the folder",
            Self::LinkToFolder => "it is a link to a folder",
            Self::LinkToNothing => "it is a link that leads nowhere",
            Self::Special => "it is a pipe, a socket or a device",
        })
    }
}

/// All files below the given paths: the paths in their order, each folder sorted by name; and what is
/// skipped in folders.
///
/// In folders, hidden files, unknown extensions and folders that are a corpus are passed over; links to
/// folders, links that lead out of the folder, unless these are to be followed, and what is neither file
/// nor folder are skipped. A file given by name must have a known extension, unless a format is given; the
/// path `-` is standard input, for which a format must be given.
pub(crate) fn find_files(
    paths: &[PathBuf],
    given: Option<Format>,
    follow_links: bool,
) -> Result<(Vec<InputFile>, Vec<Skipped>), ReadError> {
    let mut files = Vec::new();
    let mut skipped = Vec::new();
    for path in paths {
        if path.as_os_str() == STDIN {
            files.push(stdin(given)?);
            continue;
        }
        let metadata = fs::metadata(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ReadError::MissingPath { path: path.clone() },
            _ => ReadError::from_io(source, path, None, Budget::default()),
        })?;
        if metadata.is_dir() {
            let folder = Folder {
                root: path,
                follow_links,
            };
            let before = files.len();
            folder.collect(path, &mut files, &mut skipped)?;
            if files.len() == before {
                return Err(ReadError::NoDocuments { path: path.clone() });
            }
        } else {
            let (format, compression) = given
                .map(|format| (format, compression_of(path, format)))
                .or_else(|| format_of(path))
                .ok_or_else(|| ReadError::UnknownFormat { path: path.clone() })?;
            files.push(InputFile {
                path: path.clone(),
                id: path
                    .file_name()
                    .unwrap_or_default()
                    .to_string_lossy()
                    .into_owned(),
                format,
                compression,
                origin: Origin::Named,
                bytes: metadata.is_file().then_some(metadata.len()),
            });
        }
    }
    Ok((files, skipped))
}

fn stdin(given: Option<Format>) -> Result<InputFile, ReadError> {
    let format = given.ok_or(ReadError::StdinWithoutFormat)?;
    if format == Format::Parquet {
        return Err(ReadError::ParquetFromStdin);
    }
    let name = "stdin".to_owned();
    Ok(InputFile {
        path: PathBuf::from(&name),
        id: name,
        format,
        compression: None,
        origin: Origin::Stdin,
        bytes: None,
    })
}

/// A folder that was given.
struct Folder<'p> {
    root: &'p Path,
    follow_links: bool,
}

impl Folder<'_> {
    fn collect(
        &self,
        folder: &Path,
        files: &mut Vec<InputFile>,
        skipped: &mut Vec<Skipped>,
    ) -> Result<(), ReadError> {
        let unreadable = |source| ReadError::from_io(source, folder, None, Budget::default());
        let mut entries = fs::read_dir(folder)
            .and_then(Iterator::collect::<io::Result<Vec<_>>>)
            .map_err(unreadable)?;
        entries.sort_unstable_by_key(fs::DirEntry::file_name);
        for entry in entries {
            let path = entry.path();
            if entry.file_name().to_string_lossy().starts_with('.') {
                continue;
            }
            // A link to a folder is not a folder by this type, so links cannot form a cycle.
            let found = entry.file_type().map_err(unreadable)?;
            if found.is_dir() {
                if !Corpus::exists(&path) {
                    self.collect(&path, files, skipped)?;
                }
                continue;
            }
            let format = format_of(&path);
            if format.is_none() && !found.is_symlink() {
                continue;
            }
            match (self.place(&path), format) {
                (Ok((place, bytes)), Some((format, compression))) => files.push(InputFile {
                    id: relative_id(self.root, &path),
                    format,
                    compression,
                    origin: Origin::Found,
                    bytes: Some(bytes),
                    path: place,
                }),
                // Of other formats, only folders are missed.
                (Err(reason), format) if format.is_some() || reason == SkipReason::LinkToFolder => {
                    skipped.push(Skipped { path, reason });
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Where a file is to be read, and its length.
    fn place(&self, path: &Path) -> Result<(PathBuf, u64), SkipReason> {
        let metadata = fs::metadata(path).map_err(|_| SkipReason::LinkToNothing)?;
        if metadata.is_dir() {
            return Err(SkipReason::LinkToFolder);
        }
        if !metadata.is_file() {
            return Err(SkipReason::Special);
        }
        let place = match (path.is_symlink(), self.follow_links) {
            (false, _) => path.to_owned(),
            (true, true) => fs::canonicalize(path).map_err(|_| SkipReason::LinkToNothing)?,
            (true, false) => {
                ken_storage::inside(self.root, path).map_err(|_| SkipReason::LinkOutside)?
            }
        };
        Ok((place, metadata.len()))
    }
}

/// The path below `root` with forward slashes.
fn relative_id(root: &Path, path: &Path) -> String {
    let below = path.strip_prefix(root).unwrap_or(path);
    let parts: Vec<_> = below
        .components()
        .map(|part| part.as_os_str().to_string_lossy())
        .collect();
    parts.join("/")
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn links_out_of_a_folder_and_pipes_in_it_are_skipped_by_name() {
        let dir = tempfile::tempdir().unwrap();
        let (root, outside) = (dir.path().join("docs"), dir.path().join("outside"));
        fs::create_dir_all(root.join("deep")).unwrap();
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("secret.txt"), "secret").unwrap();
        fs::write(root.join("own.txt"), "own").unwrap();
        let at = |name: &str| root.join(name);
        symlink("../own.txt", at("deep/near.txt")).unwrap();
        symlink("../../outside/secret.txt", at("deep/leak.txt")).unwrap();
        symlink("../outside/secret.txt", at("leak.rst")).unwrap();
        symlink("../outside", at("folder")).unwrap();
        symlink("nowhere", at("gone.txt")).unwrap();
        symlink("self.txt", at("self.txt")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe.txt"))
            .status();
        assert!(made.unwrap().success());
        // A folder that is given may be reached by a link.
        symlink("docs", dir.path().join("given")).unwrap();
        let given = dir.path().join("given");
        let found = |follow_links| {
            let (files, skipped) =
                find_files(std::slice::from_ref(&given), None, follow_links).unwrap();
            let ids: Vec<String> = files.into_iter().map(|file| file.id).collect();
            let skipped = skipped.into_iter().map(|one| {
                let name = one.path.strip_prefix(&given).unwrap();
                (name.to_string_lossy().into_owned(), one.reason)
            });
            (ids, skipped.collect::<Vec<_>>())
        };
        let others = [
            ("folder", SkipReason::LinkToFolder),
            ("gone.txt", SkipReason::LinkToNothing),
            ("pipe.txt", SkipReason::Special),
            ("self.txt", SkipReason::LinkToNothing),
        ]
        .map(|(name, reason)| (name.to_owned(), reason));
        let (ids, skipped) = found(false);
        assert_eq!(ids, ["deep/near.txt", "own.txt"]);
        let leak = ("deep/leak.txt".to_owned(), SkipReason::LinkOutside);
        assert_eq!(skipped, [&[leak], &others[..]].concat());
        let (ids, skipped) = found(true);
        assert_eq!(ids, ["deep/leak.txt", "deep/near.txt", "own.txt"]);
        assert_eq!(skipped, others);
    }

    #[test]
    fn a_file_that_became_a_link_after_it_was_found_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("own.txt");
        fs::write(&path, "own").unwrap();
        let (files, _) = find_files(&[dir.path().to_owned()], None, false).unwrap();
        fs::remove_file(&path).unwrap();
        symlink("/etc/hostname", &path).unwrap();
        assert!(files[0].open().is_err());
    }
}
