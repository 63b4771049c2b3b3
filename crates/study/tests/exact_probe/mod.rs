//! Probing by exact matches, with samples at temperature 1.

use ken_answer::Pipeline;
use ken_probe::{Correctness, Grouping, SampleOptions};
use ken_study::Probe;

pub(crate) fn exact_probe(pipeline: &Pipeline, samples: usize) -> Probe<'_> {
    Probe {
        pipeline,
        judge: pipeline.model(),
        embedder: None,
        options: SampleOptions {
            samples,
            temperature: 1.0,
            max_tokens: 16,
        },
        seed: 3,
        correctness: Correctness::Exact,
        grouping: Grouping::String,
        eigenscore: false,
    }
}
