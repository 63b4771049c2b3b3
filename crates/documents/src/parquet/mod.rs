//! Parquet: a passage a row, read page by page. Columns of any type become metadata as JSON.

mod claims;
mod thrift;

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::record::Row;
use parquet::record::reader::RowIter;
use serde_json::{Map, Value};

use self::claims::{Claims, Group};
use crate::error::ReadError;
use crate::fields::Shape;
use crate::files::InputFile;
use crate::place::Place;
use crate::record::Record;
use crate::watch::Watch;
use ken_storage::contained;

/// The rows of a file. It ends after broken data. `bytes_read` grows by the share of rows read,
/// since a file is not read from start to end.
pub(crate) fn records(
    file: &InputFile,
    bytes_read: Arc<AtomicU64>,
    watch: &Watch,
    mut shape: Shape,
) -> Result<impl Iterator<Item = Result<Record, ReadError>> + Send + use<>, ReadError> {
    let failed = |error| ReadError::from_io(error, &file.path, None, watch.budget);
    let opened = file.open().map_err(failed)?;
    let length = opened.metadata().map_err(failed)?.len();
    let whole = Place::whole(&file.path);
    let mut rows = Some(Rows::open(opened, length, whole, watch, &mut shape)?);
    let row_count = rows.as_ref().map_or(0, |rows| rows.count);
    let path = file.path.clone();
    let mut number = 0;
    let mut counted = 0;
    Ok(std::iter::from_fn(move || {
        let place = Place::row(&path, number + 1);
        let row = rows.as_mut().and_then(|rows| rows.next_row(&place));
        let record: Option<Result<Record, ReadError>> = row.map(|row| {
            let values = row?;
            number += 1;
            let document = shape.document(values, place.number(), &place)?;
            Ok(Record { document, place })
        });
        let continues = match &record {
            Some(Ok(_)) => true,
            Some(Err(error)) => error.concerns_record(),
            None => false,
        };
        let done = if continues {
            share(length, number, row_count)
        } else {
            rows = None;
            length
        };
        bytes_read.fetch_add(done.saturating_sub(counted), Ordering::Relaxed);
        counted = counted.max(done);
        record
    }))
}

/// The rows of a file.
struct Rows {
    claims: Claims,
    rows: RowIter<'static>,
    /// The number of all rows.
    count: u64,
    /// The row groups whose pages were not checked yet.
    groups: VecDeque<Group>,
    /// The rows left of the current row group.
    left: u64,
}

impl Rows {
    /// Opens a file if it has the columns that documents need.
    fn open(
        file: File,
        length: u64,
        whole: Place,
        watch: &Watch,
        shape: &mut Shape,
    ) -> Result<Self, ReadError> {
        let failed = |error| ReadError::from_io(error, &whole.path, None, watch.budget);
        let bounded = Bounded {
            file: file.try_clone().map_err(failed)?,
            length,
        };
        let claims = Claims {
            file,
            length,
            place: whole.clone(),
            watch: watch.clone(),
        };
        claims.check_footer()?;
        let reader = guarded(&whole, || SerializedFileReader::new(bounded))?
            .map_err(|error| broken(&whole, &error))?;
        let metadata = reader.metadata().file_metadata();
        let count = u64::try_from(metadata.num_rows()).unwrap_or(0);
        let columns = metadata.schema().get_fields();
        let nested = shape.names.has_paths();
        let names = columns.iter().map(|column| column.name());
        shape.settle(names.clone());
        if let Some(role) = shape.missing(names).filter(|_| !nested) {
            return Err(ReadError::MissingColumn {
                place: whole,
                names: shape.names.told(role),
            });
        }
        let groups = reader.metadata().row_groups().iter().map(Group::of);
        Ok(Self {
            groups: groups.collect(),
            rows: guarded(&whole, || RowIter::from_file_into(Box::new(reader)))?,
            claims,
            count,
            left: 0,
        })
    }

    /// The next row, at `place`.
    fn next_row(&mut self, place: &Place) -> Option<Result<Map<String, Value>, ReadError>> {
        while self.left == 0
            && let Some(group) = self.groups.pop_front()
        {
            if let Err(error) = self.claims.check_pages(&group) {
                return Some(Err(error));
            }
            self.left = group.rows;
        }
        self.left = self.left.saturating_sub(1);
        match guarded(place, || Some(self.rows.next()?.map(values))) {
            Ok(row) => Some(row?.map_err(|error| broken(place, &error))),
            Err(error) => Some(Err(error)),
        }
    }
}

fn values(row: Row) -> Map<String, Value> {
    let columns = row.into_columns().into_iter();
    columns
        .map(|(name, field)| (name, field.to_json_value()))
        .collect()
}

/// Calls the decoder, which panics on some damaged files, e.g. if levels and values do not match, or a date
/// is out of range.
fn guarded<T>(place: &Place, call: impl FnOnce() -> T) -> Result<T, ReadError> {
    contained(call).map_err(|reason| ReadError::BrokenParquet {
        place: place.clone(),
        reason,
    })
}

fn broken(place: &Place, error: &ParquetError) -> ReadError {
    ReadError::BrokenParquet {
        place: place.clone(),
        reason: error.to_string(),
    }
}

fn share(length: u64, number: u64, row_count: u64) -> u64 {
    let part = u128::from(length) * u128::from(number) / u128::from(row_count.max(1));
    u64::try_from(part).map_or(length, |part| part.min(length))
}

/// A file that refuses reads past its end: the decoder reserves memory for what a damaged file
/// claims, and a failed allocation ends the process. The decoder also skips as many bytes as a header claims, one by
/// one, even past the end.
struct Bounded {
    file: File,
    length: u64,
}

impl Length for Bounded {
    fn len(&self) -> u64 {
        self.length
    }
}

impl ChunkReader for Bounded {
    type T = ToTheEnd;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(ToTheEnd(BufReader::new(file)))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} lie beyond the end of the file"
            )));
        }
        self.file.get_bytes(start, length)
    }
}

/// A reader that fails at its end.
struct ToTheEnd(BufReader<File>);

impl Read for ToTheEnd {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match self.0.read(buffer)? {
            0 if !buffer.is_empty() => Err(io::ErrorKind::UnexpectedEof.into()),
            read => Ok(read),
        }
    }
}
