//! What all trainings of a language model share: how the flags configure them, progress and report.

use std::num::NonZeroUsize;
use std::ops::ControlFlow;

use ken_lab::tuning::{Curriculum, FineTuning, TuneReport, fine_tune, finish};
use ken_model::decoder::Checkpoint;
use ken_train::{LoraSettings, Progress, Schedule, TrainSettings};

use crate::arguments::tune::TuningFlags;
use crate::failure::{Failure, Result};
use crate::output;
use crate::progress::{Display, Unit};
use crate::session::Session;

/// The training that the flags describe, if its result can be opened and would not overwrite what it is made from.
pub(super) fn tuning<'a>(flags: &'a TuningFlags, session: &Session<'_>) -> Result<FineTuning<'a>> {
    let settings = session.settings;
    let or_never = |steps: Option<NonZeroUsize>| steps.map_or(0, NonZeroUsize::get);
    let tuning = FineTuning {
        out: &flags.out,
        overwrite: flags.overwrite,
        lora: (!flags.full).then(|| LoraSettings {
            rank: flags.rank.get(),
            alpha: flags.alpha,
            dropout: flags.dropout,
            targets: flags.targets.clone(),
            tokens: Vec::new(),
        }),
        train: TrainSettings {
            epochs: flags.epochs,
            batch: flags.batch.get(),
            tokens_per_pass: flags.pass_tokens.get(),
            schedule: Schedule {
                peak: flags.learning_rate,
                warm_up: flags.warm_up,
                floor: 0.1,
            },
            weight_decay: flags.weight_decay,
            clip: flags.clip,
            validate_every: or_never(flags.validate_every),
            patience: or_never(flags.patience),
            checkpoint_every: flags.checkpoint_every.get(),
            seed: settings.seed,
            ..TrainSettings::default()
        },
        device: settings.device,
        base: settings.model.to_string(),
    };
    let model = || Ok::<_, Failure>(session.setup().fetched(&settings.model)?);
    tuning.check(settings.adapter.as_deref(), model)?;
    Ok(tuning)
}

/// Trains, with progress, and shows the outcome.
pub(super) fn fit(
    checkpoint: &Checkpoint,
    curriculum: &Curriculum,
    tuning: &FineTuning<'_>,
    session: &Session<'_>,
) -> Result<()> {
    fit_and(checkpoint, curriculum, tuning, session, |_| Ok(()))
}

/// As [`fit`], with something added to the result before it is shown. Until that is done, the training resumes at its
/// end.
pub(super) fn fit_and(
    checkpoint: &Checkpoint,
    curriculum: &Curriculum,
    tuning: &FineTuning<'_>,
    session: &Session<'_>,
    add: impl FnOnce(&mut TuneReport) -> Result<()>,
) -> Result<()> {
    let mut report = {
        let mut draw = drawn(session);
        fine_tune(checkpoint, curriculum, tuning, &mut draw)?
    };
    add(&mut report)?;
    finish(tuning.out)?;
    match session.json {
        true => output::json(&report),
        false => show(&report),
    }
}

/// Draws the progress of a training, until it is to stop.
pub(crate) fn drawn<'a>(
    session: &Session<'a>,
) -> impl FnMut(Progress<'_>) -> ControlFlow<()> + use<'a> {
    let session = *session;
    let mut display = Display::new();
    let mut last_validation = None;
    move |progress| {
        match progress {
            Progress::Resumed { step } => display.show("resuming", Unit::Items, step as u64, None),
            Progress::References { done, all } => display.show_items("reference model", done, all),
            Progress::Step { record, steps } => {
                let speed = record.tokens as f64 / record.seconds.max(1e-9);
                let validation =
                    last_validation.map_or(String::new(), |loss| format!(", validation {loss:.3}"));
                let known = format!("loss {:.3}{validation}, {speed:.0} tokens/s", record.loss);
                display.show_beside("train", &known, record.step as u64, steps as u64);
            }
            Progress::Validated(record) => last_validation = Some(record.loss),
        }
        session.unless_stopped()
    }
}

fn show(report: &TuneReport) -> Result<()> {
    let losses = |losses: [Option<f64>; 2]| losses.map(|loss| output::number(loss, 4)).join(" to ");
    let kinds = report.by_kind.iter();
    let kinds: Vec<String> = kinds
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let examples = match kinds.is_empty() {
        true => report.examples.to_string(),
        false => format!("{}: {}", report.examples, kinds.join(", ")),
    };
    let mut rows = vec![("examples", examples)];
    if report.without_evidence > 0 {
        let lost = report.without_evidence;
        let lost = format!("{lost} questions, whose evidence was not found again");
        rows.push(("without evidence", lost));
    }
    let validation = [report.first_validation_loss, report.best_validation_loss];
    rows.extend([
        ("steps", report.steps.to_string()),
        ("trainable parameters", report.learning.to_string()),
        ("loss", losses([report.first_loss, report.last_loss])),
        ("validation loss", losses(validation)),
        ("tokens/s", format!("{:.0}", report.tokens_per_s)),
        ("written to", report.out.display().to_string()),
    ]);
    if let Some(threshold) = report.threshold {
        let threshold = format!("{threshold:.3}, by the questions that validate");
        rows.push(("threshold of its policy", threshold));
    }
    output::pairs(rows)
}
