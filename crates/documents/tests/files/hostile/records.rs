//! Records, tables, dumps, PDF, and compressed files.

use std::io::Write;

use ken_testing::cases;

use super::{Pattern, add, halves, repeated};
use crate::files::font::page;
use crate::files::packed::{bzip2, gzip, zstd};
use crate::files::pages::{pdf, stream};
use crate::files::table::two_columns;

pub(super) fn records(all: &mut Vec<Pattern>) {
    add(all, "c.jsonl", "records", |n| lines(n, "some words"));
    for (name, before, unit, after) in cases![
        "a long text" => "{\"id\":1,\"text\":\"", "word ", "\"}";
        "escapes" => "{\"id\":1,\"text\":\"", "\\u00e9", "\"}";
        "numbers" => "{\"id\":1,\"text\":\"x\",\"a\":[", "0,", "0]}";
        "lists" => "{\"id\":1,\"text\":\"x\",\"a\":[", "[],", "0]}";
        "lists in lists" => "{\"id\":1,\"text\":\"x\",\"a\":[", "[", "]}";
        "objects in objects" => "{\"id\":1,\"text\":\"x\",\"a\":", "{\"a\":", "0}";
        "digits" => "{\"id\":1,\"text\":\"x\",\"a\":1", "0", "}";
        "one name twice" => "{\"id\":1,\"text\":\"x\"", ",\"a\":0", "}";
        "empty lines" => "", "\n", "{\"id\":1,\"text\":\"x\"}";
        "broken lines" => "", "{\n", "";
        "a title without end" => "{\"id\":1,\"contents\":\"", "a\\n", "\"}";
    ] {
        add(all, "c.jsonl", name, move |n| {
            format!("{before}{}{after}\n", repeated(unit, n)).into()
        });
    }
    add(all, "c.jsonl", "names", |n| {
        let names: String = (0..n / 16)
            .map(|number| format!(",\"a{number:08}\":0"))
            .collect();
        format!("{{\"id\":1,\"text\":\"x\"{names}}}\n").into()
    });
}

/// Records of about this total size.
pub(crate) fn lines(bytes: usize, text: &str) -> Vec<u8> {
    let mut lines = String::new();
    for number in 0.. {
        if lines.len() >= bytes {
            break;
        }
        lines.push_str(&format!("{{\"id\":{number},\"text\":\"{text}\"}}\n"));
    }
    lines.into()
}

pub(super) fn tables(all: &mut Vec<Pattern>) {
    for (name, before, unit, after) in cases![
        "a long field" => "id,text\n1,\"", "word ", "\"\n";
        "quotes" => "id,text\n1,\"", "\"\"", "\"\n";
        "an open quote" => "id,text\n1,\"", "a,b\n", "";
        "empty fields" => "id,text\n1", ",", "\n";
        "empty lines" => "id,text\n", "\n", "1,x\n";
        "carriage returns" => "id,text\n", "\r", "1,x\n";
        "short records" => "id,text\n", "1\n", "";
        "line breaks in quotes" => "id,text\n1,\"", "\n", "\"\n";
        "quotes that open lines" => "id,text\n", "\"a\n", "";
        "quotes that open and go on" => "id,text\n", "1,\"a\n\"\"b\n\"c,d\n", "";
        "rows without texts" => "name,note\n", "a,b\n", "";
        "rows of separators" => "name,note\n", ",\n", "a,b\n";
        "rows after an open quote" => "id,text\n1,\"a\n\"b", "c,\"\n", "";
    ] {
        add(all, "c.csv", name, move |n| {
            format!("{before}{}{after}", repeated(unit, n)).into()
        });
    }
    add(all, "c.csv", "columns", |n| {
        let names: String = (0..n / 8).map(|number| format!(",c{number:06x}")).collect();
        format!("id,text{names}\n1,x\n").into()
    });
    for (name, unit) in [
        ("open quotes", "1\t\"a\n"),
        ("open quotes and doubled ones", "1\t\"a\n\"\"\tb\n"),
        ("quotes that close later", "1\t\"\n\",\"\n"),
    ] {
        add(all, "c.tsv", name, move |n| {
            format!("id\ttext\n{}", repeated(unit, n)).into()
        });
    }
    add(all, "c.tsv", "records", |n| {
        let records: String = (0..n / 24)
            .map(|number| format!("{number:09}\tsome words\n"))
            .collect();
        format!("id\ttext\n{records}").into()
    });
    add(all, "c.parquet", "rows", |n| {
        let ids: Vec<String> = (0..n / 24).map(|number| format!("{number:09}")).collect();
        let rows: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "some words")).collect();
        two_columns(["id", "text"], &rows)
    });
    add(all, "c.parquet", "a long row", |n| {
        two_columns(["id", "text"], &[("a", &"word ".repeat(n / 5))])
    });
}

/// A dump with one page of this text.
pub(crate) fn one_page(text: &str) -> String {
    format!(
        "<mediawiki><page><title>A</title><ns>0</ns><id>1</id><revision><id>2</id><text>{text}</text></revision></page></mediawiki>"
    )
}

pub(super) fn dumps(all: &mut Vec<Pattern>) {
    add(all, "d.xml", "articles", |n| {
        let pages: String = (0..n / 140)
            .map(|number| {
                format!(
                    "<page><title>P</title><ns>0</ns><id>{number}</id><revision><text>'''a''' [[b|c]] {{{{d}}}} e\n* f &amp; g\n</text></revision></page>\n"
                )
            })
            .collect();
        format!("<mediawiki>{pages}</mediawiki>").into()
    });
    for (name, unit) in [
        ("words", "some words\n"),
        ("entities", "&amp;"),
        ("references", "&#65;"),
        ("escaped entities", "&amp;amp;"),
        ("templates in templates", "{{"),
        ("parameters", "{{{"),
        ("links in links", "[["),
        ("labels in labels", "[[a|"),
        ("addresses", "[http://"),
        ("notes", "&lt;ref>"),
        ("notes cut off", "&lt;ref"),
        ("template ends", "}}"),
        ("link ends", "]]"),
        ("table ends", "\n|}"),
        ("labels and templates", "[[a|{{"),
        ("formulas and notes", "&lt;math>&lt;ref>"),
        ("verbatim", "&lt;nowiki>"),
        ("end tags cut off", "&lt;/"),
        ("bars", "|"),
        ("underlines", "__"),
        ("comments", "&lt;!--"),
        ("tables in tables", "\n{|"),
        ("tables", "\n{|\n!a!!b\n|-\n|c||d\n|}"),
        ("categories", "[[Category:a]]"),
        ("closed links", "[[a]]"),
        ("formulas", "&lt;math>"),
        ("empty brackets", "( "),
        ("quotes", "'"),
        ("switches", "__A"),
        ("headings", "\n=="),
        ("elements", "<a>"),
        ("empty elements", "<a/>"),
        ("xml comments", "<!-- a -->"),
        ("an xml comment", "<!-- a "),
        ("data", "<![CDATA[a]]>"),
        ("instructions", "<?a ?>"),
        ("attributes", "<a b='c' d='e'/>"),
    ] {
        add(all, "d.xml", name, move |n| {
            one_page(&repeated(unit, n)).into()
        });
    }
    for (name, first, second) in [
        ("templates and ends", "{{", "}}"),
        ("labels and ends", "[[a|", "]]"),
        ("tables and ends", "\n{|\n", "\n|}\n"),
        ("elements and ends", "<a>", "</a>"),
        ("links in templates and ends", "{{[[", "]]}}"),
    ] {
        add(all, "d.xml", name, move |n| {
            one_page(&halves(first, second, n)).into()
        });
    }
    add(all, "d.xml", "namespaces", |n| {
        let names: String = (0..n / 48)
            .map(|number| format!("<namespace key=\"14\">N{number:08}</namespace>"))
            .collect();
        let page = one_page(&repeated("[[N:a]]", n / 2));
        page.replacen("<page>", &format!("<siteinfo>{names}</siteinfo><page>"), 1)
            .into()
    });
    add(all, "d.xml", "attributes of one", |n| {
        let names: String = (0..n / 12)
            .map(|number| format!(" a{number:06}=''"))
            .collect();
        one_page(&format!("<a{names}/>")).into()
    });
}

/// A PDF of one page with these operators, and with a form that draws `form`.
pub(crate) fn drawing(content: &str, form: &str) -> Vec<u8> {
    pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F 5 0 R >> /XObject << /Form 6 0 R >> >> >>"
            .to_owned(),
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>".to_owned(),
        stream("", content),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
        stream("/Type /XObject /Subtype /Form", form),
        "<< /Title (A) >>".to_owned(),
    ])
}

pub(super) fn pages(all: &mut Vec<Pattern>) {
    const TEXT: &str = "BT /F 12 Tf 72 700 Td (a) Tj ET ";
    for (name, before, unit, after) in cases![
        "text" => "BT /F 12 Tf 72 700 Td ", "(some words) Tj 0 -14 Td ", "ET";
        "a long text" => "BT /F 12 Tf 72 700 Td (", "some words ", ") Tj ET";
        "kept states" => TEXT, "q ", "";
        "lists in lists" => TEXT, "[", "";
        "numbers" => TEXT, "0 ", "Td";
        "parts of a text" => "BT /F 12 Tf 72 700 Td [", "(a) 1 ", "] TJ ET";
        "texts in texts" => TEXT, "(", "";
        "dictionaries" => TEXT, "<<", "";
        "inline pictures" => TEXT, "BI ID ", "";
        "comments" => TEXT, "%", "";
        "fonts" => TEXT, "/F 1 Tf ", "";
        "hyphens" => "BT /F 12 Tf 72 700 Td ", "(a-) Tj 0 -14 Td ", "ET";
        "places" => "BT /F 12 Tf 72 700 Td ", "(a) Tj 97 -3 Td (b) Tj -90 2 Td ", "ET";
        "gaps" => "BT /F 12 Tf 72 700 Td [", "(a) -300 ", "] TJ ET";
        "columns" => "BT /F 12 Tf 72 700 Td ",
            "(some words of a line) Tj 250 0 Td (and others beside it) Tj -250 -14 Td ", "ET";
        "directions" => "BT /F 12 Tf ", "1 .1 -.1 1 9 9 Tm (a) Tj .1 1 -1 .1 99 9 Tm (b) Tj ", "ET";
        "marked content" => TEXT, "/A <</ActualText (a)>> BDC ", "";
    ] {
        add(all, "p.pdf", name, move |n| {
            drawing(&format!("{before}{}{after}", repeated(unit, n)), "")
        });
    }
    add(all, "p.pdf", "annotations", |n| {
        let list = format!("/Annots [{}]", repeated("10 0 R ", n));
        let note = "<< /Subtype /FreeText /Contents (a note) /Rect [9 9 99 99] >>";
        page("q Q", &list, &[note.to_owned()])
    });
    add(all, "p.pdf", "a form drawn often", |n| {
        drawing(
            &format!("{TEXT}{}", repeated("/Form Do ", n / 2)),
            &repeated("q Q ", 80),
        )
    });
    for (name, unit) in [
        ("objects", "<< /A 1 >> "),
        ("references", "9 0 R "),
        ("names", "/A "),
        ("a list", "0 "),
    ] {
        add(all, "p.pdf", name, move |n| {
            pdf(&[
                "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
                "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
                "<< /Type /Page /Parent 2 0 R >>".to_owned(),
                format!("[{}]", repeated(unit, n)),
                "<< >>".to_owned(),
            ])
        });
    }
    add(all, "p.pdf", "pages", |n| {
        let count = n / 100;
        let kids: String = (0..count)
            .map(|number| format!("{} 0 R ", number + 3))
            .collect();
        let mut objects = vec![
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            format!("<< /Type /Pages /Kids [{kids}] /Count {count} >>"),
        ];
        objects.extend((0..count).map(|_| "<< /Type /Page /Parent 2 0 R >>".to_owned()));
        objects.push("<< >>".to_owned());
        pdf(&objects)
    });
}

pub(super) fn packed(all: &mut Vec<Pattern>) {
    add(all, "c.jsonl.gz", "records", |n| {
        gzip(&lines(n, "some words"))
    });
    add(all, "c.jsonl.zst", "records", |n| {
        zstd(&lines(n, "some words"))
    });
    add(all, "c.jsonl.bz2", "records", |n| {
        bzip2(&lines(n, "some words"))
    });
    add(all, "c.jsonl.zst", "one line", |n| zstd(&vec![b'a'; n]));
    add(all, "c.jsonl.gz", "empty lines", |n| gzip(&vec![b'\n'; n]));
    add(all, "t.txt.bz2", "zeros", |n| bzip2(&vec![0; n]));
    add(all, "c.jsonl.gz", "members", |n| {
        gzip(b"{\"id\":1,\"text\":\"x\"}\n").repeat(n / 40)
    });
    add(all, "c.jsonl.zst", "members", |n| {
        zstd(b"{\"id\":1,\"text\":\"x\"}\n").repeat(n / 40)
    });
}

/// Zeros packed with a window of 2^`window_log` bytes.
pub(crate) fn zstd_with_window(bytes: usize, window_log: u32) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.window_log(window_log).unwrap();
    let block = vec![b'x'; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let count = left.min(block.len());
        encoder.write_all(&block[..count]).unwrap();
        left -= count;
    }
    encoder.finish().unwrap()
}
