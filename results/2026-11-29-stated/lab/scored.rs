//! Scores `yes` against `no` after prompts: `scored MODEL.gguf < prompts > scores`; a line has `instruction`, `examples`, `input`.
#![allow(clippy::unwrap_used, clippy::print_stdout)]
use std::io::BufRead;
use std::sync::Arc;

use ken_language::*;
use ken_model::Precision;
use ken_model::decoder::{Decoder, LoadOptions};
use serde_json::{Value, json};

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let options = LoadOptions { precision: Precision::Int8, ..LoadOptions::default() };
    let model = Decoder::load(args[1].as_ref(), &options).unwrap();
    let model: &dyn LanguageModel = &model;
    for line in std::io::stdin().lock().lines() {
        let v: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let text = |key: &str| v[key].as_str().unwrap().to_owned();
        let examples: Vec<(String, String)> = v["examples"].as_array().unwrap().iter().map(|e| (e[0].as_str().unwrap().to_owned(), e[1].as_str().unwrap().to_owned())).collect();
        let prompt = Prompt { instruction: text("instruction").into(), examples: Examples::Found(Arc::from(examples)), input: text("input"), begun: String::new(), reply: if v["reply"] == "text" { Reply::Text } else { Reply::Line }, sourced: None };
        let started = std::time::Instant::now();
        let s = model.score(&[ScoreRequest { prompt: &prompt, continuations: &["yes", "no"] }]).unwrap();
        println!("{}", json!({"id": v["id"], "variant": v["variant"], "yes": s[0][0].sum(), "no": s[0][1].sum(), "s": started.elapsed().as_secs_f64()}));
    }
}
