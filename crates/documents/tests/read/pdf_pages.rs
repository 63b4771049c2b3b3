//! The text on the pages of PDF files, and its order.

use ken_testing::says;

use crate::documents_of;
use crate::files::font::{page, simple};
use crate::files::pages::{pages, stream, two_pages};

fn text(content: &str, entries: &str, objects: &[String]) -> String {
    documents_of("p.pdf", &page(content, entries, objects))
        .remove(0)
        .2
}

#[test]
fn narrow_gaps_part_words() {
    let font = simple("/Encoding /WinAnsiEncoding");
    for gap in [130, 160, 190, 250, 300] {
        let content =
            format!("BT /F 10 Tf 20 100 Td [(The) -{gap} (va) 20 (lve) -{gap} (opens)] TJ ET");
        let read = text(&content, "", std::slice::from_ref(&font));
        assert_eq!(read, "The valve opens", "{gap}");
    }
}

#[test]
fn writing_may_be_turned_and_mirrored() {
    for content in [
        "BT /F -10 Tf -1 0 0 -1 20 100 Tm (turned twice) Tj ET",
        "BT /F 10 Tf 0 1 -1 0 20 100 Tm (turned twice) Tj ET",
        "BT /F -10 Tf 1 0 0 1 200 100 Tm (turned twice) Tj ET",
    ] {
        assert_eq!(text(content, "", &[simple("")]), "turned twice");
    }
}

#[test]
fn what_is_said_to_be_drawn_counts() {
    let content = "BT /F 10 Tf 20 100 Td (o) Tj /Span << /ActualText (ffi) >> BDC (\\001) Tj /P BMC (\\002) Tj EMC EMC (ce) Tj ET";
    assert_eq!(text(content, "", &[simple("")]), "office");
}

#[test]
fn fields_notes_and_stamps_are_read() {
    let form = |content: &str| {
        stream(
            "/Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /H 5 0 R >> >>",
            content,
        )
    };
    let objects = vec![
        simple(""),
        simple(""),
        form("/Tx BMC q BT /H 10 Tf 2 6 Td (Tamsin Orrery) Tj ET Q EMC"),
        "<< /Type /Annot /Subtype /Widget /FT /Tx /V (other) /Rect [180 710 380 730] /AP << /N 12 0 R >> >>".to_owned(),
        // The value is in the field around it, and has no appearance.
        "<< /Type /Annot /Subtype /Widget /Parent 15 0 R /Rect [180 680 380 700] >>".to_owned(),
        "<< /FT /Tx /V <FEFF005100580034> >>".to_owned(),
        "<< /Type /Annot /Subtype /FreeText /Contents (a note\rof two lines) /Rect [50 600 200 640] >>".to_owned(),
        "<< /Type /Annot /Subtype /Stamp /Rect [50 500 250 520] /AS /On /AP << /N << /On 18 0 R /Off 12 0 R >> >> >>".to_owned(),
        form("BT /H 10 Tf 2 6 Td (Approved) Tj ET"),
        "<< /Type /Annot /Subtype /FreeText /F 2 /Contents (hidden) /Rect [50 400 200 440] >>".to_owned(),
        "<< /Type /Annot /Subtype /Popup /Contents (hidden) /Rect [50 400 200 440] >>".to_owned(),
        "<< /Type /Annot /Subtype /Widget /FT /Btn /V /Off /Rect [50 300 60 310] >>".to_owned(),
    ];
    let content = "BT /H 10 Tf 50 716 Td (Holder:) Tj 0 -30 Td (Licence:) Tj ET";
    let list = "/Annots [13 0 R 14 0 R 16 0 R 17 0 R 19 0 R 20 0 R 21 0 R 99 0 R]";
    assert_eq!(
        text(content, list, &objects),
        "Holder: Tamsin Orrery\n\nLicence: QX4\n\na note\nof two lines\n\nApproved"
    );
}

#[test]
fn hebrew_is_in_its_logical_order() {
    let map =
        "1 beginbfrange <05D0> <05EA> <05D0> endbfrange 1 beginbfchar <0020> <0020> endbfchar";
    let objects = [
        "<< /Type /Font /Subtype /Type0 /BaseFont /A /Encoding /Identity-H /DescendantFonts [11 0 R] /ToUnicode 12 0 R >>".to_owned(),
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /A /DW 500 >>".to_owned(),
        stream("", map),
    ];
    let drawn: String = "בוקר טוב"
        .chars()
        .rev()
        .map(|c| format!("{:04x}", u32::from(c)))
        .collect();
    let content = format!("BT /F 10 Tf 50 700 Td <{drawn}> Tj ET");
    assert_eq!(text(&content, "", &objects), "בוקר טוב");
}

#[test]
fn odd_bytes_in_the_content_cost_nothing_else() {
    for content in [
        "BT /F 10 Tf 20 100 Td [(The) 0.0 Tc -250 (valve)] TJ ET",
        "BT /F 10 Tf 20 100 Td ) (The ) Tj ] > (valve) Tj ET",
        "BT /F 10 Tf --20 100.0.0 Td <54 6865 > Tj\u{1} 15 0 Td [( val) (ve)] TJ ET",
        "BI /W 1 /H 1 ID \u{1}\u{2} EI BT /F 10 Tf 20 100 Td (The valve) Tj ET",
    ] {
        let font = simple("/Encoding /WinAnsiEncoding");
        let read = text(content, "", &[font])
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" ");
        assert_eq!(read, "The valve", "{content}");
    }
}

#[test]
fn contents_without_a_length_end_where_they_say() {
    let file = page("BT /F 10 Tf 20 100 Td (The valve) Tj ET", "", &[simple("")]);
    let file = String::from_utf8(file).unwrap();
    for (from, to) in [("/Length", "/Lxngth"), ("/Length ", "/Length 99 0 R /L ")] {
        let documents = documents_of("p.pdf", file.replace(from, to).as_bytes());
        assert_eq!(documents[0].2, "The valve", "{to}");
    }
}

#[test]
fn labels_of_a_figure_do_not_stand_in_the_text_beside_it() {
    let lines = [
        "have been tried and failed. When it fails to finish a start-",
        "ing at a given point, then the machine records that failure.",
        "The machine also sets a counter so that it will not try to re-",
        "cord one that starts there until it is passed a few more times,",
        "during start of the engine and during its steady-state of it,",
        "which is why the fragment is marked as one that never starts.",
    ];
    let mut content = "BT /F 8 Tf 1 0 0 1 20 700 Tm 10 TL".to_owned();
    for line in lines {
        content += &format!(" ({line}) Tj T*");
    }
    for (at, label) in ["Trace", "Number", "Linked", "Closed"].iter().enumerate() {
        content += &format!(" 1 0 0 1 350 {} Tm ({label}) Tj", 697 - 13 * at);
    }
    let read = text(&(content + " ET"), "", &[simple("")]);
    says!(read => "starting at a given point", "record one that starts");
    let words: Vec<&str> = read.split_whitespace().collect();
    assert!(
        words.ends_with(&["Trace", "Number", "Linked", "Closed"]),
        "{read}"
    );
}

#[test]
fn pages_without_text_are_counted() {
    let document = documents_of("p.pdf", &two_pages("BT /F 10 Tf (x) Tj ET", "q Q")).remove(0);
    says!(document.3 => r#""pages":2,"pages_without_text":1"#);
}

#[test]
fn fonts_of_several_kinds_on_one_page() {
    let document = documents_of("p.pdf", &crate::files::font::fonts()).remove(0);
    assert_eq!(document.2, "look\nfiA A\na0באé x", "{}", document.3);
}

#[test]
fn files_that_are_read_in_part_are_named() {
    let told = |file: &[u8]| {
        let folder = crate::folder(&[("a.pdf", file)]);
        let documents = ken_documents::read_documents(&[folder.path().to_owned()]).unwrap();
        let notices = documents.notices();
        assert_eq!(documents.count(), 1);
        let notices = notices.take();
        let told = notices.iter().map(ToString::to_string);
        let told: Vec<String> = told.collect();
        told.join(", ")
            .split_once("a.pdf ")
            .map(|(_, told)| told.to_owned())
    };
    let known = "BT /H 10 Tf 20 100 Td (known) Tj ET";
    assert_eq!(
        told(&two_pages("BT /F 10 Tf (x) Tj ET", "BT /F 10 Tf (y) Tj ET")),
        None
    );
    assert_eq!(
        told(&two_pages("BT /F 10 Tf (x) Tj ET", "q Q")).as_deref(),
        Some("was read in part: 1 of its pages have no text")
    );
    let font = simple("/Encoding << /Differences [1 /mystery] >>");
    assert_eq!(
        told(&page(
            &format!("{known} BT /F 10 Tf <01> Tj ET"),
            "",
            &[font]
        ))
        .as_deref(),
        Some("was read in part: its fonts do not say what 1 characters mean")
    );
}

#[test]
fn heads_are_read_once_and_page_numbers_not() {
    let page = |number: usize| {
        format!(
            "BT /F 9 Tf 72 800 Td (Handbook of Pumps) Tj 400 0 Td ({number}) Tj ET \
             BT /F 11 Tf 72 740 Td (Pump {number} opens at) Tj 0 -14 Td (nine bar.) Tj ET \
             BT /F 9 Tf 280 30 Td (Page {number} of 4) Tj ET"
        )
    };
    let contents: Vec<String> = (1..5).map(page).collect();
    let read = documents_of("p.pdf", &pages(&contents)).remove(0).2;
    let bodies: Vec<String> = (1..5)
        .map(|number| format!("Pump {number} opens at\nnine bar."))
        .collect();
    assert_eq!(
        read,
        format!("Handbook of Pumps 1\n\n{}", bodies.join("\n\n"))
    );
}
