//! The files that are mutated: small good ones of each format, hostile ones, and ones that
//! decompress to far more than they are.

use parquet::basic::Compression;

use crate::files::font::fonts;
use crate::files::hostile::patterns;
use crate::files::hostile::records::{drawing, lines, zstd_with_window};
use crate::files::packed::{bzip2, gzip, zstd};
use crate::files::pages::two_pages;
use crate::files::table::four_rows;

/// About how many bytes a hostile file has.
const HOSTILE_BYTES: usize = 4096;

type Seed = (&'static str, Vec<u8>);

/// One good file of each format.
pub(crate) fn small() -> Vec<Seed> {
    let records =
        b"{\"id\":\"a\",\"title\":\"T\",\"text\":\"x\"}\n{\"id\":2,\"contents\":\"T\\ny\"}\n";
    let dump = "<mediawiki><siteinfo><namespace key=\"14\">K</namespace></siteinfo><page><title>A &amp; B</title><ns>0</ns><id>1</id>\
                <revision><id>2</id><text>'''a''' [[b|c]] {{d}} &lt;ref&gt;e&lt;/ref&gt;\n{| f\n|}\n[[Category:g]]</text></revision></page></mediawiki>";
    let page = two_pages(
        "BT /F 12 Tf 72 700 Td [(Some) -300 (words)] TJ T* (x) ' ET q 1 0 0 1 0 0 cm /Form Do Q /Loop Do",
        "BT /U 10 Tf 0 0 Td <00010002> Tj ET",
    );
    vec![
        ("t.txt", "Some text. It is short. 海牙。\n\nDr. Ito".as_bytes().to_vec()),
        ("t.md", b"---\ntitle: x\ntags: [a, b]\n---\n# A\n\n| b |\n|---|\n| *c* |\n\n- d\n  > e\n".to_vec()),
        ("t.html", b"<html><head><title>A</title><meta name=author content=b></head><p>c<svg><g></svg><table><td>d</table>".to_vec()),
        ("c.jsonl", records.to_vec()),
        ("c.jsonl.gz", gzip(records)),
        ("c.jsonl.zst", zstd(records)),
        ("c.jsonl.bz2", bzip2(records)),
        ("c.csv", b"id,text,title,x\n1,\"a \"\"b\"\"\nc\",d,e\n2,f,g,h\n".to_vec()),
        ("c.tsv", b"id\ttext\n1\t\"a\"\n".to_vec()),
        ("d.xml", dump.as_bytes().to_vec()),
        ("c.parquet", four_rows(Compression::UNCOMPRESSED)),
        ("s.parquet", four_rows(Compression::SNAPPY)),
        ("p.pdf", page),
        ("fonts.pdf", fonts()),
    ]
}

/// All seeds.
pub(crate) fn all() -> Vec<Seed> {
    let mut seeds = small();
    // Half a MiB each, which is over the budget here.
    let zeros = vec![0; 1 << 19];
    seeds.extend([
        ("z.txt.gz", gzip(&zeros)),
        ("z.txt.zst", zstd(&zeros)),
        ("z.txt.bz2", bzip2(&zeros)),
        ("l.jsonl.gz", gzip(&lines(1 << 19, "words"))),
        ("w.jsonl.zst", zstd_with_window(1 << 19, 30)),
        (
            "f.pdf",
            drawing(&"/Form Do ".repeat(500), &"q Q ".repeat(500)),
        ),
    ]);
    let hostile = patterns().into_iter();
    seeds.extend(hostile.map(|pattern| (pattern.file, (pattern.make)(HOSTILE_BYTES))));
    seeds
}
