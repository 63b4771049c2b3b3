//! Finding the files to read, in a stable order. It opens none of them.

use std::ffi::OsStr;
use std::fmt::{self, Write};
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use ignore::Match;

use crate::budget::Budget;
use crate::compression::Compression;
use crate::convert::Converters;
use crate::error::ReadError;
use crate::exclusions::{Patterns, is_marked};
use crate::format::{Format, compression_of, format_of};
use crate::notice::Notices;
use crate::options::ReadOptions;
use crate::unread::Unread;
use ken_corpus::Corpus;

/// The path that means standard input.
const STDIN: &str = "-";

/// One file to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct InputFile {
    /// The file; for standard input its name in messages.
    pub(crate) path: PathBuf,
    /// The id of the document if the whole file is one.
    pub(crate) id: String,
    pub(crate) format: Format,
    /// For standard input, unknown before its first bytes.
    pub(crate) compression: Option<Compression>,
    pub(crate) origin: Origin,
    /// The length on disk; `None` if it is not a regular file.
    pub(crate) bytes: Option<u64>,
    /// The bytes of a file in an archive, which is not on disk.
    pub(crate) content: Option<Bytes>,
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
    /// Opens it. In a folder, only a plain file is opened, even if the entry was replaced since it was found.
    pub(crate) fn open(&self) -> io::Result<File> {
        match self.origin {
            Origin::Found => ken_storage::open(&self.path).map_err(|error| error.source),
            Origin::Named | Origin::Stdin => File::open(&self.path),
        }
    }
}

/// An entry of a folder that is skipped, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skipped {
    /// Its path.
    pub path: PathBuf,
    /// Why it is skipped.
    pub reason: SkipReason,
}

/// Why an entry of a folder is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SkipReason {
    /// It is a link to a file outside the folder.
    LinkOutside,
    /// It is a link to a folder.
    LinkToFolder,
    /// It is a link that leads nowhere.
    LinkToNothing,
    /// The system does not let it be read.
    Unreadable,
    /// It is neither a file nor a folder.
    Special,
}

impl fmt::Display for SkipReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::LinkOutside => "it is a link out of the folder",
            Self::LinkToFolder => "it is a link to a folder",
            Self::LinkToNothing => "it is a link that leads nowhere",
            Self::Unreadable => "it may not be read",
            Self::Special => "it is a pipe, a socket or a device",
        })
    }
}

/// The files below the given paths.
#[derive(Debug, Default)]
pub(crate) struct Found {
    pub(crate) files: Vec<InputFile>,
    /// The entries of folders that are skipped.
    pub(crate) skipped: Vec<Skipped>,
    /// The files and folders in folders that are excluded, as documents record paths.
    pub(crate) excluded: Vec<PathBuf>,
    /// The files in folders whose formats are not read.
    pub(crate) unread: Unread,
    /// Faults in files of patterns.
    pub(crate) notices: Notices,
}

/// All files below the given paths: the paths in their order, each folder sorted by name; and the skipped
/// entries.
///
/// In folders, it ignores hidden files and folders that are a corpus, leaves out what is excluded, and counts files of
/// unknown extensions. It skips links to folders, broken links, links out of the folder unless `follow_links` is set,
/// special files, and folders that may not be read. A file given by name must have a known extension, unless a format is
/// given; the path `-` is standard input, for which a format must be given.
pub(crate) fn find_files(paths: &[PathBuf], options: &ReadOptions) -> Result<Found, ReadError> {
    let given = options.format;
    let mut found = Found::default();
    for path in paths {
        if path.as_os_str() == STDIN {
            found.files.push(stdin(given)?);
            continue;
        }
        let unreadable = |source| ReadError::from_io(source, path, None, Budget::default());
        let metadata = fs::metadata(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound => ReadError::MissingPath { path: path.clone() },
            _ => unreadable(source),
        })?;
        if metadata.is_dir() {
            let folder = Folder {
                root: path,
                place: fs::canonicalize(path).map_err(unreadable)?,
                exclude: Patterns::given(path, &options.exclude)?,
                options,
            };
            let before = found.files.len();
            let listed = folder.collect(path, None, &mut found);
            listed.map_err(unreadable)?;
            if found.files.len() == before {
                return Err(ReadError::NoDocuments {
                    path: path.clone(),
                    unread: found.unread,
                    excluded: found.excluded.len(),
                });
            }
        } else {
            let (format, compression) = given
                .map(|format| (format, compression_of(path, format)))
                .or_else(|| known_format(path, &options.converters))
                .ok_or_else(|| ReadError::UnknownFormat { path: path.clone() })?;
            found.files.push(InputFile {
                path: path.clone(),
                id: text_of(path.file_name().unwrap_or_default()),
                format,
                compression,
                origin: Origin::Named,
                bytes: metadata.is_file().then_some(metadata.len()),
                content: None,
            });
        }
    }
    // What is given itself is read, whatever a folder around it leaves out.
    let given = paths.iter().filter_map(|path| fs::canonicalize(path).ok());
    let given: Vec<PathBuf> = given.collect();
    let holds_given = |path: &PathBuf| given.iter().any(|given| given.starts_with(path));
    found.excluded.retain(|path| !holds_given(path));
    Ok(found)
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
        content: None,
    })
}

/// The format of a file by its name; Markdown, if a command converts it.
fn known_format(path: &Path, converters: &Converters) -> Option<(Format, Option<Compression>)> {
    match converters.of(path) {
        Some(_) => Some((Format::Markdown, None)),
        None => format_of(path),
    }
}

/// A given folder.
struct Folder<'p> {
    root: &'p Path,
    /// Its path without links.
    place: PathBuf,
    exclude: Patterns<'p>,
    options: &'p ReadOptions,
}

impl Folder<'_> {
    /// Adds the entries of a folder; fails if it cannot be listed. `outer` are the patterns of the folder around it.
    fn collect(
        &self,
        folder: &Path,
        outer: Option<&Patterns<'_>>,
        found: &mut Found,
    ) -> io::Result<()> {
        let mut unlisted = None;
        let mut entries: Vec<fs::DirEntry> = fs::read_dir(folder)?
            .map_while(|entry| entry.map_err(|error| unlisted = Some(error)).ok())
            .collect();
        entries.sort_unstable_by_key(fs::DirEntry::file_name);
        let mut unreadable = |path| {
            let reason = SkipReason::Unreadable;
            found.skipped.push(Skipped { path, reason });
        };
        let patterns = Patterns::of(folder, &entries, outer, &found.notices, &mut unreadable);
        for entry in entries {
            if !entry.file_name().as_encoded_bytes().starts_with(b".") {
                self.add(&entry, &patterns, found);
            }
        }
        unlisted.map_or(Ok(()), Err)
    }

    /// Adds an entry of a folder, recursively. A fault in it does not affect other entries.
    fn add(&self, entry: &fs::DirEntry, patterns: &Patterns<'_>, found: &mut Found) {
        let path = entry.path();
        // A link to a folder is not a folder by this type, so links cannot form a cycle.
        let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
        if self.is_excluded(&path, is_folder, patterns) {
            let below = path.strip_prefix(self.root).unwrap_or(&path);
            found.excluded.push(self.place.join(below));
            return;
        }
        if is_folder {
            if !Corpus::owns(&path) && self.collect(&path, Some(patterns), found).is_err() {
                let reason = SkipReason::Unreadable;
                found.skipped.push(Skipped { path, reason });
            }
            return;
        }
        let format = known_format(&path, &self.options.converters);
        match (self.place(&path), format) {
            (Ok((place, bytes)), Some((format, compression))) => found.files.push(InputFile {
                id: relative_id(self.root, &path),
                format,
                compression,
                origin: Origin::Found,
                bytes: Some(bytes),
                path: place,
                content: None,
            }),
            (Ok(_), None) => found.unread.add(&path),
            (Err(reason), _) => found.skipped.push(Skipped { path, reason }),
        }
    }

    /// Whether an entry is left out. Copies are what somebody chose to give.
    fn is_excluded(&self, path: &Path, is_folder: bool, patterns: &Patterns<'_>) -> bool {
        if self.options.copies {
            return false;
        }
        let given = self.exclude.matched(path, is_folder);
        match given.or(patterns.matched(path, is_folder)) {
            Match::Ignore(_) => true,
            Match::Whitelist(_) => false,
            Match::None => is_folder && is_marked(path),
        }
    }

    /// The path from which a file is read, and its length.
    fn place(&self, path: &Path) -> Result<(PathBuf, u64), SkipReason> {
        let metadata = fs::metadata(path).map_err(|_| match path.is_symlink() {
            true => SkipReason::LinkToNothing,
            false => SkipReason::Unreadable,
        })?;
        if metadata.is_dir() {
            return Err(SkipReason::LinkToFolder);
        }
        if !metadata.is_file() {
            return Err(SkipReason::Special);
        }
        let place = match (path.is_symlink(), self.options.follow_links) {
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
        .map(|part| text_of(part.as_os_str()))
        .collect();
    parts.join("/")
}

fn text_of(name: &OsStr) -> String {
    escaped(name.as_encoded_bytes())
}

/// A name as text. Bytes that are not UTF-8 become `%` and two hexadecimal digits, so that different names
/// stay different.
pub(crate) fn escaped(name: &[u8]) -> String {
    let mut text = String::new();
    for chunk in name.utf8_chunks() {
        text.push_str(chunk.valid());
        for byte in chunk.invalid() {
            // Writing to a string cannot fail.
            let _ = write!(text, "%{byte:02X}");
        }
    }
    text
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use ken_testing::{has, with};

    use super::*;

    fn found_in(folder: &Path) -> Result<Found, ReadError> {
        find_files(&[folder.to_owned()], &ReadOptions::default())
    }

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
        symlink("../outside/secret.txt", at("leak.doc")).unwrap();
        symlink("../outside", at("folder")).unwrap();
        symlink("nowhere", at("gone.txt")).unwrap();
        symlink("nowhere", at("gone")).unwrap();
        symlink("self.txt", at("self.txt")).unwrap();
        let made = std::process::Command::new("mkfifo")
            .arg(at("pipe.txt"))
            .status();
        assert!(made.unwrap().success());
        // A folder that is given may be reached by a link.
        symlink("docs", dir.path().join("given")).unwrap();
        let given = dir.path().join("given");
        let found = |follow_links| {
            let options = with!(ReadOptions::default(), follow_links: follow_links);
            let found = find_files(std::slice::from_ref(&given), &options);
            let Found { files, skipped, .. } = found.unwrap();
            let ids: Vec<String> = files.into_iter().map(|file| file.id).collect();
            let skipped = skipped.into_iter().map(|Skipped { path, reason }| {
                let name = path.strip_prefix(&given).unwrap();
                (name.to_string_lossy().into_owned(), reason)
            });
            (ids, skipped.collect::<Vec<_>>())
        };
        let others = [
            ("folder", SkipReason::LinkToFolder),
            ("gone", SkipReason::LinkToNothing),
            ("gone.txt", SkipReason::LinkToNothing),
            ("pipe.txt", SkipReason::Special),
            ("self.txt", SkipReason::LinkToNothing),
        ]
        .map(|(name, reason)| (name.to_owned(), reason));
        let (ids, skipped) = found(false);
        assert_eq!(ids, ["deep/near.txt", "own.txt"]);
        let leak = |name: &str| (name.to_owned(), SkipReason::LinkOutside);
        let mut expected = vec![leak("deep/leak.txt")];
        expected.extend_from_slice(&others[..3]);
        expected.push(leak("leak.doc"));
        expected.extend_from_slice(&others[3..]);
        assert_eq!(skipped, expected);
        let (ids, skipped) = found(true);
        assert_eq!(ids, ["deep/leak.txt", "deep/near.txt", "own.txt"]);
        assert_eq!(skipped, others);
    }

    #[test]
    fn a_file_that_became_a_link_after_it_was_found_is_not_read() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("own.txt");
        fs::write(&path, "own").unwrap();
        let Found { files, .. } = found_in(dir.path()).unwrap();
        fs::remove_file(&path).unwrap();
        symlink("/etc/hostname", &path).unwrap();
        assert!(files[0].open().is_err());
    }

    #[test]
    fn a_folder_that_may_not_be_read_is_skipped_by_name() {
        use std::os::unix::fs::PermissionsExt;

        let dir = tempfile::tempdir().unwrap();
        let closed = dir.path().join("closed");
        fs::create_dir(&closed).unwrap();
        fs::write(dir.path().join("own.txt"), "own").unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        let refused = fs::read_dir(&closed).is_err();
        let found = found_in(dir.path());
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o755)).unwrap();
        let found = found.unwrap();
        assert_eq!(found.files.len(), 1);
        // The system lets its administrator read every folder.
        let expected = refused.then_some(Skipped {
            path: closed,
            reason: SkipReason::Unreadable,
        });
        assert_eq!(found.skipped, Vec::from_iter(expected));
    }

    #[test]
    fn names_that_are_not_utf_8_stay_different() {
        use std::os::unix::ffi::OsStrExt;

        let dir = tempfile::tempdir().unwrap();
        for name in [&b"caf\xe9.txt"[..], b"caf\xea.txt", b"ok.txt"] {
            let written = fs::write(dir.path().join(OsStr::from_bytes(name)), "x");
            // Some file systems have no such names.
            if written.is_err() {
                return;
            }
        }
        let found = found_in(dir.path()).unwrap();
        let ids: Vec<String> = found.files.into_iter().map(|file| file.id).collect();
        assert_eq!(ids, ["caf%E9.txt", "caf%EA.txt", "ok.txt"]);
    }

    #[test]
    fn a_corpus_is_not_read_published_or_not() {
        let records = "staging/00000001/passages.jsonl";
        let cases: [(&[&str], bool); 6] = [
            (&["CURRENT", "LOCK", records], true),
            (&["LOCK", records], true),
            (
                &[
                    "LOCK",
                    ".DS_Store",
                    "CURRENT.tmp",
                    "segments/1/documents.jsonl",
                ],
                true,
            ),
            (&["LOCK", "BACKUP", "BACKUP.tmp", records], true),
            (&["LOCK", "mine.jsonl"], false),
            (&[records], false),
        ];
        for (names, is_corpus) in cases {
            let dir = tempfile::tempdir().unwrap();
            fs::write(dir.path().join("own.txt"), "own").unwrap();
            for name in names {
                let path = dir.path().join("c.ken").join(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, "{}").unwrap();
            }
            let found = found_in(dir.path()).unwrap();
            assert_eq!(found.files.len() == 1, is_corpus, "{names:?}");
        }
    }

    #[test]
    fn files_of_unknown_formats_are_counted() {
        let dir = tempfile::tempdir().unwrap();
        for name in ["own.txt", "a.DOC", "b.doc", "c.png", "Makefile", ".hidden"] {
            fs::write(dir.path().join(name), "x").unwrap();
        }
        let found = found_in(dir.path()).unwrap();
        has!(found, files.len(): 1, unread.to_string(): "2 .doc, 1 .png, 1 without extension");
    }
}
