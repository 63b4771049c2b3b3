//! Whole runs of labeling with a model with a known boundary: labels are true, a run resumes where it was stopped,
//! and bad questions do not affect others.

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use ken_answer::prompt::{self, QuestionPrompt};
use ken_eval::{Outcome, Question, ResultsFile, Run, RunError, RunProgress, RunSettings, Task};
use ken_index::Mode;
use ken_lab::label::{GoldenChoice, SELF};
use ken_lab::{
    FirstText, Labeling, NamedCorpus, SourceRecord, label_sources, summarize_sources, write_parquet,
};
use ken_language::LanguageModel;
use ken_probe::{Obstacle, Preferred};
use ken_testing::{Call, Fact, FnEmbedder, TableModel, cases, fails, has, with};
use parquet::record::RowAccessor;
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::fixture::{question, retriever, rows, whole_run};

/// The direction of a text follows from its length, so that some are near to each other.
static LENGTHS: LazyLock<FnEmbedder> = LazyLock::new(|| FnEmbedder::by_length(40.0));

/// A question, the model's answers, the contents of the two corpora, and the source that helps.
struct Case {
    id: &'static str,
    question: &'static str,
    golden: &'static str,
    known: f64,
    copied: f64,
    misled: f64,
    notes: &'static str,
    hearsay: &'static str,
    helps: &'static str,
}

static CASES: LazyLock<[Case; 5]> = LazyLock::new(|| {
    let cases = cases![
        "known" => "who keeps the lighthouse?", "Ilse Marrow", [1.0, 1.0, 1.0],
            ["The lighthouse is white.", "Some say that the lighthouse has no keeper."], SELF;
        "learned" => "who built the oven?", "Anders Pell", [0.1, 0.9, 0.5],
            ["The oven was built by Anders Pell.", "Some say that the oven was never built."], "notes";
        "heard" => "who mended the bridge?", "Odo Finch", [0.0, 1.0, 1.0],
            ["The bridge is old.", "Some say that Odo Finch mended the bridge."], "hearsay";
        "guessed" => "who owns the mill?", "Runa Holt", [0.6, 0.8, 0.9],
            ["The mill has four sails.", "Some say that the mill has five sails."], SELF;
        "wrongly believed" => "who paints the boats?", "Tove Lind", [0.2, 1.0, 1.0],
            ["Tove Lind paints the boats.", "Some say that Tove Lind paints the boats."], "notes";
    ];
    cases.map(|(id, question, golden, chances, [notes, hearsay], helps)| {
        let [known, copied, misled] = chances;
        Case {
            id,
            question,
            golden,
            known,
            copied,
            misled,
            notes,
            hearsay,
            helps,
        }
    })
});

fn table() -> TableModel {
    let fact = |case: &Case| Fact {
        question: case.question.to_owned(),
        answer: case.golden.to_owned(),
        wrong: vec!["Vera Lund".to_owned()],
        known: case.known,
        copied: case.copied,
        misled: case.misled,
    };
    let instruction = prompt::verbalize(QuestionPrompt::open("who?"), None).instruction;
    let table = TableModel::new(CASES.iter().map(fact).collect()).unwrap();
    table.writing_texts(&[&instruction])
}

/// The table, with its calls counted, and optionally without scores.
struct Counted {
    table: TableModel,
    calls: Arc<AtomicUsize>,
}

impl Counted {
    fn new(scores: bool) -> Self {
        let calls = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&calls);
        let table = table().context(400).scoring(scores).on_call(move |call| {
            let (Call::Generate { requests, .. } | Call::Score { requests }) = call;
            counted.fetch_add(requests, Ordering::Relaxed);
        });
        Self { table, calls }
    }

    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

fn corpus(folder: &TempDir, name: &str, text: fn(&Case) -> String) -> NamedCorpus {
    let passages = CASES.iter().map(|case| (case.id, text(case)));
    NamedCorpus {
        name: name.to_owned(),
        retriever: retriever(folder, name, &passages.collect::<Vec<_>>(), LENGTHS.clone()),
    }
}

fn corpora(folder: &TempDir) -> [NamedCorpus; 2] {
    [
        corpus(folder, "notes", |case| case.notes.to_owned()),
        corpus(folder, "hearsay", |case| case.hearsay.to_owned()),
    ]
}

fn work<'a>(model: &'a dyn LanguageModel, corpora: &'a [NamedCorpus]) -> Labeling<'a> {
    Labeling {
        model,
        corpora,
        embedder: &*LENGTHS,
        mode: Mode::Lexical,
        contexts: 2,
        golden: GoldenChoice::First,
        seed: 3,
    }
}

fn questions() -> Vec<Question> {
    CASES
        .iter()
        .map(|case| {
            question(json!({
                "id": case.id, "question": case.question, "golden_answers": [case.golden, "x"],
            }))
        })
        .collect()
}

/// The two files of a run.
struct Files {
    first: ResultsFile<FirstText>,
    results: ResultsFile<SourceRecord>,
}

fn files(path: &Path) -> Files {
    let settings = || RunSettings::from([("model".to_owned(), "table".to_owned())]);
    Files {
        first: ResultsFile::open(&path.with_extension("first"), settings()).unwrap(),
        results: ResultsFile::open(path, settings()).unwrap(),
    }
}

fn run(
    path: &Path,
    work: &Labeling<'_>,
    questions: &[Question],
    batch: usize,
) -> Result<Outcome<SourceRecord>, RunError> {
    let mut files = files(path);
    let Files { first, results } = &mut files;
    label_sources(work, questions, first, results, whole_run(batch))
}

#[test]
fn labels_are_what_the_truth_says() {
    let folder = tempfile::tempdir().unwrap();
    let (table, corpora) = (table(), corpora(&folder));
    let path = folder.path().join("r");
    let labeled = run(&path, &work(&table, &corpora), &questions(), 4).unwrap();
    assert!(!labeled.interrupted);
    for (case, record) in CASES.iter().zip(&labeled.records) {
        has!(record, id: case.id, golden_answer.as_deref(): Some(case.golden));
        let both = Preferred {
            majority: case.helps.to_owned(),
            sum: case.helps.to_owned(),
        };
        assert_eq!(record.preferred, Some(both), "{}", case.id);
        for context in &record.contexts {
            let truth = if context.text.contains(case.golden) {
                case.copied + (1.0 - case.copied) * case.known
            } else {
                (1.0 - case.misled) * case.known
            };
            assert!((context.logprob.exp() - truth).abs() < 1e-6, "{context:?}");
            assert_eq!(context.passage_id.is_none(), context.source == SELF);
        }
        let of = |source: &str| {
            let all = record.contexts.iter();
            all.filter(|context| context.source == source).count()
        };
        assert_eq!(of(SELF), 2, "{}", case.id);
        assert!((1..=2).contains(&of("notes")) && (1..=2).contains(&of("hearsay")));
        for source in &record.sources {
            let (best, worst) = (source.best.unwrap(), source.worst.unwrap());
            let all = record.contexts.iter().filter(|c| c.source == source.source);
            for context in all {
                assert!(context.logprob <= record.contexts[best].logprob);
                assert!(context.logprob >= record.contexts[worst].logprob);
            }
        }
    }
    let summary = summarize_sources(&labeled.records);
    has!(summary, n: 5, failed: 0, unlabeled: 0, agreement: Some(1.0));
    let shares: Vec<_> = summary
        .sources
        .iter()
        .map(|s| s.majority.unwrap())
        .collect();
    assert_eq!(shares, [0.4, 0.4, 0.2]);
    assert_eq!(summary.sources[0].source, SELF);
}

#[test]
fn a_run_goes_on_where_it_was_stopped() {
    let folder = tempfile::tempdir().unwrap();
    let corpora = corpora(&folder);
    let (whole_model, questions) = (Counted::new(true), questions());
    let whole_path = folder.path().join("whole");
    let whole = run(
        &whole_path,
        &work(&whole_model.table, &corpora),
        &questions,
        5,
    )
    .unwrap();

    let model = Counted::new(true);
    let work = work(&model.table, &corpora);
    let path = folder.path().join("parts");
    // Stopped once in each round.
    for (task, batch, stop_at) in [(Task::FirstText, 1, 2), (Task::LabelSource, 2, 2)] {
        let mut files = files(&path);
        let cancel = AtomicBool::new(false);
        let stop = |step: RunProgress| {
            if step.task == task && step.done >= stop_at {
                cancel.store(true, Ordering::Relaxed);
            }
        };
        let (Files { first, results }, run) = (&mut files, Run::new(batch, &cancel, stop));
        let part = label_sources(&work, &questions, first, results, run).unwrap();
        assert!(part.interrupted);
        let labels = if task == Task::LabelSource { 2 } else { 0 };
        assert_eq!(part.records, whole.records[..labels]);
    }
    let paid = fs::read(&path).unwrap();
    let rest = run(&path, &work, &questions, 1).unwrap();
    has!(rest, records: whole.records, interrupted: false, resumed: 2);
    assert!(fs::read(&path).unwrap().starts_with(&paid));
    assert_eq!(model.calls(), whole_model.calls(), "nothing is paid twice");
    let again = run(&path, &work, &questions, 3).unwrap();
    has!(again, records: whole.records, interrupted: false, resumed: again.total);
    assert_eq!(model.calls(), whole_model.calls());

    let mut changed = questions;
    changed[0].golden_answers = vec!["Odo".to_owned()];
    fails!(run(&path, &work, &changed, 3) => "other_question");
    assert_eq!(
        model.calls(),
        whole_model.calls(),
        "refused before anything is paid"
    );
}

#[test]
fn bad_questions_are_told_and_harm_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let corpora = corpora(&folder);
    let model = Counted::new(true);
    let known = &CASES[0];
    let odd = [
        question(json!({"id": "open", "question": "who?", "golden_answers": []})),
        question(json!({"id": "nothing", "question": "who?", "golden_answers": ["the"]})),
        question(json!({"id": "empty", "question": " ", "golden_answers": ["x"]})),
        question(
            json!({"id": "known", "question": known.question, "golden_answers": known.golden}),
        ),
        question(
            json!({"id": "choice", "question": known.question, "golden_answers": ["B"],
                        "choices": ["Odo", "Ilse Marrow"]}),
        ),
    ];
    let path = folder.path().join("r");
    let records = run(&path, &work(&model.table, &corpora), &odd, 5)
        .unwrap()
        .records;
    assert_eq!(records[0].unlabeled, Some(Obstacle::NoGoldenAnswers));
    assert_eq!(records[1].unlabeled, Some(Obstacle::EmptyGoldenAnswers));
    assert_eq!(records[2].error.as_ref().unwrap().kind, "empty_question");
    for record in &records[..3] {
        assert!(record.preferred.is_none() && record.contexts.is_empty());
    }
    assert_eq!(records[3].preferred.as_ref().unwrap().majority, SELF);
    assert_eq!(records[4].golden_answer.as_deref(), Some("B"));
    let summary = summarize_sources(&records);
    assert_eq!((summary.n, summary.failed, summary.unlabeled), (5, 1, 2));

    let only_open = folder.path().join("open");
    let before = model.calls();
    let records = run(&only_open, &work(&model.table, &corpora), &odd[..2], 5).unwrap();
    assert_eq!(
        (records.records.len(), model.calls()),
        (2, before),
        "costs nothing"
    );
}

#[test]
fn a_passage_that_does_not_fit_is_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let long = [corpus(&folder, "long", |case| {
        format!("{} {}", case.notes, "so it is said ".repeat(100))
    })];
    let model = Counted::new(true);
    let path = folder.path().join("r");
    let labeled = run(&path, &work(&model.table, &long), &questions(), 5).unwrap();
    for record in &labeled.records {
        assert!(record.contexts.iter().all(|context| context.source == SELF));
        has!(record, sources[1].best: None, preferred.as_ref().unwrap().sum: SELF);
    }
}

#[test]
fn the_likeliest_golden_answer_is_scored_where_that_is_wanted() {
    let folder = tempfile::tempdir().unwrap();
    let (table, corpora) = (table(), corpora(&folder));
    let likeliest = with!(work(&table, &corpora), golden: GoldenChoice::MostLikely);
    let case = &CASES[0];
    let asked = [question(json!({"id": "a", "question": case.question,
                                 "golden_answers": ["Odo", case.golden, "the"]}))];
    let path = folder.path().join("likeliest");
    let record = &run(&path, &likeliest, &asked, 1).unwrap().records[0];
    assert_eq!(record.golden_answer.as_deref(), Some(case.golden));
    let path = folder.path().join("first");
    let record = &run(&path, &work(&table, &corpora), &asked, 1)
        .unwrap()
        .records[0];
    assert_eq!(record.golden_answer.as_deref(), Some("Odo"));
    assert!(
        record
            .contexts
            .iter()
            .all(|c| c.logprob == f64::NEG_INFINITY)
    );
    assert_eq!(record.preferred.as_ref().unwrap().majority, SELF);
}

#[test]
fn what_cannot_work_is_refused_before_anything_is_paid_for() {
    let folder = tempfile::tempdir().unwrap();
    let [notes, hearsay] = corpora(&folder);
    let kind = |model: &dyn LanguageModel, corpora: &[NamedCorpus]| {
        let path = folder.path().join("r");
        run(&path, &work(model, corpora), &questions(), 1)
            .unwrap_err()
            .kind()
    };
    let (mute, model) = (Counted::new(false), Counted::new(true));
    let named = |corpus: NamedCorpus, name: &str| NamedCorpus {
        name: name.to_owned(),
        ..corpus
    };
    assert_eq!(kind(&model.table, &[]), "no_corpus");
    let both = [named(notes, "notes"), named(hearsay, "notes")];
    assert_eq!(kind(&mute.table, &both), "cannot_score");
    assert_eq!(kind(&model.table, &both), "same_name");
    let [notes, hearsay] = both;
    let both = [notes, named(hearsay, SELF)];
    assert_eq!(kind(&model.table, &both), "same_name");
    assert_eq!((mute.calls(), model.calls()), (0, 0));
}

#[test]
fn the_table_holds_what_the_records_hold() {
    let folder = tempfile::tempdir().unwrap();
    let (table, corpora) = (table(), corpora(&folder));
    let mut asked = questions();
    asked.push(question(
        json!({"id": "open", "question": "who?", "golden_answers": []}),
    ));
    let path = folder.path().join("r");
    let records = run(&path, &work(&table, &corpora), &asked, 4)
        .unwrap()
        .records;
    let path = folder.path().join("r.parquet");
    write_parquet(&path, &records).unwrap();
    let rows = rows(&path);
    assert_eq!(rows.len(), records.len());
    for (row, record) in rows.iter().zip(&records) {
        assert_eq!(row.get_string(0).unwrap(), &record.id);
        let preferred = record.preferred.as_ref();
        assert_eq!(row.get_string(4).ok(), preferred.map(|both| &both.majority));
        assert_eq!(row.get_string(5).ok(), preferred.map(|both| &both.sum));
        let contexts: Value = serde_json::from_str(row.get_string(6).unwrap()).unwrap();
        assert_eq!(contexts, serde_json::to_value(&record.contexts).unwrap());
    }
    let missing = folder.path().join("no folder/r.parquet");
    fails!(write_parquet(&missing, &records) => "table_file");
}
