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
