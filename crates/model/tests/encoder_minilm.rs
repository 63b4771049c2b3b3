//! Encoders on the real all-MiniLM-L6-v2: recorded embeddings, and properties of any text.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::path::PathBuf;
use std::sync::LazyLock;

use ken_language::{Embedder, Role};
use ken_model::Precision;
use ken_model::encoder::Encoder;
use serde::Deserialize;

static MODEL: LazyLock<Encoder> = LazyLock::new(|| load(Precision::F32));

fn load(precision: Precision) -> Encoder {
    let models = std::env::var_os("KEN_TEST_MODELS").expect(
        "KEN_TEST_MODELS is not set: run this test by `cargo xtask test`, which prepares the models",
    );
    Encoder::load(&PathBuf::from(models).join("minilm"), precision).unwrap()
}

/// Texts and the first numbers of their embeddings.
#[derive(Deserialize)]
struct Recorded {
    texts: Vec<String>,
    first_numbers: Vec<Vec<f32>>,
}

fn cosine(a: &[f32], b: &[f32]) -> f64 {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter()
            .zip(b)
            .map(|(&a, &b)| f64::from(a) * f64::from(b))
            .sum()
    };
    dot(a, b) / (dot(a, a) * dot(b, b)).sqrt()
}

/// Texts of many lengths, some longer than the model reads.
fn texts() -> Vec<String> {
    let sentence =
        "Ferries cross the strait every half hour, except when the wind is above force nine. ";
    (0..40)
        .map(|n| format!("{n}: {}", &sentence.repeat(n % 23)[..n % 23 * 70]))
        .collect()
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn embeddings_in_8_bits_are_close() {
    let texts = texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let exact = MODEL.embed(&texts, Role::Passage).unwrap();
    let coarse = load(Precision::Int8).embed(&texts, Role::Passage).unwrap();
    assert_ne!(exact, coarse);
    for (exact, coarse) in exact.iter().zip(&coarse) {
        let cosine = cosine(exact, coarse);
        assert!(cosine > 0.995, "{cosine}");
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn embeddings_are_as_recorded() {
    let recorded: Recorded = serde_json::from_str(include_str!("fixtures/minilm.json")).unwrap();
    let texts: Vec<&str> = recorded.texts.iter().map(String::as_str).collect();
    let embeddings = MODEL.embed(&texts, Role::Passage).unwrap();
    assert_eq!(recorded.first_numbers.len(), texts.len());
    for (found, expected) in embeddings.iter().zip(&recorded.first_numbers) {
        assert_eq!(found.len(), 384);
        assert!((cosine(found, found) - 1.0).abs() < 1e-9);
        let length: f32 = found.iter().map(|x| x * x).sum();
        assert!((length - 1.0).abs() < 1e-5);
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-4, "{found} is not {expected}");
        }
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_batch_equals_its_items_one_by_one() {
    let texts = texts();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let together = MODEL.embed(&texts, Role::Passage).unwrap();
    for (text, together) in texts.iter().zip(&together) {
        let alone = &MODEL.embed(&[text], Role::Passage).unwrap()[0];
        assert!(cosine(alone, together) > 0.99999, "{text}");
        for (alone, together) in alone.iter().zip(together) {
            assert!((alone - together).abs() < 1e-5, "{text}");
        }
    }
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn no_texts_have_no_embeddings() {
    assert!(MODEL.embed(&[], Role::Query).unwrap().is_empty());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn empty_blank_and_control_texts_are_the_empty_input() {
    let embeddings = MODEL
        .embed(&["", " \n\t", "\u{0}\u{200d}"], Role::Query)
        .unwrap();
    assert!(cosine(&embeddings[0], &embeddings[1]) > 0.99999);
    assert!(cosine(&embeddings[0], &embeddings[2]) > 0.99999);
    assert!(MODEL.token_spans("").unwrap().is_empty());
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn a_hundred_thousand_characters_are_truncated() {
    let words = "tide ".repeat(20_000);
    let shorter = "tide ".repeat(254);
    let solid = "潮".repeat(100_000);
    let one_word = "x".repeat(100_000);
    let texts = [words.as_str(), &shorter, &solid, &one_word];
    let embeddings = MODEL.embed(&texts, Role::Passage).unwrap();
    assert!(cosine(&embeddings[0], &embeddings[1]) > 0.99999);
    assert_eq!(MODEL.max_tokens(), Some(256));
    assert_eq!(MODEL.token_spans(&solid).unwrap().len(), 100_000);
}

#[test]
#[ignore = "needs the test models: run `cargo xtask test`"]
fn token_spans_point_into_the_text() {
    let text = "Crème brûlée 东京 unbelievably 😀.";
    let spans = MODEL.token_spans(text).unwrap();
    let pieces: Vec<&str> = spans.iter().map(|span| &text[span.clone()]).collect();
    assert_eq!(pieces.concat(), text.replace(' ', ""));
    assert!(pieces.contains(&"东") && pieces.contains(&"京"));
    assert_eq!(pieces.last(), Some(&"."));
    assert!(spans.windows(2).all(|pair| pair[0].end <= pair[1].start));
    let longer = "word ".repeat(1000);
    assert_eq!(MODEL.token_spans(&longer).unwrap().len(), 1000);
}
