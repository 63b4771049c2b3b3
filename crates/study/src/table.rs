//! Records as Parquet tables, one row a question. What the columns hold is said where the records
//! are.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde::Serialize;

/// The rows of a table that is being written, column by column.
pub(crate) type Rows<'a> = SerializedRowGroupWriter<'a, File>;

/// Why records could not be written as a table.
#[derive(Debug, thiserror::Error)]
#[error("cannot write the table {path}: {source}")]
pub struct ExportError {
    /// The table.
    pub path: PathBuf,
    /// What went wrong.
    pub source: ParquetError,
}

impl ExportError {
    /// A short name for machines.
    pub fn kind(&self) -> &'static str {
        "table_file"
    }

    /// What to do about it.
    pub fn hint(&self) -> Option<String> {
        Some("check that the folder exists, is writable and has space left".to_owned())
    }
}

/// Writes a table of this schema to `path`, in the place of what stands there, at once or not at
/// all. `columns` writes every column in its order.
///
/// # Errors
/// A file that cannot be written.
pub(crate) fn write_table(
    path: &Path,
    schema: &str,
    columns: impl FnOnce(&mut Rows<'_>) -> Result<(), ParquetError>,
) -> Result<(), ExportError> {
    let mut unfinished = path.as_os_str().to_owned();
    unfinished.push(".unfinished");
    let unfinished = PathBuf::from(unfinished);
    let written = write(&unfinished, schema, columns)
        .and_then(|()| fs::rename(&unfinished, path).map_err(ParquetError::from));
    written.map_err(|source| {
        // What was begun is of no use, and may be what filled the disk.
        let _ = fs::remove_file(&unfinished);
        ExportError {
            path: path.to_owned(),
            source,
        }
    })
}

fn write(
    path: &Path,
    schema: &str,
    columns: impl FnOnce(&mut Rows<'_>) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let schema = Arc::new(parse_message_type(schema)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let file = File::create(path)?;
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build()))?;
    let mut rows = writer.next_row_group()?;
    columns(&mut rows)?;
    rows.close()?;
    writer.close()?;
    Ok(())
}

/// Writes the next column.
pub(crate) fn column<T: DataType>(
    rows: &mut Rows<'_>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<(), ParquetError> {
    let values: Vec<Option<T::T>> = values.collect();
    let present: Vec<i16> = values
        .iter()
        .map(|value| i16::from(value.is_some()))
        .collect();
    let values: Vec<T::T> = values.into_iter().flatten().collect();
    let mut column = rows
        .next_column()?
        .ok_or_else(|| ParquetError::General("more values than columns".to_owned()))?;
    column
        .typed::<T>()
        .write_batch(&values, Some(&present), None)?;
    column.close()
}

/// A value of a column of JSON.
pub(crate) fn json(value: &impl Serialize) -> Option<ByteArray> {
    serde_json::to_vec(value).ok().map(ByteArray::from)
}
