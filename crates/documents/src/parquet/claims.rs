//! Checks the claims of a Parquet file against its size and the budget before the decoder sees any of
//! it: the decoder reserves the claimed memory and builds schemas recursively, and neither a failed
//! allocation nor a stack overflow can be caught.

use std::fs::File;
use std::io::{BufReader, Read, Seek, SeekFrom};

use parquet::file::metadata::RowGroupMetaData;

use super::thrift::{Flaw, Kind, Walk};
use crate::budget::Budget;
use crate::error::ReadError;
use crate::place::Place;
use crate::watch::Watch;

/// The footer's length and the magic number that ends every file.
const TAIL_BYTES: u64 = 8;
const MARK: &[u8] = b"PAR1";
/// The field ids of the structures.
const SCHEMA: i64 = 2;
const CHILDREN: i64 = 5;
const UNCOMPRESSED_BYTES: i64 = 2;
const COMPRESSED_BYTES: i64 = 3;
/// The longest page header: it can hold the least and the greatest value of the page.
const PAGE_HEADER_BYTES: u64 = 16 << 20;

/// A file with its limits.
pub(super) struct Claims {
    pub(super) file: File,
    pub(super) length: u64,
    pub(super) place: Place,
    pub(super) watch: Watch,
}

impl Claims {
    /// Checks that the footer and its lists have their claimed lengths, and the depth of its
    /// schema.
    pub(super) fn check_footer(&self) -> Result<(), ReadError> {
        let mut tail = [0; TAIL_BYTES as usize];
        let Some(tail_start) = self.length.checked_sub(TAIL_BYTES) else {
            return Err(self.broken("it is shorter than any Parquet file"));
        };
        self.reader(tail_start)?
            .read_exact(&mut tail)
            .map_err(|error| self.failed(error))?;
        let [a, b, c, d, mark @ ..] = tail;
        if mark != MARK {
            return Err(self.broken("it does not end as Parquet files do"));
        }
        let footer = u64::from(u32::from_le_bytes([a, b, c, d]));
        if footer > self.watch.budget.document_bytes {
            return Err(self.watch.too_large(self.place.clone()));
        }
        let Some(start) = tail_start.checked_sub(footer) else {
            return Err(self.broken("its footer is longer than the file"));
        };
        let mut walk = Walk::new(self.reader(start)?, footer, self.watch.budget.parts());
        let mut depth = 0;
        walk.fields(&mut |walk, field, kind| {
            if (field, kind) != (SCHEMA, Kind::List) {
                return Ok(false);
            }
            depth = schema_depth(walk)?;
            Ok(true)
        })
        .map_err(|flaw| self.flaw(flaw))?;
        if depth > Budget::DEPTH {
            return Err(ReadError::TooDeep {
                place: self.place.clone(),
            });
        }
        Ok(())
    }

    /// Checks that the pages of a row group lie within the file and decompress to no more than a
    /// document may have.
    pub(super) fn check_pages(&self, group: &Group) -> Result<(), ReadError> {
        for column in &group.columns {
            let &Some((start, length)) = column else {
                return Err(self.broken("a column has no valid position"));
            };
            let end = start.saturating_add(length);
            if end > self.length {
                return Err(self.broken("a column lies beyond the end of the file"));
            }
            self.check_column(start, end)?;
        }
        Ok(())
    }

    fn check_column(&self, start: u64, end: u64) -> Result<(), ReadError> {
        let most = self.watch.budget.document_bytes;
        let mut reader = self.reader(start)?;
        let mut offset = start;
        while offset < end {
            self.watch.check()?;
            let header = PAGE_HEADER_BYTES.min(end - offset);
            // A page header has no lists. The decoder would skip one in as many steps as it claims
            // to have elements, even past the end of the file.
            let mut walk = Walk::new(&mut reader, header, 0);
            let (mut uncompressed, mut compressed) = (0, 0);
            walk.fields(&mut |walk, field, kind| {
                let size = match (field, kind) {
                    (UNCOMPRESSED_BYTES, Kind::Integer) => &mut uncompressed,
                    (COMPRESSED_BYTES, Kind::Integer) => &mut compressed,
                    _ => return Ok(false),
                };
                *size = walk.integer()?;
                Ok(true)
            })
            .map_err(|flaw| match flaw {
                Flaw::Broken(reason) => self.broken(reason),
                Flaw::TooMany => self.broken("the header of a page holds a list"),
            })?;
            offset += header - walk.left;
            let sizes = (u64::try_from(uncompressed), u64::try_from(compressed));
            let (Ok(uncompressed), Ok(compressed)) = sizes else {
                return Err(self.broken("a page has less than no bytes"));
            };
            if uncompressed > most || compressed > most {
                return Err(ReadError::too_large(self.place.clone(), most, true));
            }
            offset += compressed;
            if offset > end {
                return Err(self.broken("a page is longer than its column"));
            }
            reader
                .seek_relative(compressed.cast_signed())
                .map_err(|error| self.failed(error))?;
        }
        Ok(())
    }

    fn reader(&self, start: u64) -> Result<BufReader<File>, ReadError> {
        let open = || {
            let mut file = self.file.try_clone()?;
            file.seek(SeekFrom::Start(start))?;
            Ok(BufReader::new(file))
        };
        open().map_err(|error| self.failed(error))
    }

    fn flaw(&self, flaw: Flaw) -> ReadError {
        match flaw {
            Flaw::Broken(reason) => self.broken(reason),
            Flaw::TooMany => self
                .watch
                .too_many(self.place.clone(), "columns and parts of them"),
        }
    }

    fn broken(&self, reason: &str) -> ReadError {
        ReadError::BrokenParquet {
            place: self.place.clone(),
            reason: reason.to_owned(),
        }
    }

    fn failed(&self, error: std::io::Error) -> ReadError {
        ReadError::from_io(error, &self.place.path, None, self.watch.budget)
    }
}

/// A row group.
pub(super) struct Group {
    pub(super) rows: u64,
    /// Position and length of each column.
    columns: Vec<Option<(u64, u64)>>,
}

impl Group {
    pub(super) fn of(group: &RowGroupMetaData) -> Self {
        let columns = group.columns().iter().map(|column| {
            // As in the decoder: a dictionary precedes the data, if there is one.
            let start = column
                .dictionary_page_offset()
                .unwrap_or(column.data_page_offset());
            Some((
                start.try_into().ok()?,
                column.compressed_size().try_into().ok()?,
            ))
        });
        Self {
            rows: group.num_rows().try_into().unwrap_or(0),
            columns: columns.collect(),
        }
    }
}

/// The depth of the schema: a list of its elements from the root on, each with the number of its
/// children, which follow it.
fn schema_depth<R: Read>(walk: &mut Walk<R>) -> Result<usize, Flaw> {
    let (count, kind) = walk.list()?;
    if kind != Kind::Struct {
        return Err(Flaw::Broken("its schema is none"));
    }
    // The children still to come of each open element.
    let mut open: Vec<u64> = Vec::new();
    let mut deepest = 0;
    for number in 0..count {
        let mut children = 0;
        walk.fields(&mut |walk, field, kind| {
            if (field, kind) != (CHILDREN, Kind::Integer) {
                return Ok(false);
            }
            children = walk.integer()?;
            Ok(true)
        })?;
        let children = u64::try_from(children).unwrap_or(u64::MAX);
        if children > count - number - 1 {
            return Err(Flaw::Broken("its schema claims more columns than it has"));
        }
        if let Some(left) = open.last_mut() {
            *left -= 1;
        }
        open.push(children);
        deepest = deepest.max(open.len());
        while open.last() == Some(&0) {
            open.pop();
        }
    }
    Ok(deepest)
}
