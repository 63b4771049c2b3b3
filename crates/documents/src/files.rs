//! Finding the files to read, in a stable order. It opens none of them.

use std::fs;
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

/// All files below the given paths: the paths in their order, each folder sorted by name.
///
/// In folders, hidden files, unknown extensions, links to folders and folders that are a corpus are
/// skipped. A file given by name must have a known extension, unless a format is given; the path
/// `-` is standard input, for which a format must be given.
pub(crate) fn find_files(
    paths: &[PathBuf],
    given: Option<Format>,
) -> Result<Vec<InputFile>, ReadError> {
    let mut files = Vec::new();
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
            let before = files.len();
            collect(path, path, &mut files)?;
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
    Ok(files)
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

fn collect(root: &Path, folder: &Path, files: &mut Vec<InputFile>) -> Result<(), ReadError> {
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
        if entry.file_type().map_err(unreadable)?.is_dir() {
            if !Corpus::exists(&path) {
                collect(root, &path, files)?;
            }
            continue;
        }
        let Some((format, compression)) = format_of(&path) else {
            continue;
        };
        let metadata = fs::metadata(&path)
            .map_err(|source| ReadError::from_io(source, &path, None, Budget::default()))?;
        if metadata.is_file() {
            files.push(InputFile {
                id: relative_id(root, &path),
                format,
                compression,
                origin: Origin::Found,
                bytes: Some(metadata.len()),
                path,
            });
        }
    }
    Ok(())
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
