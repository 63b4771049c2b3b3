//! `ken train pruner`: which passages say what the language model knows.

use std::path::Path;

use ken_answer::PassageFeatures;
use ken_corpus::Corpus;
use ken_study::learn::pruner::{PrunerReport, learn_pruner, pruner_labels};
use ken_study::pruning::{PassageVectors, StoredVectors};
use ken_study::{MasteryRecord, read_results};
use serde_json::json;

use super::vectors::{looks_at, losses};
use super::{learning, options, with_interval};
use crate::arguments::training::{PassageSource, TrainPrunerArguments};
use crate::failure::Result;
use crate::output::{self, share};
use crate::session::Session;

pub(super) fn run(arguments: &TrainPrunerArguments, session: &Session<'_>) -> Result<()> {
    let corpus = Corpus::open(session.settings.folder()?)?;
    let records: Vec<MasteryRecord> = read_results(&arguments.labels)?;
    let labels = pruner_labels(&records)?;
    let options = options(&arguments.head, session.settings.seed, 0);
    let learn = |vectors: &[PassageVectors<'_>]| {
        learning(session, |watch| {
            learn_pruner(&labels, &corpus, vectors, options, watch)
        })
    };
    let (head, report) = match arguments.from {
        PassageSource::Embedding => {
            learn(&[PassageVectors::Stored(StoredVectors::open(&corpus)?)])?
        }
        PassageSource::Hidden | PassageSource::Likelihood => {
            let model = session.setup().language_model()?;
            let model = model.as_ref();
            let views = match arguments.from {
                PassageSource::Likelihood => vec![PassageFeatures::Likelihood],
                _ => arguments
                    .layer
                    .for_head(model)
                    .into_iter()
                    .map(|layer| PassageFeatures::State { layer })
                    .collect(),
            };
            let vectors = views
                .into_iter()
                .map(|view| PassageVectors::Read { model, view });
            learn(&vectors.collect::<Vec<_>>())?
        }
    };
    head.write(&arguments.out)?;
    if session.json {
        return output::json(&json!({ "pruner": arguments.out, "report": report }));
    }
    show(&report, &arguments.out)
}

fn show(report: &PrunerReport, out: &Path) -> Result<()> {
    let error = |value: Option<f64>| output::number(value, 4);
    let mut rows = vec![
        ("pruner", out.display().to_string()),
        ("features", looks_at(report.input)),
        (
            "head",
            format!("{}, weight decay {}", report.head, report.decay),
        ),
        (
            "sentences",
            format!(
                "{} with a mastery, {} without",
                report.sentences, report.left_out
            ),
        ),
        (
            "passages",
            format!(
                "trained on {}, held out {}",
                report.learned_from, report.held_out
            ),
        ),
        ("mastery of those held out", share(report.mastery)),
        (
            "rank correlation",
            with_interval(report.rank_correlation, report.rank_correlation_interval),
        ),
        (
            "squared error",
            format!(
                "{}; of predicting the mean {}",
                error(report.squared_error),
                error(report.squared_error_of_mean)
            ),
        ),
    ];
    rows.extend(losses(&report.candidates));
    output::pairs(rows)
}
