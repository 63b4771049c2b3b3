//! Parquet files, whole and broken.

use ken_documents::read_documents;
use ken_testing::cases;
use parquet::basic::{Compression, ZstdLevel};

use crate::files::table::{four_rows, two_columns};
use crate::{documents_of, error_of, folder, owned, read};

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
    for (file, kind, message) in cases![
        two_columns(["id", "text"], &[("a", "x"), ("", "y"), ("c", "z")]) => "missing_field",
            "p.parquet, row 2: the record has no id, _id or doc_id";
        two_columns(["id", "text"], &[("a", "x"), ("a", "y")]) => "duplicate_id",
            "p.parquet, row 2: the document id \"a\" was read before";
        b"PAR1".to_vec() => "broken_parquet", "p.parquet: broken Parquet: ";
        b"no Parquet at all".to_vec() => "broken_parquet", "p.parquet: broken Parquet: ";
    ] {
        let (found, text) = error_of("p.parquet", &file);
        assert_eq!(found, kind, "{text}");
        assert!(text.starts_with(message), "{text}");
    }
    let whole = two_columns(["id", "text"], &good);
    // The first page's header: a field that is a list of one number.
    let mut list = whole.clone();
    list[4..8].copy_from_slice(&[0x99, 0x13, 0x00, 0x00]);
    let (_, text) = error_of("p.parquet", &list);
    assert!(
        text.ends_with("the header of a page holds a list"),
        "{text}"
    );
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
