//! Syncing a corpus with folders.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use ken_corpus::{Corpus, Cut, PassageId, PruneMark, Writer};
use ken_documents::{
    Converter, Converters, Documents, Notice, NoticeKind, ReadOptions, read_documents,
    read_documents_with,
};
use ken_ingest::{Ingest, IngestError, Preview, Report, ingest, preview};
use ken_testing::FnEmbedder;
use tempfile::TempDir;

struct Folders(TempDir);

impl Folders {
    fn new(files: &[(&str, &str)]) -> Self {
        let folders = Self(tempfile::tempdir().unwrap());
        for (name, text) in files {
            folders.write(name, text);
        }
        folders
    }

    fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.at(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn preview(&self, paths: &[&str]) -> Preview {
        let paths: Vec<PathBuf> = paths.iter().map(|path| self.at(path)).collect();
        let documents = read_documents(&paths).unwrap();
        let ignored = |_: &ken_documents::ReadError| {};
        preview(
            documents,
            &self.at("corpus"),
            &paths,
            Some(&ignored),
            &AtomicBool::new(false),
        )
        .unwrap()
    }

    fn ingest(&self, paths: &[&str], sync: bool) -> Result<Report, IngestError> {
        let read: Vec<PathBuf> = paths.iter().map(|path| self.at(path)).collect();
        self.take(read_documents(&read).unwrap(), paths, sync)
    }

    fn take(
        &self,
        documents: Documents,
        paths: &[&str],
        sync: bool,
    ) -> Result<Report, IngestError> {
        let paths: Vec<PathBuf> = paths.iter().map(|path| self.at(path)).collect();
        let ignored = |_: &ken_documents::ReadError| {};
        let (corpus, embedder) = (self.at("corpus"), FnEmbedder::hashing());
        let work = Ingest {
            cut: "sentence".parse::<Cut>().unwrap(),
            embedder_reference: "hashing",
            sync: if sync { &paths } else { &[] },
            on_broken: sync.then_some(&ignored),
            ..Ingest::new(documents, &corpus, &embedder)
        };
        ingest(work, &mut |_| {}, &AtomicBool::new(false))
    }

    fn ids(&self) -> BTreeSet<String> {
        let corpus = Corpus::open(&self.at("corpus")).unwrap();
        let documents = corpus.documents(None, false);
        documents.map(|document| document.unwrap().id).collect()
    }
}

fn set(ids: &[&str]) -> BTreeSet<String> {
    ids.iter().map(|id| (*id).to_owned()).collect()
}

#[test]
fn what_became_excluded_leaves_the_corpus() {
    let folders = Folders::new(&[
        ("notes/a.txt", "The pump."),
        ("notes/drafts/b.txt", "The valve."),
    ]);
    let both = set(&["a.txt", "drafts/b.txt"]);
    folders.ingest(&["notes"], true).unwrap();
    folders.write("notes/.gitignore", "drafts/\n");
    folders.ingest(&["notes"], false).unwrap();
    assert_eq!(folders.ids(), both, "only a sync deletes");
    assert_eq!(folders.preview(&["notes"]).deleted, ["drafts/b.txt"]);
    // As when folders are watched: what is unchanged is not read again.
    let mut documents = read_documents(&[folders.at("notes")]).unwrap();
    documents.retain_files(|_| false);
    folders.take(documents, &["notes"], true).unwrap();
    assert_eq!(folders.ids(), set(&["a.txt"]));
    fs::remove_file(folders.at("notes/.gitignore")).unwrap();
    folders.ingest(&["notes"], true).unwrap();
    assert_eq!(folders.ids(), both);
}

#[test]
fn what_is_gone_is_deleted_and_what_moved_keeps_its_vectors() {
    let folders = Folders::new(&[
        ("notes/a.txt", "The pump. It runs."),
        ("notes/b.txt", "The valve."),
        (
            "notes/c.jsonl",
            "{\"id\": \"r1\", \"contents\": \"one\"}\n{\"id\": \"r2\", \"contents\": \"two\"}\n",
        ),
        ("other/z.txt", "Another."),
    ]);
    folders.ingest(&["other"], false).unwrap();
    folders.ingest(&["notes"], true).unwrap();
    assert_eq!(folders.ids(), set(&["a.txt", "b.txt", "r1", "r2", "z.txt"]));

    fs::rename(folders.at("notes/a.txt"), folders.at("notes/pump.txt")).unwrap();
    fs::remove_file(folders.at("notes/b.txt")).unwrap();
    folders.write("notes/c.jsonl", "{\"id\": \"r2\", \"contents\": \"two\"}\n");
    folders.write("notes/new.txt", "A hose.");
    // The title of a.txt is its name, so its vectors change with that; its content does too.
    let planned = folders.preview(&["notes"]);
    assert_eq!(
        set(&["b.txt", "r1"]),
        planned
            .deleted
            .iter()
            .filter(|id| *id != "a.txt")
            .cloned()
            .collect()
    );
    let before = folders.ids();
    assert_eq!(before.len(), 5, "a preview changes nothing");
    let done = folders.ingest(&["notes"], true).unwrap();
    assert_eq!(folders.ids(), set(&["new.txt", "pump.txt", "r2", "z.txt"]));
    assert_eq!(
        (
            done.added,
            done.moved,
            done.deleted,
            done.replaced,
            done.unchanged
        ),
        (
            planned.added.len(),
            planned.moved.len(),
            planned.deleted.len(),
            0,
            planned.unchanged
        )
    );
    // Nothing is left to do.
    let done = folders.ingest(&["notes"], true).unwrap();
    assert_eq!(
        (done.added, done.moved, done.deleted, done.unchanged),
        (0, 0, 0, 3)
    );
}

#[test]
fn a_document_that_names_its_title_moves_without_being_embedded() {
    let folders = Folders::new(&[("notes/a.md", "# Pumps\n\nIt runs. It stops.\n")]);
    folders.ingest(&["notes"], true).unwrap();
    fs::create_dir(folders.at("notes/deep")).unwrap();
    fs::rename(folders.at("notes/a.md"), folders.at("notes/deep/b.md")).unwrap();
    let planned = folders.preview(&["notes"]);
    assert_eq!(planned.moved, [("a.md".to_owned(), "deep/b.md".to_owned())]);
    assert_eq!((planned.added.len(), planned.deleted.len()), (0, 0));
    let done = folders.ingest(&["notes"], true).unwrap();
    assert_eq!(
        (done.moved, done.reused, done.added, done.deleted),
        (1, 2, 0, 0)
    );
    assert_eq!(folders.ids(), set(&["deep/b.md"]));
}

#[test]
fn what_moved_keeps_its_prune_marks_and_scores() {
    let folders = Folders::new(&[
        ("notes/a.md", "# Pumps\n\nIt runs. It stops.\n"),
        ("notes/b.md", "# Valves\n\nThey close.\n"),
    ]);
    folders.ingest(&["notes"], true).unwrap();
    let mut writer = Writer::open(&folders.at("corpus")).unwrap();
    let mark = |id: &str| PruneMark::new(PassageId(id.to_owned()), 0.5, "known");
    writer.prune(vec![mark("a.md#1")]).unwrap();
    let places = writer.places(&[mark("a.md#0")]).unwrap();
    writer.score("mastery", &places).unwrap();
    drop(writer);
    // The pruned passages, and those that have a score.
    let kept = || {
        let corpus = Corpus::open(&folders.at("corpus")).unwrap();
        let pruned = corpus.pruned_documents().unwrap().into_iter();
        let pruned: Vec<PruneMark> = pruned.flat_map(|document| document.pruned).collect();
        let passages = corpus.passages().map(Result::unwrap);
        let scored = passages.filter(|passage| passage.metadata.contains_key("mastery"));
        let scored: Vec<String> = scored.map(|passage| passage.id.0).collect();
        (pruned, scored)
    };
    let expected = |id: &str| (vec![mark(&format!("{id}#1"))], vec![format!("{id}#0")]);
    fs::rename(folders.at("notes"), folders.at("papers")).unwrap();
    let done = folders.ingest(&["papers"], true).unwrap();
    assert_eq!((done.replaced, kept()), (2, expected("a.md")));
    fs::create_dir(folders.at("papers/deep")).unwrap();
    fs::rename(folders.at("papers/a.md"), folders.at("papers/deep/c.md")).unwrap();
    let done = folders.ingest(&["papers"], true).unwrap();
    assert_eq!((done.moved, kept()), (1, expected("deep/c.md")));
    folders.write("papers/deep/c.md", "# Pumps\n\nIt runs. It rests.\n");
    let done = folders.ingest(&["papers"], true).unwrap();
    assert_eq!((done.replaced, kept()), (1, (vec![], vec![])));
}

#[test]
fn copies_of_a_file_all_move() {
    let license = "# License\n\nFree.\n";
    let folders = Folders::new(&[("notes/a/L.md", license), ("notes/b/L.md", license)]);
    folders.ingest(&["notes"], true).unwrap();
    fs::rename(folders.at("notes/a"), folders.at("notes/c")).unwrap();
    fs::rename(folders.at("notes/b"), folders.at("notes/d")).unwrap();
    let moved = [("a/L.md", "c/L.md"), ("b/L.md", "d/L.md")];
    let moved = moved.map(|(from, to)| (from.to_owned(), to.to_owned()));
    assert_eq!(folders.preview(&["notes"]).moved, moved);
    let done = folders.ingest(&["notes"], true).unwrap();
    assert_eq!(
        (done.moved, done.reused, done.added, done.deleted),
        (2, 2, 0, 0)
    );
    assert_eq!(folders.ids(), set(&["c/L.md", "d/L.md"]));
}

#[test]
#[cfg(unix)]
fn a_file_whose_name_is_no_text_stays_while_it_exists() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folders = Folders::new(&[("notes/a%E9.txt", "The pump.")]);
    let path = folders
        .at("notes")
        .join(OsStr::from_bytes(b"caf\xe9 100%.txt"));
    // Some file systems have no such names.
    if fs::write(&path, "The valve.").is_err() {
        return;
    }
    folders.ingest(&["notes"], true).unwrap();
    // As when folders are watched: what is unchanged is not read again.
    let mut documents = read_documents(&[folders.at("notes")]).unwrap();
    documents.retain_files(|_| false);
    folders.take(documents, &["notes"], true).unwrap();
    assert_eq!(folders.ids(), set(&["a%E9.txt", "caf%E9 100%.txt"]));
    fs::remove_file(path).unwrap();
    folders.ingest(&["notes"], true).unwrap();
    assert_eq!(folders.ids(), set(&["a%E9.txt"]));
}

#[test]
fn a_folder_that_moved_is_synced_where_it_is_now() {
    let folders = Folders::new(&[
        ("notes/a.md", "# Pumps\n\nIt runs.\n"),
        ("notes/b.md", "# Valves\n\nThey close.\n"),
    ]);
    folders.ingest(&["notes"], true).unwrap();
    fs::rename(folders.at("notes"), folders.at("papers")).unwrap();
    let done = folders.ingest(&["papers"], false).unwrap();
    assert_eq!((done.replaced, done.unchanged), (0, 2), "no sync");
    let planned = folders.preview(&["papers"]);
    assert_eq!((planned.replaced.len(), planned.unchanged), (2, 0));
    let done = folders.ingest(&["papers"], true).unwrap();
    assert_eq!(
        (done.replaced, done.reused, done.passages, done.deleted),
        (2, 2, 2, 0)
    );
    fs::remove_file(folders.at("papers/a.md")).unwrap();
    assert_eq!(folders.preview(&["papers"]).deleted, ["a.md"]);
    let done = folders.ingest(&["papers"], true).unwrap();
    assert_eq!((done.deleted, done.unchanged), (1, 1));
    assert_eq!(folders.ids(), set(&["b.md"]));
}

#[test]
fn a_file_that_this_run_does_not_read_is_left_alone() {
    let folders = Folders::new(&[("notes/a.scan", "One."), ("notes/b.txt", "Two.")]);
    let converter = |converters: Vec<Converter>| {
        let options = ReadOptions {
            converters: Converters {
                converters,
                kept: None,
            },
            ..ReadOptions::default()
        };
        read_documents_with(&[folders.at("notes")], options).unwrap()
    };
    let cat = converter(vec!["*.scan=cat {}".parse().unwrap()]);
    folders.take(cat, &["notes"], true).unwrap();
    assert_eq!(folders.ids(), set(&["a.scan", "b.txt"]));
    // Without the command, the file is not read, but it still exists.
    let done = folders
        .take(converter(Vec::new()), &["notes"], true)
        .unwrap();
    assert_eq!(done.deleted, 0);
    assert_eq!(folders.ids(), set(&["a.scan", "b.txt"]));
    // If a folder is given by itself, its files get other ids.
    folders.write("notes/deep/c.txt", "Three.");
    folders.ingest(&["notes"], true).unwrap();
    folders.ingest(&["notes/deep"], true).unwrap();
    assert_eq!(folders.ids(), set(&["a.scan", "b.txt", "c.txt"]));
}

#[test]
fn nothing_is_deleted_where_anything_cannot_be_read() {
    let folders = Folders::new(&[
        ("notes/a.txt", "One."),
        ("notes/b.jsonl", "{\"id\": \"r\", \"contents\": \"x\"}\n"),
    ]);
    folders.ingest(&["notes"], true).unwrap();
    fs::remove_file(folders.at("notes/a.txt")).unwrap();
    folders.write("notes/b.jsonl", "{\"id\": \"r\", ");
    assert_eq!(folders.preview(&["notes"]).deleted, [""; 0]);
    let done = folders.ingest(&["notes"], true).unwrap();
    assert!(done.not_synced);
    assert_eq!((done.broken, done.deleted), (1, 0));
    assert_eq!(folders.ids(), set(&["a.txt", "r"]));
}

#[test]
fn a_file_that_vanishes_before_it_is_read_stops_nothing() {
    let folders = Folders::new(&[("notes/a.txt", "One."), ("notes/b.txt", "Two.")]);
    folders.ingest(&["notes"], true).unwrap();
    folders.write("notes/c.txt", "Three.");
    let documents = read_documents(&[folders.at("notes")]).unwrap();
    let notices = documents.notices();
    fs::remove_file(folders.at("notes/b.txt")).unwrap();
    let done = folders.take(documents, &["notes"], false).unwrap();
    assert_eq!((done.added, done.unchanged, done.broken), (1, 1, 0));
    let path = folders.at("notes/b.txt");
    let vanished = Notice {
        path: path.clone(),
        kind: NoticeKind::Vanished,
    };
    assert_eq!(notices.take(), [vanished]);
    // A whole drive may be away, so only the next sync deletes.
    folders.write("notes/b.txt", "Two.");
    let documents = read_documents(&[folders.at("notes")]).unwrap();
    fs::remove_file(&path).unwrap();
    let done = folders.take(documents, &["notes"], true).unwrap();
    assert!(done.not_synced && done.deleted == 0);
    assert_eq!(folders.ingest(&["notes"], true).unwrap().deleted, 1);
    // A file that is named has to be there.
    let documents = read_documents(&[folders.at("notes/c.txt")]).unwrap();
    fs::remove_file(folders.at("notes/c.txt")).unwrap();
    assert!(folders.take(documents, &["notes/c.txt"], false).is_err());
}

#[test]
fn files_of_one_name_in_two_folders_do_not_replace_one_another() {
    let folders = Folders::new(&[
        ("one/README.md", "Valve nine."),
        ("two/README.md", "Valve ten."),
    ]);
    folders.ingest(&["one"], false).unwrap();
    let planned = folders.preview(&["two"]);
    assert_eq!((planned.replaced.len(), planned.broken), (0, 1));
    let error = folders.ingest(&["two"], false).unwrap_err();
    assert_eq!(error.kind(), "other_file", "{error}");
    let message = error.to_string();
    assert!(
        message.contains("one/README.md") && message.contains("two/README.md"),
        "{message}"
    );
    // Rows have their numbers in a file as ids.
    let (one, two) = ("name,price\nPump,9\n", "name,price\nPump,8\n");
    let folders = Folders::new(&[("one/t.csv", one), ("two/t.csv", two)]);
    folders.ingest(&["one"], false).unwrap();
    assert_eq!(folders.ids(), set(&["t.csv:2"]));
    let error = folders.ingest(&["two"], false).unwrap_err();
    assert_eq!(error.kind(), "other_file", "{error}");
    // The folder above holds both; an edited file replaces itself, and one that moved.
    let folders = Folders::new(&[("one/README.md", "Valve nine.")]);
    folders.ingest(&["one"], false).unwrap();
    folders.write("one/README.md", "Valve eleven.");
    assert_eq!(folders.ingest(&["one"], false).unwrap().replaced, 1);
    fs::rename(folders.at("one"), folders.at("two")).unwrap();
    folders.write("two/README.md", "Valve ten.");
    assert_eq!(folders.ingest(&["two"], false).unwrap().replaced, 1);
}

#[test]
fn origins_are_whole_paths() {
    let folders = Folders::new(&[("notes/a.txt", "One.")]);
    folders.ingest(&["notes"], false).unwrap();
    let corpus = Corpus::open(&folders.at("corpus")).unwrap();
    let document = corpus.documents(None, false).next().unwrap().unwrap();
    let origin = document.origin.unwrap();
    assert!(
        Path::new(&origin).is_absolute() && origin.ends_with("notes/a.txt"),
        "{origin}"
    );
}
