//! Answers a question from a corpus, by the policy and in the style of `ken ask`, and names what the answer rests on:
//!
//! ```sh
//! cargo run --release -p ken-rag --example ask -- notes.ken "Who keeps the keys?"
//! ```
#![allow(clippy::print_stdout)]

use std::env::args;
use std::error::Error;
use std::io::Write;
use std::ops::ControlFlow;
use std::sync::Arc;

use ken_answer::Event;
use ken_setup::{Key, Settings, Setup};

fn main() -> Result<(), Box<dyn Error>> {
    let [corpus, question] = args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "give a corpus and a question")?;
    let settings = Settings::resolve(None, [(Key::corpus, corpus.into())])?;
    let stop = Arc::default();
    let mut pipeline = Setup::quiet(&settings, &stop).pipeline()?;
    settings.answer_people(&mut pipeline)?;
    let answer = pipeline.answer(question.as_str(), &mut |event| {
        if let Event::Text(text) = event {
            print!("{text}");
            // A late screen makes an answer no less right.
            let _ = std::io::stdout().flush();
        }
        ControlFlow::Continue(())
    })?;
    println!("\n\nby {}: {}", answer.policy, answer.reason);
    for citation in answer.citations {
        println!(
            "[{}] {}, {}",
            citation.number, citation.title, citation.passage_id
        );
    }
    Ok(())
}
