//! Routers and pruners learned on a model with a known boundary: their predictions are right, the policy follows
//! them, and labels that teach nothing are refused.

use std::ops::ControlFlow;
use std::sync::Arc;

use ken_answer::{
    AnswerError, Event, Pipeline, QuestionPrompt, Representation, RoutingModel, RoutingModels,
    represent,
};
use ken_eval::compare::{Known, RequiredSignals, SignalWork, measure_signals};
use ken_eval::{ProbeRecord, Question, Record, ResultsFile, RunSettings, compare};
use ken_lab::LearnError;
use ken_lab::heads::router::{Candidate, RouterReport, learn_router, router_labels};
use ken_lab::heads::{LearnOptions, Target};
use ken_policy::{Head, Input, MeasuredOn, Source};
use ken_testing::{Fact, FnEmbedder, cases, fails, has, with};
use ken_train::heads::Shape;
use tempfile::TempDir;

use crate::fixture::{
    answered, answering, in_folder, questions_of, statement, whole_run, with_facts,
};
use crate::{go_on, learn_options};

/// Trades whose masters the model knows, and others.
const KNOWN: [&str; 4] = ["clockmaker", "baker", "painter", "ferryman"];
const UNKNOWN: [&str; 4] = ["miller", "smith", "keeper", "weaver"];
const TOWNS: usize = 40;

const OPTIONS: LearnOptions = learn_options(Shape::Logistic, 3, 0.3);

fn facts() -> Vec<Fact> {
    let trades = KNOWN.iter().chain(&UNKNOWN).enumerate();
    let questions = trades.flat_map(|(number, trade)| {
        (0..TOWNS).map(move |town| Fact {
            question: format!("who is the {trade} of town{town}?"),
            answer: format!("Master{number}x{town}"),
            wrong: vec!["Vera Lund".to_owned()],
            known: if number < KNOWN.len() { 0.9 } else { 0.1 },
            copied: 1.0,
            misled: 0.0,
        })
    });
    questions.collect()
}

fn pipeline(folder: &TempDir) -> Pipeline {
    with_facts(folder, facts(), statement, FnEmbedder::bag_of_words())
}

fn questions() -> Vec<Question> {
    questions_of(&facts())
}

fn probed(pipeline: &Pipeline) -> Vec<ProbeRecord> {
    crate::fixture::probed(pipeline, &questions(), 2, 32)
}

fn embedded(questions: &[QuestionPrompt<'_>]) -> Candidate {
    Candidate {
        input: Input::QuestionEmbedding,
        vocabulary: None,
        vectors: represent(
            Representation::Embedding(&FnEmbedder::bag_of_words()),
            questions,
        )
        .unwrap(),
    }
}

fn learned(records: &[ProbeRecord]) -> (Head, RouterReport) {
    let labels = router_labels(records, Target::Mastery).unwrap();
    let questions = labels.questions();
    let candidates = [
        // A candidate without information, so that there is a choice.
        Candidate {
            input: Input::HiddenState { layer: 1 },
            vocabulary: None,
            vectors: questions
                .iter()
                .map(|question| vec![1.0, question.question.len() as f32 % 2.0])
                .collect(),
        },
        embedded(&questions),
    ];
    let beside = with!(MeasuredOn::default(), embedder: Some("bag-of-words".to_owned()));
    learn_router(&labels, &candidates, beside, OPTIONS, &mut go_on).unwrap()
}

fn routed_by(head: Head) -> RoutingModels {
    with!(RoutingModels::default(), router: Some(Arc::new(head.into())))
}

#[test]
fn a_router_predicts_the_set_boundary_and_the_policy_follows_it() {
    let (_folder, pipeline) = in_folder(pipeline);
    let records = probed(&pipeline);
    let (head, report) = learned(&records);
    assert_eq!(report.input, Input::QuestionEmbedding, "{report:?}");
    assert!(report.measured.auroc.unwrap() > 0.99, "{report:?}");
    let [low, high] = report.measured.auroc_interval.unwrap();
    assert!(low > 0.95 && high <= 1.0, "{report:?}");
    assert!(report.measured.ece.unwrap() < 0.1, "{report:?}");
    assert_eq!(report.learned_from + report.held_out, records.len());
    assert_eq!(head.learned_from.len(), report.learned_from);
    let (again, _) = learned(&records);
    assert_eq!(again.fingerprint(), head.fingerprint());

    let mut pipeline = pipeline.with(routed_by(head)).unwrap();
    pipeline.settings = with!(answering(), policy: "router@0.5".parse().unwrap());
    let ask = |question: &str| {
        pipeline
            .answer(question, &mut |_| ControlFlow::Continue(()))
            .unwrap()
    };
    let known = ask("who is the baker of town7?");
    has!(known, route: Source::SelfKnowledge, answer.as_str(): "Master1x7");
    assert!(known.reason.contains("router"), "{}", known.reason);
    assert_eq!((known.calls.model, known.calls.retriever), (1, 0));
    assert!(known.timing_ms.contains_key("represent"));
    let unknown = ask("who is the weaver of town7?");
    has!(unknown, route: Source::Corpus, answer.as_str(): "Master7x7");
}

#[test]
fn what_is_compared_is_what_the_router_says_and_not_what_another_said() {
    let (folder, pipeline) = in_folder(pipeline);
    let records = probed(&pipeline);
    let (head, _) = learned(&records);
    let mut other = head.clone();
    other.learned_from.clear();
    let pipeline = pipeline.with(routed_by(head)).unwrap();
    let policies = ["router@0.5".parse().unwrap(), "router".parse().unwrap()];
    let questions = questions();
    let mut file = ResultsFile::open(&folder.path().join("s"), RunSettings::new()).unwrap();
    let mut signals = |pipeline: &Pipeline| {
        let work = SignalWork {
            pipeline,
            required: &RequiredSignals::by(&policies, None, pipeline),
            known: &Known::default(),
        };
        let measured = measure_signals(work, &questions, &mut file, whole_run(50));
        measured.unwrap().records
    };
    let taken = signals(&pipeline);
    let fingerprint = pipeline
        .routing
        .fingerprint(RoutingModel::Router)
        .unwrap()
        .to_owned();
    let routers = |taken: &[ken_eval::compare::Signals]| -> Vec<String> {
        taken
            .iter()
            .map(|record| record.without.routed.clone().unwrap().router)
            .collect()
    };
    assert!(routers(&taken).iter().all(|router| *router == fingerprint));

    let answers = |correct: bool| -> Vec<Record> {
        let each = questions.iter().zip(&records).map(|(question, record)| {
            let from_memory = record.greedy.from_self.as_ref().unwrap().correct.unwrap();
            let mut answer = Record::failed(question, "never", &AnswerError::EmptyQuestion);
            answer.em = correct || from_memory;
            answer
        });
        each.collect()
    };
    let (never, always) = (answers(false), answers(true));
    let answered = answered(&never, &always, &taken);
    let comparison = compare(&policies, None, &answered, 3);
    for policy in &comparison.policies {
        assert!(policy.auroc.unwrap() > 0.99, "{policy:?}");
        assert!(policy.ece.unwrap() < 0.1, "{policy:?}");
        assert!(policy.vs_always.em.unwrap().abs() < 0.01, "{policy:?}");
        let ratio = policy.summary.retrieval_ratio.unwrap_or_default();
        assert!(ratio < 0.6, "{policy:?}");
    }

    let pipeline = pipeline.with(routed_by(other)).unwrap();
    let retaken = signals(&pipeline);
    assert!(
        routers(&retaken)
            .iter()
            .all(|router| *router != fingerprint)
    );
}

#[test]
fn a_router_of_something_else_is_refused_with_the_command_that_renews_it() {
    let folder = tempfile::tempdir().unwrap();
    let records = probed(&pipeline(&folder));
    let (head, _) = learned(&records);
    type Change = fn(&mut Head);
    let changes: [(Change, &str); 3] = cases![
        |head| head.measured_on.model = "another".to_owned() => "another model";
        |head| head.measured_on.embedder = Some("another".to_owned()) => "another embedder";
        |head| head.measured_on.prompt = Some("another".to_owned()) => "another prompts";
    ];
    for (change, part) in changes {
        let mut changed = head.clone();
        change(&mut changed);
        let folder = tempfile::tempdir().unwrap();
        fails!(pipeline(&folder).with(routed_by(changed)) => "other_router", part; "TrainRouter");
    }
    let (_folder, mut pipeline) = in_folder(pipeline);
    pipeline.settings = with!(answering(), policy: "router@0.5".parse().unwrap());
    let go_on = &mut |_: Event<'_>| ControlFlow::Continue(());
    fails!(pipeline.answer("who is the baker of town7?", go_on) => "no_router");
}

#[test]
fn labels_that_teach_nothing_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let records = probed(&pipeline(&folder));
    let learned = |records: &[ProbeRecord]| -> Result<_, LearnError> {
        let labels = router_labels(records, Target::Mastery)?;
        let candidates = [embedded(&labels.questions())];
        learn_router(
            &labels,
            &candidates,
            MeasuredOn::default(),
            OPTIONS,
            &mut go_on,
        )
    };
    fails!(learned(&records[..20]) => "too_few_labels"; "Probe");
    fails!(learned(&records[..TOWNS * 4]) => "one_class"; "correct contains");
    let mut mixed = records.clone();
    mixed[9].fingerprint.model = "another".to_owned();
    fails!(learned(&mixed) => "several_models"; "one model");
    let mut open = records[..30].to_vec();
    for record in &mut open {
        record.greedy.from_self = None;
    }
    fails!(learned(&open) => "no_labels"; "golden_answers");
}
