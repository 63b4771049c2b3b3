//! Answers prompts, one a line of JSON on standard input, with a model: `try_prompts MODEL.gguf < requests > answers`.
//! Put it into `crates/model/examples` to build it.
use std::io::BufRead;
use std::ops::ControlFlow;
use std::sync::Arc;
use ken_language::*;
use serde_json::{Value, json};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let model = loaded(&args[1]);
    let lines: Vec<Value> = std::io::stdin().lock().lines().map(|l| serde_json::from_str(&l.unwrap()).unwrap()).collect();
    for v in &lines {
        let prompt = Prompt {
            instruction: Box::leak(v["instruction"].as_str().unwrap().to_owned().into_boxed_str()),
            examples: Examples::Found(v["examples"].as_array().unwrap().iter().map(|e| (e[0].as_str().unwrap().to_owned(), e[1].as_str().unwrap().to_owned())).collect::<Arc<[_]>>()),
            input: v["input"].as_str().unwrap().to_owned(),
            begun: v["begun"].as_str().unwrap_or("").to_owned(),
            reply: if v["reply"] == "text" { Reply::Text } else { Reply::Line },
            sourced: None,
        };
        let started = std::time::Instant::now();
        let mut out = json!({"id": v["id"], "variant": v["variant"]});
        if let Some(max) = v["max_tokens"].as_u64() {
            let options = GenerateOptions::new(Sampling::Greedy, max as usize);
            let stop = v["stop"].as_array().map(|s| s.iter().map(|x| x.as_str().unwrap().to_owned()).collect()).unwrap_or_default();
            let options = GenerateOptions { stop, ..options };
            let g = model.generate(&[GenerateRequest { prompt: &prompt, samples: 1, options: &options }], &mut |_| ControlFlow::Continue(())).unwrap();
            let g = &g[0][0];
            out["text"] = json!(g.text);
            out["tokens"] = json!(g.tokens);
            out["prompt_tokens"] = json!(g.prompt_tokens);
            out["logprobs"] = json!(g.logprobs);
            out["finish"] = json!(format!("{:?}", g.finish));
        }
        if let Some(c) = v["continuations"].as_array() {
            let c: Vec<&str> = c.iter().map(|x| x.as_str().unwrap()).collect();
            let s = model.score(&[ScoreRequest { prompt: &prompt, continuations: &c }]).unwrap();
            out["scores"] = json!(s[0].iter().map(|s| s.logprobs.clone()).collect::<Vec<_>>());
        }
        out["s"] = json!(started.elapsed().as_secs_f64());
        println!("{out}");
    }
}
fn loaded(path: &str) -> Arc<dyn LanguageModel> {
    Arc::new(ken_model::decoder::Decoder::load(std::path::Path::new(path), &Default::default()).unwrap())
}
