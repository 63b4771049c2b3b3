//! Writing the lexical index of a segment.

use std::io;
use std::path::{Path, PathBuf};

use ken_storage::{StorageError, contained};
use tantivy::directory::error::OpenWriteError;
use tantivy::indexer::SingleSegmentIndexWriter;
use tantivy::schema::Field;
use tantivy::schema::document::TantivyDocument;
use tantivy::{IndexBuilder, TantivyError};

use super::files::directory;
use super::{TOKENIZER, folder, schema};
use crate::IndexError;
use crate::tokenize::analyzer;

/// The size of tantivy's initial term table; it is no limit.
const WRITER_BYTES: usize = 4_000_000;

/// The memory at which a new part starts. tantivy keeps postings in an arena with 32-bit addresses,
/// which ends at 4 GiB; the rest is for one passage, however long.
pub(super) const PART_BYTES: usize = 1 << 30;

/// Writes the lexical index of a segment, passage by passage.
pub(crate) struct LexicalWriter {
    dir: PathBuf,
    part: Part,
    /// Parts that are finished.
    pub(super) finished: usize,
    /// The memory at which a new part starts.
    part_bytes: usize,
}

/// The part that is being written.
struct Part {
    path: PathBuf,
    field: Field,
    writer: SingleSegmentIndexWriter,
    /// Whether it holds a passage.
    has_passages: bool,
}

impl LexicalWriter {
    /// Creates the index in the segment's folder `dir`, which has none yet.
    pub(crate) fn create(dir: &Path) -> Result<Self, IndexError> {
        Self::with_part_bytes(dir, PART_BYTES)
    }

    /// As [`LexicalWriter::create`], with another limit for the memory of a part.
    pub(super) fn with_part_bytes(dir: &Path, part_bytes: usize) -> Result<Self, IndexError> {
        Ok(Self {
            dir: dir.to_owned(),
            part: Part::create(folder(dir, 0))?,
            finished: 0,
            part_bytes,
        })
    }

    /// The memory of the part that is being written.
    #[cfg(test)]
    pub(super) fn memory(&self) -> usize {
        self.part.writer.mem_usage()
    }

    /// Adds the next passage.
    pub(crate) fn push(&mut self, title: &str, text: &str) -> Result<(), IndexError> {
        if self.part.has_passages && self.part.writer.mem_usage() >= self.part_bytes {
            self.finished += 1;
            let next = Part::create(folder(&self.dir, self.finished))?;
            std::mem::replace(&mut self.part, next).finish()?;
        }
        self.part.push(title, text)
    }

    pub(crate) fn finish(self) -> Result<(), IndexError> {
        self.part.finish()
    }
}

impl Part {
    fn create(path: PathBuf) -> Result<Self, IndexError> {
        std::fs::create_dir(&path).map_err(StorageError::new("create", &path))?;
        match tantivy_writer(&path) {
            Ok((writer, field)) => Ok(Self {
                path,
                field,
                writer,
                has_passages: false,
            }),
            Err(error) => Err(write_error(path, error)),
        }
    }

    fn push(&mut self, title: &str, text: &str) -> Result<(), IndexError> {
        let mut document = TantivyDocument::new();
        for value in [title, title, text] {
            document.add_text(self.field, value);
        }
        self.has_passages = true;
        let added = contained(|| self.writer.add_document(document));
        // A single passage that takes more than the arena holds.
        let added = added.unwrap_or_else(|reason| Err(TantivyError::InternalError(reason)));
        added.map_err(|error| write_error(self.path.clone(), error))
    }

    fn finish(self) -> Result<(), IndexError> {
        let finished = self.writer.finalize();
        finished
            .map(|_| ())
            .map_err(|error| write_error(self.path, error))
    }
}

fn tantivy_writer(path: &Path) -> Result<(SingleSegmentIndexWriter, Field), TantivyError> {
    let (schema, field) = schema();
    let tokenizers = tantivy::tokenizer::TokenizerManager::new();
    tokenizers.register(TOKENIZER, analyzer());
    let writer = IndexBuilder::new()
        .schema(schema)
        .tokenizers(tokenizers)
        .single_segment_index_writer(directory(path)?, WRITER_BYTES)?;
    Ok((writer, field))
}

/// Errors of the system are reported as such, as for every other file.
fn write_error(path: PathBuf, error: TantivyError) -> IndexError {
    let (path, message) = match &error {
        TantivyError::OpenWriteError(OpenWriteError::IoError { io_error, filepath }) => {
            (path.join(filepath), io_error.to_string())
        }
        other => (path, other.to_string()),
    };
    match system_error(&message) {
        Some(source) => StorageError::new("write", &path)(source).into(),
        None => IndexError::LexicalWrite {
            path,
            source: Box::new(error),
        },
    }
}

/// The system error that a message quotes. tantivy keeps some as strings only, in which the
/// standard library writes the number: `(os error 5)` displayed, `Os { code: 5, ..` debugged.
fn system_error(message: &str) -> Option<io::Error> {
    let number = |before: &str, after: char| {
        let (_, rest) = message.rsplit_once(before)?;
        Some(rest.split_once(after)?.0)
    };
    let number = number("(os error ", ')').or_else(|| number("Os { code: ", ','))?;
    Some(io::Error::from_raw_os_error(number.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(target_os = "linux")]
    #[test]
    fn a_full_disk_is_reported_however_tantivy_says_it() {
        let internal = |text: &str| TantivyError::InternalError(text.to_owned());
        let system = io::Error::from_raw_os_error(28).to_string();
        for error in [
            TantivyError::from(io::Error::from_raw_os_error(28)),
            TantivyError::from(io::Error::other(system.clone())),
            internal(&system),
            internal(&format!("{:?}", io::Error::from_raw_os_error(28))),
            OpenWriteError::wrap_io_error(io::Error::from_raw_os_error(28), "x.pos".into()).into(),
        ] {
            let error = write_error("c/lexical".into(), error);
            assert_eq!(error.kind(), "no_disk_space", "{error}");
            assert!(error.to_string().contains("c/lexical"), "{error}");
            assert!(error.remedy().is_some(), "{error}");
        }
        assert_eq!(
            write_error("c".into(), internal("odd")).kind(),
            "lexical_write"
        );
    }
}
