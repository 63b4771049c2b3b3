//! A model that was taught to choose its source: what it makes of questions, what it continues from, its threshold, and
//! the datastore that advises it.

use super::*;

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
        let settings = AnswerSettings {
            policy: policy.parse().unwrap(),
            ..settings()
        };
        Pipeline::new(Arc::clone(&self.decoder) as _, None, settings)
    }

    /// How well the needs tell the held-out questions whose answer a corpus has.
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
    // It gives what a model gives that has read nothing.
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
    assert_eq!(
        never.verbalized.as_ref().unwrap().text,
        text.trim().lines().next().unwrap_or_default()
    );
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
            .filter(|one| (one.source == SELF) == own);
        let each: Vec<f64> = of.map(|one| one.logprob.exp()).collect();
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
        assert!(
            right(*other) <= right(threshold) + 1e-9,
            "{other} {threshold}"
        );
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
    // That of the paper, where none is recorded.
    assert_eq!(resolved(&pipeline, "self-route"), Some(0.2));
}

#[test]
fn a_datastore_is_made_of_what_the_model_was_not_taught() {
    let folder = TempDir::new().unwrap();
    let store = folder.path().join("store");
    // Labels of the model before its training say nothing of it after.
    let error = made(TAUGHT.learned(), MAKING, &store).unwrap_err();
    assert_eq!(error.kind(), "other_model");
    assert!(error.remedy().unwrap().mentions("LabelSources"));
    let voting = TAUGHT.voting();
    let all: Vec<u64> = voting.iter().map(|one| digest_of(&one.question)).collect();
    let all: BTreeSet<u64> = all.into_iter().collect();
    let all: Vec<u64> = all.into_iter().collect();
    let taught = MakeOptions {
        taught: &all,
        ..MAKING
    };
    let error = made(&voting, taught, &store).unwrap_err();
    assert_eq!(error.kind(), "all_taught");
    assert!(!store.exists());
    // Of what was not taught, a share is left to evaluate on.
    let taught = voting
        .iter()
        .filter(|one| place_in_split(one.subject()) >= 0.6);
    let taught: BTreeSet<u64> = taught.map(|one| digest_of(&one.question)).collect();
    let taught: Vec<u64> = taught.into_iter().collect();
    let some = MakeOptions {
        held_out: 0.2,
        taught: &taught,
        soft: true,
        ..MAKING
    };
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
        let datastore = Datastore::open(&store).unwrap();
        let pipeline = TAUGHT.pipeline("self-route").with_datastore(datastore);
        needs(&pipeline.unwrap(), held_out)
    };
    let alone = needs(&TAUGHT.pipeline("self-route"), held_out);
    let together = advised();
    assert!(TAUGHT.auroc(&together) > 0.95, "{together:?}");
    for (need, alone) in together.iter().zip(&alone) {
        // No vote takes all of the model's choice.
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

    // Another model's keys say nothing of this one.
    let plain = Decoder::load(&TAUGHT.model, &LoadOptions::default()).unwrap();
    let plain = Pipeline::new(Arc::new(plain), None, settings());
    let error = plain
        .with_datastore(Datastore::open(&store).unwrap())
        .err()
        .unwrap();
    assert_eq!(error.kind(), "other_datastore");
}
