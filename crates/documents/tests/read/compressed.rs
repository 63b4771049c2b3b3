//! Compressed files, whole and broken.

use crate::files::packed::{bzip2, gzip, zstd};
use crate::{error_of, folder, read};

const LINE: &[u8] = b"{\"id\":\"a\",\"text\":\"x\"}\n";
const OTHER_LINE: &[u8] = b"{\"id\":\"b\",\"text\":\"x\"}\n";

type Packer = fn(&[u8]) -> Vec<u8>;
const PACKERS: [(&str, &str, Packer); 3] = [
    ("gz", "gzip", gzip),
    ("zst", "zstd", zstd),
    ("bz2", "bzip2", bzip2),
];

#[test]
fn several_members_are_one_file() {
    for (extension, _, pack) in PACKERS {
        let marked = [b"\xef\xbb\xbf", LINE].concat();
        let name = format!("c.jsonl.{extension}");
        let dir = folder(&[(&name, &[pack(&marked), pack(OTHER_LINE)].concat())]);
        let ids: Vec<String> = read(dir.path())
            .into_iter()
            .map(|d| d.unwrap().id)
            .collect();
        assert_eq!(ids, ["a", "b"], "{extension}");
    }
}

#[test]
fn cut_off_and_damaged_files_are_told() {
    for (extension, compression, pack) in PACKERS {
        let lines: String = (0..50)
            .map(|n| format!("{{\"id\":{n},\"text\":\"x\"}}\n"))
            .collect();
        for (name, contents) in [
            ("c.jsonl", lines.as_str()),
            ("t.txt", &lines),
            ("c.csv", "id,text\na,some text\n"),
            ("d.xml", "<mediawiki><page></page></mediawiki>"),
        ] {
            let packed = pack(contents.as_bytes());
            let name = format!("{name}.{extension}");
            let (kind, message) = error_of(&name, &packed[..packed.len() - 6]);
            assert_eq!(kind, format!("truncated_{compression}"), "{message}");
            assert!(
                message.starts_with(&format!("{name} is cut off")),
                "{message}"
            );

            let (kind, message) = error_of(&name, b"this was never compressed");
            assert_eq!(kind, format!("damaged_{compression}"), "{message}");
            assert!(message.contains(&format!("no valid {compression} file")));
        }
        // In the checksum, so that it is noticed after the last byte.
        let mut wrong = pack(lines.as_bytes());
        let checksum = wrong.len() - if extension == "gz" { 8 } else { 2 };
        wrong[checksum] ^= 1;
        let (kind, _) = error_of(&format!("t.txt.{extension}"), &wrong);
        assert_eq!(kind, format!("damaged_{compression}"));
    }
}
