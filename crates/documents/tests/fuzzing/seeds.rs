//! The files that are mutated: small good ones of each format, hostile ones, and ones that
//! decompress to far more than their size.

use ken_testing::cases;
use parquet::basic::Compression;

use crate::files::font::fonts;
use crate::files::hostile::patterns;
use crate::files::hostile::records::{drawing, lines, zstd_with_window};
use crate::files::packages::{ROWS, docx, epub, odf, paragraph, pptx, tar, xlsx, zip};
use crate::files::packed::{bzip2, gzip, zstd};
use crate::files::pages::two_pages;
use crate::files::table::four_rows;

/// About how many bytes a hostile file has.
const HOSTILE_BYTES: usize = 4096;

const MESSAGE: &[u8] = b"From: a <b@c.d>\nSubject: =?utf-8?q?e?=\nMessage-ID: <f@g>\nContent-Type: multipart/mixed; boundary=B\n\n\
    --B\nContent-Type: text/plain; charset=latin1\n\nh\n--B\nContent-Type: text/html\n\n<p>i\n--B\nContent-Type: message/rfc822\n\nSubject: j\n\nk\n--B--\n";

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
        ("s.csv", "\u{feff}sep=;\nname;price;name\nPump;9,50;\n;;\n".as_bytes().to_vec()),
        ("d.xml", dump.as_bytes().to_vec()),
        ("c.parquet", four_rows(Compression::UNCOMPRESSED)),
        ("s.parquet", four_rows(Compression::SNAPPY)),
        ("p.pdf", page),
        ("w.docx", docx(&paragraph("H2", "a &amp; b"))),
        ("p.pptx", pptx()),
        ("b.xlsx", xlsx(ROWS)),
        ("t.odt", odf("<text:h>a</text:h><table:table><table:table-row><table:table-cell><text:p>b</text:p></table:table-cell></table:table-row></table:table>")),
        ("b.epub", epub()),
        ("f.zip", zip(&[("a.txt", b"a"), ("b/c.md", b"# b"), ("d.csv", b"id,text\n1,a")])),
        ("f.tar", tar(&[("a.txt", b"a"), ("b/c.md", b"# b")])),
        ("m.eml", MESSAGE.to_vec()),
        ("m.mbox", [b"From a\n", MESSAGE, b"\nFrom b\nSubject: c\n\nd\n"].concat()),
        ("n.ipynb", br##"{"nbformat":4,"cells":[{"cell_type":"markdown","source":["# a"]},{"cell_type":"code","source":"b","outputs":[{"text":"c"}]}]}"##.to_vec()),
        ("t.rtf", br"{\rtf1\ansi{\info{\title a}}\outlinelevel0 b\par\pard c\'e9\u8211?\cell d\cell\row}".to_vec()),
        ("r.json", br#"[{"id":1,"text":"a"},{"id":"b","text":"c"}]"#.to_vec()),
        ("o.json", br#"[{"a":{"b":[1,{"c":"d"}]}},{"text":"e"}]"#.to_vec()),
        ("t.rst", b"a\n=\n\n.. note:: b\n\n`c <d>`_ ``e``\n\nf\n---\n".to_vec()),
        ("t.org", b"#+TITLE: a\n* TODO b :c:\n:PROPERTIES:\n:END:\n[[d][e]]\n".to_vec()),
        ("t.adoc", b"= a\n:b: c\n\n== d\n----\ne\n----\n".to_vec()),
        ("t.tex", b"\\title{a}\\begin{document}\\section{b}$c$ \\emph{d}\\item e \\'{e} % f\n\\end{document}".to_vec()),
        ("t.py", b"a = 1\n".to_vec()),
        ("fonts.pdf", fonts()),
    ]
}

/// All seeds.
pub(crate) fn all() -> Vec<Seed> {
    let mut seeds = small();
    // Half a MiB each, which is over the budget here.
    let zeros = vec![0; 1 << 19];
    seeds.extend(cases![
        "z.txt.gz" => gzip(&zeros);
        "z.txt.zst" => zstd(&zeros);
        "z.txt.bz2" => bzip2(&zeros);
        "l.jsonl.gz" => gzip(&lines(1 << 19, "words"));
        "w.jsonl.zst" => zstd_with_window(1 << 19, 30);
        "f.pdf" => drawing(&"/Form Do ".repeat(500), &"q Q ".repeat(500));
    ]);
    let hostile = patterns().into_iter();
    seeds.extend(hostile.map(|pattern| (pattern.file, (pattern.make)(HOSTILE_BYTES))));
    seeds
}
