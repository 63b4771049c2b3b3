//! Derivatives against finite differences, fused operations against composed ones, and both against
//! the decoder used for inference.

use candle_core::{DType, Device, Tensor};
use ken_model::decoder::{Decoder, LoadOptions};
use rand::rngs::StdRng;
use rand::{Rng, SeedableRng};
use tempfile::TempDir;

use super::checkpoint::Tiny;
use super::{files, lora, opened, sequences};
use crate::decoder::{Batch, Trainable, Tuning};
use crate::objective::{MeanOver, measure};
use crate::optimizer::Gradients;
use crate::sequence::{Objective, Preference};

fn decoders() -> Vec<(&'static str, Tiny)> {
    let mut windowed = Tiny::new("llama");
    windowed.window = Some(3);
    windowed.tied = false;
    let mut all: Vec<(&str, Tiny)> = ["llama", "qwen2", "qwen3", "phi3"]
        .into_iter()
        .map(|name| (name, Tiny::new(name)))
        .collect();
    all.push(("windowed", windowed));
    all
}

fn trainable(dir: &TempDir, tuning: Tuning, dtype: DType) -> Trainable {
    Trainable::of_type(&opened(dir), tuning, &Device::Cpu, dtype, 1).unwrap()
}

fn tunings() -> [Tuning; 2] {
    [Tuning::Lora(lora()), Tuning::Full]
}

/// Makes all parameters nonzero: LoRA's initial zeros would hide gradients.
fn disturb(model: &Trainable) {
    let mut random = StdRng::seed_from_u64(4);
    for variable in model.variables.values() {
        let numbers: Vec<f64> = (0..variable.elem_count())
            .map(|_| 0.2 * (random.random::<f64>() - 0.5))
            .collect();
        let change = Tensor::from_vec(numbers, variable.shape(), &Device::Cpu).unwrap();
        let change = change.to_dtype(variable.dtype()).unwrap();
        variable
            .set(&(variable.as_tensor() + change).unwrap())
            .unwrap();
    }
}

fn objectives() -> Vec<Objective> {
    let mut sequences = sequences();
    let preference = Preference {
        rejected: sequences.pop().unwrap(),
        chosen: sequences.pop().unwrap(),
    };
    let mut objectives: Vec<Objective> = sequences.into_iter().map(Objective::Imitate).collect();
    objectives.push(Objective::Prefer {
        preference,
        beta: 0.3,
    });
    objectives
}

fn loss_and_gradients(model: &Trainable, noise: Option<u64>) -> (f64, Gradients) {
    let objectives = objectives();
    let together: Vec<&Objective> = objectives.iter().collect();
    let references = [None, None, Some([-9.0, -8.0])];
    let mean_over = MeanOver::Tokens;
    let divisors = mean_over.divisors(&objectives, mean_over.mean_weight(&objectives));
    let by = Some(divisors);
    let (loss, gradients) = measure(model, &together, &references, by, noise).unwrap();
    (loss.mean(divisors), gradients)
}

/// The concatenated gradients of a step with these examples.
fn step(model: &Trainable, objectives: &[Objective], over: MeanOver, mean_weight: f64) -> Vec<f64> {
    let together: Vec<&Objective> = objectives.iter().collect();
    let references = vec![Some([-9.0, -8.0]); objectives.len()];
    let divisors = Some(over.divisors(objectives, mean_weight));
    let (_, gradients) = measure(model, &together, &references, divisors, None).unwrap();
    let numbers = gradients.values();
    numbers
        .flat_map(|gradient| gradient.flatten_all().unwrap().to_vec1::<f64>().unwrap())
        .collect()
}

#[test]
fn an_example_counts_by_its_weight_whatever_else_is_in_its_step() {
    let dir = files(&Tiny::new("llama"));
    let model = trainable(&dir, Tuning::Full, DType::F64);
    let near = |a: &[f64], b: &[f64]| {
        let mut pairs = a.iter().zip(b);
        a.len() == b.len() && pairs.all(|(a, b)| (a - b).abs() < 1e-9 * (1.0 + b.abs()))
    };
    let weighing = |weight: f32| {
        let mut sequence = sequences().remove(0);
        sequence.weights.iter_mut().for_each(|w| *w *= weight);
        Objective::Imitate(sequence)
    };
    let set = [weighing(0.75), weighing(0.25)];
    for over in [MeanOver::Tokens, MeanOver::Examples] {
        let mean_weight = over.mean_weight(&set);
        let [likely, unlikely] = [0, 1].map(|at| step(&model, &set[at..=at], over, mean_weight));
        let thrice: Vec<f64> = unlikely.iter().map(|x| 3.0 * x).collect();
        assert!(near(&likely, &thrice), "{over:?}");
    }
    // Over examples, preferences too: a step with all of them is the mean of steps with one.
    let set = objectives();
    let over = MeanOver::Examples;
    let mean_weight = over.mean_weight(&set);
    let all = step(&model, &set, over, mean_weight);
    let mut mean = vec![0.0; all.len()];
    for at in 0..set.len() {
        let one = step(&model, &set[at..=at], over, mean_weight);
        let each = mean.iter_mut().zip(one);
        each.for_each(|(mean, x)| *mean += x / set.len() as f64);
    }
    assert!(near(&all, &mean));
    // With all weights 1, the mean weight is 1.
    let plain = [0, 1, 3].map(|at| Objective::Imitate(sequences().remove(at)));
    assert_eq!(MeanOver::Tokens.mean_weight(&plain), 1.0);
    assert_eq!(MeanOver::Examples.mean_weight(&set[2..]), 1.0);
}

#[test]
fn derivatives_match_finite_differences() {
    const STEP: f64 = 1e-5;
    for (name, tiny) in decoders() {
        let dir = files(&tiny);
        for tuning in tunings() {
            let model = trainable(&dir, tuning, DType::F64);
            disturb(&model);
            let (_, gradients) = loss_and_gradients(&model, None);
            assert_eq!(gradients.len(), model.variables.len(), "{name}");
            let mut random = StdRng::seed_from_u64(8);
            for (variable_name, variable) in &model.variables {
                let place = random.random_range(0..variable.elem_count());
                let start: Vec<f64> = variable.flatten_all().unwrap().to_vec1().unwrap();
                let loss_at = |change: f64| {
                    let mut numbers = start.clone();
                    numbers[place] += change;
                    let tensor = Tensor::from_vec(numbers, variable.shape(), &Device::Cpu).unwrap();
                    variable.set(&tensor).unwrap();
                    loss_and_gradients(&model, None).0
                };
                let difference = (loss_at(STEP) - loss_at(-STEP)) / (2.0 * STEP);
                loss_at(0.0);
                let gradient = &gradients[variable_name];
                let gradient: Vec<f64> = gradient.flatten_all().unwrap().to_vec1().unwrap();
                let error = (gradient[place] - difference).abs();
                assert!(
                    error < 1e-6 * (1.0 + difference.abs()),
                    "{name} {variable_name}: {} {difference}",
                    gradient[place]
                );
            }
        }
    }
}

#[test]
fn fused_operations_have_the_derivatives_of_composed_ones() {
    for (name, tiny) in decoders() {
        let dir = files(&tiny);
        for mut tuning in tunings() {
            if let Tuning::Lora(settings) = &mut tuning {
                settings.dropout = 0.3;
            }
            let of = |dtype| {
                let model = trainable(&dir, tuning.clone(), dtype);
                disturb(&model);
                loss_and_gradients(&model, Some(5))
            };
            let (exact_loss, exact) = of(DType::F64);
            let (loss, gradients) = of(DType::F32);
            assert!(
                (loss - exact_loss).abs() < 1e-5 * exact_loss,
                "{name}: {loss} {exact_loss}"
            );
            for (variable, gradient) in &gradients {
                let gradient = gradient.to_dtype(DType::F64).unwrap();
                let difference = (gradient - &exact[variable]).unwrap().abs().unwrap();
                let most = |x: &Tensor| -> f64 { x.max_all().unwrap().to_scalar().unwrap() };
                let scale = 1e-3 + most(&exact[variable].abs().unwrap());
                assert!(most(&difference) < 2e-5 * scale, "{name} {variable}");
            }
        }
    }
}

#[test]
fn training_and_inference_have_the_same_log_probabilities() {
    for (name, tiny) in decoders() {
        let dir = files(&tiny);
        let model = trainable(&dir, Tuning::Full, DType::F32);
        let decoder = Decoder::load(dir.path(), &LoadOptions::default()).unwrap();
        let prompt = decoder.raw_prompt("the wren and").unwrap();
        let score = decoder.score(&prompt, &[" the garden"]).unwrap().remove(0);
        let tokens = [prompt.tokens(), &score.tokens].concat();
        let first = prompt.tokens().len();
        let batch = Batch {
            lengths: vec![tokens.len(); 2],
            targets: (first..tokens.len())
                .map(|place| (tokens.len() + place - 1, tokens[place]))
                .collect(),
            tokens: [tokens.clone(), tokens].concat(),
        };
        let learned = model.forward(&batch, None).unwrap();
        let learned: Vec<f32> = learned.to_vec1().unwrap();
        for (a, b) in learned.iter().zip(&score.logprobs) {
            assert!((a - b).abs() < 2e-5, "{name}: {a} {b}");
        }
    }
}
