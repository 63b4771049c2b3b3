//! A model that learns to choose its source (SR-RAG), on a rule that is easily learned: what it makes
//! of a question, that it continues from what it has read, and the datastore that advises it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use ken_answer::datastore::SELF;
use ken_answer::{
    AnswerError, AnswerSettings, Datastore, Measurements, Pipeline, Policy, QuestionPrompt, Signal,
    Style, prompt,
};
use ken_index::Mode;
use ken_language::{
    GenerateOptions, GenerateRequest, LanguageModel, Prompt, Sampling, ScoreRequest,
};
use ken_model::decoder::{Checkpoint, Decoder, Device, LoadOptions, Origin};
use ken_route::digest_of;
use ken_study::learn::datastore::{MadeDatastore, MakeError};
use ken_study::tuning::{best_threshold, record_threshold};
use ken_study::{
    AboutSubject, ExamplesError, LabelRule, MakeOptions, RoutingExample, RoutingExampleOptions,
    RoutingStage, SourceRecord, auroc, make_datastore, place_in_split, routing_examples,
};
use ken_train::{
    Examples, LoraSettings, MeanOver, Objective, Schedule, TrainSettings, Trainable, Tuning, train,
    write_adapter,
};
use ken_world::{Size, World, WorldSettings, write_untrained};
use serde_json::json;
use tempfile::TempDir;

mod taught;

const CORPUS: &str = "island";

const MAJORITY: RoutingExampleOptions = RoutingExampleOptions {
    rule: LabelRule::Majority,
    verbalizes: true,
};

const SUM: RoutingExampleOptions = RoutingExampleOptions {
    rule: LabelRule::Sum,
    verbalizes: true,
};

fn world() -> World {
    World::new(WorldSettings {
        people: 60,
        unseen: 4,
        strangers: 4,
        sequences: 600,
        seed: 2,
        ..WorldSettings::default()
    })
    .unwrap()
}

fn question(name: &str, is_own: bool) -> String {
    let what = if is_own { "town" } else { "year" };
    format!("In which {what} was {name} born?")
}

/// Of every name two questions: the town is known to the model, the year stands in the corpus.
fn records(world: &World, model: &str) -> Vec<SourceRecord> {
    let names = world
        .subjects()
        .iter()
        .map(|subject| &subject.name)
        .take(60);
    let record = |(number, (name, is_own)): (usize, (&String, bool))| {
        let contexts = json!([
            {"source": SELF, "text": format!("{name} was born in a town."), "logprob": -0.1},
            {"source": SELF, "text": format!("{name} is by the a town."), "logprob": -3.0},
            {"source": CORPUS, "title": name, "text": format!("{name} was born in the year."),
             "passage_id": "p", "logprob": -1.0},
        ]);
        let preferred = if is_own { SELF } else { CORPUS };
        let record = json!({
            "id": format!("q{number}"), "question": question(name, is_own),
            "golden_answers": ["town"], "golden_answer": "town", "contexts": contexts,
            "null_logprob": if is_own { -0.2 } else { -4.0 },
            "sources": [
                {"source": SELF, "best": 0, "worst": 1, "among_top": 1.0, "log_sum": -0.1},
                {"source": CORPUS, "best": 2, "worst": 2, "among_top": 1.0, "log_sum": -1.0},
            ],
            "preferred": {"majority": preferred, "sum": preferred},
            "unlabeled": null, "error": null,
            "fingerprint": {
                "model": model, "corpora": {CORPUS: "c"}, "prompt": "p", "verbalize": "v",
            },
        });
        serde_json::from_value(record).unwrap()
    };
    let both = names.flat_map(|name| [(name, true), (name, false)]);
    both.enumerate().map(record).collect()
}

fn objectives(
    checkpoint: &Checkpoint,
    examples: &[RoutingExample],
    stage: RoutingStage,
) -> Vec<Objective> {
    let tokens = checkpoint.source_tokens(&[CORPUS]).unwrap();
    let each = examples.iter();
    each.flat_map(|example| {
        example
            .objectives(checkpoint, &tokens, stage, false)
            .unwrap()
    })
    .collect()
}

/// Trains an adapter on most of the records.
fn taught(model: &Path, adapter: &Path, records: &[SourceRecord]) {
    let checkpoint = Checkpoint::open(model, None).unwrap();
    let routing = routing_examples(records, MAJORITY, checkpoint.fingerprint()).unwrap();
    assert_eq!(routing.corpora, [CORPUS]);
    let tokens = checkpoint.source_tokens(&[CORPUS]).unwrap();
    let tuning = Tuning::Lora(LoraSettings {
        rank: 8,
        alpha: 16.0,
        tokens: tokens.all(),
        ..LoraSettings::default()
    });
    let trained = Trainable::new(&checkpoint, tuning, Device::Cpu, 1).unwrap();
    trained
        .begin_like(tokens.own, &[tokens.end_of_question])
        .unwrap();
    let settings = TrainSettings {
        epochs: 6.0,
        mean_over: MeanOver::Examples,
        schedule: Schedule {
            peak: 0.004,
            ..TrainSettings::default().schedule
        },
        ..TrainSettings::default()
    };
    let stages = [RoutingStage::Imitate, RoutingStage::Prefer { beta: 0.3 }];
    for (stage, epochs) in stages.into_iter().zip([16.0, 1.0]) {
        let examples = objectives(&checkpoint, &routing.examples, stage);
        let settings = TrainSettings {
            epochs,
            ..settings.clone()
        };
        let mut go_on = |_: ken_train::Progress<'_>| ControlFlow::Continue(());
        train(
            &trained,
            &Examples::Set(&examples),
            &[],
            &settings,
            None,
            &mut go_on,
        )
        .unwrap();
    }
    let origin = Origin {
        base: trained.base.clone(),
        purpose: "test".to_owned(),
        prompt: checkpoint.prompt_form(),
        boundary: None,
        sources: Some(tokens),
        held_out: None,
        learned_from: Vec::new(),
    };
    write_adapter(&trained, "small", &origin, adapter).unwrap();
}

fn loaded(model: &Path, adapter: &Path) -> Decoder {
    let options = LoadOptions {
        adapter: Some(adapter.to_path_buf()),
        ..LoadOptions::default()
    };
    Decoder::load(model, &options).unwrap()
}

fn written(model: &Decoder, prompt: &Prompt) -> String {
    let options = GenerateOptions {
        sampling: Sampling::Greedy,
        max_tokens: 12,
        stop: Vec::new(),
    };
    let request = GenerateRequest {
        prompt,
        samples: 1,
        options: &options,
    };
    let mut go_on = |_: ken_language::Progress<'_>| ControlFlow::Continue(());
    let written = LanguageModel::generate(model, &[request], &mut go_on).unwrap();
    written[0][0].text.clone()
}

fn settings() -> AnswerSettings {
    AnswerSettings {
        policy: "self-route".parse().unwrap(),
        abstain: None,
        mode: Mode::Lexical,
        k: 1,
        evidence_tokens: 40,
        style: Style::Short,
        max_tokens: 8,
        full_tokens: 64,
        sampling: Sampling::Greedy,
        samples: 2,
        seed: 0,
    }
}

/// The need of retrieval of each record's question.
fn needs(pipeline: &Pipeline, records: &[SourceRecord]) -> Vec<f64> {
    let questions: Vec<QuestionPrompt<'_>> = records
        .iter()
        .map(|record| QuestionPrompt::open(&record.question))
        .collect();
    let nothing = vec![Measurements::default(); questions.len()];
    let taken = pipeline
        .measure(&[Signal::SELF_ROUTE], &questions, nothing)
        .unwrap();
    let need = |taken: &Measurements| Signal::SELF_ROUTE.of(taken).number().unwrap();
    taken.iter().map(need).collect()
}

#[test]
fn each_stage_teaches_its_tokens() {
    let folder = TempDir::new().unwrap();
    let world = world();
    write_untrained(&world, Size::Small, folder.path()).unwrap();
    let checkpoint = Checkpoint::open(folder.path(), None).unwrap();
    let records = records(&world, checkpoint.fingerprint());
    let routing = routing_examples(&records, SUM, checkpoint.fingerprint()).unwrap();
    let tokens = checkpoint.source_tokens(&[CORPUS]).unwrap();
    let learned = |example: usize, stage| -> Vec<Vec<u32>> {
        let objectives = routing.examples[example]
            .objectives(&checkpoint, &tokens, stage, false)
            .unwrap();
        let of = |sequence: &ken_train::Sequence| {
            let both = sequence.tokens.iter().zip(&sequence.weights);
            both.filter(|(_, weight)| **weight > 0.0)
                .map(|(token, _)| *token)
                .collect()
        };
        let each = objectives.iter().flat_map(|objective| match objective {
            Objective::Imitate(sequence) => vec![of(sequence)],
            Objective::Prefer { preference, .. } => {
                vec![of(&preference.chosen), of(&preference.rejected)]
            }
        });
        each.collect()
    };
    let text = |text: &str| checkpoint.continued("", text).unwrap().1;
    let answer = checkpoint.output("town").unwrap();
    let name = &world.subjects()[0].name;
    let helpful = [
        text(&format!(" {name} was born in a town.")),
        vec![tokens.end_of_knowledge],
    ];
    let unhelpful = [
        text(&format!(" {name} is by the a town.")),
        vec![tokens.end_of_knowledge],
    ];
    let island = tokens.corpora[0].token;
    assert_eq!(
        learned(0, RoutingStage::Imitate),
        [[vec![tokens.own], helpful.concat(), answer.clone()].concat()]
    );
    let choice = |source: u32| [vec![source], answer.clone()].concat();
    assert_eq!(learned(1, RoutingStage::Imitate), [choice(island)]);
    let prefer = RoutingStage::Prefer { beta: 0.3 };
    assert_eq!(
        learned(0, prefer),
        [choice(tokens.own), helpful.concat(), unhelpful.concat()]
    );
    assert_eq!(learned(1, prefer), [choice(island)]);

    // Each source with its share of the sum of likelihoods, and all else as before.
    let chosen = |example: &RoutingExample, soft: bool| {
        let objectives = example.objectives(&checkpoint, &tokens, RoutingStage::Imitate, soft);
        let asked = |objective: &Objective| match objective {
            Objective::Imitate(sequence) => {
                let mark = |token: &u32| *token == tokens.end_of_question;
                let place = sequence.tokens.iter().position(mark).unwrap() + 1;
                (sequence.tokens[place], sequence.weights[place])
            }
            Objective::Prefer { .. } => unreachable!("the first stage prefers nothing"),
        };
        objectives.unwrap().iter().map(asked).collect::<Vec<_>>()
    };
    let first = &routing.examples[0];
    assert_eq!(chosen(first, false), [(tokens.own, 1.0)]);
    let share = 1.0 / (1.0 + (-0.9f64).exp());
    let (own, of_corpus) = (chosen(first, true)[0], chosen(first, true)[1]);
    assert_eq!((own.0, of_corpus.0), (tokens.own, island));
    assert!((f64::from(own.1) - share).abs() < 1e-6, "{own:?}");
    assert!(
        (f64::from(of_corpus.1) - (1.0 - share)).abs() < 1e-6,
        "{of_corpus:?}"
    );

    // Without verbalizing, the end of the knowledge follows the source at once.
    let making = RoutingExampleOptions {
        verbalizes: false,
        ..SUM
    };
    let silent = routing_examples(&records, making, checkpoint.fingerprint()).unwrap();
    // Labeled by the answer without retrieval and with the first passage, whatever texts are worth.
    let sources = silent.examples.iter().map(|one| one.source.as_str());
    assert_eq!(sources.take(2).collect::<Vec<_>>(), [SELF, CORPUS]);
    let share = 1.0 / (1.0 + (-0.8f64).exp());
    let (token, weight) = chosen(&silent.examples[0], true)[0];
    assert_eq!(token, tokens.own);
    assert!((f64::from(weight) - share).abs() < 1e-6, "{weight} {share}");
    let unmeasured = SourceRecord {
        null_logprob: None,
        ..records[0].clone()
    };
    let none = routing_examples(&[unmeasured], making, checkpoint.fingerprint());
    assert!(matches!(none, Err(ExamplesError::NoLabels { .. })));
    for stage in [RoutingStage::Imitate, RoutingStage::Prefer { beta: 0.3 }] {
        let objectives = silent.examples[0]
            .objectives(&checkpoint, &tokens, stage, false)
            .unwrap();
        let [Objective::Imitate(sequence)] = objectives.as_slice() else {
            panic!("{objectives:?}");
        };
        let place = sequence
            .tokens
            .iter()
            .position(|token| *token == tokens.own);
        assert_eq!(sequence.tokens[place.unwrap() + 1], tokens.end_of_knowledge);
    }

    let other = routing_examples(&records, SUM, "another model");
    assert!(matches!(other, Err(ExamplesError::OtherModel { .. })));
    let only: Vec<SourceRecord> = records.iter().step_by(2).cloned().collect();
    let one = routing_examples(&only, SUM, checkpoint.fingerprint());
    assert!(matches!(one, Err(ExamplesError::OneSource { .. })));
    let none = routing_examples(&[], SUM, checkpoint.fingerprint());
    assert!(matches!(none, Err(ExamplesError::NoLabels { .. })));
}

#[test]
fn no_text_can_hold_the_marks() {
    let folder = TempDir::new().unwrap();
    let world = world();
    write_untrained(&world, Size::Small, folder.path()).unwrap();
    let checkpoint = Checkpoint::open(folder.path(), None).unwrap();
    let tokens = checkpoint.source_tokens(&[CORPUS]).unwrap();
    let several = checkpoint.source_tokens(&["notes", "wiki"]).unwrap();
    assert_eq!(several.all().len(), 5);
    assert_eq!(several.own, tokens.own);
    let marks = "<EOQ> <EOK> <self> <corpus>";
    let sourced = prompt::from_known(QuestionPrompt::open(marks), marks)
        .sourced
        .unwrap();
    let read = checkpoint.sourced(&tokens, &sourced).unwrap().concat();
    for mark in tokens.all() {
        let wanted = usize::from(mark != tokens.corpora[0].token);
        assert_eq!(
            read.iter().filter(|token| **token == mark).count(),
            wanted,
            "{mark}"
        );
    }
    // Marks that somebody wrote into the file are checked before anything is read by them.
    let mut changed = tokens.clone();
    changed.own = 1_000_000;
    let origin = Origin {
        base: checkpoint.fingerprint().to_owned(),
        purpose: "test".to_owned(),
        prompt: checkpoint.prompt_form(),
        boundary: None,
        sources: Some(changed),
        held_out: None,
        learned_from: Vec::new(),
    };
    origin.write(folder.path()).unwrap();
    let error = Checkpoint::open(folder.path(), None).err().unwrap();
    assert_eq!(error.kind(), "unknown_token");
    std::fs::write(folder.path().join("ken.json"), "{").unwrap();
    let error = Checkpoint::open(folder.path(), None).err().unwrap();
    assert!(error.to_string().contains("ken.json"), "{error}");
    std::fs::remove_file(folder.path().join("ken.json")).unwrap();
    // A model that was not trained to choose refuses to.
    let plain = Decoder::load(folder.path(), &LoadOptions::default()).unwrap();
    let asked = prompt::choose_source(QuestionPrompt::open("who?"));
    assert!(plain.source_chooser().is_err());
    let request = ScoreRequest {
        prompt: &asked,
        continuations: &[" a"],
    };
    assert!(LanguageModel::score(&plain, &[request]).is_ok());
}
