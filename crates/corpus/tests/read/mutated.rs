//! Files with bytes changed, cut out and doubled: each is read or told to be broken; nothing
//! panics, and nothing goes on forever.

use std::fs;

use proptest::prelude::*;

use crate::compressed::{bzip2, zstd};
use crate::{folder, gzip, parquet, pdf, read};

/// One good file of each format.
fn samples() -> Vec<(&'static str, Vec<u8>)> {
    let records =
        b"{\"id\":\"a\",\"title\":\"T\",\"text\":\"x\"}\n{\"id\":2,\"contents\":\"T\\ny\"}\n";
    let dump = "<mediawiki><siteinfo><namespace key=\"14\">K</namespace></siteinfo><page><title>A &amp; B</title><ns>0</ns><id>1</id>\
                <revision><id>2</id><text>'''a''' [[b|c]] {{d}} &lt;ref&gt;e&lt;/ref&gt;\n{| f\n|}\n[[Category:g]]</text></revision></page></mediawiki>";
    let page = pdf::two_pages(
        "BT /F 12 Tf 72 700 Td [(Some) -300 (words)] TJ T* (x) ' ET q 1 0 0 1 0 0 cm /Form Do Q /Loop Do",
        "BT /U 10 Tf 0 0 Td <00010002> Tj ET",
    );
    vec![
        ("t.txt", b"some text".to_vec()),
        ("t.md", b"---\ntitle: x\ntags: [a, b]\n---\n# A\n\n| b |\n|---|\n| *c* |\n".to_vec()),
        ("t.html", b"<html><head><title>A</title><meta name=author content=b></head><p>c<table><td>d</table>".to_vec()),
        ("c.jsonl", records.to_vec()),
        ("c.jsonl.gz", gzip(records)),
        ("c.jsonl.zst", zstd(records)),
        ("c.jsonl.bz2", bzip2(records)),
        ("c.csv", b"id,text,title,x\n1,\"a \"\"b\"\"\nc\",d,e\n2,f,g,h\n".to_vec()),
        ("c.tsv", b"id\ttext\n1\t\"a\"\n".to_vec()),
        ("d.xml", dump.as_bytes().to_vec()),
        ("c.parquet", parquet::four_rows(::parquet::basic::Compression::UNCOMPRESSED)),
        ("s.parquet", parquet::four_rows(::parquet::basic::Compression::SNAPPY)),
        ("p.pdf", page),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]
    #[test]
    fn broken_files_are_read_or_told(
        changes in prop::collection::vec((any::<prop::sample::Index>(), 0_u8..4, any::<u8>(), 1_usize..40), 1..8),
    ) {
        for (name, mut bytes) in samples() {
            for (place, change, byte, count) in &changes {
                let at = place.index(bytes.len().max(1));
                let end = (at + count).min(bytes.len());
                match change {
                    0 if at < bytes.len() => bytes[at] = *byte,
                    1 => drop(bytes.drain(at.min(end)..end)),
                    2 => {
                        let part = bytes[at.min(end)..end].to_vec();
                        bytes.splice(at.min(end)..at.min(end), part);
                    }
                    _ => bytes.truncate(at.max(1)),
                }
            }
            let dir = folder(&[(name, &bytes)]);
            for error in read(&dir.path().join(name)).into_iter().filter_map(Result::err) {
                prop_assert!(error.to_string().contains(name), "{error}");
                prop_assert!(error.hint().is_some(), "{error}");
            }
            fs::remove_file(dir.path().join(name)).unwrap();
        }
    }
}
