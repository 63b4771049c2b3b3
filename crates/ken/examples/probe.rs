//! Measures what the model knows about some questions, alone and with the evidence of a corpus. It keeps the records
//! in a file, from which an interrupted run resumes:
//!
//! ```sh
//! cargo run --release -p ken-rag --example probe -- notes.ken questions.jsonl probe.jsonl
//! ```
#![allow(clippy::print_stdout, clippy::print_stderr)]

use std::env::args;
use std::error::Error;
use std::path::Path;
use std::sync::Arc;

use ken_eval::{Probe, ResultsFile, Run, probe, read_questions, summarize_probe};
use ken_probe::{Correctness, Grouping, SampleOptions};
use ken_setup::{Key, Settings, Setup};

fn main() -> Result<(), Box<dyn Error>> {
    let [corpus, questions, records] = args()
        .skip(1)
        .collect::<Vec<_>>()
        .try_into()
        .map_err(|_| "give a corpus, questions and a file for records")?;
    let settings = Settings::resolve(None, [(Key::corpus, corpus.into())])?;
    let stop = Arc::default();
    let pipeline = Setup::quiet(&settings, &stop).pipeline_for(None, true, &[])?;
    let questions = read_questions(Path::new(&questions))?;
    let work = Probe {
        pipeline: &pipeline,
        judge: pipeline.model.as_ref(),
        embedder: None,
        options: SampleOptions {
            samples: 5,
            temperature: 1.0,
            max_tokens: 16,
        },
        seed: 0,
        correctness: Correctness::Exact,
        grouping: Grouping::String,
        eigenscore: false,
        at_k: &[],
    };
    let mut file = ResultsFile::open(
        Path::new(&records),
        work.identity(settings.identity(&pipeline)),
    )?;
    let run = Run::new(8, &stop, |progress| {
        eprint!("\r{} of {}", progress.done, progress.total);
    });
    let outcome = probe(&work, &questions, &mut file, run)?;
    println!("\n{:#?}", summarize_probe(&outcome.records));
    Ok(())
}
