//! Parquet: a passage a row, read page by page. Columns of any type become metadata as JSON.

use std::fs::File;
use std::io::{BufReader, Seek, SeekFrom};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;
use parquet::errors::{ParquetError, Result as ParquetResult};
use parquet::file::reader::{ChunkReader, FileReader, Length, SerializedFileReader};
use parquet::record::Row;
use parquet::record::reader::RowIter;
use serde_json::{Map, Value};

use super::contained::contained;
use super::documents::Record;
use super::error::ReadError;
use super::fields::{self, ID_NAMES, TEXT_NAMES};
use super::files::InputFile;
use super::place::Place;

/// The rows of a file. It ends behind data that are broken. `bytes_read` grows by the share of
/// the rows that were read, since a file is not read from front to end.
pub(super) fn records(
    file: &InputFile,
    bytes_read: Arc<AtomicU64>,
) -> Result<impl Iterator<Item = Result<Record, ReadError>> + Send + use<>, ReadError> {
    let opened =
        File::open(&file.path).map_err(|error| ReadError::from_io(error, &file.path, None))?;
    let length = opened
        .metadata()
        .map_err(|error| ReadError::from_io(error, &file.path, None))?
        .len();
    let whole = Place::whole(&file.path);
    let (rows, row_count) = guarded(&whole, || {
        open(
            Bounded {
                file: opened,
                length,
            },
            &whole,
        )
    })??;
    let path = file.path.clone();
    let mut rows = Some(rows);
    let mut number = 0;
    let mut told = 0;
    Ok(std::iter::from_fn(move || {
        let place = Place::row(&path, number + 1);
        let row = guarded(&place, || Some(rows.as_mut()?.next()?.map(values)));
        let record = match row {
            Ok(Some(Ok(values))) => {
                number += 1;
                let document = fields::document(values, &place);
                Some(document.map(|document| Record { document, place }))
            }
            Ok(Some(Err(error))) => Some(Err(broken(&place, &error))),
            Ok(None) => None,
            Err(error) => Some(Err(error)),
        };
        let goes_on = match &record {
            Some(Ok(_)) => true,
            Some(Err(error)) => error.concerns_record(),
            None => false,
        };
        let done = if goes_on {
            share(length, number, row_count)
        } else {
            rows = None;
            length
        };
        bytes_read.fetch_add(done.saturating_sub(told), Ordering::Relaxed);
        told = told.max(done);
        record
    }))
}

fn values(row: Row) -> Map<String, Value> {
    let columns = row.into_columns().into_iter();
    columns
        .map(|(name, field)| (name, field.to_json_value()))
        .collect()
}

/// The rows and how many they are, once the columns are there that documents need.
fn open(file: Bounded, whole: &Place) -> Result<(RowIter<'static>, u64), ReadError> {
    let reader = SerializedFileReader::new(file).map_err(|error| broken(whole, &error))?;
    let metadata = reader.metadata().file_metadata();
    let row_count = u64::try_from(metadata.num_rows()).unwrap_or(0);
    let columns = metadata.schema().get_fields();
    for names in [ID_NAMES, TEXT_NAMES] {
        if !columns.iter().any(|column| names.contains(&column.name())) {
            return Err(ReadError::MissingColumn {
                place: whole.clone(),
                names,
            });
        }
    }
    Ok((RowIter::from_file_into(Box::new(reader)), row_count))
}

/// The crate panics on some damaged files, e.g. where levels and values do not fit together, or a
/// date is beyond all calendars.
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

/// A file that gives no more than it has: the crate reserves memory for what a damaged file
/// claims, and memory that is not there ends the program.
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
    type T = BufReader<File>;

    fn get_read(&self, start: u64) -> ParquetResult<Self::T> {
        let mut file = self.file.try_clone()?;
        file.seek(SeekFrom::Start(start))?;
        Ok(BufReader::new(file))
    }

    fn get_bytes(&self, start: u64, length: usize) -> ParquetResult<Bytes> {
        let end = start.checked_add(length as u64);
        if end.is_none_or(|end| end > self.length) {
            return Err(ParquetError::EOF(format!(
                "{length} bytes at {start} are behind the file's end"
            )));
        }
        self.file.get_bytes(start, length)
    }
}
