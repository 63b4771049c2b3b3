//! Office documents, books, mail, archives and files with light markup.

use ken_testing::cases;

use super::{Pattern, add, halves, repeated};
use crate::files::packages::{docx, odf, package, tar, xlsx, zip};

pub(super) fn office(all: &mut Vec<Pattern>) {
    for (name, before, unit, after) in cases![
        "paragraphs" => "", "<w:p><w:r><w:t>a</w:t></w:r></w:p>", "";
        "paragraphs in paragraphs" => "", "<w:p>", "";
        "references" => "<w:p><w:t>", "&amp;", "</w:t></w:p>";
        "wide cells" => "<w:tbl><w:tr>", "<w:tc><w:gridSpan w:val=\"64\"/></w:tc>", "</w:tr></w:tbl>";
        "rows" => "<w:tbl>",
            "<w:tr><w:tc><w:p><w:t>a</w:t></w:p></w:tc><w:tc><w:p><w:t>b</w:t></w:p></w:tc></w:tr>", "</w:tbl>";
        "merged rows" => "<w:tbl><w:tr><w:tc><w:p><w:t>a long label that is repeated</w:t></w:p></w:tc></w:tr>",
            "<w:tr><w:tc><w:vMerge/></w:tc></w:tr>", "</w:tbl>";
    ] {
        add(all, "w.docx", name, move |n| {
            docx(&format!("{before}{}{after}", repeated(unit, n)))
        });
    }
    add(all, "w.docx", "attributes", |n| {
        let attributes: String = (0..n / 12)
            .map(|number| format!(" a{number:06}=\"\""))
            .collect();
        docx(&format!("<w:p{attributes}/>"))
    });
    for (name, unit) in cases![
        "rows" => "<row><c t=\"s\"><v>0</v></c><c><v>1.5</v></c></row>";
        "last columns" => "<row><c r=\"XFD1\"><v>1</v></c></row>";
        "one column" => "<c r=\"A1\"><v>1</v></c>";
        "last rows" => "<row r=\"1048576\"><c t=\"s\"><v>1</v></c><c t=\"s\"><v>0</v></c></row><row/>";
    ] {
        add(all, "b.xlsx", name, move |n| xlsx(&repeated(unit, n)));
    }
    for (name, unit) in cases![
        "repeated rows" =>
            "<t:table-row t:number-rows-repeated=\"1000000\"><t:table-cell><p>a</p></t:table-cell></t:table-row>";
        "repeated cells" =>
            "<t:table-row><t:table-cell t:number-columns-repeated=\"16384\"><p>a</p></t:table-cell></t:table-row>";
        "spaces" => "<t:table-row><t:table-cell><p><s t:c=\"99\"/></p></t:table-cell></t:table-row>";
    ] {
        add(all, "s.ods", name, move |n| {
            odf(&format!(
                "<o:spreadsheet><t:table>{}</t:table></o:spreadsheet>",
                repeated(unit, n)
            ))
        });
    }
    for (name, unit) in [
        ("lists", "<text:list>"),
        ("words", "a b\n"),
        ("notes", "<p>a<note><p>b</p></note></p>"),
    ] {
        add(all, "t.odt", name, move |n| odf(&repeated(unit, n)));
    }
    add(all, "b.epub", "one chapter often", |n| {
        let chapters = repeated("<itemref idref=\"a\"/>", n);
        package(&cases![
            "META-INF/container.xml" => "<c><rootfile full-path=\"b.opf\"/></c>";
            "b.opf" => &format!("<p><item id=\"a\" href=\"a.html\"/>{chapters}</p>");
            "a.html" => "<p>a few words";
        ])
    });
}

pub(super) fn archives(all: &mut Vec<Pattern>) {
    let names = |n: usize| {
        (0..n / 100)
            .map(|number| format!("{number}.txt"))
            .collect::<Vec<_>>()
    };
    add(all, "f.zip", "files", move |n| {
        let names = names(n);
        zip(&names
            .iter()
            .map(|name| (name.as_str(), &b"a"[..]))
            .collect::<Vec<_>>())
    });
    add(all, "f.zip", "zeros", |n| {
        zip(&[("a.txt", &vec![b'0'; n]), ("b.txt", b"b")])
    });
    add(all, "f.tar", "files", move |n| {
        let names = names(n / 5);
        tar(&names
            .iter()
            .map(|name| (name.as_str(), &b"a"[..]))
            .collect::<Vec<_>>())
    });
    add(all, "f.tar", "long names", |n| {
        tar(&[(&"a".repeat(n.min(60_000)), b"a")])
    });
}

pub(super) fn mail(all: &mut Vec<Pattern>) {
    let head = "From: a@b.c\nContent-Type: multipart/mixed; boundary=B\n\n";
    for (name, unit) in cases![
        "parts" => "--B\n\na\n";
        "headers" => "Subject: a\n";
        "multiparts" => "--B\nContent-Type: multipart/mixed; boundary=B\n\n";
        "messages" => "--B\nContent-Type: message/rfc822\n\nSubject: a\n";
        "messages in messages" => "Content-Type: message/rfc822\n\n";
        "words" => "=?utf-8?q?a?= ";
    ] {
        add(all, "m.eml", name, move |n| {
            format!("{head}{}", repeated(unit, n)).into()
        });
        add(all, "m.eml", name, move |n| repeated(unit, n).into());
    }
    for (name, unit) in [
        ("messages", "From a\nSubject: b\n\nc\n\n"),
        ("beginnings", "From a\n\n"),
        ("empty lines", "\n"),
        ("quotes", ">>>>From a\n"),
    ] {
        add(all, "m.mbox", name, move |n| repeated(unit, n).into());
    }
}

pub(super) fn markup(all: &mut Vec<Pattern>) {
    for (file, name, unit) in [
        ("t.rst", "headings", "a\n-\n\n"),
        ("t.rst", "drawn lines", "----\n"),
        ("t.rst", "quotes", "`"),
        ("t.rst", "roles", ":a:`b <c>`_ "),
        ("t.rst", "remarks", ".. a\n"),
        ("t.rst", "grids that are none", "+-a\n++++\n|a\n++++\n"),
        ("t.org", "stars", "*"),
        ("t.org", "links", "[["),
        ("t.org", "drawers", ":PROPERTIES:\n"),
        ("t.adoc", "fences", "----\n"),
        ("t.adoc", "remarks", "////\n"),
        ("t.tex", "braces", "{"),
        ("t.tex", "sections", "\\section{"),
        ("t.tex", "footnotes", "\\footnote{a"),
        ("t.tex", "formulas", "$"),
        ("t.tex", "items", "\\item["),
        ("t.tex", "tables", "\\begin{tabular}[a]{b}"),
        ("t.tex", "titles", "\\title{"),
        ("t.tex", "accents", "\\'"),
        ("t.ipynb", "lists", "["),
        ("t.py", "lines", "a = 1\n"),
        ("r.json", "records", "{\"id\":1,\"text\":\"a\"},"),
        ("r.json", "closing marks", "]"),
        ("r.json", "commas", ","),
        ("r.json", "words", "a "),
    ] {
        add(all, file, name, move |n| repeated(unit, n).into());
    }
    add(all, "r.json", "rows", |n| {
        format!("[{}", repeated("{\"a\":{\"b\":1}},", n)).into()
    });
    add(all, "r.json", "one record", |n| {
        format!("[{{\"id\":1,\"text\":\"{}\"}}]", repeated("a", n)).into()
    });
    add(all, "r.json", "lists in lists", |n| {
        halves("[", "]", n).into()
    });
    for (name, unit) in [
        ("groups", "{"),
        ("control words", "\\b "),
        ("characters", "\\u228?"),
        ("bytes", "\\'e9"),
        ("cells", "a\\cell "),
        ("rows", "a\\cell b\\cell\\row "),
        ("numbers", "\\b99999999999999999999 "),
    ] {
        add(all, "t.rtf", name, move |n| {
            format!("{{\\rtf1 {}", repeated(unit, n)).into()
        });
    }
    add(all, "t.ipynb", "cells", |n| {
        let cells = repeated("{\"cell_type\":\"code\",\"source\":[\"a\"]},", n);
        format!("{{\"nbformat\":4,\"cells\":[{cells}{{}}]}}").into()
    });
}
