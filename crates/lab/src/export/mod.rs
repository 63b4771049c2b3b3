//! Records as Parquet tables, one row per question or sentence.

mod columns;

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_storage::{AtomicFile, StorageError};
use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

/// Records that can be written as a table.
pub trait Table: Sized {
    /// The name of the table's schema.
    const NAME: &'static str;

    /// The columns by name, in order.
    fn columns() -> Vec<(&'static str, Column<Self>)>;
}

/// The values of a column, each as a function of a record.
pub enum Column<R> {
    /// Text.
    Text(fn(&R) -> Option<&str>),
    /// JSON, as in the record.
    Json(fn(&R) -> serde_json::Result<Vec<u8>>),
    /// A floating-point number.
    Number(fn(&R) -> Option<f64>),
    /// A count.
    Count(fn(&R) -> usize),
}

/// Why writing records as a table failed.
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

/// Writes records as a Parquet table to `path`, replacing an existing file atomically.
///
/// # Errors
/// A file that cannot be written.
pub fn write_parquet<R: Table>(path: &Path, records: &[R]) -> Result<(), ExportError> {
    write(path, records).map_err(|source| ExportError {
        path: path.to_owned(),
        source,
    })
}

fn write<R: Table>(path: &Path, records: &[R]) -> Result<(), ParquetError> {
    let columns = R::columns();
    let refused = |error: StorageError| ParquetError::External(Box::new(error));
    let schema = Arc::new(parse_message_type(&schema(R::NAME, &columns))?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY);
    let file = AtomicFile::output(path).map_err(refused)?;
    let mut writer = SerializedFileWriter::new(file, schema, Arc::new(properties.build()))?;
    let mut rows = writer.next_row_group()?;
    for (_, column) in &columns {
        let records = records.iter();
        match column {
            Column::Text(of) => {
                let texts = records.map(|record| of(record).map(ByteArray::from));
                write_column::<ByteArrayType>(&mut rows, texts)
            }
            Column::Json(of) => {
                let texts = records.map(|record| of(record).ok().map(ByteArray::from));
                write_column::<ByteArrayType>(&mut rows, texts)
            }
            Column::Number(of) => write_column::<DoubleType>(&mut rows, records.map(of)),
            Column::Count(of) => {
                let counts = records.map(|record| i64::try_from(of(record)).ok());
                write_column::<Int64Type>(&mut rows, counts)
            }
        }?;
    }
    rows.close()?;
    writer.into_inner()?.commit().map_err(refused)
}

fn schema<R>(name: &str, columns: &[(&str, Column<R>)]) -> String {
    let fields = columns.iter().map(|(name, column)| match column {
        Column::Text(_) => format!("OPTIONAL BYTE_ARRAY {name} (UTF8);"),
        Column::Json(_) => format!("OPTIONAL BYTE_ARRAY {name} (JSON);"),
        Column::Number(_) => format!("OPTIONAL DOUBLE {name};"),
        Column::Count(_) => format!("OPTIONAL INT64 {name};"),
    });
    format!("message {name} {{ {} }}", fields.collect::<String>())
}

fn write_column<T: DataType>(
    rows: &mut SerializedRowGroupWriter<'_, AtomicFile>,
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
