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
    /// The id of the document that the whole file is.
    pub(crate) id: String,
    pub(crate) format: Format,
    /// Unknown before the first bytes where the file is standard input.
    pub(crate) compression: Option<Compression>,
    pub(crate) origin: Origin,
    /// The length on disk; `None` for what is no regular file.
    pub(crate) bytes: Option<u64>,
}

/// How a file came to be read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Origin {
    /// It is standard input.
    Stdin,
    /// It was itself given.
    Named,
    /// It lies in a folder that was given.
    Found,
}

/// All files below the given paths: the paths in their order, each folder sorted by name.
///
/// In folders, hidden files, unknown extensions, links to folders and folders that are a corpus
/// are passed over. A file that is itself given must be of a known format, or is of the given
/// one; the path `-` is standard input, which has to be of the given one.
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
                id: file_name(path),
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
        // A link to a folder is not a folder by this type, so links cannot make a circle.
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

fn file_name(path: &Path) -> String {
    path.file_name()
        .unwrap_or_default()
        .to_string_lossy()
        .into_owned()
}
