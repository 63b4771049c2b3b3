//! Parquet files, written by the crate that reads them.

use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

fn texts(texts: &[&str]) -> Vec<ByteArray> {
    texts.iter().map(|&text| ByteArray::from(text)).collect()
}

/// Two row groups of two rows each.
pub(crate) fn four_rows(compression: Compression) -> Vec<u8> {
    let schema = "message m {
        required int64 id; optional binary title (UTF8); required binary text (UTF8);
        optional double score; optional int32 day (DATE);
        optional group tags (LIST) { repeated group list { optional binary element (UTF8); } }
        optional group place { required int32 x; }
    }";
    let schema = Arc::new(parse_message_type(schema).unwrap());
    let properties = WriterProperties::builder()
        .set_compression(compression)
        .build();
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::new(properties)).unwrap();
    for first in [1, 3] {
        let mut rows = writer.next_row_group().unwrap();
        macro_rules! column {
            ($type:ty, $values:expr, $defined:expr, $repeated:expr) => {{
                let mut column = rows.next_column().unwrap().unwrap();
                column
                    .typed::<$type>()
                    .write_batch($values, $defined, $repeated)
                    .unwrap();
                column.close().unwrap();
            }};
        }
        column!(Int64Type, &[first, first + 1], None, None);
        column!(ByteArrayType, &texts(&["T"]), Some(&[1, 0]), None);
        column!(ByteArrayType, &texts(&["x", "yé"]), None, None);
        column!(DoubleType, &[0.5], Some(&[1, 0]), None);
        column!(Int32Type, &[18262], Some(&[1, 0]), None);
        column!(
            ByteArrayType,
            &texts(&["a", "b"]),
            Some(&[3, 3, 0]),
            Some(&[0, 1, 0])
        );
        column!(Int32Type, &[7], Some(&[1, 0]), None);
        rows.close().unwrap();
    }
    writer.close().unwrap();
    file
}

/// Rows of two texts each.
pub(crate) fn two_columns(names: [&str; 2], rows: &[(&str, &str)]) -> Vec<u8> {
    let schema = format!(
        "message m {{ required binary {} (UTF8); required binary {} (UTF8); }}",
        names[0], names[1]
    );
    let schema = Arc::new(parse_message_type(&schema).unwrap());
    let mut file = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut file, schema, Arc::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    for column in 0..2 {
        let values: Vec<&str> = rows
            .iter()
            .map(|row| if column == 0 { row.0 } else { row.1 })
            .collect();
        let mut column = group.next_column().unwrap().unwrap();
        column
            .typed::<ByteArrayType>()
            .write_batch(&texts(&values), None, None)
            .unwrap();
        column.close().unwrap();
    }
    group.close().unwrap();
    writer.close().unwrap();
    file
}
