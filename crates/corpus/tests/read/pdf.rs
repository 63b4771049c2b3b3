//! PDF files, written by hand.

use lopdf::{Document, EncryptionState, EncryptionVersion, Object, Permissions};

use crate::{documents_of, error_of, owned};

/// A PDF of these objects, numbered from 1; the first is the catalog, the last the information.
pub(crate) fn pdf(objects: &[String]) -> Vec<u8> {
    let mut file = b"%PDF-1.5\n".to_vec();
    let mut places = Vec::new();
    for (n, object) in objects.iter().enumerate() {
        places.push(file.len());
        file.extend(format!("{} 0 obj\n{object}\nendobj\n", n + 1).bytes());
    }
    let table = file.len();
    let count = objects.len() + 1;
    file.extend(format!("xref\n0 {count}\n0000000000 65535 f \n").bytes());
    for place in places {
        file.extend(format!("{place:010} 00000 n \n").bytes());
    }
    let trailer = format!(
        "trailer\n<< /Size {count} /Root 1 0 R /Info {} 0 R /ID [<6b656e6b656e6b65> <6b656e6b656e6b65>] >>\nstartxref\n{table}\n%%EOF\n",
        objects.len()
    );
    file.extend(trailer.bytes());
    file
}

fn stream(entries: &str, content: &str) -> String {
    format!(
        "<< {entries} /Length {} >>\nstream\n{content}\nendstream",
        content.len()
    )
}

/// A PDF of two pages with these contents.
pub(crate) fn two_pages(first: &str, second: &str) -> Vec<u8> {
    let map = "/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n\
               /CMapName /X def\n/CMapType 2 def\n\
               1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n\
               2 beginbfchar\n<0001> <8A9E>\n<0002> <00660069>\nendbfchar\n\
               1 beginbfrange\n<0010> <0012> <0061>\nendbfrange\n\
               endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n";
    pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R 4 0 R] /Count 2 /Resources << /Font << /F 7 0 R /U 8 0 R >> /XObject << /Form 11 0 R /Loop 12 0 R >> >> >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /Contents 5 0 R >>".to_owned(),
        "<< /Type /Page /Parent 2 0 R /Contents [6 0 R] >>".to_owned(),
        stream("", first),
        stream("", second),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
        "<< /Type /Font /Subtype /Type0 /BaseFont /X /Encoding /Identity-H /DescendantFonts [9 0 R] /ToUnicode 10 0 R >>".to_owned(),
        "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /X /DW 500 /W [1 [1000] 16 18 400] >>".to_owned(),
        stream("", map),
        stream("/Type /XObject /Subtype /Form /Matrix [1 0 0 1 0 -100]", "BT /F 10 Tf (in a form) Tj ET"),
        stream("/Type /XObject /Subtype /Form", "BT /F 10 Tf (again ) Tj ET /Loop Do /Loop Do"),
        "<< /Title (A  \\(PDF\\)) /Author <FEFF00C9> /CreationDate (D:20200102030405Z) >>".to_owned(),
    ])
}

#[test]
fn text_in_the_order_of_drawing() {
    let file = two_pages(
        "BT /F 12 Tf 72 700 Td [(Some) -300 (wo) 20 (rds)] TJ 0 -14 Td (and exam-) Tj T* 14 TL T* (ple \\251) Tj \
         0 -40 Td (New) Tj (est) ' ET q 1 0 0 1 0 -300 cm BT /F 12 Tf 1 0 0 1 72 700 Tm (Far) Tj ET Q /Form Do",
        "BT /U 10 Tf 0 0 Td <00010002001000110012> Tj <0099> Tj ET",
    );
    let expected = "Some words\nand example ©\n\nNew\nest\n\nFar\n\nin a form\n\n語fiabc";
    let metadata = r#"{"author":"É","created":"2020-01-02T03:04:05Z","pages":2}"#;
    let title = "A (PDF)";
    assert_eq!(
        documents_of("a.pdf", &file),
        owned(&[("a.pdf", title, expected, metadata)])
    );
}

#[test]
fn without_information_the_title_is_the_files_name() {
    let file = two_pages("BT /F 12 Tf (x) Tj ET", "");
    let bare = String::from_utf8_lossy(&file)
        .replace("/Info", "/Ofni")
        .into_bytes();
    let expected = [("my notes.pdf", "my notes", "x", r#"{"pages":2}"#)];
    assert_eq!(documents_of("my notes.pdf", &bare), owned(&expected));
}

#[test]
fn forms_that_draw_themselves_come_to_an_end() {
    let found = documents_of("a.pdf", &two_pages("/Loop Do", ""));
    assert!(found[0].2.starts_with("again"), "{found:?}");
}

#[test]
fn what_cannot_be_read_is_told_with_its_remedy() {
    let whole = two_pages("BT /F 12 Tf (x) Tj ET", "");
    for (contents, kind, message) in [
        (
            two_pages("/Image Do", "q Q"),
            "pdf_without_text",
            "s.pdf has no text on its 2 pages",
        ),
        (
            b"this is no PDF".to_vec(),
            "broken_pdf",
            "s.pdf is a broken PDF: ",
        ),
        (Vec::new(), "broken_pdf", "s.pdf is a broken PDF: "),
        (
            whole[..40].to_vec(),
            "broken_pdf",
            "s.pdf is a broken PDF: ",
        ),
        (
            encrypted(&whole),
            "encrypted_pdf",
            "s.pdf is an encrypted PDF",
        ),
    ] {
        let (found, text) = error_of("s.pdf", &contents);
        assert_eq!(found, kind, "{text}");
        assert!(text.starts_with(message), "{text}");
    }
}

fn encrypted(file: &[u8]) -> Vec<u8> {
    let mut document = Document::load_mem(file).unwrap();
    let version = EncryptionVersion::V2 {
        document: &document,
        owner_password: "owner",
        user_password: "user",
        key_length: 128,
        permissions: Permissions::all(),
    };
    let state = EncryptionState::try_from(version).unwrap();
    document.encrypt(&state).unwrap();
    let mut written = Vec::new();
    document.save_to(&mut written).unwrap();
    assert!(matches!(
        document.trailer.get(b"Encrypt"),
        Ok(Object::Reference(_))
    ));
    written
}
