//! The meaning of codes in PDF fonts, in all ways in which fonts give it.

use ken_testing::{cases, says};

use crate::documents_of;
use crate::files::font::{page, simple};
use crate::files::pages::stream;

/// The text of a page that draws a string in its first font.
fn drawn(string: &str, objects: &[String]) -> String {
    let content = format!("BT /F 10 Tf 20 100 Td {string} Tj ET");
    documents_of("f.pdf", &page(&content, "", objects))
        .remove(0)
        .2
}

fn with_differences(differences: &str, entries: &str) -> String {
    simple(&format!(
        "/Encoding << /Type /Encoding /Differences [{differences}] >> {entries}"
    ))
}

#[test]
fn an_odd_name_costs_its_own_code_alone() {
    for (differences, string, expected) in cases![
        "1 /V /a /l /v /e" => "<0102030405>", "Valve";
        "0 /.notdef 1 /V /a /l /v /e 6 /.notdef" => "<0102030405>", "Valve";
        "1 /V /mystery /l 3 (odd) /l /.notdef 300 /x -4 /y" => "<010203>", "Vl";
        "27 /ff /fi /fl /ffi 32 /.notdef 233 /eacute" => "(caf\\351 e\\036cace \\034)", "café efficace fi";
        "1 /uni0041 /u00e9 /a.sc /nineoldstyle /Asmall /f_i" => "<010203040506>", "Aéa9Afi";
        "1 /g65 /g97 /mystery" => "<0102>", "Aa";
        "1 /G41 /G6A /G7a" => "<010203>", "Ajz";
    ] {
        assert_eq!(
            drawn(string, &[with_differences(differences, "")]),
            expected,
            "{differences}"
        );
    }
}

/// A font with a program of its own.
fn embedded(kind: &str, program: &str) -> Vec<String> {
    vec![
        simple("/FontDescriptor 12 0 R"),
        "null".to_owned(),
        format!("<< /Type /FontDescriptor /FontName /ABCDEF+Any /Flags 4 /{kind} 13 0 R >>"),
        stream("/Filter /ASCIIHexDecode", program),
    ]
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect::<String>()
        + ">"
}

#[test]
fn the_encoding_in_a_type_1_program_counts() {
    let program = "%!PS-AdobeFont-1.0: Any\n/Encoding 256 array\n0 1 255 {1 index exch /.notdef put} for\n\
                   dup 12 /fi put\ndup 92 /quotedblleft put\ndup 34 /quotedblright put\ndup 123 /endash put\n\
                   dup 108 /l put dup 110 /n put dup 103 /g put dup 105 /i put readonly def\ncurrentfile eexec\n";
    let objects = embedded("FontFile", &hexadecimal(program.as_bytes()));
    assert_eq!(drawn("(\\134\\014lling\\042{)", &objects), "“filling”–");
}

#[test]
fn the_encoding_in_a_cff_program_counts() {
    // One name, a top dictionary, no strings; the glyphs .notdef, A and fi with the codes 1 and 2.
    let mut program = vec![1, 0, 4, 1, 0, 1, 1, 1, 2, b'F'];
    let top = [28, 0, 33, 15, 28, 0, 38, 16, 28, 0, 42, 17];
    program.extend([0, 1, 1, 1, 13]);
    program.extend(top);
    program.extend([0, 0, 0, 0]);
    // Two bytes to fill up, then the charset at 33, the encoding at 38 and the glyphs at 42.
    program.extend([0, 0]);
    assert_eq!(program.len(), 33);
    program.extend([
        0, 0, 34, 0, 109, 0, 2, 1, 2, 0, 3, 1, 1, 2, 3, 4, 14, 14, 14,
    ]);
    let objects = embedded("FontFile3", &hexadecimal(&program));
    assert_eq!(drawn("<010201>", &objects), "AfiA");
    // The same program names the glyphs of a font whose codes are glyphs.
    let mut objects = embedded("FontFile3", &hexadecimal(&program));
    objects[0] = "<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding /Identity-H /DescendantFonts [11 0 R] >>".to_owned();
    objects[1] =
        "<< /Type /Font /Subtype /CIDFontType0 /BaseFont /Any /DW 500 /FontDescriptor 12 0 R >>"
            .to_owned();
    assert_eq!(drawn("<000100020001>", &objects), "AfiA");
}

/// A font with codes of several bytes.
fn composite(encoding: &str, descendant: &str, to_unicode: &str, others: &[String]) -> Vec<String> {
    let mut objects = vec![
        format!(
            "<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding {encoding} /DescendantFonts [11 0 R] {to_unicode} >>"
        ),
        format!("<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any {descendant} >>"),
    ];
    objects.extend_from_slice(others);
    objects
}

#[test]
fn maps_to_unicode_in_any_spelling() {
    let entries = "3 beginbfchar <0001> <0056> <0002> <0061> <0003> /l endbfchar";
    for map in [
        format!("begincmap {entries} endcmap"),
        entries.to_owned(),
        entries.replace("endbfchar", ""),
        entries.replace("> <", ">\r<").replace("<00", "<00 "),
        format!("/CMapName /My Font,0 def /CMapType\n2\ndef {entries}"),
        format!(
            "begincmap /Adobe-Identity-UCS usecmap 1 begincodespacerange <00> <FF> endcodespacerange {entries}"
        ),
        "1 beginbfrange <0001> <0003>\n[ <0056>\n<0061> <006C> ] endbfrange".to_owned(),
        format!("1 beginbfchar <00F0> <> endbfchar % comment\n{entries}"),
    ] {
        let objects = composite(
            "/Identity-H",
            "/DW 500",
            "/ToUnicode 12 0 R",
            &[stream("", &map)],
        );
        assert_eq!(drawn("<000100020003>", &objects), "Val", "{map}");
    }
    let named = composite("/Identity-H", "/DW 500", "/ToUnicode /Identity-H", &[]);
    assert_eq!(drawn("<00560061006C>", &named), "Val");
}

#[test]
fn codes_are_as_long_as_their_ranges_say() {
    let codes =
        "1 begincodespacerange <00> <FF> endcodespacerange 1 begincidrange <00> <FF> 0 endcidrange";
    let map = "1 beginbfrange <41> <5A> <0061> endbfrange";
    let streams = [stream("", map), stream("/Type /CMap /CMapName /Own", codes)];
    let objects = composite("13 0 R", "/DW 500", "/ToUnicode 12 0 R", &streams);
    assert_eq!(drawn("(ABC)", &objects), "abc");
    let mixed = "2 begincodespacerange <00> <80> <8100> <9FFF> endcodespacerange";
    let map = "2 beginbfchar <41> <0061> <8141> <8A9E> endbfchar";
    let streams = [stream("", map), stream("", mixed)];
    let objects = composite("13 0 R", "/DW 500", "/ToUnicode 12 0 R", &streams);
    assert_eq!(drawn("<418141418141>", &objects), "a語a語");
}

#[test]
fn asian_fonts_by_the_maps_that_readers_know() {
    for (encoding, ordering, string, expected) in [
        ("/UniGB-UCS2-H", "GB1", "<6cf57ad9>", "泵站"),
        ("/UniJIS-UTF16-H", "Japan1", "<30dd30f330d7>", "ポンプ"),
        ("/UniKS-UCS2-H", "Korea1", "<d38cd504>", "펌프"),
        ("/UniCNS-UTF16-H", "CNS1", "<95a5>", "閥"),
        ("/GBK-EUC-H", "GB1", "<b1c3416c>", "泵Al"),
        ("/90ms-RKSJ-H", "Japan1", "<837c838d41>", "ポロA"),
        ("/Identity-H", "Japan1", "<0022>", "A"),
    ] {
        let information =
            format!("/CIDSystemInfo << /Registry (Adobe) /Ordering ({ordering}) /Supplement 2 >>");
        let objects = composite(encoding, &information, "", &[]);
        assert_eq!(drawn(string, &objects), expected, "{encoding}");
    }
}

#[test]
fn vertical_text_runs_down() {
    let information = "/CIDSystemInfo << /Registry (Adobe) /Ordering (Japan1) /Supplement 2 >>";
    let objects = composite("/UniJIS-UCS2-V", information, "", &[]);
    let content = "BT /F 10 Tf 200 300 Td <30dd30f3> Tj -14 0 Td <30d7306e> Tj ET";
    let text = documents_of("f.pdf", &page(content, "", &objects))
        .remove(0)
        .2;
    assert_eq!(text, "ポン\nプの");
}

#[test]
fn standard_fonts_have_their_widths() {
    // Each word starts a space after the one before it.
    let content = "BT /H 10 Tf 20 100 Td (till) Tj 12.22 0 Td (it) Tj 7.78 0 Td (filters) Tj 27.8 0 Td (MWM) Tj ET";
    let text = documents_of("f.pdf", &page(content, "", &[])).remove(0).2;
    assert_eq!(text, "till it filters MWM");
    // Each letter by itself.
    let content =
        "BT /H 10 Tf 20 100 Td (W) Tj 9.44 0 Td (O) Tj 7.78 0 Td (M) Tj 8.33 0 Td (B) Tj ET";
    let text = documents_of("f.pdf", &page(content, "", &[])).remove(0).2;
    assert_eq!(text, "WOMB");
}

#[test]
fn codes_of_symbol_fonts_that_are_mapped_to_private_characters() {
    let map = "2 beginbfchar <0001> <F02B> <0002> <F061> endbfchar";
    let mut objects = composite("/Identity-H", "", "/ToUnicode 12 0 R", &[stream("", map)]);
    assert_eq!(drawn("<00010002>", &objects), "\u{f02b}\u{f061}");
    objects[0] = objects[0].replace("/BaseFont /Any", "/BaseFont /ABCDEF+SymbolMT");
    assert_eq!(drawn("<00010002>", &objects), "+α");
}

#[test]
fn glyphs_of_fonts_that_everyone_has() {
    let named = |name: &str, others: &[String]| {
        let mut objects = composite("/Identity-H", "/DW 500 /FontDescriptor 12 0 R", "", others);
        objects[1] = objects[1].replace("/BaseFont /Any", &format!("/BaseFont /{name}"));
        drawn("<002600440050007000b500030026>", &objects)
    };
    let descriptor = "<< /Type /FontDescriptor /FontName /Any /Flags 32 >>".to_owned();
    for name in [
        "TimesNewRoman,Italic",
        "Arial-BoldMT",
        "Times#20New#20Roman",
    ] {
        assert_eq!(
            named(name, std::slice::from_ref(&descriptor)),
            "Camé” C",
            "{name}"
        );
    }
    let names = "/Encoding << /Differences [1 /g36 /g3 /g70 /g181] >>";
    let numbered = simple(names).replace("ABCDEF+Any", "ABCDEF+ArialMT");
    assert_eq!(drawn("<0103020304>", &[numbered]), "Ac c”");
    let (kind, _) = crate::error_of(
        "f.pdf",
        &page(
            "BT /F 10 Tf <0026> Tj ET",
            "",
            &composite("/Identity-H", "", "", &[]),
        ),
    );
    assert_eq!(kind, "pdf_without_text");
}

#[test]
fn fonts_of_usual_letters_have_the_standard_encoding() {
    let font = |flags| {
        let font =
            simple("/FontDescriptor 12 0 R").replace("/Subtype /Type1", "/Subtype /TrueType");
        let descriptor = format!("<< /Type /FontDescriptor /FontName /Any /Flags {flags} >>");
        [font, "null".to_owned(), descriptor]
    };
    assert_eq!(drawn("<F1F9>", &font(32)), "æø");
    assert_eq!(drawn("<F1F9>", &font(4)), "ñù");
}

#[test]
fn characters_without_a_meaning_are_counted() {
    let objects = composite("/Identity-H", "/DW 500", "", &[]);
    let content = "BT /H 10 Tf 20 100 Td (known) Tj /F 10 Tf 20 80 Td <00010002> Tj ET";
    let document = documents_of("f.pdf", &page(content, "", &objects)).remove(0);
    assert_eq!(document.2, "known");
    assert_eq!(document.3, r#"{"pages":1,"unread_characters":2}"#);
    let (kind, message) = crate::error_of("f.pdf", &page("BT /F 10 Tf <0001> Tj ET", "", &objects));
    assert_eq!(kind, "pdf_without_text");
    says!(message => "do not say what 1 characters mean");
}
