//! A model that learns to choose its source (SR-RAG), by a rule that is easy to learn: its choices, continuing from
//! what it has read, and the datastore that advises it.
use std::collections::{BTreeMap, BTreeSet};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, LazyLock};

use ken_answer::datastore::SELF;
use ken_answer::{
    AnswerError, AnswerSettings, Datastore, Measurements, Pipeline, Policy, QuestionPrompt,
    RoutingModels, Signal, prompt,
};
use ken_eval::{AboutSubject, auroc, place_in_split};
use ken_index::Mode;
use ken_lab::heads::datastore::{MadeDatastore, MakeError};
use ken_lab::tuning::{best_threshold, record_threshold};
use ken_lab::{
    LabelRule, MakeOptions, RoutingExample, RoutingExampleOptions, RoutingStage, SourceRecord,
    make_datastore, routing_examples,
};
use ken_language::{GenerateOptions, GenerateRequest, LanguageModel, Prompt, Sampling};
use ken_model::decoder::{Checkpoint, Decoder, Device, LoadOptions, Origin};
use ken_policy::digest_of;
use ken_testing::{fails, has, holds, with};
use ken_train::{
    Examples, LoraSettings, MeanOver, Objective, Schedule, TrainSettings, Trainable, Tuning, train,
    write_adapter,
};
use ken_world::{Size, World, WorldSettings, write_untrained};
use serde_json::json;
use tempfile::TempDir;

mod tokens;

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
    World::new(with!(WorldSettings::default(), people: 60, unseen: 4, strangers: 4, sequences: 600, seed: 2))
    .unwrap()
}

fn question(name: &str, is_own: bool) -> String {
    let what = if is_own { "town" } else { "year" };
    format!("In which {what} was {name} born?")
}

/// Two questions per name: the model knows the town, and the corpus has the year.
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
    let tuning =
        Tuning::Lora(with!(LoraSettings::default(), rank: 8, alpha: 16.0, tokens: tokens.all()));
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
        let settings = with!(settings.clone(), epochs: epochs);
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
    let options = with!(LoadOptions::default(), adapter: Some(adapter.to_path_buf()));
    Decoder::load(model, &options).unwrap()
}

fn written(model: &Decoder, prompt: &Prompt) -> String {
    let options = GenerateOptions::new(Sampling::Greedy, 12);
    let request = GenerateRequest::new(prompt, 1, &options);
    let mut go_on = |_: ken_language::Progress<'_>| ControlFlow::Continue(());
    let written = LanguageModel::generate(model, &[request], &mut go_on).unwrap();
    written[0][0].text.clone()
}

fn settings() -> AnswerSettings {
    with!(AnswerSettings::default(), policy: "self-route".parse().unwrap(), mode: Mode::Lexical, k: 1,
        evidence_tokens: 40, max_tokens: 8, full_tokens: 64, samples: 2)
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

fn voted_by(store: &Path) -> RoutingModels {
    let datastore = Datastore::open(store).unwrap();
    with!(RoutingModels::default(), datastore: Some(Arc::new(datastore)))
}

/// A model that was taught most of the records to choose its source.
struct Taught {
    _folder: TempDir,
    model: PathBuf,
    adapter: PathBuf,
    base: String,
    records: Vec<SourceRecord>,
    decoder: Arc<Decoder>,
}

static TAUGHT: LazyLock<Taught> = LazyLock::new(|| {
    let folder = TempDir::new().unwrap();
    let [model, adapter] = ["model", "adapter"].map(|name| folder.path().join(name));
    let world = world();
    write_untrained(&world, Size::Small, &model).unwrap();
    let base = Checkpoint::open(&model, None).unwrap();
    let base = base.fingerprint().to_owned();
    let records = records(&world, &base);
    taught(&model, &adapter, &records[..90]);
    Taught {
        _folder: folder,
        decoder: Arc::new(loaded(&model, &adapter)),
        model,
        adapter,
        base,
        records,
    }
});

impl Taught {
    fn learned(&self) -> &[SourceRecord] {
        &self.records[..90]
    }

    fn held_out(&self) -> &[SourceRecord] {
        &self.records[90..]
    }

    /// The learned records as if the tuned model had been labeled.
    fn voting(&self) -> Vec<SourceRecord> {
        let each = self.learned().iter().cloned();
        each.map(|mut record| {
            record.fingerprint.model = self.decoder.fingerprint().to_owned();
            record
        })
        .collect()
    }

    fn pipeline(&self, policy: &str) -> Pipeline {
        let settings = with!(settings(), policy: policy.parse().unwrap());
        Pipeline::new(Arc::clone(&self.decoder) as _, None, settings)
    }

    /// How well the needs separate held-out questions whose answer a corpus has.
    fn auroc(&self, needs: &[f64]) -> f64 {
        let own = |record: &SourceRecord| record.preferred_by(LabelRule::Sum) == Some(SELF);
        let each = needs.iter().zip(self.held_out());
        let predictions: Vec<(f64, bool)> =
            each.map(|(need, record)| (*need, !own(record))).collect();
        auroc(&predictions).unwrap()
    }
}

const MAKING: MakeOptions<'_> = MakeOptions {
    rule: LabelRule::Majority,
    soft: false,
    layers: &[1, 2, 3],
    neighbors: &[10, 30],
    held_out: 0.0,
    taught: &[],
};

fn made(
    records: &[SourceRecord],
    options: MakeOptions<'_>,
    folder: &Path,
) -> Result<MadeDatastore, MakeError> {
    let model = TAUGHT.decoder.as_ref();
    let made = make_datastore(folder, records, model, options, &mut |_, _| true)?;
    Ok(made.unwrap())
}

#[test]
fn a_rule_is_learned() {
    let decoder = &TAUGHT.decoder;
    assert_eq!(decoder.source_chooser().unwrap().corpora(), [CORPUS]);
    assert!(!decoder.capabilities().examples);
    let alone = needs(&TAUGHT.pipeline("self-route"), TAUGHT.held_out());
    assert!(TAUGHT.auroc(&alone) > 0.95, "{alone:?}");
}

#[test]
fn what_was_read_to_choose_is_gone_on_from() {
    let (decoder, held_out) = (&TAUGHT.decoder, TAUGHT.held_out());
    needs(&TAUGHT.pipeline("self-route"), held_out);
    // Equal to the result of a model that has read nothing.
    let fresh = || loaded(&TAUGHT.model, &TAUGHT.adapter);
    let question_prompt = QuestionPrompt::open(&held_out[0].question);
    let write = prompt::verbalize(question_prompt, None);
    let text = written(decoder, &write);
    assert_eq!(text, written(&fresh(), &write));
    let answer = prompt::from_known(question_prompt, &text);
    assert_eq!(written(decoder, &answer), written(&fresh(), &answer));
    let answered = |policy: &str| {
        TAUGHT
            .pipeline(policy)
            .answer(question_prompt, &mut |_| ControlFlow::Continue(()))
            .unwrap()
    };
    let never = answered("never");
    has!(never, verbalized.as_ref().unwrap().text: text.trim().lines().next().unwrap_or_default());
    assert_eq!(answered("self-route@1").answer, never.answer);
}

#[test]
fn a_threshold_is_chosen_and_recorded() {
    let (decoder, held_out) = (&TAUGHT.decoder, TAUGHT.held_out());
    let pipeline = TAUGHT.pipeline("self-route");
    let alone = needs(&pipeline, held_out);
    // Its threshold is the best one on questions that it was not taught, and is recorded with it.
    let examples = routing_examples(held_out, SUM, &TAUGHT.base)
        .unwrap()
        .examples;
    let never = AtomicBool::new(false);
    let threshold = best_threshold(decoder.as_ref(), &examples, &never)
        .unwrap()
        .unwrap();
    let stopped = best_threshold(decoder.as_ref(), &examples, &AtomicBool::new(true));
    assert!(matches!(stopped, Err(AnswerError::Interrupted)));
    let expected = |record: &SourceRecord, own: bool| {
        let of = record
            .contexts
            .iter()
            .filter(|context| (context.source == SELF) == own);
        let each: Vec<f64> = of.map(|context| context.logprob.exp()).collect();
        match own {
            true => each.iter().sum::<f64>() / each.len() as f64,
            false => each[0],
        }
    };
    let right = |at: f64| -> f64 {
        let each = alone.iter().zip(held_out);
        each.map(|(need, record)| expected(record, *need <= at))
            .sum()
    };
    for other in &alone {
        holds!("{other} {threshold}" => right(*other) <= right(threshold) + 1e-9);
    }
    let folder = TempDir::new().unwrap();
    for entry in std::fs::read_dir(&TAUGHT.adapter).unwrap() {
        let entry = entry.unwrap();
        std::fs::copy(entry.path(), folder.path().join(entry.file_name())).unwrap();
    }
    record_threshold(folder.path(), threshold).unwrap();
    let recording = Arc::new(loaded(&TAUGHT.model, folder.path()));
    assert_eq!(
        recording.source_chooser().unwrap().threshold(),
        Some(threshold)
    );
    let recording = Pipeline::new(recording, None, settings());
    let resolved = |pipeline: &Pipeline, policy: &str| {
        let policy: Policy = policy.parse().unwrap();
        pipeline.resolved(policy).threshold()
    };
    assert_eq!(resolved(&recording, "self-route"), Some(threshold));
    assert_eq!(resolved(&recording, "self-route@0.2"), Some(0.2));
    // The paper's default, if none is recorded.
    assert_eq!(resolved(&pipeline, "self-route"), Some(0.2));
}

#[test]
fn a_datastore_is_made_of_what_the_model_was_not_taught() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("store");
    // Labels of the model before its training say nothing about it afterwards.
    fails!(made(TAUGHT.learned(), MAKING, &store) => "other_model"; "LabelSources");
    let voting = TAUGHT.voting();
    let all: Vec<u64> = voting
        .iter()
        .map(|entry| digest_of(&entry.question))
        .collect();
    let all: BTreeSet<u64> = all.into_iter().collect();
    let all: Vec<u64> = all.into_iter().collect();
    let taught = with!(MAKING, taught: &all);
    fails!(made(&voting, taught, &store) => "all_taught");
    assert!(!store.exists());
    // Of the questions that it was not taught, a share is held out for evaluation.
    let taught = voting
        .iter()
        .filter(|record| place_in_split(record.subject()) >= 0.6);
    let taught: BTreeSet<u64> = taught.map(|record| digest_of(&record.question)).collect();
    let taught: Vec<u64> = taught.into_iter().collect();
    let some = with!(MAKING, held_out: 0.2, taught: &taught, soft: true);
    let half = folder.path().join("half");
    let few = made(&voting, some, &half).unwrap();
    assert_eq!(few.entries + few.left_out, 90);
    assert!((20..=52).contains(&few.entries), "{few:?}");
    for entry in Datastore::open(&half).unwrap().entries() {
        assert!((0.2..0.6).contains(&place_in_split(&entry.question)));
        let own = entry.shares.as_ref().unwrap()[SELF];
        let share = 1.0 / (1.0 + (-0.9_f64).exp());
        assert!((own - share).abs() < 1e-9, "{own}");
    }
}

#[test]
fn the_nearest_entries_advise_and_people_correct_them() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("store");
    let held_out = TAUGHT.held_out();
    let made = made(&TAUGHT.voting(), MAKING, &store).unwrap();
    assert_eq!((made.entries, made.left_out, made.tried.len()), (90, 0, 6));
    let best = made.tried.iter().filter_map(|tried| tried.auroc);
    assert!(best.fold(0.0, f64::max) > 0.95, "{made:?}");
    let advised = || {
        let pipeline = TAUGHT.pipeline("self-route").with(voted_by(&store));
        needs(&pipeline.unwrap(), held_out)
    };
    let alone = needs(&TAUGHT.pipeline("self-route"), held_out);
    let together = advised();
    assert!(TAUGHT.auroc(&together) > 0.95, "{together:?}");
    for (need, alone) in together.iter().zip(&alone) {
        // No vote removes all of the model's choice.
        assert!(need <= alone && *need > 0.01 * alone, "{need} {alone}");
    }
    let mut datastore = Datastore::open(&store).unwrap();
    let ids: Vec<String> = datastore
        .entries()
        .iter()
        .map(|entry| entry.id.clone())
        .collect();
    let corrected: BTreeMap<&str, &str> = ids.iter().map(|id| (id.as_str(), SELF)).collect();
    datastore.change(&corrected, Vec::new(), &[]).unwrap();
    assert!(advised().iter().all(|need| *need < 0.1));

    // Keys of another model say nothing about this one.
    let plain = Decoder::load(&TAUGHT.model, &LoadOptions::default()).unwrap();
    let plain = Pipeline::new(Arc::new(plain), None, settings());
    fails!(plain.with(voted_by(&store)) => "other_datastore");
}
