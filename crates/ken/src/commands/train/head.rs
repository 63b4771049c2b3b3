//! What `ken train router`, `gate` and `pruner` share: how a head is trained, over one or several seeds, written and
//! shown.

use std::path::Path;

use ken_eval::Fold;
use ken_eval::statistics::Spread;
use ken_lab::LearnOptions;
use ken_lab::heads::{CandidateLoss, HeadReport};
use ken_policy::{Head, Input};
use ken_train::heads::{HeadOptions, Watch};
use serde::Serialize;
use serde_json::json;

use crate::arguments::train::HeadFlags;
use crate::failure::Result;
use crate::output;
use crate::progress::Display;
use crate::session::Session;

/// A measure of a report.
type Measure<M> = (&'static str, fn(&M) -> Option<f64>);

/// A row that is shown: a name and a value.
pub(super) type Row = (&'static str, String);

/// How heads of one kind are shown.
pub(super) struct Kind<M: 'static> {
    pub(super) name: &'static str,
    /// The measures that are reported over several seeds.
    pub(super) measures: &'static [Measure<M>],
    /// The rows between the features and the losses.
    pub(super) rows: fn(&HeadReport<M>) -> Vec<Row>,
}

impl<M: Serialize> Kind<M> {
    /// Writes the head of the first seed, and shows how good it is and how the seeds spread. `controls` are the rows of
    /// a table and its JSON, `usage` says how to use the head.
    pub(super) fn finish(
        &self,
        learned: &[(Head, HeadReport<M>)],
        out: &Path,
        controls: Option<(Vec<Vec<String>>, serde_json::Value)>,
        usage: Option<String>,
        session: &Session<'_>,
    ) -> Result<()> {
        // There is at least one seed.
        let Some((head, report)) = learned.first() else {
            return Ok(());
        };
        head.write(out)?;
        let measures = self.measures.iter().filter(|_| learned.len() > 1);
        let spreads = measures.map(|(name, of)| {
            let values = learned.iter().map(|(_, report)| of(&report.measured));
            (*name, Spread::of(values.collect()))
        });
        let spreads: Vec<(&str, Spread)> = spreads.collect();
        let (rows_of_controls, controls) = controls.unzip();
        if session.json {
            let mut shown = json!({ (self.name): out, "report": report });
            if !self.measures.is_empty() {
                let by_name = spreads
                    .iter()
                    .map(|(name, spread)| ((*name).to_owned(), json!(spread)));
                shown["seeds"] = by_name.collect::<serde_json::Map<_, _>>().into();
            }
            if let Some(controls) = controls {
                shown["controls"] = controls;
            }
            return output::json(&shown);
        }
        let mut rows = vec![
            (self.name, out.display().to_string()),
            ("features", looks_at(report.input)),
        ];
        rows.extend((self.rows)(report));
        rows.extend(losses(&report.candidates));
        output::pairs(rows)?;
        show_spreads(spreads)?;
        if let Some(rows) = rows_of_controls.filter(|rows| !rows.is_empty()) {
            output::columns("control|AUROC|of the router's lead over chance", rows)?;
        }
        usage.map_or(Ok(()), |usage| output::line(format!("to use it: {usage}")))
    }
}

/// How a head was trained, as a row.
pub(super) fn trained<M>(report: &HeadReport<M>) -> Row {
    let HeadReport { head, decay, .. } = report;
    ("head", format!("{head}, weight decay {decay}"))
}

/// How a head is learned and judged; `fold` numbers the trainings with several seeds.
pub(super) fn options(flags: &HeadFlags, seed: u64, fold: usize) -> LearnOptions {
    LearnOptions {
        head: HeadOptions {
            shape: flags.head,
            seed,
        },
        held_out: Fold {
            share: flags.held_out,
            number: fold,
        },
    }
}

/// Trains something, with progress, until it is to stop.
pub(super) fn learning<T>(session: &Session<'_>, learn: impl FnOnce(Watch<'_>) -> T) -> T {
    let mut display = Display::new();
    learn(&mut |done, total| {
        display.show_items("learning", done, total);
        session.unless_stopped()
    })
}

/// A number with its interval, or a dash where there is none.
pub(super) fn with_interval(value: Option<f64>, interval: Option<[f64; 2]>) -> String {
    match value {
        Some(_) => output::number(value, 3) + &output::interval(interval),
        None => "- (everything held out is alike)".to_owned(),
    }
}

/// Shows how measures spread over seeds; nothing for a single seed.
fn show_spreads(spreads: Vec<(&str, Spread)>) -> Result<()> {
    if spreads.is_empty() {
        return Ok(());
    }
    let rows = spreads.into_iter().map(|(name, spread)| {
        let values = spread.each.iter().map(|value| output::number(*value, 3));
        vec![
            name.to_owned(),
            output::number(spread.mean, 3),
            output::number(spread.deviation, 3),
            values.collect::<Vec<_>>().join(" "),
        ]
    });
    output::columns("over all seeds|mean|standard deviation|each", rows)
}

/// A head's input in words.
fn looks_at(input: Input) -> String {
    match input {
        Input::Words => "the question's words".to_owned(),
        Input::QuestionEmbedding => "the question's embedding".to_owned(),
        Input::PassageEmbedding => "the passage's embedding".to_owned(),
        Input::HiddenState { layer } | Input::PassageState { layer } => {
            format!("the hidden state after layer {layer}")
        }
        Input::FirstToken => "how sure the model is of its first token".to_owned(),
        Input::FirstTokenAndMastery => {
            "how sure the model is of its first token, and kbm of the answer".to_owned()
        }
        Input::Evidence => "the evidence and the answer from memory".to_owned(),
        Input::EvidenceAndAnswer => "the evidence and both answers".to_owned(),
        Input::PassageLikelihood => "how likely the model finds the passage".to_owned(),
    }
}

/// The loss of each layer, if several were tried.
fn losses(candidates: &[CandidateLoss]) -> Option<(&'static str, String)> {
    let losses = candidates
        .iter()
        .map(|CandidateLoss { input, loss }| match input {
            Input::HiddenState { layer } | Input::PassageState { layer } => {
                format!("{layer}: {loss:.4}")
            }
            _ => format!("{loss:.4}"),
        });
    let losses: Vec<String> = losses.collect();
    (losses.len() > 1).then(|| ("loss by layer", losses.join(", ")))
}
