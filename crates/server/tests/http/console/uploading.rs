//! How people upload documents: files and folders, chosen and dropped.

use ken_testing::cases;
use serde_json::json;

use super::person::{DESKTOP, at, is_sound};
use crate::fixture::Running;

#[test]
fn a_folder_is_taken_in_and_what_fails_says_why() {
    let server = Running::start();
    let folder = server.folder.path().join("garden");
    for (name, text) in cases![
        "tulips.md" => "# Tulips\n\nThe tulips are planted in November.\n";
        "beds/README.md" => "# Beds\n\nThe beds are two metres wide.\n";
        "tools/README.md" => "# Tools\n\nThe spade stands in the shed.\n";
        "tools/broken.pdf" => "%PDF-1.7\nnothing";
        "tools/whole.xyz" => "\0\u{1}\u{2}";
        ".hidden/notes.md" => "Not to be sent.\n";
    ] {
        let path = folder.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let mut browser = at(&server, DESKTOP, "#documents/boats");
    browser.drop_files(".drop", &[&folder]);
    browser.sees("searched as of generation 2: 3 added, 0 replaced, 0 unchanged");
    browser.sees("What failed");
    browser.sees("garden/tools/broken.pdf: ");
    browser.sees("garden/tools/whole.xyz: ");
    browser.picture("folder");
    // Files of the same name in two folders are two documents.
    browser.hears("button", "Read garden/beds/README.md");
    browser.hears("button", "Read garden/tools/README.md");
    browser.hears("button", "Read garden/tulips.md");
    assert!(!browser.text().contains("hidden"));
    // Chosen again, the folder has nothing new.
    browser.choose_files("Add a folder", &[&folder]);
    browser.sees("0 added, 0 replaced, 3 unchanged");
    assert_eq!(browser.wrong(&[]), [""; 0]);
    is_sound(&mut browser);
    let listed = server
        .get("/v1/ken/corpora/boats/documents?prefix=garden/")
        .json();
    assert_eq!(listed["data"].as_array().unwrap().len(), 3);
}

#[test]
fn one_broken_file_does_not_keep_back_the_others() {
    let server = Running::start();
    let file = |name: &str, text: &str| {
        let path = server.folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        path
    };
    let gate = json!({"id": "gate", "text": "The gate is green."});
    let fence = json!({"id": "fence", "text": "The fence is white."});
    let files = [
        file("a.jsonl", &gate.to_string()),
        file("b.jsonl", "{nothing"),
        file("c.json", &json!([fence]).to_string()),
        // Settings, which are no documents.
        file("d.json", "{}"),
    ];
    let mut browser = at(&server, DESKTOP, "#documents/boats");
    browser.choose_files("Add files", &files.each_ref().map(|path| path.as_path()));
    browser.sees("2 added, 0 replaced, 0 unchanged");
    browser.sees("What failed");
    browser.sees("b.jsonl: ");
    browser.sees("d.json: there are no documents in it");
    is_sound(&mut browser);
}

#[test]
fn what_is_empty_says_what_to_do() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "#documents");
    browser.write("textbox", "New corpus", "garden");
    browser.click("button", "Create");
    browser.sees("Documents of garden");
    browser.sees("Drop files or folders here");
    browser.sees("There are no documents yet");
    is_sound(&mut browser);
}
