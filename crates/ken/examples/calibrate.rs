//! Chooses the threshold of a policy on records of the example `probe`: the most questions that can be answered from memory while at
//! most 0.05 of the accuracy of always retrieving is lost, with confidence 0.95 on questions like these.
//!
//! ```sh
//! cargo run --release -p ken-rag --example calibrate -- probe.jsonl
//! ```
#![allow(clippy::print_stdout)]

use std::env::args;
use std::error::Error;
use std::path::Path;

use ken_eval::{ProbeRecord, observe, read_results, signal_scores};
use ken_policy::{CONFIDENCE, Goal, Policy, calibrate};

fn main() -> Result<(), Box<dyn Error>> {
    let records = args().nth(1).ok_or("give a file of records")?;
    let records: Vec<ProbeRecord> = read_results(Path::new(&records))?;
    let policy: Policy = "uncertainty:sequence-probability".parse()?;
    let signal = policy.signal().ok_or("the policy measures nothing")?;
    let scores = signal_scores(&records, signal, 0)?;
    let observed = observe(&records, (signal, &scores), None, (&[], 0), 0)?;
    let goal = Goal::Guarantee {
        max_loss: 0.05,
        confidence: CONFIDENCE,
    };
    let chosen = calibrate(&policy, None, 0, &observed.observations, goal);
    println!("{}: loses at most {:.3}", chosen.policy, chosen.bound);
    Ok(())
}
