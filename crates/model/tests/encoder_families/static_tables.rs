//! Static embedders against the results of model2vec and sentence-transformers for the same tables
//! (`fixtures/record_encoders.py`), and broken ones against their errors.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::LazyLock;

use ken_language::{Embedder, Role};
use ken_model::Precision;
use ken_model::encoder::{EncoderError, open};
use ken_testing::holds;
use safetensors::tensor::{Dtype, TensorView};
use serde::Deserialize;
use serde_json::Value;
use tempfile::TempDir;

use super::checkpoint::write_json;
use super::recorded::drawn;
use super::says;

static RECORDED: LazyLock<Recorded> = LazyLock::new(|| {
    let all: Value = serde_json::from_str(include_str!("../fixtures/encoders.json")).unwrap();
    Recorded::deserialize(&all["static"]).unwrap()
});

#[derive(Deserialize)]
struct Recorded {
    tokenizer: Value,
    texts: Vec<String>,
    width: usize,
    models: BTreeMap<String, Model>,
}

#[derive(Deserialize)]
struct Model {
    config: Value,
    modules: Value,
    rows: usize,
    mapping: Option<Vec<i64>>,
    weights: Option<String>,
    model2vec: Vec<Vec<f32>>,
    /// Of those that it can read.
    sentence_transformers: Option<Vec<Vec<f32>>>,
}

/// The tensors of a model: type, shape and bytes by name.
type Tensors = BTreeMap<&'static str, (Dtype, Vec<usize>, Vec<u8>)>;

fn tensors(model: &Model, table: &'static str) -> Tensors {
    let shape = vec![model.rows, RECORDED.width];
    let spread = 2.0 / (RECORDED.width as f64).sqrt();
    let numbers = drawn("embeddings", model.rows * RECORDED.width).map(|number| spread * number);
    let numbers = numbers.map(|number| number as f32);
    let (dtype, bytes): (_, Vec<u8>) = match model.config["embedding_dtype"].as_str().unwrap() {
        "float16" => (
            Dtype::F16,
            numbers
                .flat_map(|number| half::f16::from_f32(number).to_le_bytes())
                .collect(),
        ),
        "int8" => (
            Dtype::I8,
            numbers
                .map(|number| (number * 100.0).round_ties_even() as i8 as u8)
                .collect(),
        ),
        _ => (Dtype::F32, numbers.flat_map(f32::to_le_bytes).collect()),
    };
    let mut tensors = Tensors::from([(table, (dtype, shape, bytes))]);
    if let Some(mapping) = &model.mapping {
        let bytes = mapping.iter().flat_map(|row| row.to_le_bytes()).collect();
        tensors.insert("mapping", (Dtype::I64, vec![mapping.len()], bytes));
    }
    if let Some(name) = &model.weights {
        let count = model.mapping.as_ref().unwrap().len();
        // Drawn in 32 bits, stored in 64.
        let weights = drawn(name, count).map(|number| f64::from((1.0 + 0.5 * number) as f32));
        let bytes = weights.flat_map(f64::to_le_bytes).collect();
        tensors.insert("weights", (Dtype::F64, vec![count], bytes));
    }
    tensors
}

fn write_tensors(tensors: &Tensors, dir: &Path) {
    let views = tensors.iter().map(|(name, (dtype, shape, bytes))| {
        (
            *name,
            TensorView::new(*dtype, shape.clone(), bytes).unwrap(),
        )
    });
    let bytes = safetensors::serialize(views, None).unwrap();
    std::fs::write(dir.join("model.safetensors"), bytes).unwrap();
}

/// As model2vec writes it.
fn write(model: &Model, dir: &Path) {
    write_json(&dir.join("config.json"), &model.config);
    write_json(&dir.join("modules.json"), &model.modules);
    write_json(&dir.join("tokenizer.json"), &RECORDED.tokenizer);
    write_tensors(&tensors(model, "embeddings"), dir);
}

fn loaded(dir: &Path) -> Box<dyn Embedder> {
    open(dir, Precision::Auto).unwrap()
}

fn assert_embeds(name: &str, embedder: &dyn Embedder, expected: &[Vec<f32>]) {
    let texts: Vec<&str> = RECORDED.texts.iter().map(String::as_str).collect();
    // Few texts are embedded at once, more in slices.
    let vectors = embedder.embed(&texts, Role::Passage).unwrap();
    for ((text, vector), expected) in texts.iter().zip(&vectors).zip(expected) {
        let alone = embedder.embed(&[text], Role::Passage).unwrap().remove(0);
        assert_eq!(&alone, vector);
        for (number, expected) in vector.iter().zip(expected) {
            // Halves are summed as such there.
            let tolerance = if name == "half" { 2e-3 } else { 1e-5 };
            holds!("{name}, {text:?}: {number} is not {expected}" =>
                (number - expected).abs() < tolerance);
        }
    }
}

#[test]
fn tables_give_what_model2vec_makes_of_them() {
    for (name, model) in &RECORDED.models {
        let dir = TempDir::new().unwrap();
        write(model, dir.path());
        let embedder = loaded(dir.path());
        assert_eq!(embedder.dimensions(), RECORDED.width);
        assert_embeds(name, embedder.as_ref(), &model.model2vec);
    }
    let dir = TempDir::new().unwrap();
    write(&RECORDED.models["short"], dir.path());
    let embedder = loaded(dir.path());
    assert_eq!(embedder.max_tokens(), Some(3));
    assert!(
        embedder
            .is_cut("the ferry leaves the harbour", Role::Query)
            .unwrap()
    );
    assert!(!embedder.is_cut("the ferry", Role::Query).unwrap());
}

#[test]
fn a_module_of_sentence_transformers_keeps_unknown_words() {
    for name in ["plain", "normalized"] {
        let model = &RECORDED.models[name];
        let dir = TempDir::new().unwrap();
        let module = dir.path().join("0_StaticEmbedding");
        std::fs::create_dir(&module).unwrap();
        write_json(&dir.path().join("modules.json"), &model.modules);
        write_json(&module.join("tokenizer.json"), &RECORDED.tokenizer);
        write_tensors(&tensors(model, "embedding.weight"), &module);
        let expected = model.sentence_transformers.as_ref().unwrap();
        assert_embeds(name, loaded(dir.path()).as_ref(), expected);
    }
}

#[test]
fn broken_tables_are_named() {
    let refused = |break_it: &dyn Fn(&mut Tensors)| -> EncoderError {
        let dir = TempDir::new().unwrap();
        let model = &RECORDED.models["quantized"];
        write(model, dir.path());
        let mut tensors = tensors(model, "embeddings");
        break_it(&mut tensors);
        write_tensors(&tensors, dir.path());
        open(dir.path(), Precision::Auto).err().unwrap()
    };
    let error = refused(&|tensors| drop(tensors.remove("embeddings")));
    says(&error, "encoder_tensor_missing", &["embeddings"]);
    let error = refused(&|tensors| tensors.get_mut("embeddings").unwrap().1 = vec![88]);
    says(&error, "encoder_tensor_shape", &["embeddings", "88"]);
    let error = refused(&|tensors| tensors.get_mut("mapping").unwrap().2[0] = 11);
    says(&error, "encoder_weights_corrupt", &["mapping"]);
    let error = refused(&|tensors| tensors.get_mut("mapping").unwrap().2[..8].fill(0xff));
    says(&error, "encoder_weights_corrupt", &["mapping"]);
    let error = refused(&|tensors| tensors.get_mut("weights").unwrap().0 = Dtype::I64);
    says(&error, "encoder_tensor_type", &["weights", "I64"]);
    let error = refused(&|tensors| {
        tensors.get_mut("embeddings").unwrap().2[..4].copy_from_slice(&f32::NAN.to_le_bytes());
    });
    says(
        &error,
        "encoder_embedding_not_finite",
        &["model.safetensors"],
    );

    // A text with a token that has no row.
    let dir = TempDir::new().unwrap();
    let model = &RECORDED.models["plain"];
    write(model, dir.path());
    let mut tensors = tensors(model, "embeddings");
    let (_, shape, bytes) = tensors.get_mut("embeddings").unwrap();
    shape[0] = 6;
    bytes.truncate(6 * RECORDED.width * 4);
    write_tensors(&tensors, dir.path());
    let embedder = loaded(dir.path());
    assert!(embedder.embed(&["the the"], Role::Query).is_ok());
    assert!(embedder.embed(&["the keeper"], Role::Query).is_err());
}
