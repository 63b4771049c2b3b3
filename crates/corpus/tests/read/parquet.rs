//! Parquet files, written by the crate that reads them.

use std::sync::Arc;

use ken_corpus::read_documents;
use parquet::basic::{Compression, ZstdLevel};
use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int32Type, Int64Type};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;
use parquet::schema::parser::parse_message_type;

use crate::{documents_of, error_of, folder, owned, read};

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
fn two_columns(names: [&str; 2], rows: &[(&str, &str)]) -> Vec<u8> {
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

#[test]
fn rows_of_typed_and_nested_columns() {
    let full = r#"{"score":0.5,"day":"2020-01-01","tags":["a","b"],"place":{"x":7}}"#;
    let empty = r#"{"score":null,"day":null,"tags":null,"place":null}"#;
    let expected = [
        ("1", "T", "x", full),
        ("2", "", "yé", empty),
        ("3", "T", "x", full),
        ("4", "", "yé", empty),
    ];
    for compression in [
        Compression::UNCOMPRESSED,
        Compression::SNAPPY,
        Compression::GZIP(Default::default()),
        Compression::LZ4_RAW,
        Compression::ZSTD(ZstdLevel::default()),
    ] {
        assert_eq!(
            documents_of("p.parquet", &four_rows(compression)),
            owned(&expected)
        );
    }
    let dir = folder(&[("p.parquet", &four_rows(Compression::SNAPPY))]);
    assert!(
        read(dir.path())
            .iter()
            .all(|document| document.as_ref().unwrap().record)
    );
}

#[test]
fn what_is_wrong_is_told_by_file_and_row() {
    let good = [("a", "x"), ("b", "y")];
    for (file, kind, message) in [
        (
            two_columns(["id", "body"], &good),
            "missing_column",
            "p.parquet: the header has no column contents, text, passage or content",
        ),
        (
            two_columns(["name", "text"], &good),
            "missing_column",
            "p.parquet: the header has no column id, _id or doc_id",
        ),
        (
            two_columns(["id", "text"], &[("a", "x"), ("", "y"), ("c", "z")]),
            "missing_field",
            "p.parquet, row 2: the record has no id, _id or doc_id",
        ),
        (
            two_columns(["id", "text"], &[("a", "x"), ("a", "y")]),
            "duplicate_id",
            "p.parquet, row 2: the document id \"a\" was read before",
        ),
        (
            b"PAR1".to_vec(),
            "broken_parquet",
            "p.parquet: broken Parquet: ",
        ),
        (
            b"no Parquet at all".to_vec(),
            "broken_parquet",
            "p.parquet: broken Parquet: ",
        ),
    ] {
        let (found, text) = error_of("p.parquet", &file);
        assert_eq!(found, kind, "{text}");
        assert!(text.starts_with(message), "{text}");
    }
    let whole = two_columns(["id", "text"], &good);
    let (kind, _) = error_of("p.parquet", &whole[..whole.len() / 2]);
    assert_eq!(kind, "broken_parquet");
}

#[test]
fn progress_ends_with_the_files_length() {
    let dir = folder(&[
        ("p.parquet", &four_rows(Compression::SNAPPY)),
        ("t.txt", b"x"),
    ]);
    let mut documents = read_documents(&[dir.path().to_owned()]).unwrap();
    documents.next().unwrap().unwrap();
    let early = documents.progress();
    assert!(0 < early.bytes_read && Some(early.bytes_read) < early.bytes_total);
    assert_eq!(documents.by_ref().count(), 4);
    let late = documents.progress();
    assert_eq!(Some(late.bytes_read), late.bytes_total);
}
