//! Whole trainings: that they learn, go on where they were broken off, and keep what they learned.

use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use ken_model::decoder::{
    Checkpoint, Decoder, DecoderError, Device, LoadOptions, Origin, PromptForm,
};
use tempfile::TempDir;

use super::checkpoint::Tiny;
use super::{files, lora, opened, sequences};
use crate::decoder::{Batch, Trainable, Tuning};
use crate::run::{Examples, Outcome, Progress, TrainSettings, train};
use crate::schedule::Schedule;
use crate::sequence::{Objective, Preference, Sequence};
use crate::{History, TrainError, write_adapter};

fn settings() -> TrainSettings {
    TrainSettings {
        epochs: 10.0,
        batch: 2,
        tokens_per_pass: 9,
        schedule: Schedule {
            peak: 1e-2,
            warm_up: 0.1,
            floor: 0.1,
        },
        checkpoint_every: 3,
        seed: 2,
        ..TrainSettings::default()
    }
}

fn model(dir: &TempDir, tuning: &Tuning) -> Trainable {
    Trainable::new(&opened(dir), tuning.clone(), Device::Cpu, 1).unwrap()
}

fn noisy() -> Tuning {
    Tuning::Lora(crate::LoraSettings {
        dropout: 0.1,
        ..lora()
    })
}

fn imitated() -> Vec<Objective> {
    sequences().into_iter().map(Objective::Imitate).collect()
}

/// Trains, broken off at some steps and gone on with by another model each time.
fn trained(
    dir: &TempDir,
    tuning: &Tuning,
    examples: &[Objective],
    checkpoint: &Path,
    breaks: &[usize],
) -> (Trainable, History) {
    let checkpoint = PathBuf::from(checkpoint);
    for &at in breaks {
        let mut stop = |progress: Progress<'_>| match progress {
            Progress::Step { record, .. } if record.step == at => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let examples = Examples::Set(examples);
        let (outcome, _) = train(
            &model(dir, tuning),
            &examples,
            &[],
            &settings(),
            Some(&checkpoint),
            &mut stop,
        )
        .unwrap();
        assert_eq!(outcome, Outcome::Stopped);
    }
    let model = model(dir, tuning);
    let (outcome, history) = train(
        &model,
        &Examples::Set(examples),
        &[],
        &settings(),
        Some(&checkpoint),
        &mut |_| ControlFlow::Continue(()),
    )
    .unwrap();
    assert_eq!(outcome, Outcome::Finished);
    (model, history)
}

fn numbers(model: &Trainable) -> Vec<Vec<f32>> {
    let variables = model.variables().values();
    variables
        .map(|v| v.flatten_all().unwrap().to_vec1().unwrap())
        .collect()
}

#[test]
fn a_training_learns_and_goes_on_to_the_last_bit_where_it_was_broken_off() {
    let dir = files(&Tiny::new("llama"));
    for tuning in [noisy(), Tuning::Full] {
        let out = TempDir::new().unwrap();
        let examples = imitated();
        let (whole, history) = trained(&dir, &tuning, &examples, &out.path().join("a"), &[]);
        let (first, last) = (&history.steps[..2], &history.steps[18..]);
        let mean = |steps: &[crate::StepRecord]| steps[0].loss + steps[1].loss;
        assert!(mean(last) < 0.5 * mean(first), "{history:?}");
        let (broken, again) = trained(&dir, &tuning, &examples, &out.path().join("b"), &[1, 7, 8]);
        assert_eq!(numbers(&whole), numbers(&broken));
        let losses = |history: &History| -> Vec<f64> {
            history.steps.iter().map(|step| step.loss).collect()
        };
        assert_eq!(losses(&history), losses(&again));
    }
}

/// The natural-log probability of a sequence's tokens with loss.
fn log_probability(model: &Trainable, sequence: &Sequence) -> f32 {
    let targets = (1..sequence.tokens.len())
        .filter(|&place| sequence.weights[place] > 0.0)
        .map(|place| (place - 1, sequence.tokens[place]))
        .collect();
    let batch = Batch {
        tokens: sequence.tokens.clone(),
        lengths: vec![sequence.tokens.len()],
        targets,
    };
    let probabilities = model.forward(&batch, None).unwrap();
    probabilities.sum_all().unwrap().to_scalar().unwrap()
}

#[test]
fn what_is_preferred_becomes_likelier_than_the_other() {
    let dir = files(&Tiny::new("llama"));
    let out = TempDir::new().unwrap();
    let preference = Preference {
        chosen: Sequence::completion(&[3, 5], &[7, 8, 2]),
        rejected: Sequence::completion(&[3, 5], &[7, 4, 2]),
    };
    let margin = |model: &Trainable| {
        log_probability(model, &preference.chosen) - log_probability(model, &preference.rejected)
    };
    let before = margin(&model(&dir, &noisy()));
    let examples = vec![
        Objective::Prefer {
            preference: preference.clone(),
            beta: 0.3,
        },
        Objective::Imitate(sequences().remove(0)),
    ];
    let (after, history) = trained(&dir, &noisy(), &examples, &out.path().join("c"), &[2]);
    assert!(margin(&after) > before + 2.0, "{before} {}", margin(&after));
    // The first step knows no difference yet: -log sigmoid(0), beside the imitated one.
    assert!(history.steps[0].loss > std::f64::consts::LN_2);
}

#[test]
fn what_was_asked_before_learning_is_kept_for_the_same_preferences_alone() {
    let dir = files(&Tiny::new("llama"));
    let out = TempDir::new().unwrap();
    let checkpoint = out.path().join("checkpoint");
    let examples = |beta| -> Vec<Objective> {
        let preference = |chosen| Preference {
            chosen: Sequence::completion(&[3, 5], &[7, chosen, 2]),
            rejected: Sequence::completion(&[3, 5], &[7, 4, 2]),
        };
        let prefer = |chosen| Objective::Prefer {
            preference: preference(chosen),
            beta,
        };
        [8, 9, 6].map(prefer).into()
    };
    // Goes on, and stops after so many were asked; how many were.
    let asked = |beta, stop_after: usize| {
        let mut asked = 0;
        let mut on = |progress: Progress<'_>| match progress {
            Progress::References { .. } => {
                asked += 1;
                match asked == stop_after {
                    true => ControlFlow::Break(()),
                    false => ControlFlow::Continue(()),
                }
            }
            _ => ControlFlow::Continue(()),
        };
        let examples = examples(beta);
        train(
            &model(&dir, &noisy()),
            &Examples::Set(&examples),
            &[],
            &settings(),
            Some(&checkpoint),
            &mut on,
        )
        .map(|(outcome, _)| (outcome, asked))
    };
    assert_eq!(asked(0.3, 2).unwrap(), (Outcome::Stopped, 2));
    assert_eq!(asked(0.1, 9).unwrap_err().kind(), "checkpoint");
    assert_eq!(asked(0.3, 9).unwrap(), (Outcome::Finished, 1));
}

#[test]
fn an_adapter_answers_as_it_learned() {
    for name in ["llama", "qwen2", "qwen3", "phi3"] {
        let dir = files(&Tiny::new(name));
        let out = TempDir::new().unwrap();
        let (model, _) = trained(&dir, &noisy(), &imitated(), &out.path().join("c"), &[]);
        let folder = out.path().join("adapter");
        let origin = Origin {
            base: model.base().to_owned(),
            purpose: "test".to_owned(),
            prompt: PromptForm::Bare,
            boundary: None,
            sources: None,
            held_out: None,
        };
        write_adapter(&model, "tiny", &origin, &folder).unwrap();
        let options = LoadOptions {
            adapter: Some(folder.clone()),
            ..LoadOptions::default()
        };
        let decoder = Decoder::load(dir.path(), &options).unwrap();
        let plain = Decoder::load(dir.path(), &LoadOptions::default()).unwrap();
        assert_eq!(decoder.prompt_form(), PromptForm::Bare);
        assert_ne!(decoder.fingerprint(), plain.fingerprint());
        let prompt = decoder.raw_prompt("the wren and").unwrap();
        let score = decoder.score(&prompt, &[" the garden"]).unwrap().remove(0);
        let sequence = Sequence::completion(prompt.tokens(), &score.tokens);
        let learned = f64::from(log_probability(&model, &sequence));
        assert!((learned - score.sum()).abs() < 1e-4, "{name}");
        let other = Tiny {
            hidden: 16,
            ..Tiny::new(name)
        };
        let error = Checkpoint::open(files(&other).path(), Some(&folder))
            .err()
            .unwrap();
        assert!(matches!(error, DecoderError::OtherBase { .. }), "{error}");
    }
}

#[test]
fn the_best_validation_is_kept_and_ends_a_training() {
    let dir = files(&Tiny::new("llama"));
    let model = model(&dir, &noisy());
    // What is learned makes the validation worse.
    let examples = vec![Objective::Imitate(Sequence::completion(&[3, 5], &[7, 8]))];
    let validation = vec![Objective::Imitate(Sequence::completion(&[3, 5], &[4, 9]))];
    let settings = TrainSettings {
        epochs: 30.0,
        patience: 2,
        ..settings()
    };
    let examples = Examples::Set(&examples);
    let (outcome, history) = train(&model, &examples, &validation, &settings, None, &mut |_| {
        ControlFlow::Continue(())
    })
    .unwrap();
    assert_eq!(outcome, Outcome::Converged);
    assert!(history.steps.len() < 30);
    let best = history.best().unwrap().loss;
    let kept = -f64::from(log_probability(
        &model,
        &Sequence::completion(&[3, 5], &[4, 9]),
    )) / 2.0;
    assert!((kept - best).abs() < 1e-5, "{kept} {best}");
}

#[test]
fn what_cannot_be_trained_is_refused_and_overwrites_nothing() {
    let dir = files(&Tiny::new("llama"));
    let out = TempDir::new().unwrap();
    let checkpoint = out.path().join("checkpoint");
    let attempt = |examples: &[Objective], settings: &TrainSettings| {
        train(
            &model(&dir, &noisy()),
            &Examples::Set(examples),
            &[],
            settings,
            Some(&checkpoint),
            &mut |_| ControlFlow::Continue(()),
        )
        .map(|_| ())
        .unwrap_err()
    };
    let silent = [Objective::Imitate(Sequence::completion(&[3, 4], &[]))];
    let long = [Objective::Imitate(Sequence::whole(vec![3; 500]))];
    assert_eq!(attempt(&silent, &settings()).kind(), "nothing_to_learn");
    assert_eq!(attempt(&[], &settings()).kind(), "nothing_to_learn");
    assert_eq!(attempt(&long, &settings()).kind(), "sequence_too_long");
    let mut bad = settings();
    bad.schedule.peak = f64::NAN;
    assert_eq!(attempt(&imitated(), &bad).kind(), "setting");
    bad.schedule.peak = 1e30;
    assert_eq!(attempt(&imitated(), &bad).kind(), "loss_not_finite");
    let _ = trained(&dir, &noisy(), &imitated(), &checkpoint, &[4]);
    let other = attempt(&imitated()[..2], &settings());
    assert_eq!(other.kind(), "checkpoint");
    let bytes = std::fs::read(&checkpoint).unwrap();
    std::fs::write(&checkpoint, &bytes[..bytes.len() / 2]).unwrap();
    assert!(matches!(
        attempt(&imitated(), &settings()),
        TrainError::Checkpoint { .. }
    ));
    let unknown = Tuning::Lora(crate::LoraSettings {
        targets: vec!["queries".to_owned()],
        ..lora()
    });
    let error = Trainable::new(&opened(&dir), unknown, Device::Cpu, 1)
        .err()
        .unwrap();
    assert_eq!(error.kind(), "unknown_module");
}
