//! Opens a corpus and finds the passages that answer a question best:
//!
//! ```sh
//! cargo run --release -p ken-rag --example search -- notes.ken "Who keeps the keys?"
//! ```
#![allow(clippy::print_stdout)]

use std::env::args;
use std::error::Error;
use std::sync::Arc;

use ken_index::Mode;
use ken_setup::{Key, Settings, Setup};

fn main() -> Result<(), Box<dyn Error>> {
    let [corpus, question] = args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "give a corpus and a question")?;
    let settings = Settings::resolve(None, [(Key::corpus, corpus.into())])?;
    let stop = Arc::default();
    let retriever = Setup::quiet(&settings, &stop).retriever()?;
    for hit in retriever.search(&question, Mode::Hybrid, 3)? {
        println!("{:.3} {}\n{}\n", hit.score, hit.passage.id, hit.text);
    }
    Ok(())
}
