//! `ken prune score`: keeps scores of passages in the corpus, so that a filter prunes when it is searched.

use std::path::Path;

use ken_corpus::{CorpusInfo, Writer};
use ken_lab::pruning::{Threshold, read_scores};
use serde_json::json;

use super::basis;
use crate::arguments::prune::PruneScoreArguments;
use crate::failure::Result;
use crate::output;
use crate::session::Session;

/// The ratios whose thresholds are shown.
const RATIOS: [f64; 4] = [0.1, 0.3, 0.5, 0.7];

pub(super) fn run(
    arguments: &PruneScoreArguments,
    folder: &Path,
    session: &Session<'_>,
) -> Result<()> {
    let name = &arguments.name;
    if let Some(path) = &arguments.scores {
        return keep(path, name, folder, session.json);
    }
    let basis = basis::read(&arguments.ranking)?;
    let method = basis::method(&arguments.ranking)?;
    // From here on nobody else changes the corpus.
    let mut writer = Writer::open(folder)?;
    let reader = basis::reader(&basis, session)?;
    let plan = basis::plan(folder, method, &basis, reader.as_deref(), session)?;
    let scores = plan.scores();
    let generation = writer.score(name, &scores)?;
    let thresholds = RATIOS.iter().filter_map(|&ratio| plan.threshold(ratio));
    let thresholds: Vec<Threshold> = thresholds.collect();
    let passages = plan.passages();
    if session.json {
        return output::json(&json!({
            "name": name,
            "method": plan.method,
            "passages": passages,
            "scored": scores.len(),
            "thresholds": thresholds,
            "generation": generation,
        }));
    }
    output::line(format!(
        "scored {} of {passages} passages by {} as {name}; generation {generation}",
        scores.len(),
        plan.method
    ))?;
    let rows = thresholds.iter().map(|threshold| {
        let share = 100.0 * threshold.pruned as f64 / passages as f64;
        let filter = format!("--filter \"NOT {name}>={}\"", threshold.score);
        vec![format!("{share:.1}%"), filter]
    });
    output::columns("left out|by", rows)
}

/// Keeps the scores of a file.
fn keep(path: &Path, name: &str, folder: &Path, json: bool) -> Result<()> {
    let scores = read_scores(path)?;
    let mut writer = Writer::open(folder)?;
    let scores = writer.places(&scores)?;
    let generation = writer.score(name, &scores)?;
    let info = CorpusInfo::read(folder)?;
    // Those that are pruned may be scored, too.
    let passages = info.passages + info.pruned;
    if json {
        return output::json(&json!({
            "name": name,
            "passages": passages,
            "scored": scores.len(),
            "generation": generation,
        }));
    }
    output::line(format!(
        "scored {} of {passages} passages as {name}; generation {generation}",
        scores.len()
    ))
}
