//! Invariants of batches: whatever is in them, each item has the result that it has alone.

use std::iter::zip;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::LazyLock;

use ken_language::{GenerateOptions, Progress, Sampling};
use ken_model::Precision;
use ken_model::decoder::{
    Decoder, DecoderError, Device, GenerateRequest, Generation, LoadOptions, Prompt, ScoreRequest,
};
use ken_testing::{fails, with};
use proptest::prelude::*;
use tempfile::TempDir;

use super::checkpoint::{Tensors, Tiny};
use super::folder::{self, Layout};

/// The same decoder on every backend, and with no memory to spare.
pub(super) static TINY: LazyLock<(TempDir, Tensors, Vec<Decoder>)> = LazyLock::new(|| {
    let dir = TempDir::new().unwrap();
    let weights = folder::write(&tiny(), Layout::F32, dir.path());
    let decoders = [
        with!(LoadOptions::default(), precision: Precision::F32),
        with!(LoadOptions::default(), precision: Precision::Int8),
        with!(LoadOptions::default(), device: Device::Reference),
        with!(LoadOptions::default(), cache_bytes: 1),
    ];
    let decoders = decoders.map(|options| Decoder::load(dir.path(), &options).unwrap());
    (dir, weights, decoders.into())
});

fn tiny() -> Tiny {
    with!(Tiny::new("qwen3"), window: Some(24))
}

fn options(seed: u64, max_tokens: usize) -> GenerateOptions {
    with!(GenerateOptions::new(Sampling::at(1.0, seed), max_tokens), stop: vec!["e".to_owned()])
}

fn same(a: &Generation, b: &Generation) -> bool {
    a.tokens == b.tokens
        && a.text == b.text
        && a.finish == b.finish
        && a.logprobs == b.logprobs
        && a.entropies == b.entropies
        && a.margins == b.margins
}

/// Equal except for rounding. A draw at the border of two tokens may take either, and everything after it differs;
/// the distribution may not.
fn nearly_same(a: &Generation, b: &Generation) -> bool {
    let close = |(a, b): (&f32, &f32)| (a - b).abs() < 1e-5;
    let shared = zip(&a.tokens, &b.tokens)
        .take_while(|(a, b)| a == b)
        .count();
    let whole = a.tokens == b.tokens && a.text == b.text && a.finish == b.finish;
    let drawn_apart = shared < a.tokens.len() && shared < b.tokens.len();
    (whole || drawn_apart)
        && zip(&a.logprobs, &b.logprobs).take(shared).all(close)
        && zip(&a.entropies, &b.entropies).take(shared + 1).all(close)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Equal to the last bit on the CPU, in either precision and with any memory; nearly so with candle, whose
    /// products depend on their shapes.
    #[test]
    fn samples_do_not_depend_on_their_batch(
        texts in prop::collection::vec("[a-z ,.]{1,30}", 1..6),
        // Beginnings of prompts: named ones, and ones that are only discovered.
        shared in "[a-z ]{0,16}",
        alike in "[a-z ]{28,44}",
        lone in 0usize..6,
        samples in 1usize..5,
        max_tokens in 0usize..12,
        seed in any::<u64>(),
    ) {
        for (way, decoder) in TINY.2.iter().enumerate() {
            let prompts: Vec<Prompt> = texts
                .iter()
                .enumerate()
                .map(|(index, text)| match index == lone {
                    true => decoder.prompt(&shared, text).unwrap(),
                    false => decoder.prompt(&shared, &format!("{alike}{text}")).unwrap(),
                })
                .collect();
            let drawn = options(seed, max_tokens);
            let greedy = GenerateOptions { sampling: Sampling::Greedy, ..drawn.clone() };
            let requests: Vec<GenerateRequest<'_>> = prompts
                .iter()
                .enumerate()
                .map(|(index, prompt)| {
                    let options = if index % 3 == 1 { &greedy } else { &drawn };
                    GenerateRequest::new(prompt, samples + index % 2, options)
                })
                .collect();
            let mut texts = vec![vec![String::new(); samples + 1]; requests.len()];
            let together = decoder
                .generate_many(&requests, &mut |progress| {
                    if let Progress::Text(piece) = progress {
                        texts[piece.request][piece.sample].push_str(piece.text);
                    }
                    ControlFlow::Continue(())
                })
                .unwrap();
            for ((request, found), texts) in requests.iter().zip(&together).zip(&texts) {
                prop_assert_eq!(found.len(), request.samples);
                let request = GenerateRequest { samples: request.samples.max(2), ..*request };
                let alone = decoder.generate_many(&[request], &mut |_| ControlFlow::Continue(())).unwrap();
                for ((found, alone), text) in found.iter().zip(&alone[0]).zip(texts) {
                    let same = if way == 2 { nearly_same } else { same };
                    prop_assert!(same(found, alone), "way {way}: {found:?} is not {alone:?}");
                    prop_assert_eq!(&found.text, text);
                }
            }
        }
    }

    #[test]
    fn scores_do_not_depend_on_their_batch(
        prompts in prop::collection::vec("[a-z ,.]{1,30}", 1..6),
        shared in "[a-z ]{0,20}",
        continuations in prop::collection::vec("[a-z ,.]{1,12}", 0..4),
    ) {
        let continuations: Vec<&str> = continuations.iter().map(String::as_str).collect();
        for (way, decoder) in TINY.2.iter().enumerate() {
            let prompts: Vec<Prompt> = prompts.iter().map(|text| decoder.prompt(&shared, text).unwrap()).collect();
            let requests: Vec<ScoreRequest<'_>> = prompts
                .iter()
                .enumerate()
                .map(|(index, prompt)| {
                    let left_out = index.min(continuations.len());
                    ScoreRequest::new(prompt, &continuations[left_out..])
                })
                .collect();
            let together = decoder.score_many(&requests).unwrap();
            for (request, found) in requests.iter().zip(&together) {
                prop_assert_eq!(found.len(), request.continuations.len());
                for (text, found) in request.continuations.iter().zip(found) {
                    let alone = decoder.score(request.prompt, &[text]).unwrap().remove(0);
                    prop_assert_eq!(&alone.tokens, &found.tokens);
                    for (a, b) in alone.logprobs.iter().zip(&found.logprobs) {
                        let tolerance = if way == 2 { 1e-5 } else { 0.0 };
                        prop_assert!((a - b).abs() <= tolerance);
                    }
                }
            }
        }
    }

    #[test]
    fn hidden_states_do_not_depend_on_their_batch(
        texts in prop::collection::vec("[a-z ,.]{1,30}", 1..6),
        layer in 0usize..=2,
    ) {
        let decoder = &TINY.2[0];
        let prompts: Vec<Prompt> = texts.iter().map(|text| decoder.prompt("", text).unwrap()).collect();
        let together = decoder.hidden(&prompts.iter().collect::<Vec<_>>(), layer).unwrap();
        for (prompt, found) in prompts.iter().zip(&together) {
            prop_assert_eq!(found, &decoder.hidden(&[prompt], layer).unwrap()[0]);
        }
    }
}

#[test]
fn more_branches_than_places_are_all_written() {
    let decoder = &TINY.2[0];
    let prompt = decoder.prompt("", "the wren").unwrap();
    let options = options(3, 5);
    let request = |samples| GenerateRequest::new(&prompt, samples, &options);
    let write = |requests: &[GenerateRequest<'_>]| {
        decoder
            .generate_many(requests, &mut |_| ControlFlow::Continue(()))
            .unwrap()
    };
    let many = write(&[request(300), request(2)]);
    assert_eq!((many[0].len(), many[1].len()), (300, 2));
    let few = write(&[request(2)]);
    for sample in 0..2 {
        assert!(same(&many[0][sample], &few[0][sample]));
        assert!(same(&many[1][sample], &few[0][sample]));
    }
}

#[test]
fn the_last_hidden_state_gives_the_probabilities() {
    let (_, weights, decoders) = &*TINY;
    let tiny = tiny();
    for decoder in [&decoders[0], &decoders[2]] {
        let prompt = decoder.prompt("the garden ", "is full").unwrap();
        let state = decoder.hidden(&[&prompt], tiny.layers).unwrap().remove(0);
        let squares: f32 = state.iter().map(|x| x * x).sum();
        let root = (squares / state.len() as f32 + 1e-5).sqrt();
        let norm = &weights["model.norm.weight"].1;
        let table = &weights["model.embed_tokens.weight"].1;
        let logits: Vec<f64> = table
            .chunks(tiny.hidden)
            .map(|row| {
                let products = row
                    .iter()
                    .zip(&state)
                    .zip(norm)
                    .map(|((r, x), n)| r * x / root * n);
                f64::from(products.sum::<f32>())
            })
            .collect();
        let total: f64 = logits.iter().map(|logit| logit.exp()).sum();
        let score = decoder.score(&prompt, &["a"]).unwrap().remove(0);
        let expected = logits[score.tokens[0] as usize] - total.ln();
        assert!((f64::from(score.logprobs[0]) - expected).abs() < 1e-4);

        let first = decoder.hidden(&[&prompt], 0).unwrap().remove(0);
        let last_token = *prompt.tokens().last().unwrap() as usize;
        assert_eq!(first, table[last_token * tiny.hidden..][..tiny.hidden]);
    }
}

#[test]
fn what_cannot_be_asked_for_is_refused() {
    let decoder = &TINY.2[0];
    let prompt = decoder.prompt("", "a").unwrap();
    let options = options(3, 5);
    let request = GenerateRequest::new(&prompt, 0, &options);
    let error = decoder
        .generate_many(&[request], &mut |_| ControlFlow::Continue(()))
        .unwrap_err();
    assert_eq!(error.kind(), "no_samples");
    let error = decoder.hidden(&[&prompt], 3).unwrap_err();
    assert_eq!(error.to_string(), "there is no layer 3: the model has 2");
    assert!(
        decoder
            .generate_many(&[], &mut |_| ControlFlow::Continue(()))
            .unwrap()
            .is_empty()
    );
    assert!(decoder.score_many(&[]).unwrap().is_empty());
}

#[test]
fn weights_that_are_no_numbers_are_noticed() {
    for precision in [Precision::F32, Precision::Int8] {
        let dir = TempDir::new().unwrap();
        let mut weights = folder::write(&tiny(), Layout::F32, dir.path());
        weights
            .get_mut("model.layers.1.mlp.down_proj.weight")
            .unwrap()
            .1[7] = f32::NAN;
        let file: &Path = &dir.path().join("model.safetensors");
        folder::write_tensors(file, &weights, Layout::F32);
        let options = with!(LoadOptions::default(), precision: precision);
        let decoder = Decoder::load(dir.path(), &options).unwrap();
        let prompt = decoder.prompt("", "the wren sings").unwrap();
        let error = decoder.score(&prompt, &["a"]).unwrap_err();
        assert!(matches!(error, DecoderError::NotFinite), "{error}");
        let written = decoder.generate(&prompt, &self::options(1, 3), &mut |_| {
            ControlFlow::Continue(())
        });
        assert!(matches!(written, Err(DecoderError::NotFinite)));
        assert!(matches!(
            decoder.hidden(&[&prompt], 2),
            Err(DecoderError::NotFinite)
        ));
    }
}

#[test]
fn a_device_that_is_not_there_is_named() {
    for (device, name) in [(Device::Cuda, "cuda"), (Device::Metal, "metal")] {
        if cfg!(feature = "cuda") || cfg!(feature = "metal") {
            continue;
        }
        let options = with!(LoadOptions::default(), device: device);
        fails!(Decoder::load(TINY.0.path(), &options) => "no_such_device", name);
    }
}

#[test]
fn auto_computes_in_32_bits_where_weights_are_floats() {
    let (_, _, decoders) = &*TINY;
    let [f32, int8, _, auto] = &decoders[..] else {
        panic!("four ways");
    };
    let drawn = options(5, 10);
    let greedy = with!(drawn.clone(), sampling: Sampling::Greedy);
    let written = |decoder: &Decoder, options: &GenerateOptions| {
        let prompt = decoder.prompt("", " the winter is").unwrap();
        decoder
            .generate(&prompt, options, &mut |_| ControlFlow::Continue(()))
            .unwrap()
    };
    assert!(same(&written(auto, &drawn), &written(f32, &drawn)));
    assert!(same(&written(auto, &greedy), &written(f32, &greedy)));
    assert!(written(int8, &greedy).logprobs != written(f32, &greedy).logprobs);
    let scores = |decoder: &Decoder| {
        let prompt = decoder.prompt("", " the winter is").unwrap();
        decoder.score(&prompt, &[" thin"]).unwrap()
    };
    assert_eq!(scores(auto), scores(f32));
}

#[test]
fn an_inexact_score_is_that_of_what_is_written() {
    let decoder = &TINY.2[1];
    let greedy = with!(options(5, 10), sampling: Sampling::Greedy);
    let prompt = decoder.prompt("", " the winter is").unwrap();
    let written = decoder
        .generate(&prompt, &greedy, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    let texts = [written.text.as_str()];
    let request = ScoreRequest {
        exact: false,
        ..ScoreRequest::new(&prompt, &texts)
    };
    let scores = decoder.score_many(&[request]).unwrap();
    assert!((scores[0][0].logprobs[0] - written.logprobs[0]).abs() < 1e-5);
}
