//! PDF files of one page, each with fonts and annotations of its own.

use super::pages::{pdf, stream};

/// A font that is no standard one, with codes of one byte and widths of half its size.
pub(crate) fn simple(entries: &str) -> String {
    let widths = "500 ".repeat(256);
    format!(
        "<< /Type /Font /Subtype /Type1 /BaseFont /ABCDEF+Any /FirstChar 0 /LastChar 255 /Widths [{widths}] {entries} >>"
    )
}

/// A PDF of one page. `objects` are numbered from 10, the first is the font `/F`, the second `/G`.
pub(crate) fn page(content: &str, entries: &str, objects: &[String]) -> Vec<u8> {
    let mut all = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
        format!(
            "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F 10 0 R /G 11 0 R /H 5 0 R >> >> {entries} >>"
        ),
        stream("", content),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
    ];
    all.extend(["null"; 4].map(str::to_owned));
    all.extend_from_slice(objects);
    all.push("<< >>".to_owned());
    pdf(&all)
}

/// A PDF of one page with fonts of several kinds and a form field.
pub(crate) fn fonts() -> Vec<u8> {
    let program =
        "%!PS-AdobeFont-1.0: Any\n/Encoding 256 array\ndup 65 /A put dup 12 /fi put readonly def\n";
    let codes = "/GBK-EUC-H usecmap 2 begincodespacerange <00> <80> <8140> <FEFE> endcodespacerange \
                 1 begincidrange <20> <7e> 814 endcidrange 1 begincidchar <a1a1> 96 endcidchar";
    let map = "2 beginbfchar <41> <0061> <8141> /eacute endbfchar 2 beginbfrange <30> <39> <0030> <61> <62> [<05D0> <05D1>] endbfrange";
    let objects = [
        simple("/FontDescriptor 12 0 R /Encoding << /Differences [1 /fi /.notdef /uni0041 /g65 /g66] >>"),
        "<< /Type /Font /Subtype /Type0 /BaseFont /Any /Encoding 14 0 R /DescendantFonts [15 0 R] /ToUnicode 16 0 R >>".to_owned(),
        "<< /Type /FontDescriptor /FontName /Any /Flags 4 /FontFile 13 0 R >>".to_owned(),
        stream("", program),
        stream("/Type /CMap /CMapName /Own", codes),
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Any /DW 500 /W [1 [500 600] 7 9 400] /CIDSystemInfo << /Registry (Adobe) /Ordering (GB1) /Supplement 2 >> >>".to_owned(),
        stream("", map),
        "<< /Type /Annot /Subtype /Widget /FT /Tx /V (value) /Rect [180 710 380 730] /AP << /N 18 0 R >> >>".to_owned(),
        stream("/Type /XObject /Subtype /Form /BBox [0 0 200 20] /Resources << /Font << /H 5 0 R >> >>", "BT /H 10 Tf (look) Tj ET"),
    ];
    page(
        "BT /F 10 Tf 50 700 Td [<010203> -130 (A)] TJ /G 10 Tf 0 -14 Td (A0ab) Tj <8141a1a1> Tj /Span << /ActualText (x) >> BDC 99 0 Td (y) Tj EMC ET",
        "/Annots [17 0 R]",
        &objects,
    )
}
