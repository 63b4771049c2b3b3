//! Answers questions from given passages in ken's words, and asks the model in several ways whether the passages state the
//! answer: `checks MODEL.gguf < requests > results`. A request is a line of JSON: `id`, `question`, `passages` (best first,
//! each with `title` and `text`).
#![allow(clippy::unwrap_used, clippy::print_stdout)]
use std::io::BufRead;
use std::ops::ControlFlow;
use std::sync::Arc;

use ken_answer::{Retrieved, SearchResult, prompt};
use ken_corpus::{Location, Passage, PassageId};
use ken_language::*;
use ken_model::Precision;
use ken_model::decoder::{Decoder, LoadOptions};
use serde_json::{Map, Value, json};

const WORKED: &str = "Check an answer against the passages. Some passages are about something else than what was asked: if they say that \
a car costs 12 crowns on the ferry, and the question is what a bicycle costs, then \"12 crowns\" is not stated: no. If they say that the log \
prints the last 30 days, and the question is for how long files are kept, then \"30 days\" is not stated: no. If they say that Maria \
Tolvik cast the bell, and the question is who made it, then \"Maria Tolvik\" is stated: yes.\n\n";

fn main() {
    let args: Vec<String> = std::env::args().collect();
    let options = LoadOptions {
        precision: Precision::Int8,
        ..LoadOptions::default()
    };
    let model = Decoder::load(args[1].as_ref(), &options).unwrap();
    let model: &dyn LanguageModel = &model;
    for line in std::io::stdin().lock().lines() {
        let v: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let question = v["question"].as_str().unwrap();
        let passages: Vec<Retrieved> = v["passages"]
            .as_array()
            .unwrap()
            .iter()
            .enumerate()
            .map(|(i, p)| {
                let text = p["text"].as_str().unwrap().to_owned();
                let passage = Passage {
                    id: PassageId(i.to_string()),
                    doc_id: i.to_string(),
                    title: p["title"].as_str().unwrap_or("").to_owned(),
                    text: text.clone(),
                    location: Location::default(),
                    metadata: Map::new(),
                };
                Retrieved::unread(SearchResult {
                    passage,
                    text,
                    chunk: None,
                    score: 0.0,
                })
            })
            .collect();
        let read: Vec<&Retrieved> = passages.iter().collect();
        let started = std::time::Instant::now();
        let asked = prompt::full(question, &read, prompt::Refusal::ByPolicy);
        let options = GenerateOptions::new(Sampling::Greedy, 120);
        let answer = model
            .generate(
                &[GenerateRequest {
                    prompt: &asked,
                    samples: 1,
                    options: &options,
                }],
                &mut |_| ControlFlow::Continue(()),
            )
            .unwrap()
            .remove(0)
            .remove(0);
        let t1 = started.elapsed().as_secs_f64();
        let memory = prompt::full(question, &[], prompt::Refusal::ByPolicy);
        let own = model
            .generate(
                &[GenerateRequest {
                    prompt: &memory,
                    samples: 1,
                    options: &options,
                }],
                &mut |_| ControlFlow::Continue(()),
            )
            .unwrap()
            .remove(0)
            .remove(0);
        let t2 = started.elapsed().as_secs_f64();
        let text = answer.text.trim();
        let bare: String = {
            let mut s = String::new();
            let mut skip = false;
            for c in text.chars() {
                match c {
                    '[' => skip = true,
                    ']' => skip = false,
                    _ if !skip => s.push(c),
                    _ => {}
                }
            }
            s
        };
        let first = bare.split(['\n']).next().unwrap_or("").trim().to_owned();
        let turn = |message: String| {
            let mut turns: Vec<(String, String)> = asked
                .examples
                .iter()
                .map(|e| (e.input.to_owned(), e.output.to_owned()))
                .collect();
            turns.push((asked.input.clone(), text.to_owned()));
            Prompt {
                examples: Examples::Found(Arc::from(turns)),
                input: message,
                ..asked.clone()
            }
        };
        let asks = [
            ("c1", turn("Do the passages state this as the answer to the question? Reply yes or no.".into())),
            ("c2", turn("Check your answer: do the passages say exactly this about what the question asks, and not about something else? Reply yes or no.".into())),
            ("c3", turn(format!("Question: {question}\nAnswer: {first}\nDo the passages state that this is the answer to this question? Reply yes or no."))),
            ("c4", turn(format!("{WORKED}Question: {question}\nAnswer: {first}\nStated, yes or no:"))),
            ("c5", turn(format!("Is the question \"{question}\" answered by the passages at all, or are they about something else? Reply yes if they answer it, and no if they do not."))),
        ];
        let yes_no = ["yes", "no"];
        let requests: Vec<_> = asks
            .iter()
            .map(|(_, prompt)| ScoreRequest {
                prompt,
                continuations: &yes_no,
            })
            .collect();
        let scores = model.score(&requests).unwrap();
        let upper = ["Yes", "No"];
        let requests: Vec<_> = asks
            .iter()
            .map(|(_, prompt)| ScoreRequest {
                prompt,
                continuations: &upper,
            })
            .collect();
        let uppers = model.score(&requests).unwrap();
        let t3 = started.elapsed().as_secs_f64();
        // The check in a prompt of its own, with worked examples.
        let mut told = String::new();
        for (i, p) in passages.iter().enumerate().rev() {
            told.push_str(&format!("[{}] {}: {}\n", i + 1, p.title, p.text));
        }
        let examples: Vec<(String, String)> = [
            ("[1] Street market: Traders meet in the square every second Saturday.\n[2] Ferry: The ferry to Laun leaves at eight and at noon; a car costs 12 crowns.\n\nQuestion: What does it cost to take a bicycle to Laun?\nAnswer: 12 crowns\nStated:", "no"),
            ("[1] Harbour guide: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik.\n\nQuestion: Who made the bell of Orsand?\nAnswer: Maria Tolvik\nStated:", "yes"),
            ("[1] Tide log: With `--since DATE` it prints what was measured from that day on; without it the last 30 days are printed.\n[2] Tide gauge: The gauge measures every ten minutes.\n\nQuestion: For how many days does the tide log keep its files?\nAnswer: 30 days\nStated:", "no"),
            ("[1] Street market: Traders meet in the square every second Saturday.\n[2] Ferry: Bicycles travel free on the ferry to Laun; a car costs 12 crowns.\n\nQuestion: What does it cost to take a car to Laun?\nAnswer: 12 crowns\nStated:", "yes"),
        ].iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
        let ver = Prompt { instruction: "Each message holds passages, a question and an answer. Say whether the passages state that this is the answer to the question: yes or no.".into(), examples: Examples::Found(Arc::from(examples)), input: format!("{told}\nQuestion: {question}\nAnswer: {}\nStated:", bare.split_whitespace().collect::<Vec<_>>().join(" ")), begun: String::new(), reply: Reply::Line, sourced: None };
        let s = model
            .score(&[ScoreRequest {
                prompt: &ver,
                continuations: &yes_no,
            }])
            .unwrap();
        let t4 = started.elapsed().as_secs_f64();
        let mean = |g: &Generation| {
            g.logprobs
                .as_ref()
                .map(|l| l.iter().map(|x| f64::from(*x)).sum::<f64>() / l.len().max(1) as f64)
        };
        let mut out = json!({"id": v["id"], "answer": text, "with": mean(&answer), "memory": own.text, "without": mean(&own), "prompt_tokens": answer.prompt_tokens,
            "ver": s[0][0].sum() - s[0][1].sum(), "t": [t1, t2 - t1, t3 - t2, t4 - t3]});
        for (((name, _), lower), upper) in asks.iter().zip(&scores).zip(&uppers) {
            let l = |s: &Score| s.sum();
            let (y, n) = (
                (l(&lower[0]).exp() + l(&upper[0]).exp()).ln(),
                (l(&lower[1]).exp() + l(&upper[1]).exp()).ln(),
            );
            out[*name] = json!([y - n, y, n]);
        }
        println!("{out}");
    }
}
