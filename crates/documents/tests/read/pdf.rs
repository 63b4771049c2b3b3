//! PDF files, whole and broken.

use ken_testing::cases;
use lopdf::{Document, EncryptionState, EncryptionVersion, Object, Permissions};

use crate::files::pages::two_pages;
use crate::{documents_of, error_of, owned};

#[test]
fn text_of_all_pages_and_forms() {
    let file = two_pages(
        "BT /F 12 Tf 72 700 Td [(Some) -300 (wo) 20 (rds)] TJ 0 -14 Td (and exam-) Tj T* 14 TL T* (ple \\251) Tj \
         0 -40 Td (New) Tj (est) ' ET q 1 0 0 1 0 -300 cm BT /F 12 Tf 1 0 0 1 72 700 Tm (Far) Tj ET Q /Form Do",
        "BT /U 10 Tf 0 0 Td <00010002001000110012> Tj <0099> Tj ET",
    );
    let expected = "Some words\nand example ©\n\nNew\nest\n\nFar\n\nin a form\n\n語fiabc";
    let metadata =
        r#"{"author":"É","created":"2020-01-02T03:04:05Z","pages":2,"unread_characters":1}"#;
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
    let metadata = r#"{"pages":2,"pages_without_text":1}"#;
    let expected = [("my notes.pdf", "my notes", "x", metadata)];
    assert_eq!(documents_of("my notes.pdf", &bare), owned(&expected));
}

#[test]
fn forms_that_draw_themselves_come_to_an_end() {
    let documents = documents_of("a.pdf", &two_pages("/Loop Do", ""));
    assert!(documents[0].2.starts_with("again"), "{documents:?}");
}

#[test]
fn what_cannot_be_read_is_told_with_its_remedy() {
    let whole = two_pages("BT /F 12 Tf (x) Tj ET", "");
    for (contents, kind, message) in cases![
        two_pages("/Image Do", "q Q") => "pdf_without_text", "s.pdf has no text on its 2 pages";
        b"this is no PDF".to_vec() => "broken_pdf", "s.pdf is a broken PDF: ";
        Vec::new() => "broken_pdf", "s.pdf is a broken PDF: ";
        whole[..40].to_vec() => "broken_pdf", "s.pdf is a broken PDF: ";
        encrypted(&whole) => "encrypted_pdf", "s.pdf is an encrypted PDF";
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
