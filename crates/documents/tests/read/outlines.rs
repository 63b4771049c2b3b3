//! The starts of the pages and sections of documents.

use ken_corpus::{Document, Locator};

use crate::files::packages::{docx, epub, paragraph, pptx};
use crate::files::pages::two_pages;
use crate::{folder, read};

fn document(name: &str, contents: &[u8]) -> Document {
    let dir = folder(&[(name, contents)]);
    read(&dir.path().join(name)).remove(0).unwrap()
}

/// The headings and pages at the place of these words.
fn over(document: &Document, words: &str) -> (String, Option<u32>) {
    let start = document.text.find(words).unwrap();
    let locator = Locator::new(&document.title, &document.text, &document.outline);
    let location = locator.locate(start..start + words.len());
    (location.heading, location.page)
}

fn heading(document: &Document, words: &str) -> String {
    over(document, words).0
}

#[test]
fn a_page_of_html_has_its_headings() {
    let html = "<title>Manual</title><h1>Pumps</h1><p>All.<h2> Valves \n of <b>brass</b></h2><p>Nine bar.\
                <h3></h3><h2 hidden>no</h2><h2>Hoses</h2><p>Red.";
    let page = document("a.html", html.as_bytes());
    assert_eq!(heading(&page, "Nine"), "Pumps > Valves of brass");
    assert_eq!(heading(&page, "Red"), "Pumps > Hoses");
    assert_eq!(heading(&page, "Valves"), "Pumps");
}

#[test]
fn the_article_of_a_page_has_its_own() {
    let prose = "The pump is to be opened once a year, before the first frost, and each of its valves cleaned with oil. ";
    let menu = "<li><a href=x>News</a>".repeat(9);
    let html = format!(
        "<html><head><title>Care</title></head><body><nav><h2>Menu</h2><ul>{menu}</ul></nav><article><h1>Care of pumps</h1>\
         <p>{a}</p><h2>Valves</h2><p>{a} Nine bar.</p></article><footer><h2>Legal</h2>Ours.</footer></body></html>",
        a = prose.repeat(5)
    );
    let page = document("a.html", html.as_bytes());
    assert!(!page.text.contains("Menu"), "{}", page.text);
    // Its first heading is the title, which the article leaves out.
    assert_eq!(heading(&page, "Nine"), "Valves");
}

#[test]
fn markdown_keeps_the_places_when_its_title_is_cut_off() {
    let markdown = "# Pumps\n\nAll.\n\n## Valves\n\n```\n# no heading\n```\n\nNine bar.\n\nHoses\n-----\n\nRed.\n";
    let page = document("a.md", markdown.as_bytes());
    assert_eq!(page.title, "Pumps");
    assert_eq!(heading(&page, "All."), "");
    assert_eq!(heading(&page, "Nine"), "Valves");
    assert_eq!(heading(&page, "Red."), "Hoses");
}

#[test]
fn other_formats_have_their_headings() {
    let body = [
        paragraph("Heading1", "Pumps"),
        paragraph("", "All."),
        paragraph("Heading2", "Valves"),
        paragraph("", "Nine bar."),
    ];
    let word = document("a.docx", &docx(&body.concat()));
    assert_eq!(heading(&word, "Nine"), "Pumps > Valves");
    let rst = document(
        "a.rst",
        b"Pumps\n=====\n\nAll.\n\nValves\n------\n\nNine bar.\n",
    );
    assert_eq!(heading(&rst, "Nine"), "Valves");
    let tex = document(
        "a.tex",
        b"\\section{Pumps}\nAll.\n\n\\subsection{Valves}\nNine bar.\n",
    );
    assert!(heading(&tex, "Nine").ends_with("Valves"), "{}", tex.text);
    let book = document("a.epub", &epub());
    assert!(!book.outline.headings.is_empty());
    for heading in &book.outline.headings {
        assert!(book.text.is_char_boundary(heading.offset));
        assert!(
            heading.offset == 0 || book.text[..heading.offset].ends_with('\n'),
            "{}",
            book.text
        );
    }
    // A line of a text or of code that begins with # is not a heading.
    for name in ["a.txt", "a.py"] {
        assert_eq!(
            document(name, b"# Pumps\n\nNine bar.\n").outline,
            Default::default()
        );
    }
}

#[test]
fn tables_with_headers_are_marked() {
    let html = "<table><tr><th>Pump<th>Bar<tr><td>nine<td>9<tr><td>ten<td>10</table><p>All.\
                <table><tr><td>no<td>header<tr><td>a<td>b</table>";
    let markdown = "Text.\n\n| Pump | Bar |\n|---|---|\n| nine | 9 |\n| ten | 10 |\n\nAll.\n";
    for (name, file) in [("a.html", html), ("a.md", markdown)] {
        let page = document(name, file.as_bytes());
        let locator = Locator::new(&page.title, &page.text, &page.outline);
        let over = |words: &str| locator.header_over(page.text.find(words).unwrap());
        assert_eq!(over("ten"), Some("Pump\tBar"), "{name}");
        assert_eq!(over("nine"), Some("Pump\tBar"), "{name}");
        assert_eq!((over("Pump"), over("All.")), (None, None), "{name}");
        assert_eq!(page.outline.tables.len(), 1, "{name}");
    }
}

#[test]
fn pages_and_slides_are_counted() {
    let pdf = two_pages("BT /F 10 Tf (first) Tj ET", "BT /F 10 Tf (second) Tj ET");
    let pdf = document("a.pdf", &pdf);
    assert_eq!(over(&pdf, "first").1, Some(1));
    assert_eq!(over(&pdf, "second").1, Some(2));
    let slides = document("a.pptx", &pptx());
    let second = slides.text.find("Slide 2").unwrap();
    assert_eq!(over(&slides, &slides.text[second..]).1, Some(2));
    assert_eq!(over(&slides, &slides.text[..9]).1, Some(1));
}
