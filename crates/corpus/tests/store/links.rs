//! Links and pipes in a corpus that came from somebody else: opening it fails with their name, nothing waits,
//! and the files that they lead to do not change.

use std::os::unix::fs::symlink;
use std::path::PathBuf;

use ken_corpus::{CorpusError, CorpusInfo, history, join, verify};
use ken_testing::cases;

use super::*;

/// A corpus of two generations in `gift`, beside the files of its receiver.
fn gift() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(&dir.path().join("gift"), settings()).unwrap();
    ingest(&mut writer, &[document("a", "x y"), document("b", "z")]);
    ingest(&mut writer, &[document("a", "new words")]);
    fs::create_dir_all(dir.path().join("photos/2024")).unwrap();
    fs::write(dir.path().join("photos/2024/one"), "photo").unwrap();
    fs::write(dir.path().join("letter"), "letter").unwrap();
    dir
}

type Use = fn(&Path) -> Result<(), CorpusError>;

/// All operations on a corpus.
const USES: [(&str, Use); 10] = cases![
    "open" => |dir| Corpus::open(dir).map(|_| ());
    "info" => |dir| CorpusInfo::read(dir).map(|_| ());
    "history" => |dir| history(dir).map(|_| ());
    "settings" => |dir| Settings::of(dir).map(|_| ());
    "verify" => |dir| verify(dir, &mut |_| {}).map(|_| ());
    "create" => |dir| Writer::create(dir, settings()).map(|_| ());
    "write" => |dir| Writer::open(dir).map(|_| ());
    "rollback" => |dir| Writer::rollback(dir, 1).map(|_| ());
    "repair" => |dir| Writer::repair(dir, &[]).map(|_| ());
    "join" => |dir| { join(&dir.with_file_name("joined"), &[dir.to_owned()], false, &mut |_| {}).map(|_| ()) };
];

fn refused_everywhere(dir: &Path, name: &str) {
    let outside = || {
        let mut outside = files(&dir.join("photos"));
        outside.insert("letter".to_owned(), fs::read(dir.join("letter")).unwrap());
        outside
    };
    let before = outside();
    for (what, work) in USES {
        let error = work(&dir.join("gift")).unwrap_err();
        assert_eq!(error.kind(), "not_a_plain_file", "{what} {name}: {error}");
        assert!(error.to_string().contains(name), "{what} {name}: {error}");
        let remedy = error.remedy().unwrap();
        assert!(remedy.mentions("copy"), "{what} {name}: {remedy:?}");
        assert_eq!(outside(), before, "{what} {name}");
    }
}

/// What a corpus keeps, and what its next writer would write, at every depth.
const PLACES: [&str; 16] = [
    "CURRENT",
    "CURRENT.tmp",
    "LOCK",
    "marks",
    "marks/00000002.00000001-000.json",
    "marks/00000003.00000001-000.json.tmp",
    "generations",
    "generations/00000001.json",
    "generations/00000002.json",
    "generations/00000003.json.tmp",
    "segments",
    "segments/00000001-000",
    "segments/00000001-000/passages.jsonl",
    "segments/00000001-000/lexical/meta.json",
    "staging",
    "staging/00000001/passages.jsonl",
];

fn replaced(name: &str, by: impl Fn(&Path)) -> tempfile::TempDir {
    let dir = gift();
    let place: PathBuf = dir.path().join("gift").join(name);
    match place.is_dir() {
        true => fs::remove_dir_all(&place).unwrap(),
        false => drop(fs::remove_file(&place)),
    }
    fs::create_dir_all(place.parent().unwrap()).unwrap();
    by(&place);
    dir
}

#[test]
fn links_in_a_corpus_are_refused_by_name_and_nothing_outside_changes() {
    for name in PLACES {
        for target in ["letter", "photos", "nothing"] {
            let dir = replaced(name, |place| {
                let up = "../".repeat(name.matches('/').count() + 1);
                symlink(format!("{up}{target}"), place).unwrap();
            });
            refused_everywhere(dir.path(), name);
            assert!(!dir.path().join("nothing").exists());
        }
        let dir = replaced(name, |place| {
            symlink(place.file_name().unwrap(), place).unwrap();
        });
        refused_everywhere(dir.path(), name);
    }
}

#[test]
fn pipes_and_sockets_in_a_corpus_are_refused_by_name_and_not_waited_for() {
    for name in PLACES {
        let dir = replaced(name, |place| {
            let made = std::process::Command::new("mkfifo").arg(place).status();
            assert!(made.unwrap().success());
        });
        refused_everywhere(dir.path(), name);
    }
    let dir = replaced("CURRENT", |place| {
        std::os::unix::net::UnixListener::bind(place).unwrap();
    });
    refused_everywhere(dir.path(), "CURRENT");
}

#[test]
fn a_corpus_may_itself_be_reached_by_a_link() {
    let dir = gift();
    let link = dir.path().join("link");
    symlink("gift", &link).unwrap();
    let before = contents(&link);
    let mut writer = Writer::open(&link).unwrap();
    ingest(&mut writer, &[document("c", "more")]);
    drop(writer);
    assert_eq!(contents(&dir.path().join("gift")).len(), before.len() + 1);
    assert!(link.is_symlink());
}

#[test]
fn a_published_file_with_another_name_is_never_written_to() {
    let dir = gift();
    let corpus = dir.path().join("gift");
    for name in ["CURRENT", "generations/00000002.json", "LOCK"] {
        fs::hard_link(corpus.join(name), dir.path().join("kept")).unwrap();
        let before = fs::read(dir.path().join("kept")).unwrap();
        let mut writer = Writer::open(&corpus).unwrap();
        writer.delete(&["b".to_owned()]).unwrap();
        ingest(&mut writer, &[document("b", "z")]);
        drop(writer);
        assert_eq!(fs::read(dir.path().join("kept")).unwrap(), before, "{name}");
        fs::remove_file(dir.path().join("kept")).unwrap();
    }
    fs::hard_link(dir.path().join("letter"), corpus.join("CURRENT.tmp")).unwrap();
    let mut writer = Writer::open(&corpus).unwrap();
    writer.delete(&["b".to_owned()]).unwrap();
    assert_eq!(fs::read(dir.path().join("letter")).unwrap(), b"letter");
}

#[test]
fn a_persons_folder_with_links_is_no_corpus_and_not_searched_for_them() {
    let dir = gift();
    symlink("letter", dir.path().join("a link")).unwrap();
    let error = Writer::create(dir.path(), settings()).unwrap_err();
    assert_eq!(error.kind(), "folder_in_use");
    let error = Corpus::open(dir.path()).unwrap_err();
    assert_eq!(error.kind(), "not_a_corpus");
}
