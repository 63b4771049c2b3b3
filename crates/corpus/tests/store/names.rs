//! Documents by the names of their files.

use super::*;

/// The ids of the documents that a name finds.
fn named(corpus: &Corpus, name: &str) -> Vec<String> {
    let places = corpus.documents_named(name).unwrap().into_iter();
    let id = |(segment, document): (usize, usize)| {
        let listed = corpus.segments()[segment].listed(document);
        listed.unwrap().id
    };
    places.map(id).collect()
}

#[test]
fn documents_are_found_by_their_files_names() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), settings()).unwrap();
    let files = [
        "Report-2024.PDF",
        "notes/todo.md",
        "work/notes/todo.md",
        "gone.md",
    ];
    let mut documents: Vec<Document> = files.iter().map(|id| document(id, "one")).collect();
    documents.push(document("list.csv:1", "two"));
    documents.push(document("list.csv:2", "three"));
    documents.push(with!(document("q-1", "four"), origin: Some("/d/faq.jsonl".into())));
    ingest(&mut writer, &documents);
    ingest(&mut writer, &[document("Policy Handbook.docx", "five")]);
    writer.delete(&["gone.md".to_owned()]).unwrap();
    let corpus = Corpus::open(dir.path()).unwrap();
    let cases: [(&str, &[&str]); 14] = [
        ("report-2024.pdf", &["Report-2024.PDF"]),
        ("REPORT-2024", &["Report-2024.PDF"]),
        ("todo.md", &["notes/todo.md", "work/notes/todo.md"]),
        ("./Work\\notes/todo", &["work/notes/todo.md"]),
        ("otes/todo.md", &[]),
        ("list.csv", &["list.csv:1", "list.csv:2"]),
        ("list", &["list.csv:1", "list.csv:2"]),
        ("faq.jsonl", &["q-1"]),
        ("/d/faq.jsonl", &["q-1"]),
        ("q-1", &[]),
        ("policy handbook", &["Policy Handbook.docx"]),
        ("handbook.docx", &[]),
        ("gone.md", &[]),
        ("", &[]),
    ];
    for (name, expected) in cases {
        assert_eq!(named(&corpus, name), expected, "{name}");
    }
}

#[test]
fn letters_of_names_may_be_composed_or_not() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), settings()).unwrap();
    let ids = ["cafe\u{301}/The\u{301}.md", "R\u{e9}sum\u{e9}.PDF"];
    ingest(&mut writer, &ids.map(|id| document(id, "one")));
    let corpus = Corpus::open(dir.path()).unwrap();
    for (name, expected) in [
        ("th\u{e9}.md", ids[0]),
        ("the\u{301}", ids[0]),
        ("CAF\u{c9}/th\u{e9}.md", ids[0]),
        ("re\u{301}sume\u{301}.pdf", ids[1]),
        ("R\u{c9}SUM\u{c9}", ids[1]),
    ] {
        assert_eq!(named(&corpus, name), [expected], "{name}");
    }
    assert_eq!(named(&corpus, "the.md"), [""; 0]);
}

#[test]
fn the_passages_of_documents_are_selected_within_another_selection() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = Writer::create(dir.path(), settings()).unwrap();
    ingest(
        &mut writer,
        &[document("a.md", "one two"), document("b.md", "three")],
    );
    ingest(&mut writer, &[document("c.md", "four five")]);
    writer.prune(vec![mark("c.md#0")]).unwrap();
    let corpus = Corpus::open(dir.path()).unwrap();
    let documents = ["a.md", "c.md"].map(|name| corpus.documents_named(name).unwrap());
    let documents = documents.concat();
    let selected = Selection::of_documents(&corpus, &documents, None).unwrap();
    let ordinals = |segment| selected.ordinals(segment).collect::<Vec<_>>();
    assert_eq!((ordinals(0), ordinals(1)), (vec![0, 1], vec![1]));
    assert_eq!((selected.total(), selected.count(0)), (3, 2));
    let only_c = Selection::of_documents(&corpus, &documents[1..], None).unwrap();
    let none = Selection::of_documents(&corpus, &documents[..1], Some(&only_c)).unwrap();
    assert_eq!(none.total(), 0);
}
