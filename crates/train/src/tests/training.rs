//! Whole trainings: they learn, resume where they were interrupted, and keep their best parameters.

use std::ops::ControlFlow;
use std::path::Path;

use ken_model::decoder::{
    Checkpoint, Decoder, DecoderError, Device, LoadOptions, PromptForm, ReadAs,
};
use ken_testing::{extended, with};
use tempfile::TempDir;

use super::checkpoint::Tiny;
use super::{files, folder, go_on, lora, opened, origin, sequences, trained_on};
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
    Tuning::Lora(with!(lora(), dropout: 0.1))
}

fn imitated() -> Vec<Objective> {
    sequences().into_iter().map(Objective::Imitate).collect()
}

/// Trains, interrupted at some steps and resumed with another model each time.
fn trained(
    dir: &TempDir,
    tuning: &Tuning,
    examples: &[Objective],
    checkpoint: &Path,
    breaks: &[usize],
) -> (Trainable, History) {
    let checkpoint = Some(checkpoint.to_owned());
    for &at in breaks {
        let mut stop = |progress: Progress<'_>| match progress {
            Progress::Step { record, .. } if record.step == at => ControlFlow::Break(()),
            _ => ControlFlow::Continue(()),
        };
        let model = model(dir, tuning);
        let stopped = trained_on(
            &model,
            examples,
            &settings(),
            checkpoint.as_ref(),
            &mut stop,
        );
        assert_eq!(stopped.unwrap().0, Outcome::Stopped);
    }
    let model = model(dir, tuning);
    let finished = trained_on(
        &model,
        examples,
        &settings(),
        checkpoint.as_ref(),
        &mut go_on,
    );
    let (outcome, history) = finished.unwrap();
    assert_eq!(outcome, Outcome::Finished);
    (model, history)
}

fn numbers(model: &Trainable) -> Vec<Vec<f32>> {
    let variables = model.variables.values();
    variables
        .map(|v| v.flatten_all().unwrap().to_vec1().unwrap())
        .collect()
}

#[test]
fn a_training_learns_and_resumes_bit_identically() {
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

/// The natural-log probability of a sequence's tokens with a loss.
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
fn the_preferred_completion_becomes_more_likely_than_the_other() {
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
    // In the first step there is no margin yet: -log sigmoid(0), plus the imitated example.
    assert!(history.steps[0].loss > std::f64::consts::LN_2);
}

#[test]
fn saved_references_are_reused_only_for_the_same_preferences() {
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
    // Resumes, stops after `stop_after` references, and returns how many were computed.
    let asked = |beta, stop_after: usize| {
        let mut asked = 0;
        let mut on = |progress: Progress<'_>| match progress {
            Progress::References { .. } => {
                asked += 1;
                ken_language::break_if(asked == stop_after)
            }
            _ => ControlFlow::Continue(()),
        };
        let model = model(&dir, &noisy());
        trained_on(
            &model,
            &examples(beta),
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
fn an_adapter_answers_as_the_trained_model() {
    for name in ["llama", "qwen2", "qwen3", "phi3"] {
        let dir = files(&Tiny::new(name));
        let out = TempDir::new().unwrap();
        let (model, _) = trained(&dir, &noisy(), &imitated(), &out.path().join("c"), &[]);
        let folder = out.path().join("adapter");
        write_adapter(&model, "tiny", &origin(&model, PromptForm::Bare), &folder).unwrap();
        let options = with!(LoadOptions::default(), adapter: Some(folder.clone()));
        let decoder = Decoder::load(dir.path(), &options).unwrap();
        let plain = Decoder::load(dir.path(), &LoadOptions::default()).unwrap();
        assert_eq!(decoder.read_as(), ReadAs::Text(PromptForm::Bare));
        assert_ne!(decoder.fingerprint(), plain.fingerprint());
        let prompt = decoder.raw_prompt("the wren and").unwrap();
        let score = decoder.score(&prompt, &[" the garden"]).unwrap().remove(0);
        let sequence = Sequence::completion(prompt.tokens(), &score.tokens);
        let learned = f64::from(log_probability(&model, &sequence));
        assert!((learned - score.sum()).abs() < 1e-4, "{name}");
        let other = with!(Tiny::new(name), hidden: 16);
        let error = Checkpoint::open(files(&other).path(), Some(&folder))
            .err()
            .unwrap();
        assert!(matches!(error, DecoderError::OtherBase { .. }), "{error}");
    }
}

#[test]
fn early_stopping_keeps_the_best_parameters() {
    let dir = files(&Tiny::new("llama"));
    let model = model(&dir, &noisy());
    // Training makes the validation worse.
    let examples = vec![Objective::Imitate(Sequence::completion(&[3, 5], &[7, 8]))];
    let validation = vec![Objective::Imitate(Sequence::completion(&[3, 5], &[4, 9]))];
    let settings = with!(settings(), epochs: 30.0, patience: 2);
    let examples = Examples::Set(&examples);
    let ended = train(&model, &examples, &validation, &settings, None, &mut go_on);
    let (outcome, history) = ended.unwrap();
    assert_eq!(outcome, Outcome::Converged);
    assert!(history.steps.len() < 30);
    let best = history.best().unwrap().loss;
    let sequence = Sequence::completion(&[3, 5], &[4, 9]);
    let kept = -f64::from(log_probability(&model, &sequence)) / 2.0;
    assert!((kept - best).abs() < 1e-5, "{kept} {best}");
}

#[test]
fn invalid_trainings_are_refused_and_overwrite_nothing() {
    let dir = files(&Tiny::new("llama"));
    let out = TempDir::new().unwrap();
    let checkpoint = out.path().join("checkpoint");
    let attempt = |examples: &[Objective], settings: &TrainSettings| {
        let model = model(&dir, &noisy());
        trained_on(&model, examples, settings, Some(&checkpoint), &mut go_on).unwrap_err()
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
    let unknown = Tuning::Lora(with!(lora(), targets: vec!["queries".to_owned()]));
    let error = Trainable::new(&opened(&dir), unknown, Device::Cpu, 1)
        .err()
        .unwrap();
    assert_eq!(error.kind(), "unknown_module");
}

/// Another forward pass than the one with gradients: its gradients would be wrong.
#[test]
fn what_the_forward_pass_with_gradients_lacks_is_refused() {
    let refused = |dir: &TempDir| {
        let device = ken_model::decoder::Device::Cpu;
        let made = Trainable::new(&opened(dir), Tuning::Full, device, 1);
        made.err().unwrap()
    };
    let error = refused(&files(&Tiny::new("gemma3_text")));
    assert_eq!(error.kind(), "untrainable_model");
    assert!(error.to_string().contains("Gemma 3"), "{error}");

    let changed = |tiny: &Tiny, changes: serde_json::Value| {
        let dir = files(tiny);
        let config = extended(tiny.config(), &changes);
        folder::write_json(&dir.path().join("config.json"), &config);
        dir
    };
    let window = serde_json::json!({
        "use_sliding_window": true, "sliding_window": 4, "max_window_layers": 1,
    });
    let error = refused(&changed(&Tiny::new("qwen2"), window));
    assert!(error.to_string().contains("sliding window"), "{error}");
    let gelu = serde_json::json!({"hidden_act": "gelu_pytorch_tanh"});
    let error = refused(&changed(&Tiny::new("llama"), gelu));
    assert!(error.to_string().contains("SiLU"), "{error}");
    for (model_type, part) in [
        ("smollm3", "rotate"),
        ("granite", "queries that are not scaled"),
        ("qwen3_moe", "experts"),
    ] {
        let error = refused(&files(&Tiny::new(model_type)));
        assert_eq!(error.kind(), "untrainable_model");
        assert!(error.to_string().contains(part), "{model_type}: {error}");
    }
}
