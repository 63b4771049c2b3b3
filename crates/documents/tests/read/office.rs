//! Office documents and books.

use ken_testing::cases;

use crate::files::packages::{ROWS, docx, epub, odf, package, paragraph, xlsx};
use crate::slides::slide;
use crate::{documents_of, error_of, owned, text_of};

#[test]
fn a_word_file_keeps_its_structure() {
    let cell = |text: &str| format!("<w:tc>{}</w:tc>", paragraph("", text));
    let body = [
        paragraph("T1", "Valves 7"),
        paragraph("H2", "Valves"),
        "<w:p><w:r><w:t xml:space=\"preserve\">It </w:t></w:r><w:r><w:t>opens.</w:t><w:footnoteReference w:id=\"2\"/></w:r>\
         <w:del><w:r><w:delText>never</w:delText></w:r></w:del><w:r><w:br/><w:t>Next</w:t></w:r></w:p>".to_owned(),
        "<w:p><w:pPr><w:numPr><w:ilvl w:val=\"0\"/><w:numId w:val=\"3\"/></w:numPr></w:pPr><w:r><w:t>an item</w:t></w:r></w:p>".to_owned(),
        "<w:p><w:pPr><w:numPr><w:ilvl w:val=\"1\"/><w:numId w:val=\"3\"/></w:numPr></w:pPr><w:r><w:t>below it</w:t></w:r></w:p>".to_owned(),
        format!(
            "<w:tbl><w:tr>{}{}</w:tr><w:tr>{}{}</w:tr></w:tbl>",
            cell("Pump"),
            cell("Bar"),
            cell("seven"),
            cell("9")
        ),
        paragraph("L", "an item by its style"),
        paragraph("Own", "Rest"),
        "<w:p><w:r><mc:AlternateContent><mc:Choice><w:txbxContent><w:p><w:r><w:t>In a box</w:t></w:r></w:p></w:txbxContent></mc:Choice>\
         <mc:Fallback><w:txbxContent><w:p><w:r><w:t>In a box</w:t></w:r></w:p></w:txbxContent></mc:Fallback></mc:AlternateContent><w:t>Around</w:t></w:r></w:p>".to_owned(),
    ];
    let expected = "## Valves\n\nIt opens. [1]\nNext\n\n- an item\n  - below it\n\nPump | Bar\nPump: seven; Bar: 9\n\n- an item by its style\n\n## Rest\n\n\
                    In a box\n\nAround\n\n[1] A note.";
    let metadata = r#"{"author":"I. Ito","created":"2024-05-06T07:08:09Z"}"#;
    assert_eq!(
        documents_of("w.docx", &docx(&body.concat())),
        owned(&[("w.docx", "On & on", expected, metadata)])
    );
}

#[test]
fn items_and_headings_of_word_have_their_numbers() {
    let item = |style: &str, list: usize, level: usize, text: &str| {
        format!(
            "<w:p><w:pPr><w:pStyle w:val=\"{style}\"/><w:numPr><w:ilvl w:val=\"{level}\"/><w:numId w:val=\"{list}\"/></w:numPr></w:pPr>\
             <w:r><w:t>{text}</w:t></w:r></w:p>"
        )
    };
    let cell = |text: &str| format!("<w:tc>{text}</w:tc>");
    let body = [
        item("H2", 7, 0, "Pumps"),
        item("H2", 7, 1, "Seven"),
        item("H2", 7, 2, "Valve"),
        item("", 5, 0, "Open it."),
        item("", 5, 1, "Slowly."),
        item("", 5, 1, "Fully."),
        item("", 5, 0, "Wait."),
        item("H2", 7, 1, "Eight"),
        item("", 6, 0, "Close it."),
        item("", 6, 0, "Lock it."),
        item("L", 0, 0, "No item."),
        format!(
            "<w:tbl><w:tr>{}{}</w:tr></w:tbl>",
            cell(&item("", 7, 0, "")),
            cell(&paragraph("", "nine"))
        ),
    ];
    let expected = "## Part I Pumps\n\n## I.1 Seven\n\n## 1.1.1 Valve\n\n1. Open it.\n  a) Slowly.\n  b) Fully.\n2. Wait.\n\n## I.2 Eight\n\n\
                    4. Close it.\n5. Lock it.\n\nNo item.\n\nPart II | nine\n\nA note.";
    assert_eq!(text_of("w.docx", &docx(&body.concat())), expected);
}

#[test]
fn symbols_and_base_text_are_read_and_placeholders_are_not() {
    let body = "<w:p><w:r><w:sym w:font=\"Wingdings\" w:char=\"F0FC\"/><w:t xml:space=\"preserve\"> 20 </w:t><w:sym w:font=\"Symbol\" w:char=\"F0B0\"/></w:r>\
                <w:r><w:ruby><w:rt><w:r><w:t>とう</w:t></w:r></w:rt><w:rubyBase><w:r><w:t>東</w:t></w:r></w:rubyBase></w:ruby></w:r>\
                <w:sdt><w:sdtPr><w:showingPlcHdr/></w:sdtPr><w:sdtContent><w:r><w:t>Click to enter a name.</w:t></w:r></w:sdtContent></w:sdt>\
                <w:sdt><w:sdtPr><w:showingPlcHdr w:val=\"0\"/></w:sdtPr><w:sdtContent><w:r><w:t>!</w:t></w:r></w:sdtContent></w:sdt>\
                <w:r><w:rPr><w:rFonts w:ascii=\"Symbol\"/></w:rPr><w:t>&#xF061;</w:t></w:r><w:r><w:t>&#xF061;</w:t></w:r></w:p>";
    assert_eq!(
        text_of("w.docx", &docx(body)),
        "✓ 20 °東!α\u{f061}\n\nA note."
    );
}

#[test]
fn a_label_beside_several_rows_holds_for_each() {
    let row = |merge: &str, label: &str, value: &str| {
        format!(
            "<w:tr><w:tc><w:tcPr>{merge}</w:tcPr>{}</w:tc><w:tc>{}</w:tc></w:tr>",
            paragraph("", label),
            paragraph("", value)
        )
    };
    let table = [
        row("", "Deck", "Pump"),
        row("<w:vMerge w:val=\"restart\"/>", "Upper", "seven"),
        row("<w:vMerge/>", "", "eight"),
    ];
    let body = format!("<w:tbl>{}</w:tbl>", table.concat());
    assert_eq!(
        text_of("w.docx", &docx(&body)),
        "Deck | Pump\nDeck: Upper; Pump: seven\nDeck: Upper; Pump: eight\n\nA note."
    );
}

#[test]
fn equations_raised_and_hidden_text_of_word() {
    let run = |look: &str, text: &str| {
        format!("<w:r><w:rPr>{look}</w:rPr><w:t xml:space=\"preserve\">{text}</w:t></w:r>")
    };
    let part =
        |name: &str, text: &str| format!("<m:{name}><m:r><m:t>{text}</m:t></m:r></m:{name}>");
    let body = [
        "<w:p>".to_owned(),
        run("", "At 10"),
        run("<w:vertAlign w:val=\"superscript\"/>", "6"),
        run("<w:vanish/>", " hidden"),
        run("<w:vanish w:val=\"0\"/>", " Pa:"),
        "</w:p><w:p><m:oMath><m:f>".to_owned(),
        part("num", "a+b"),
        part("den", "c"),
        "</m:f><m:r><m:t>=</m:t></m:r><m:sSup>".to_owned(),
        part("e", "x"),
        part("sup", "2"),
        "</m:sSup><m:rad><m:deg/>".to_owned(),
        part("e", "d"),
        "</m:rad><m:r><m:t>+</m:t></m:r><m:nary><m:naryPr><m:chr m:val=\"∑\"/></m:naryPr>"
            .to_owned(),
        part("sub", "i=1"),
        part("sup", "n"),
        part("e", "i"),
        "</m:nary></m:oMath></w:p>".to_owned(),
    ];
    assert_eq!(
        text_of("w.docx", &docx(&body.concat())),
        "At 10^6 Pa:\n\n(a+b)/c=x^2√d+∑_(i=1)^n i\n\nA note."
    );
}

#[test]
fn struck_out_text_is_marked() {
    let run = |look: &str, text: &str| {
        format!("<w:r><w:rPr>{look}</w:rPr><w:t xml:space=\"preserve\">{text}</w:t></w:r>")
    };
    let body = [
        "<w:p>".to_owned(),
        run("", "At "),
        run("<w:strike/>", "9 "),
        run("<w:dstrike w:val=\"true\"/>", "bar"),
        run("", " "),
        run("<w:strike w:val=\"0\"/>", "10 bar, "),
        run("<w:strike/>", "slowly"),
        "</w:p>".to_owned(),
    ];
    assert_eq!(
        text_of("w.docx", &docx(&body.concat())),
        "At ~~9 bar~~ 10 bar, ~~slowly~~\n\nA note."
    );
    let shape = "<p:sp><p:txBody><a:p><a:r><a:rPr strike=\"sngStrike\"/><a:t>9</a:t></a:r><a:r><a:rPr strike=\"noStrike\"/><a:t> 10</a:t></a:r></a:p>\
                 <a:p><a:r><a:rPr strike=\"dblStrike\"/><a:t>bar</a:t></a:r></a:p></p:txBody></p:sp>";
    assert_eq!(
        text_of("p.pptx", &slide(shape)),
        "## Slide 1\n\n~~9~~ 10\n\n~~bar~~"
    );
    let content = "<office:document-content><office:automatic-styles>\
                   <style:style style:name=\"T1\"><style:text-properties style:text-line-through-style=\"solid\"/></style:style>\
                   <style:style style:name=\"T2\"><style:text-properties style:text-line-through-style=\"none\"/></style:style></office:automatic-styles>\
                   <office:body><office:text><text:p>At <text:span text:style-name=\"T1\">9 </text:span>\
                   <text:span text:style-name=\"T2\">10</text:span> bar</text:p></office:text></office:body></office:document-content>";
    assert_eq!(
        text_of("t.odt", &package(&[("content.xml", content)])),
        "At ~~9~~ 10 bar"
    );
}

#[test]
fn formulas_raised_and_hidden_text_of_open_documents() {
    let content = "<office:document-content><office:automatic-styles>\
                   <style:style style:name=\"T1\"><style:text-properties style:text-position=\"super 58%\"/></style:style>\
                   <style:style style:name=\"T2\"><style:text-properties text:display=\"none\"/></style:style></office:automatic-styles>\
                   <office:body><office:text><text:p>At 10<text:span text:style-name=\"T1\">6</text:span>\
                   <text:span text:style-name=\"T2\"> hidden</text:span> Pa, \
                   <draw:frame><draw:object xlink:href=\"./Object 1\"/></draw:frame>, <draw:frame><draw:object xlink:href=\"Object 1/\"/></draw:frame>.</text:p></office:text></office:body></office:document-content>";
    let formula = "<math><semantics><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac>\
                   <annotation>{a+b} over c</annotation></semantics></math>";
    let file = package(&[("content.xml", content), ("Object 1/content.xml", formula)]);
    assert_eq!(text_of("t.odt", &file), "At 10^6 Pa, (a + b)/c, (a + b)/c.");
}

#[test]
fn labels_beside_several_rows_of_other_tables_hold_for_each() {
    let expected =
        "Deck | Pump\nDeck: Upper; Pump: seven\nDeck: Upper; Pump: eight\nDeck: Lower; Pump: nine";
    let row = |label: &str, text: &str, value: &str| {
        let cell = |merged: &str, text: &str| {
            format!("<a:tc {merged}><a:p><a:r><a:t>{text}</a:t></a:r></a:p></a:tc>")
        };
        format!("<a:tr>{}{}</a:tr>", cell(label, text), cell("", value))
    };
    let rows = [
        row("", "Deck", "Pump"),
        row("rowSpan=\"2\"", "Upper", "seven"),
        row("vMerge=\"1\"", "", "eight"),
        row("", "Lower", "nine"),
    ];
    let table = format!(
        "<p:graphicFrame><a:tbl>{}</a:tbl></p:graphicFrame>",
        rows.concat()
    );
    assert_eq!(
        text_of("p.pptx", &slide(&table)),
        format!("## Slide 1\n\n{expected}")
    );
    let row = |label: &str, value: &str| {
        format!(
            "<table:table-row>{label}<table:table-cell><text:p>{value}</text:p></table:table-cell></table:table-row>"
        )
    };
    let label = |rows: usize, text: &str| {
        format!(
            "<table:table-cell table:number-rows-spanned=\"{rows}\"><text:p>{text}</text:p></table:table-cell>"
        )
    };
    let rows = [
        row(&label(1, "Deck"), "Pump"),
        row(&label(2, "Upper"), "seven"),
        row("<table:covered-table-cell/>", "eight"),
        row(&label(1, "Lower"), "nine"),
    ];
    let table = format!(
        "<table:table table:name=\"Pumps\">{}</table:table>",
        rows.concat()
    );
    let sheet = format!("<office:spreadsheet>{table}</office:spreadsheet>");
    assert_eq!(
        text_of("s.ods", &odf(&sheet)),
        format!("## Sheet: Pumps\n\n{expected}")
    );
    let text = format!("<office:text>{table}</office:text>");
    assert_eq!(text_of("t.odt", &odf(&text)), expected);
}

#[test]
fn what_was_before_a_change_does_not_count() {
    let cells = |texts: &[&str]| {
        let cells = texts.iter().map(|text| {
            let before = "<w:tcPr><w:tcPrChange><w:tcPr><w:gridSpan w:val=\"2\"/></w:tcPr></w:tcPrChange></w:tcPr>";
            format!("<w:tc>{before}{}</w:tc>", paragraph("", text))
        });
        cells.collect::<String>()
    };
    let body = format!(
        "<w:p><w:r><w:rPr><w:rPrChange><w:rPr><w:vanish/></w:rPr></w:rPrChange></w:rPr><w:t>sho\u{ad}wn</w:t></w:r></w:p>\
         <w:tbl><w:tr>{}</w:tr><w:tr><w:trPr><w:gridBefore w:val=\"1\"/></w:trPr>{}</w:tr></w:tbl>",
        cells(&["Deck", "Pump", "Bar"]),
        cells(&["seven", "9"])
    );
    assert_eq!(
        text_of("w.docx", &docx(&body)),
        "shown\n\nDeck | Pump | Bar\nPump: seven; Bar: 9\n\nA note."
    );
}

#[test]
fn headings_of_open_documents_have_their_numbers() {
    let styles = "<office:document-styles><text:outline-style><text:outline-level-style text:level=\"1\" style:num-format=\"1\" style:num-suffix=\".\"/>\
                  <text:outline-level-style text:level=\"2\" style:num-format=\"1\" text:display-levels=\"2\"/>\
                  <text:outline-level-style text:level=\"3\" style:num-format=\"\"/></text:outline-style></office:document-styles>";
    let heading = |level: usize, entries: &str, text: &str| {
        format!("<text:h text:outline-level=\"{level}\" {entries}>{text}</text:h>")
    };
    let headings = [
        heading(1, "", "Pumps"),
        heading(2, "", "Seven"),
        heading(2, "text:is-list-header=\"true\"", "Aside"),
        heading(
            2,
            "text:restart-numbering=\"true\" text:start-value=\"5\"",
            "Eight",
        ),
        heading(3, "", "Deep"),
        heading(1, "", "Valves"),
        heading(2, "", "Nine"),
    ];
    let content = format!(
        "<office:document-content><office:body><office:text>{}</office:text></office:body></office:document-content>",
        headings.concat()
    );
    let file = package(&[("content.xml", content.as_str()), ("styles.xml", styles)]);
    assert_eq!(
        text_of("t.odt", &file),
        "# 1. Pumps\n\n## 1.1 Seven\n\n## Aside\n\n## 1.5 Eight\n\n### Deep\n\n# 2. Valves\n\n## 2.1 Nine"
    );
}

#[test]
fn rows_of_a_workbook_name_their_columns() {
    let expected =
        "## Sheet: Pumps\n\nPump | Opened on | Load\nPump: seven; Opened on: 2024-02-29; Load: 0.3";
    assert_eq!(
        documents_of("b.xlsx", &xlsx(ROWS)),
        owned(&[("b.xlsx", "b", expected, "{}")])
    );
}

#[test]
fn labels_beside_several_rows_of_a_workbook_hold_for_each() {
    let row = |number: usize, cells: &[(&str, &str)]| {
        let cells = cells.iter().map(|(column, text)| {
            format!("<c r=\"{column}{number}\" t=\"inlineStr\"><is><t>{text}</t></is></c>")
        });
        format!("<row r=\"{number}\">{}</row>", cells.collect::<String>())
    };
    let rows = [
        row(1, &[("A", "Deck"), ("B", "Pump")]),
        row(2, &[("A", "Upper"), ("B", "seven")]),
        row(3, &[("B", "eight")]),
        row(4, &[("B", "nine")]),
        "<row r=\"5\"><c r=\"B5\"><f>2*4</f></c></row></sheetData><mergeCells><mergeCell ref=\"A2:A3\"/></mergeCells><sheetData>".to_owned(),
    ];
    assert_eq!(
        text_of("b.xlsx", &xlsx(&rows.concat())),
        "## Sheet: Pumps\n\nDeck | Pump\nDeck: Upper; Pump: seven\nDeck: Upper; Pump: eight\nPump: nine\nPump: =2*4"
    );
}

#[test]
fn names_over_several_columns_of_a_sheet_hold_for_each() {
    let expected = "## Sheet: Pumps\n\nDeck | 2023 | 2024\nDeck | 2023 May | 2023 June | 2024\n\
                    Deck: Upper; 2023 May: 1; 2023 June: 2; 2024: 3";
    let row = |number: usize, cells: &[(&str, &str)]| {
        let cells = cells.iter().map(|(column, text)| {
            format!("<c r=\"{column}{number}\" t=\"inlineStr\"><is><t>{text}</t></is></c>")
        });
        format!("<row r=\"{number}\">{}</row>", cells.collect::<String>())
    };
    let rows = [
        row(1, &[("A", "Deck"), ("B", "2023"), ("D", "2024")]),
        row(2, &[("B", "May"), ("C", "June")]),
        row(3, &[("A", "Upper"), ("B", "1"), ("C", "2"), ("D", "3")]),
        "</sheetData><mergeCells><mergeCell ref=\"A1:A2\"/><mergeCell ref=\"B1:C1\"/><mergeCell ref=\"D1:D2\"/></mergeCells><sheetData>"
            .to_owned(),
    ];
    assert_eq!(text_of("b.xlsx", &xlsx(&rows.concat())), expected);
    let cell = |place: &str, text: &str| {
        format!("<table:table-cell {place}><text:p>{text}</text:p></table:table-cell>")
    };
    let covered = "<table:covered-table-cell/>";
    let tall = "table:number-rows-spanned=\"2\"";
    let rows = [
        cell(tall, "Deck"),
        cell("table:number-columns-spanned=\"2\"", "2023"),
        covered.to_owned(),
        cell(tall, "2024"),
        "</table:table-row><table:table-row>".to_owned(),
        covered.to_owned(),
        cell("", "May"),
        cell("", "June"),
        covered.to_owned(),
        "</table:table-row><table:table-row>".to_owned(),
        cell("", "Upper"),
        cell("", "1"),
        cell("", "2"),
        cell("", "3"),
    ];
    let sheet = format!(
        "<office:spreadsheet><table:table table:name=\"Pumps\"><table:table-row>{}</table:table-row></table:table></office:spreadsheet>",
        rows.concat()
    );
    assert_eq!(text_of("s.ods", &odf(&sheet)), expected);
}

#[test]
fn open_documents_are_read_alike() {
    let text = "<office:text><text:h text:outline-level=\"2\">Valves</text:h><text:p>It<text:s text:c=\"2\"/>opens\n  wide.\
                <text:note><text:note-citation>1</text:note-citation><text:note-body><text:p>A note.</text:p></text:note-body></text:note></text:p>\
                <text:list><text:list-item><text:p>an item</text:p></text:list-item></text:list>\
                <text:p><office:annotation><text:p>remark</text:p></office:annotation>End</text:p></office:text>";
    assert_eq!(
        documents_of("t.odt", &odf(text)),
        owned(&[(
            "t.odt",
            "On on",
            "## Valves\n\nIt  opens wide. [1]\n\n- an item\n\nEnd\n\n[1] A note.",
            "{}"
        )])
    );
    let cell = |text: &str| format!("<table:table-cell><text:p>{text}</text:p></table:table-cell>");
    let sheet = format!(
        "<office:spreadsheet><table:table table:name=\"Pumps\"><table:table-row>{}{}<table:table-cell table:number-columns-repeated=\"16000\"/></table:table-row>\
         <table:table-row>{}{}</table:table-row><table:table-row table:number-rows-repeated=\"1048000\"><table:table-cell/></table:table-row></table:table></office:spreadsheet>",
        cell("Pump"),
        cell("Bar"),
        cell("seven"),
        cell("9")
    );
    assert_eq!(
        text_of("s.ods", &odf(&sheet)),
        "## Sheet: Pumps\n\nPump | Bar\nPump: seven; Bar: 9"
    );
    let slides = "<office:presentation><draw:page draw:name=\"page1\"><draw:frame><draw:text-box><text:p>Pumps</text:p></draw:text-box></draw:frame>\
                  <presentation:notes><text:p>Twice.</text:p></presentation:notes></draw:page></office:presentation>";
    assert_eq!(
        text_of("p.odp", &odf(slides)),
        "## Slide 1\n\nPumps\n\nNotes:\n\nTwice."
    );
}

#[test]
fn items_of_open_documents_have_their_numbers() {
    let text = "<office:text><text:list-style style:name=\"L1\"><text:list-level-style-number text:level=\"1\" style:num-format=\"1\" style:num-suffix=\".\"/>\
                <text:list-level-style-number text:level=\"2\" style:num-format=\"a\" style:num-suffix=\")\" text:display-levels=\"2\"/></text:list-style>\
                <text:list text:style-name=\"L1\"><text:list-item><text:p>Open it.</text:p><text:list><text:list-item><text:p>Slowly.</text:p></text:list-item></text:list></text:list-item>\
                <text:list-item><text:p>Wait.</text:p></text:list-item></text:list><text:p>Then:</text:p>\
                <text:list text:style-name=\"L1\" text:continue-numbering=\"true\"><text:list-item><text:p>Close it.</text:p></text:list-item></text:list>\
                <text:list text:style-name=\"L2\"><text:list-item><text:p>Rest.</text:p></text:list-item></text:list></office:text>";
    assert_eq!(
        text_of("t.odt", &odf(text)),
        "1. Open it.\n  1.a) Slowly.\n2. Wait.\n\nThen:\n\n3. Close it.\n- Rest."
    );
}

#[test]
fn chapters_are_in_the_order_of_the_spine() {
    assert_eq!(
        documents_of("b.epub", &epub()),
        owned(&[(
            "b.epub",
            "Tides",
            "One\n\nIt rises.\n\nTwo\n\nIt falls.\n\nA note.",
            r#"{"author":"I. Ito"}"#
        )])
    );
}

#[test]
fn broken_packages_are_named() {
    for (name, contents, kind) in cases![
        "a.docx" => b"no zip".to_vec(), "broken_file";
        "a.docx" => b"\xd0\xcf\x11\xe0\xa1\xb1".to_vec(), "broken_file";
        "a.docx" => package(&[("x.xml", "<x/>")]), "broken_file";
        "a.pptx" => docx(""), "broken_file";
        "a.epub" => docx(""), "broken_file";
        "a.xlsx" => Vec::new(), "broken_file";
        "a.odt" => package(&[("content.xml", "<a><b></a>")]), "broken_file";
        "a.odt" => package(&[("META-INF/manifest.xml", "<m:encryption-data/>"), ("content.xml", "x")]),
            "encrypted_file";
        "a.docx" => docx("</w:body></w:document><!DOCTYPE x [<!ENTITY y \"z\">]><w:document><w:body>"),
            "broken_file";
    ] {
        let (found, message) = error_of(name, &contents);
        assert_eq!(found, kind, "{message}");
        assert!(message.starts_with(name), "{message}");
    }
}
