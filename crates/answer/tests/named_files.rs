//! Questions that name files of a corpus, and questions for the list of its documents.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use ken_answer::{
    Answer, AnswerSettings, BackEnd, Pipeline, Policy, Retriever, SearchOutcome, Style,
};
use ken_corpus::{Corpus, Document, EmbedderIdentity, Filter, Piece, Settings, Sharding, Writer};
use ken_index::{DenseLayout, Index, Mode, SegmentWriter};
use ken_language::{Embedder, Role};
use ken_policy::Source;
use ken_testing::{FnEmbedder, TableModel, with};
use tempfile::TempDir;

/// Documents and the texts of their passages, which are parted by bars.
const DOCUMENTS: [(&str, &str); 5] = [
    (
        "finance/report-2024.pdf",
        "A short year.|Revenue grew to 12 million.|Costs fell.",
    ),
    (
        "finance/report-2023.pdf",
        "The year before.|Revenue grew to 11 million, revenue of all kinds.",
    ),
    (
        "Policy Handbook.docx",
        "Welcome.|Leave is 28 days.|Sick days are paid.",
    ),
    ("notes/todo.md", "Buy bread.|Sell revenue stamps."),
    (
        "overview.txt",
        "Revenue, revenue and revenue: what report-2024.pdf says.",
    ),
];

fn make_corpus(dir: &Path) {
    let embedder = FnEmbedder::bag_of_words();
    let identity = EmbedderIdentity::new("test", embedder.fingerprint(), embedder.dimensions());
    let settings = Settings {
        embedder: identity,
        segmentation: "whole".to_owned(),
        sharding: Sharding::default(),
        dense: DenseLayout::default().to_string(),
    };
    let mut writer = Writer::create(dir, settings).unwrap();
    let mut staged = writer.stage(0).unwrap();
    let layout = DenseLayout::default();
    let mut index = SegmentWriter::create(staged.dir(), embedder.dimensions(), layout).unwrap();
    for (id, texts) in DOCUMENTS {
        let mut document = with!(Document::default(), id: id.to_owned());
        let folder = id.split_once('/').map_or("", |(folder, _)| folder);
        document.metadata.insert("folder".to_owned(), folder.into());
        let pieces: Vec<Piece> = texts.split('|').map(Piece::from).collect();
        for passage in staged.push(&document, &pieces).unwrap() {
            let vectors = embedder
                .embed(&[passage.text.as_str()], Role::Passage)
                .unwrap();
            index.push(&passage, &vectors[0]).unwrap();
        }
    }
    index.finish().unwrap();
    writer.publish(vec![staged]).unwrap();
}

/// A retriever over the documents that fit the filters.
fn retriever(filters: &[&str]) -> (Retriever, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    make_corpus(dir.path());
    let index = Index::open(Arc::new(Corpus::open(dir.path()).unwrap())).unwrap();
    let filters: Vec<Filter> = filters.iter().map(|text| text.parse().unwrap()).collect();
    let back_end = BackEnd::from(index).within(&filters).unwrap();
    let embedder = Arc::new(FnEmbedder::bag_of_words());
    (Retriever::new(back_end, embedder).unwrap(), dir)
}

fn found(question: &str, mode: Mode, filters: &[&str]) -> SearchOutcome {
    let (retriever, _dir) = retriever(filters);
    let mut found = retriever.evidence(&[question], mode, 2).unwrap();
    assert_eq!(found.len(), 1);
    found.pop().unwrap()
}

fn passages(outcome: &SearchOutcome) -> Vec<&str> {
    let results = outcome.results.iter();
    results.map(|result| result.passage.id.as_str()).collect()
}

#[test]
fn a_question_that_names_a_file_is_searched_in_that_file() {
    for (question, named, first) in [
        (
            "What does report-2024.pdf say about revenue?",
            "finance/report-2024.pdf",
            "finance/report-2024.pdf#1",
        ),
        (
            "What does Finance/REPORT-2024.PDF say about revenue?",
            "finance/report-2024.pdf",
            "finance/report-2024.pdf#1",
        ),
        (
            "Did revenue grow in report-2024?",
            "finance/report-2024.pdf",
            "finance/report-2024.pdf#1",
        ),
        (
            "In the file Policy Handbook.docx, how many days is leave?",
            "Policy Handbook.docx",
            "Policy Handbook.docx#1",
        ),
        (
            "Does the Policy Handbook say that sick days are paid?",
            "Policy Handbook.docx",
            "Policy Handbook.docx#2",
        ),
        (
            "Sell what stamps, says \"todo.md\"?",
            "notes/todo.md",
            "notes/todo.md#1",
        ),
    ] {
        for mode in [Mode::Lexical, Mode::Hybrid, Mode::Dense] {
            let outcome = found(question, mode, &[]);
            assert_eq!(outcome.named_documents, [named], "{question}");
            assert!(!outcome.is_whole, "{question}");
            let ids = passages(&outcome);
            assert!(ids.iter().all(|id| id.starts_with(named)), "{ids:?}");
            if mode == Mode::Lexical {
                assert_eq!(ids[0], first, "{question}");
            }
        }
    }
}

#[test]
fn several_files_may_be_named() {
    let question = "How did revenue grow from report-2023.pdf to report-2024.pdf?";
    let outcome = found(question, Mode::Lexical, &[]);
    let named = ["finance/report-2024.pdf", "finance/report-2023.pdf"];
    assert_eq!(outcome.named_documents, named);
    let mut ids = passages(&outcome);
    ids.sort_unstable();
    assert_eq!(
        ids,
        ["finance/report-2023.pdf#1", "finance/report-2024.pdf#1"]
    );
}

#[test]
fn a_file_as_a_whole_is_read_from_its_beginning() {
    for question in ["Summarize notes/todo.md", "What is in todo.md?", "todo.md"] {
        let outcome = found(question, Mode::Hybrid, &[]);
        assert!(outcome.is_whole, "{question}");
        assert_eq!(passages(&outcome), ["notes/todo.md#0", "notes/todo.md#1"]);
    }
    let outcome = found(
        "Summarize report-2023.pdf and report-2024.pdf",
        Mode::Hybrid,
        &[],
    );
    let begin = ["finance/report-2024.pdf#0", "finance/report-2023.pdf#0"];
    assert_eq!(passages(&outcome), begin);
}

#[test]
fn other_questions_are_searched_everywhere() {
    for question in [
        "Who says what about revenue?",
        "What does missing.pdf say about revenue?",
        "Where is overview of revenue?",
        // Nothing is found in the file that it names.
        "What does todo.md say about zebras?",
    ] {
        let outcome = found(question, Mode::Lexical, &[]);
        assert_eq!(outcome.named_documents, [""; 0], "{question}");
    }
    let outcome = found("What does todo.md say about leave?", Mode::Lexical, &[]);
    assert!(passages(&outcome).contains(&"Policy Handbook.docx#1"));
}

#[test]
fn filters_hold_for_files_that_are_named() {
    let question = "What does report-2024.pdf say about revenue?";
    let outcome = found(question, Mode::Lexical, &["folder=finance"]);
    assert_eq!(outcome.named_documents, ["finance/report-2024.pdf"]);
    let outcome = found(question, Mode::Lexical, &["folder=notes"]);
    assert_eq!(outcome.named_documents, [""; 0]);
    assert_eq!(passages(&outcome), ["notes/todo.md#1"]);
}

#[test]
fn queries_of_many_keep_their_order() {
    let (retriever, _dir) = retriever(&[]);
    let queries = [
        "sick days",
        "summarize todo.md",
        "bread",
        "What does report-2023.pdf say about revenue?",
    ];
    let outcomes = retriever.evidence(&queries, Mode::Lexical, 1).unwrap();
    let first: Vec<&str> = outcomes.iter().flat_map(passages).collect();
    let expected = [
        "Policy Handbook.docx#2",
        "notes/todo.md#0",
        "notes/todo.md#0",
        "finance/report-2023.pdf#1",
    ];
    assert_eq!(first, expected);
}

/// An answer by a model that knows nothing.
fn answer(question: &str, policy: Policy, style: Style, filters: &[&str]) -> Answer {
    let (retriever, _dir) = retriever(filters);
    let settings = with!(AnswerSettings::default(), policy: policy, style: style);
    let model = Arc::new(TableModel::new(Vec::new()).unwrap());
    let pipeline = Pipeline::new(model, Some(retriever), settings);
    pipeline
        .answer(question, &mut |_| ControlFlow::Continue(()))
        .unwrap()
}

#[test]
fn the_trace_tells_the_documents_that_are_named() {
    for policy in [Policy::ALWAYS, Policy::DOCUMENTS] {
        let answer = answer("Summarize todo.md", policy, Style::Short, &[]);
        assert_eq!(answer.named_documents, ["notes/todo.md"]);
        assert_eq!(answer.route, Source::Corpus);
        assert!(answer.retrieved.iter().all(|passage| passage.in_prompt));
        let json = serde_json::to_value(&answer).unwrap();
        assert_eq!(json["named_documents"][0], "notes/todo.md");
    }
    let answer = answer("Who rows?", Policy::ALWAYS, Style::Short, &[]);
    let json = serde_json::to_value(&answer).unwrap();
    assert!(json.get("named_documents").is_none());
}

#[test]
fn the_corpus_lists_its_documents_without_a_model() {
    let all = "The corpus lists 5 documents:\n- report-2024.pdf\n- report-2023.pdf\n\
        - Policy Handbook.docx\n- todo.md\n- overview.txt";
    for style in [Style::Short, Style::Full] {
        let answer = answer("What documents do you have?", Policy::DOCUMENTS, style, &[]);
        assert_eq!(answer.answer, all);
        assert_eq!((answer.route, answer.calls.model), (Source::Corpus, 0));
        assert!(answer.retrieved.is_empty() && answer.reason.contains("lists"));
    }
    let filtered = answer(
        "Which files are there?",
        Policy::ALWAYS,
        Style::Short,
        &["folder=notes"],
    );
    assert_eq!(filtered.answer, "The corpus lists 1 document:\n- todo.md");
    let never = answer("Which files are there?", Policy::NEVER, Style::Short, &[]);
    assert_eq!(never.route, Source::SelfKnowledge);
}
