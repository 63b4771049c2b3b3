//! Routers learned without golden answers, from words, by a difference of means, and their controls.

use std::ops::ControlFlow;
use std::sync::Arc;

use ken_answer::{Pipeline, Representation, RoutingModels, represent};
use ken_eval::{ProbeRecord, Question};
use ken_lab::heads::Target;
use ken_lab::heads::router::{Candidate, Control, RouterReport, learn_router, router_labels};
use ken_policy::{Head, Input, MeasuredOn, Purpose, Source};
use ken_testing::{Fact, FnEmbedder, fails, has, holds, with};
use ken_train::heads::Shape;
use tempfile::TempDir;

use crate::fixture::{answering, in_folder, probed, questions_of, statement, with_facts};
use crate::{go_on, learn_options};

const TRADES: [&str; 4] = ["baker", "ferryman", "miller", "smith"];
const TOWNS: usize = 50;

/// The model knows the masters of the first two trades; for the others it guesses differently each time.
fn facts() -> Vec<Fact> {
    let each = TRADES.iter().enumerate().flat_map(|(number, trade)| {
        (0..TOWNS).map(move |town| Fact {
            question: format!("who is the {trade} of town{town}?"),
            answer: format!("Master{number}x{town}"),
            wrong: ["Vera Lund", "Odo Finch", "Per Holm", "Ida Berg", "Nils Aas"]
                .map(str::to_owned)
                .to_vec(),
            known: if number < 2 { 0.95 } else { 0.02 },
            copied: 1.0,
            misled: 0.0,
        })
    });
    each.collect()
}

fn pipeline(folder: &TempDir) -> Pipeline {
    with_facts(folder, facts(), statement, FnEmbedder::bag_of_words())
}

/// Questions without golden answers, as users ask them.
fn raw() -> Vec<Question> {
    let mut questions = questions_of(&facts());
    for question in &mut questions {
        question.golden_answers.clear();
    }
    questions
}

fn learned(records: &[ProbeRecord], target: Target, shape: Shape) -> (Head, RouterReport) {
    let labels = router_labels(records, target).unwrap();
    let options = learn_options(shape, 3, 0.3);
    let vocabulary = labels.vocabulary(options);
    let vectors = represent(Representation::Words(&vocabulary), &labels.questions()).unwrap();
    let words = Candidate {
        input: Input::Words,
        vocabulary: Some(vocabulary),
        vectors,
    };
    let beside = MeasuredOn::default();
    learn_router(&labels, &[words], beside, options, &mut go_on).unwrap()
}

fn routed_by(head: Head) -> RoutingModels {
    with!(RoutingModels::default(), router: Some(Arc::new(head.into())))
}

#[test]
fn raw_questions_teach_what_golden_answers_would() {
    let (_folder, pipeline) = in_folder(pipeline);
    let unanswered = probed(&pipeline, &raw(), 8, 40);
    let answered = probed(&pipeline, &questions_of(&facts()), 8, 40);
    for target in [Target::Certainty, Target::SemanticEntropy] {
        for shape in [Shape::Logistic, Shape::MeanDifference] {
            let (head, report) = learned(&unanswered, target, shape);
            // Eight samples of some fifty questions show only roughly which are certain.
            assert!(report.measured.target_auroc.unwrap() > 0.85, "{report:?}");
            has!(report, measured.auroc: None, measured.mastered: None);
            holds!("{report:?}" => report.measured.border > 0.0 && report.left_out == 0);
            // If there are golden answers, they only evaluate it.
            let (again, judged) = learned(&answered, target, shape);
            assert_eq!(again.fingerprint(), head.fingerprint());
            assert!(judged.measured.auroc.unwrap() > 0.95, "{judged:?}");
        }
    }
    fails!(router_labels(&unanswered, Target::Mastery) => "no_labels");
    let one = probed(&pipeline, &raw()[..3], 1, 3);
    fails!(router_labels(&one, Target::SemanticEntropy) => "no_labels"; "samples");
}

#[test]
fn a_router_over_words_carries_its_vocabulary() {
    let (folder, pipeline) = in_folder(pipeline);
    let records = probed(&pipeline, &questions_of(&facts()), 2, 40);
    let (head, report) = learned(&records, Target::Mastery, Shape::Logistic);
    assert!(report.measured.auroc.unwrap() > 0.99, "{report:?}");
    let path = folder.path().join("router.json");
    head.write(&path).unwrap();
    let read = Head::read(&path, Purpose::Router).unwrap();
    assert_eq!(read, head);
    let text = std::fs::read_to_string(&path).unwrap();
    for (from, to) in [
        ("\"from\":\"words\"", "\"from\":\"first_token\""),
        ("\"town1\",", ""),
    ] {
        let changed = text.replace(from, to);
        assert_ne!(changed, text, "{from}");
        std::fs::write(&path, changed).unwrap();
        fails!(Head::read(&path, Purpose::Router) => "not_a_head");
    }

    let mut pipeline = pipeline.with(routed_by(read)).unwrap();
    pipeline.settings = answering();
    pipeline.settings.policy = "router@0.5".parse().unwrap();
    for (question, source) in [
        ("who is the baker of town7?", Source::SelfKnowledge),
        ("who is the smith of town7?", Source::Corpus),
    ] {
        let answer = pipeline
            .answer(question, &mut |_| ControlFlow::Continue(()))
            .unwrap();
        assert_eq!(answer.route, source, "{}", answer.reason);
        assert_eq!(answer.calls.model, 1, "counting words calls no model");
    }
}

#[test]
fn a_control_tells_what_share_of_the_lead_it_reaches() {
    let folder = tempfile::tempdir().unwrap();
    let records = probed(&pipeline(&folder), &questions_of(&facts()), 2, 40);
    let (_, report) = learned(&records, Target::Mastery, Shape::Logistic);
    let by = |auroc| {
        let mut report = report.clone();
        report.measured.auroc = auroc;
        report
    };
    let reaches = |own, of| Control::new("words".to_owned(), by(own), &by(of)).reaches;
    assert_eq!(reaches(Some(0.75), Some(1.0)), Some(0.5));
    assert_eq!(reaches(Some(0.75), Some(0.5)), None);
    assert_eq!(reaches(None, Some(0.8)), None);
}
