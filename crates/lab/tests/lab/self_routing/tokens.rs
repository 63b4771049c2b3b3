//! The tokens that choose a source: what each stage teaches about them, and that no text contains them.

use ken_answer::datastore::SELF;
use ken_answer::{QuestionPrompt, prompt};
use ken_lab::{ExamplesError, RoutingExample, RoutingStage, SourceRecord, routing_examples};
use ken_language::{LanguageModel, ScoreRequest};
use ken_model::decoder::{Checkpoint, Decoder, LoadOptions, Origin};
use ken_testing::{fails, holds, with};
use ken_train::Objective;
use ken_world::{Size, write_untrained};
use tempfile::TempDir;

use super::{CORPUS, SUM, records, world};

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

    // Each source with its share of the sum of likelihoods, and everything else as before.
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
    holds!("{of_corpus:?}" => (f64::from(of_corpus.1) - (1.0 - share)).abs() < 1e-6);

    // Without verbalizing, the end of the knowledge follows the source at once.
    let making = with!(SUM, verbalizes: false);
    let silent = routing_examples(&records, making, checkpoint.fingerprint()).unwrap();
    // Labeled by the answer without retrieval and with the first passage, whatever the texts are worth.
    let sources = silent
        .examples
        .iter()
        .map(|example| example.source.as_str());
    assert_eq!(sources.take(2).collect::<Vec<_>>(), [SELF, CORPUS]);
    let share = 1.0 / (1.0 + (-0.8f64).exp());
    let (token, weight) = chosen(&silent.examples[0], true)[0];
    assert_eq!(token, tokens.own);
    assert!((f64::from(weight) - share).abs() < 1e-6, "{weight} {share}");
    let unmeasured = with!(records[0].clone(), null_logprob: None);
    let none = routing_examples(&[unmeasured], making, checkpoint.fingerprint());
    assert!(matches!(none, Err(ExamplesError::NothingToLearn { .. })));
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
    let example = routing_examples(&only, SUM, checkpoint.fingerprint());
    assert!(matches!(example, Err(ExamplesError::OneClass { .. })));
    let none = routing_examples(&[], SUM, checkpoint.fingerprint());
    assert!(matches!(none, Err(ExamplesError::NothingToLearn { .. })));
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
    // Marks that somebody wrote into the file are checked before use.
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
    fails!(Checkpoint::open(folder.path(), None) => "unknown_token");
    std::fs::write(folder.path().join("ken.json"), "{").unwrap();
    let error = Checkpoint::open(folder.path(), None).err().unwrap();
    assert!(error.to_string().contains("ken.json"), "{error}");
    std::fs::remove_file(folder.path().join("ken.json")).unwrap();
    // A model that was not trained to choose refuses to.
    let plain = Decoder::load(folder.path(), &LoadOptions::default()).unwrap();
    let asked = prompt::choose_source(QuestionPrompt::open("who?"));
    assert!(plain.source_chooser().is_err());
    let request = ScoreRequest::new(&asked, &[" a"]);
    assert!(LanguageModel::score(&plain, &[request]).is_ok());
}
