//! Records as Parquet tables, one row a question. What the columns hold is said where the records
//! are.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_storage::{AtomicFile, StorageError};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, DataType};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use serde::Serialize;

/// The rows of a table that is being written, column by column.
pub(crate) type Rows<'a> = SerializedRowGroupWriter<'a, AtomicFile>;

/// Why records could not be written as a table.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[error("cannot write the table {path}: {source}")]
#[diagnostic(
    kind = "table_file",
    remedy = "check that the folder exists, is writable and has space left"
)]
pub struct ExportError {
    /// The table.
    pub path: PathBuf,
    /// What went wrong.
    pub source: ParquetError,
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
    write(path, schema, columns).map_err(|source| ExportError {
        path: path.to_owned(),
        source,
    })
}

fn write(
    path: &Path,
    schema: &str,
    columns: impl FnOnce(&mut Rows<'_>) -> Result<(), ParquetError>,
) -> Result<(), ParquetError> {
    let refused = |error: StorageError| ParquetError::External(Box::new(error));
    let schema = Arc::new(parse_message_type(schema)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let file = AtomicFile::create(path).map_err(refused)?;
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build()))?;
    let mut rows = writer.next_row_group()?;
    columns(&mut rows)?;
    rows.close()?;
    writer.into_inner()?.commit().map_err(refused)
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
