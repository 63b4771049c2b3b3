//! Costs of policies are counted alike whether samples, judgments and greedy answers are taken live or were recorded
//! by probing, on a slow model.

use std::time::Duration;

use ken_answer::Policy;
use ken_answer::{Pipeline, Step};
use ken_eval::{Comparison, ProbeRecord, Question, Summary, summarize};
use ken_testing::{Call, Fact, FnEmbedder, TableModel, has, holds};
use tempfile::TempDir;

use crate::fixture::{
    about_clock, clocks, in_folder, live, passages_of, probed, questions_of, with_corpus,
};

const QUESTIONS: usize = 8;
const BATCH: usize = 4;

/// The time of a text, and of a judgment.
const WRITING: Duration = Duration::from_millis(4);
const JUDGING: Duration = Duration::from_millis(2);

fn facts() -> Vec<Fact> {
    clocks(&[1.0, 0.0, 0.4].map(|known| (known, 1.0, 0.0)), QUESTIONS)
}

fn pipeline(folder: &TempDir) -> Pipeline {
    let passages = passages_of(&facts(), about_clock);
    // A slow table.
    let model = TableModel::new(facts()).unwrap().on_call(|call| {
        std::thread::sleep(match call {
            Call::Generate { texts, .. } => WRITING * texts as u32,
            Call::Score { requests } => JUDGING * requests as u32,
        });
    });
    with_corpus(folder, model, &passages, FnEmbedder::blind())
}

fn questions() -> Vec<Question> {
    questions_of(&facts())
}

/// All retrieve except `never` and the last, which answers with its draft.
fn compared(pipeline: &mut Pipeline, policies: &[Policy], records: &[ProbeRecord]) -> Comparison {
    let folder = tempfile::tempdir().unwrap();
    crate::fixture::compared(&folder, pipeline, policies, &questions(), records, BATCH)
}

fn policies() -> Vec<Policy> {
    crate::fixture::policies(
        "never,always,prompt@0,certainty@0,uncertainty:semantic-entropy@0,uncertainty:perplexity@100",
    )
}

/// The costs of the table's model for a question under a policy, with 10 of the recorded samples. A busy machine
/// takes longer, never less.
fn least(policy: &str) -> Duration {
    match policy {
        "prompt@0" => JUDGING + WRITING,
        "certainty@0" | "uncertainty:semantic-entropy@0" => WRITING * (10 + 1),
        _ => WRITING,
    }
}

#[test]
fn a_report_from_records_counts_what_a_live_run_pays() {
    let (_folder, mut pipeline) = in_folder(pipeline);
    for samples in [10, 12] {
        let records = probed(&pipeline, &questions(), samples, BATCH);
        let comparison = compared(&mut pipeline, &policies(), &records);
        for (policy, reported) in policies().into_iter().zip(&comparison.policies) {
            let reported = &reported.summary;
            let done = live(&mut pipeline, policy, &questions(), BATCH);
            let done = summarize(&policy.to_string(), &done);
            // Samples are drawn with other seeds, of one or two words each.
            let drawn = done.latency_ms.stages.contains_key("sample");
            let written = |summary: &Summary| summary.tokens.completion.mean.unwrap();
            assert!(
                (written(reported) - written(&done)).abs() <= if drawn { 10.0 } else { 0.0 },
                "{policy}: {} {}",
                written(reported),
                written(&done)
            );
            if !drawn {
                assert_eq!(reported.tokens, done.tokens, "{policy}");
                assert_eq!(reported.model_calls, done.model_calls, "{policy}");
                assert_eq!(reported.retrieval_ratio, done.retrieval_ratio, "{policy}");
            }
            let names = |summary: &Summary| -> Vec<String> {
                summary.latency_ms.stages.keys().cloned().collect()
            };
            assert_eq!(names(reported), names(&done), "{policy}");
            let least = least(&policy.to_string()).as_secs_f64() * 1e3;
            for (summary, taken) in [(reported, "from records"), (&done, "live")] {
                let time = summary.latency_ms.p50.unwrap();
                holds!("{policy}: {time} ms {taken}, {least} at least" => time >= least);
            }
        }
    }
}

#[test]
fn fewer_samples_than_were_probed_cost_less() {
    let (_folder, pipeline) = in_folder(pipeline);
    let records = probed(&pipeline, &questions(), 12, BATCH);
    let costs = &records[1].costs;
    let samples = records[1].samples.from_self.as_ref().unwrap();
    let written: usize = samples.iter().map(|sample| sample.written).sum();
    assert_eq!(costs[&Step::Sample].calls.model, 12);
    assert_eq!(costs[&Step::Sample].tokens.completion, written);
    let taken = ken_eval::calibration::recorded(&records[1], 3);
    let cost = taken.costs[&Step::Sample];
    let first: usize = samples.iter().take(3).map(|sample| sample.written).sum();
    has!(cost, calls.model: 3, tokens.completion: first, tokens.prompt: costs[&Step::Sample].tokens.prompt);
    let (part, whole) = (cost.ms, costs[&Step::Sample].ms);
    assert!((part - whole / 4.0).abs() < 1e-9);
    assert_eq!(taken.costs[&Step::Greedy], costs[&Step::Greedy]);
}
