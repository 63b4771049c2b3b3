//! Office documents, books and archives, each as small as possible.

use std::io::{Cursor, Write};

use ken_testing::cases;
use zip::ZipWriter;
use zip::write::SimpleFileOptions;

/// A zip archive of files.
pub(crate) fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
    for (name, contents) in files {
        writer
            .start_file(*name, SimpleFileOptions::default())
            .unwrap();
        writer.write_all(contents).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// A package of parts in XML.
pub(crate) fn package(parts: &[(&str, &str)]) -> Vec<u8> {
    let parts: Vec<(&str, &[u8])> = parts
        .iter()
        .map(|(name, text)| (*name, text.as_bytes()))
        .collect();
    zip(&parts)
}

/// The relations of a part: ids, kinds and targets.
pub(crate) fn relations(of: &[(&str, &str, &str)]) -> String {
    let relations: Vec<String> = of
        .iter()
        .map(|(id, kind, target)| {
            format!("<Relationship Id=\"{id}\" Type=\"http://x/{kind}\" Target=\"{target}\"/>")
        })
        .collect();
    format!("<Relationships>{}</Relationships>", relations.concat())
}

const CORE: &str = "<cp:coreProperties><dc:title>On &amp; on</dc:title><dc:creator>I. Ito</dc:creator>\
                    <dcterms:created>2024-05-06T07:08:09Z</dcterms:created></cp:coreProperties>";

/// A Word file with this body.
pub(crate) fn docx(body: &str) -> Vec<u8> {
    let styles = "<w:styles><w:style w:styleId=\"H2\"><w:name w:val=\"heading 2\"/></w:style>\
                  <w:style w:styleId=\"Own\"><w:basedOn w:val=\"H2\"/></w:style>\
                  <w:style w:styleId=\"L\"><w:pPr><w:numPr><w:numId w:val=\"1\"/></w:numPr></w:pPr></w:style><w:style w:styleId=\"T1\"><w:name w:val=\"toc 1\"/></w:style></w:styles>";
    let notes = "<w:footnotes><w:footnote w:type=\"separator\" w:id=\"0\"><w:p><w:r><w:separator/></w:r></w:p></w:footnote>\
                 <w:footnote w:id=\"2\"><w:p><w:r><w:t>A note.</w:t></w:r></w:p></w:footnote></w:footnotes>";
    let main = format!("<w:document><w:body>{body}</w:body></w:document>");
    let level = |index: usize, style: &str, text: &str| {
        format!(
            "<w:lvl w:ilvl=\"{index}\"><w:start w:val=\"1\"/><w:numFmt w:val=\"{style}\"/><w:lvlText w:val=\"{text}\"/></w:lvl>"
        )
    };
    // List 5 is of steps, list 6 begins them again at 4, list 7 is of chapters.
    let numbering = format!(
        "<w:numbering><w:abstractNum w:abstractNumId=\"0\">{}{}</w:abstractNum><w:abstractNum w:abstractNumId=\"1\">{}{}{}</w:abstractNum>\
         <w:num w:numId=\"5\"><w:abstractNumId w:val=\"0\"/></w:num><w:num w:numId=\"6\"><w:abstractNumId w:val=\"0\"/>\
         <w:lvlOverride w:ilvl=\"0\"><w:startOverride w:val=\"4\"/></w:lvlOverride></w:num><w:num w:numId=\"7\"><w:abstractNumId w:val=\"1\"/></w:num></w:numbering>",
        level(0, "decimal", "%1."),
        level(1, "lowerLetter", "%2)"),
        level(0, "upperRoman", "Part %1"),
        level(1, "decimal", "%1.%2"),
        "<w:lvl w:ilvl=\"2\"><w:numFmt w:val=\"decimal\"/><w:isLgl/><w:lvlText w:val=\"%1.%2.%3\"/></w:lvl>",
    );
    let parts = relations(&[
        ("r1", "styles", "styles.xml"),
        ("r2", "footnotes", "footnotes.xml"),
        ("r3", "numbering", "numbering.xml"),
    ]);
    package(&cases![
        "_rels/.rels" => &relations(&[("r1", "officeDocument", "word/document.xml")]);
        "word/_rels/document.xml.rels" => &parts;
        "word/document.xml" => &main;
        "word/styles.xml" => styles;
        "word/footnotes.xml" => notes;
        "word/numbering.xml" => &numbering;
        "docProps/core.xml" => CORE;
    ])
}

/// A paragraph of a Word file in a style.
pub(crate) fn paragraph(style: &str, text: &str) -> String {
    format!("<w:p><w:pPr><w:pStyle w:val=\"{style}\"/></w:pPr><w:r><w:t>{text}</w:t></w:r></w:p>")
}

/// A presentation of two slides, the second of which stands first in the package.
pub(crate) fn pptx() -> Vec<u8> {
    let shape = |kind: &str, text: &str| {
        format!(
            "<p:sp><p:nvSpPr><p:nvPr><p:ph type=\"{kind}\"/></p:nvPr></p:nvSpPr><p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p>\
             </p:txBody></p:sp>"
        )
    };
    let table = "<p:graphicFrame><a:tbl><a:tr><a:tc><a:p><a:r><a:t>Pump</a:t></a:r></a:p></a:tc><a:tc><a:p><a:r><a:t>Bar</a:t></a:r></a:p></a:tc></a:tr>\
                 <a:tr><a:tc><a:p><a:r><a:t>seven</a:t></a:r></a:p></a:tc><a:tc><a:p><a:r><a:t>9</a:t></a:r></a:p></a:tc></a:tr></a:tbl></p:graphicFrame>";
    let slide =
        |shapes: &str| format!("<p:sld><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>");
    let first = slide(&format!(
        "{}{}{}{}",
        shape("title", "Pumps"),
        shape("body", "They are old."),
        shape("sldNum", "1"),
        table
    ));
    let second = slide(&shape("title", "Valves"));
    let notes = slide(&format!(
        "{}{}",
        shape("sldImg", ""),
        shape("body", "Say it twice.")
    ));
    package(&cases![
        "_rels/.rels" => &relations(&[("r1", "officeDocument", "ppt/presentation.xml")]);
        "ppt/presentation.xml" =>
            "<p:presentation><p:sldIdLst><p:sldId id=\"256\" r:id=\"a\"/><p:sldId id=\"257\" r:id=\"b\"/></p:sldIdLst></p:presentation>";
        "ppt/_rels/presentation.xml.rels" =>
            &relations(&[("b", "slide", "slides/slide1.xml"), ("a", "slide", "slides/slide2.xml")]);
        "ppt/slides/slide1.xml" => &second;
        "ppt/slides/slide2.xml" => &first;
        "ppt/slides/_rels/slide2.xml.rels" => &relations(&[("n", "notesSlide", "../notesSlides/notes1.xml")]);
        "ppt/notesSlides/notes1.xml" => &notes;
    ])
}

/// A workbook with this sheet.
pub(crate) fn xlsx(sheet: &str) -> Vec<u8> {
    package(&cases![
        "xl/workbook.xml" =>
            "<workbook><sheets><sheet name=\"Pumps\" sheetId=\"1\" r:id=\"r1\"/></sheets></workbook>";
        "xl/_rels/workbook.xml.rels" =>
            &relations(&[("r1", "worksheet", "worksheets/sheet1.xml"), ("r2", "sharedStrings", "sharedStrings.xml"), ("r3", "styles", "styles.xml")]);
        "xl/sharedStrings.xml" =>
            "<sst><si><t>Pump</t></si><si><r><t>Opened </t></r><r><t>on</t></r></si><si><t>seven</t></si></sst>";
        "xl/styles.xml" =>
            "<styleSheet><numFmts><numFmt numFmtId=\"164\" formatCode=\"yyyy\\-mm\\-dd\"/></numFmts>\
             <cellStyleXfs><xf numFmtId=\"9\"/></cellStyleXfs><cellXfs><xf numFmtId=\"0\"/><xf numFmtId=\"164\"/></cellXfs></styleSheet>";
        "xl/worksheets/sheet1.xml" => &format!("<worksheet><sheetData>{sheet}</sheetData></worksheet>");
    ])
}

/// The rows of a sheet for [`xlsx`]: a header, and a record with a date and a computed value.
pub(crate) const ROWS: &str = "<row r=\"1\"><c r=\"A1\" t=\"s\"><v>0</v></c><c r=\"B1\" t=\"s\"><v>1</v></c><c r=\"D1\" t=\"inlineStr\"><is><t>Load</t></is></c></row>\
                               <row r=\"2\"><c r=\"A2\" t=\"s\"><v>2</v></c><c r=\"B2\" s=\"1\"><v>45351</v></c><c r=\"D2\"><f>1/10+2/10</f><v>0.30000000000000004</v></c></row>";

/// An OpenDocument file with this content.
pub(crate) fn odf(content: &str) -> Vec<u8> {
    package(&cases![
        "meta.xml" =>
            "<office:document-meta><office:meta><dc:title>On on</dc:title></office:meta></office:document-meta>";
        "content.xml" =>
            &format!("<office:document-content><office:body>{content}</office:body></office:document-content>");
    ])
}

/// A book of two chapters, the second of which stands first in the package, and a page beside them.
pub(crate) fn epub() -> Vec<u8> {
    package(&cases![
        "mimetype" => "application/epub+zip";
        "META-INF/container.xml" =>
            "<container><rootfiles><rootfile full-path=\"OEBPS/book.opf\"/></rootfiles></container>";
        "OEBPS/book.opf" =>
            "<package><metadata><dc:title>Tides</dc:title><dc:creator>I. Ito</dc:creator></metadata><manifest>\
             <item id=\"n\" href=\"nav.xhtml\" properties=\"nav\"/><item id=\"b\" href=\"a%20b.xhtml\"/><item id=\"a\" href=\"z.xhtml\"/>\
             <item id=\"m\" href=\"marks.xhtml\"/></manifest><spine><itemref idref=\"m\" linear=\"no\"/><itemref idref=\"n\"/><itemref idref=\"a\"/><itemref idref=\"b\"/></spine></package>";
        "OEBPS/a b.xhtml" => "<html><body><h1>Two</h1><p>It falls.</p></body></html>";
        "OEBPS/marks.xhtml" => "<html><body><p>A note.</p></body></html>";
        "OEBPS/nav.xhtml" => "<html><body>One Two</body></html>";
        "OEBPS/z.xhtml" =>
            "<html><head><title>x</title></head><body><h1>One</h1><p>It rises.</p></body></html>";
    ])
}

/// A tar archive of files.
pub(crate) fn tar(files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut archive = Vec::new();
    for (name, contents) in files {
        // A long name stands in an entry of its own before.
        if name.len() > 100 {
            let name = format!("{name}\0");
            archive.extend(header("././@LongLink", b'L', name.len()));
            archive.extend(padded(name.as_bytes()));
        }
        let short: String = name.chars().take(100).collect();
        archive.extend(header(&short, b'0', contents.len()));
        archive.extend(padded(contents));
    }
    archive.extend([0; 1024]);
    archive
}

fn header(name: &str, kind: u8, size: usize) -> [u8; 512] {
    let mut header = [0; 512];
    header[..name.len()].copy_from_slice(name.as_bytes());
    header[124..135].copy_from_slice(format!("{size:011o}").as_bytes());
    header[148..156].copy_from_slice(b"        ");
    header[156] = kind;
    header[257..263].copy_from_slice(b"ustar\0");
    let sum: u32 = header.iter().map(|&byte| u32::from(byte)).sum();
    header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
    header
}

fn padded(contents: &[u8]) -> Vec<u8> {
    let mut padded = contents.to_vec();
    padded.resize(contents.len().next_multiple_of(512), 0);
    padded
}
