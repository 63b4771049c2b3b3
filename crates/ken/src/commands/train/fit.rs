//! What all trainings of a language model share: opening it, the steps with progress, and what is
//! written.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;

use ken_model::decoder::{
    Checkpoint, LearnedBoundary, Origin, PromptForm, SETTINGS_FILE, SourceTokens, StoredAs,
    remove_model,
};
use ken_storage::{create_dir_all, names, remove, replace, sync_dir};
use ken_study::{ExampleKind, TrainingExample, training_to_html};
use ken_train::{
    Examples, History, LoraSettings, MeanOver, Objective, Outcome, Progress, Schedule, Sequence,
    TrainSettings, Trainable, Tuning,
};
use serde::Serialize;
use serde_json::json;

use crate::arguments::TuningFlags;
use crate::failure::{Failure, Refusal, Result};
use crate::output;
use crate::progress::{Display, Unit};
use crate::session::Session;

/// What a training goes on from, in the folder that it writes.
pub(crate) const CHECKPOINT: &str = "training.safetensors";
/// The same of each of the stages that a training may have.
const STATES: [&str; 2] = [CHECKPOINT, "second-training.safetensors"];
/// Without it there is no model.
const CONFIG: &str = "config.json";
/// A line of JSON a step and a validation.
const HISTORY: &str = "history.jsonl";
/// The same as a page with curves.
const PAGE: &str = "history.html";

/// What is learned.
pub(super) struct Curriculum {
    /// How many training examples of each kind there are, where they have kinds.
    pub(super) kinds: BTreeMap<ExampleKind, usize>,
    /// What for.
    pub(super) purpose: String,
    /// How prompts are put before the model.
    pub(super) prompt: PromptForm,
    /// Whose knowledge is taught to be told, where that is it.
    pub(super) boundary: Option<LearnedBoundary>,
    /// The tokens by which sources are marked, where choosing one is taught.
    pub(super) sources: Option<SourceTokens>,
    /// The share of all questions of which that is not taught.
    pub(super) held_out: Option<f64>,
    /// What the loss is a mean over.
    pub(super) mean_over: MeanOver,
    /// Questions that were probed with evidence that was not found again, and are not taught with it.
    pub(super) without_evidence: usize,
    /// Tokens whose rows of the embedding learn too.
    pub(super) tokens: Vec<u32>,
    /// Of these those whose rows begin as the mean of others'.
    pub(super) begin: Vec<(u32, Vec<u32>)>,
    /// What is learned, one after the other.
    pub(super) stages: Vec<Stage>,
}

impl Curriculum {
    /// Examples in which outputs are learned, and nothing about sources or tokens.
    pub(super) fn new(purpose: &str, prompt: PromptForm, stages: Vec<Stage>) -> Self {
        Self {
            kinds: BTreeMap::new(),
            purpose: purpose.to_owned(),
            prompt,
            boundary: None,
            sources: None,
            held_out: None,
            mean_over: MeanOver::Tokens,
            without_evidence: 0,
            tokens: Vec::new(),
            begin: Vec::new(),
            stages,
        }
    }
}

/// A stage of a training.
pub(super) struct Stage {
    pub(super) training: Vec<Objective>,
    pub(super) validation: Vec<Objective>,
    /// The highest learning rate.
    pub(super) learning_rate: f64,
    pub(super) epochs: f64,
}

impl Stage {
    /// A stage as the flags set it.
    pub(super) fn of(
        flags: &TuningFlags,
        training: Vec<Objective>,
        validation: Vec<Objective>,
    ) -> Self {
        Self {
            training,
            validation,
            learning_rate: flags.learning_rate,
            epochs: flags.epochs,
        }
    }
}

/// How many training examples of each kind there are.
pub(super) fn counted(curriculum: &[TrainingExample]) -> BTreeMap<ExampleKind, usize> {
    let mut kinds = BTreeMap::new();
    for one in curriculum {
        *kinds.entry(one.kind).or_insert(0) += 1;
    }
    kinds
}

/// Examples that fit into the model, as token sequences. Each kind weighs as much as every other,
/// however many there are of it: the loss is the sum of the kinds' expectations (Zero-RAG, Eq. 6).
pub(super) fn objectives(
    checkpoint: &Checkpoint,
    form: PromptForm,
    curriculum: &[TrainingExample],
) -> Result<Vec<Objective>> {
    let context = checkpoint.config().context;
    let kinds = counted(curriculum);
    let even = curriculum.len() as f32 / kinds.len().max(1) as f32;
    let mut objectives = Vec::with_capacity(curriculum.len());
    for one in curriculum {
        let (prompt, output) = checkpoint.example(&one.prompt, form, &one.output)?;
        if prompt.len() + output.len() <= context {
            let weight = one.weight * even / kinds[&one.kind] as f32;
            let mut sequence = Sequence::completion(&prompt, &output);
            sequence.weights.iter_mut().for_each(|w| *w *= weight);
            objectives.push(Objective::Imitate(sequence));
        }
    }
    Ok(objectives)
}

/// Refuses a training whose result could not be opened, or would be written over what it is made from.
pub(super) fn check(flags: &TuningFlags, session: &Session<'_>) -> Result<()> {
    if let (Some(adapter), false) = (&session.settings.adapter, flags.full) {
        let message = format!(
            "an adapter cannot stand on another one, as it would on {}",
            adapter.display()
        );
        let remedy = format!(
            "merge it into the model: `ken model export --adapter {} --out merged`, then train with --model ./merged and without the adapter; or train all weights with --full",
            adapter.display()
        );
        return Err(Refusal::new("adapter_on_adapter", message)
            .hinting(remedy)
            .into());
    }
    let Ok(out) = flags.out.canonicalize() else {
        // What is not there holds nothing.
        return Ok(());
    };
    let model = session.setup().fetched(&session.settings.model)?;
    let holds = |path: &Path| {
        path.canonicalize()
            .is_ok_and(|path| path == out || path.is_file() && path.parent() == Some(&out))
    };
    if holds(&model) || session.settings.adapter.as_deref().is_some_and(holds) {
        let message = format!("{} holds what is to be trained", flags.out.display());
        return Err(Refusal::new("out_is_source", message)
            .hinting("name another folder with --out")
            .into());
    }
    Ok(())
}

/// Trains, with progress, and writes what was learned.
pub(super) fn fit(
    checkpoint: &Checkpoint,
    curriculum: &Curriculum,
    flags: &TuningFlags,
    session: &Session<'_>,
) -> Result<()> {
    let settings_of = |stage| training(stage, flags, curriculum.mean_over, session.settings.seed);
    // A stage that could not begin is not found out behind the ones before it.
    for stage in &curriculum.stages {
        settings_of(stage).check()?;
    }
    prepared(flags)?;
    let tuning = if flags.full {
        Tuning::Full
    } else {
        Tuning::Lora(LoraSettings {
            rank: flags.rank.get(),
            alpha: flags.alpha,
            dropout: flags.dropout,
            targets: flags.targets.clone(),
            tokens: curriculum.tokens.clone(),
        })
    };
    let model = Trainable::new(
        checkpoint,
        tuning,
        session.settings.device,
        session.settings.seed,
    )?;
    for (token, others) in &curriculum.begin {
        model.begin_like(*token, others)?;
    }
    let mut display = Display::new();
    let mut last = None;
    let mut outcome = Outcome::Finished;
    let mut history = History::default();
    let mut last_stage = History::default();
    for (stage, state) in curriculum.stages.iter().zip(STATES) {
        let (ended, told) = ken_train::train(
            &model,
            &Examples::Set(&stage.training),
            &stage.validation,
            &settings_of(stage),
            Some(&flags.out.join(state)),
            &mut |progress| {
                show(&mut display, &progress, &mut last);
                if session.is_stopped() {
                    ControlFlow::Break(())
                } else {
                    ControlFlow::Continue(())
                }
            },
        )?;
        outcome = ended;
        last_stage.clone_from(&told);
        history.then(told);
        write_history(&flags.out, &history)?;
        if outcome == Outcome::Stopped {
            drop(display);
            return Err(stopped(&history, &flags.out, flags.overwrite));
        }
    }
    drop(display);
    let origin = Origin {
        base: model.base().to_owned(),
        purpose: curriculum.purpose.clone(),
        prompt: curriculum.prompt,
        boundary: curriculum.boundary.clone(),
        // What it can do already it is taught in the same form, and can still do.
        sources: curriculum
            .sources
            .clone()
            .or_else(|| checkpoint.sources().cloned()),
        // What was taught before is still known.
        held_out: curriculum
            .held_out
            .into_iter()
            .chain(checkpoint.origin().and_then(|origin| origin.held_out))
            .reduce(f64::min),
    };
    clear(&flags.out)?;
    if flags.full {
        let learned = model.variables().iter();
        let learned = learned.map(|(name, variable)| (name.clone(), variable.as_tensor().clone()));
        let learned = learned.collect();
        checkpoint.write_trained(&flags.out, StoredAs::F32, &learned, Some(&origin))?;
    } else {
        ken_train::write_adapter(
            &model,
            &session.settings.model.to_string(),
            &origin,
            &flags.out,
        )?;
    }
    // The model is on the disk, and only now is it all that there is.
    forget(&flags.out)?;
    let told = [&history, &last_stage];
    report(&model, outcome, told, curriculum, flags, session.json)
}

fn training(stage: &Stage, flags: &TuningFlags, mean_over: MeanOver, seed: u64) -> TrainSettings {
    TrainSettings {
        epochs: stage.epochs,
        batch: flags.batch.get(),
        tokens_per_pass: flags.pass_tokens.get(),
        mean_over,
        schedule: Schedule {
            peak: stage.learning_rate,
            warm_up: flags.warm_up,
            floor: 0.1,
        },
        weight_decay: flags.weight_decay,
        clip: flags.clip,
        validate_every: flags.validate_every.map_or(0, std::num::NonZeroUsize::get),
        patience: flags.patience.map_or(0, std::num::NonZeroUsize::get),
        checkpoint_every: flags.checkpoint_every.get(),
        seed,
    }
}

/// Removes the model or adapter in a folder of which a checkpoint holds all that takes its place:
/// first the files without which it is none, so that what is half removed is not opened; and all of
/// it for good before anything new is there, so that parts of two never stand together.
fn clear(folder: &Path) -> Result<()> {
    for name in [CONFIG, SETTINGS_FILE] {
        remove(&folder.join(name))?;
    }
    sync_dir(folder)?;
    remove_model(folder)?;
    Ok(sync_dir(folder)?)
}

/// Removes what a training in the folder resumes from.
fn forget(folder: &Path) -> Result<()> {
    for state in STATES {
        remove(&folder.join(state))?;
    }
    Ok(sync_dir(folder)?)
}

/// Makes the folder, or refuses one in which something else lies.
fn prepared(flags: &TuningFlags) -> Result<()> {
    let out = &flags.out;
    let state = out.join(CHECKPOINT);
    create_dir_all(out)?;
    if flags.overwrite {
        forget(out)?;
    } else if !state.exists() {
        // A training that was killed while it wrote its first checkpoint leaves part of that.
        let unfinished = format!("{CHECKPOINT}.tmp");
        if names(out)?.iter().any(|name| *name != unfinished) {
            let message = format!("{} is not empty", out.display());
            return Err(Refusal::new("out_not_empty", message)
                .hinting("name another folder, or add --overwrite")
                .into());
        }
    }
    Ok(())
}

/// A training that was stopped, and goes on from its folder. `overwrote` says whether it began anew
/// there, which it would do again.
pub(crate) fn stopped(history: &History, out: &Path, overwrote: bool) -> Failure {
    let message = format!(
        "stopped after {} steps, which are kept in {}",
        history.steps.len(),
        out.display()
    );
    let remedy = match overwrote {
        true => "run the same command again without --overwrite to resume",
        false => "run the same command again to resume",
    };
    Refusal::new("interrupted", message).hinting(remedy).into()
}

/// Draws how far a training is. `last` keeps the last validation's loss.
pub(crate) fn show(display: &mut Display, progress: &Progress<'_>, last: &mut Option<f64>) {
    match progress {
        Progress::Resumed { step } => display.show("going on", Unit::Items, *step as u64, None),
        Progress::References { done, all } => {
            display.show_items("as it was", *done, *all);
        }
        Progress::Step { record, steps } => {
            let speed = record.tokens as f64 / record.seconds.max(1e-9);
            let validation = last.map_or(String::new(), |loss| format!(", validation {loss:.3}"));
            let told = format!("loss {:.3}{validation}, {speed:.0} tokens/s", record.loss);
            display.show_beside("train", &told, record.step as u64, *steps as u64);
        }
        Progress::Validated(record) => *last = Some(record.loss),
    }
}

/// Writes what every step and validation was like into a folder: a line each, and as a page.
pub(crate) fn write_history(folder: &Path, history: &History) -> Result<()> {
    let mut lines = String::new();
    let mut add = |record: &dyn Fn() -> serde_json::Result<String>| -> Result<()> {
        lines.push_str(&record().map_err(Failure::other)?);
        lines.push('\n');
        Ok(())
    };
    for record in &history.steps {
        add(&|| serde_json::to_string(record))?;
    }
    for record in &history.validations {
        add(&|| {
            serde_json::to_string(&json!({"step": record.step, "validation_loss": record.loss}))
        })?;
    }
    put(&folder.join(HISTORY), &lines)?;
    let page = training_to_html(&format!("Training of {}", folder.display()), history);
    put(&folder.join(PAGE), &page)
}

fn put(path: &Path, text: &str) -> Result<()> {
    Ok(replace(path, text.as_bytes())?)
}

/// What is told of a training.
#[derive(Serialize)]
struct Report<'a> {
    out: &'a Path,
    purpose: &'a str,
    outcome: Outcome,
    #[serde(rename = "lessons")]
    curriculum: &'a BTreeMap<ExampleKind, usize>,
    without_evidence: usize,
    examples: usize,
    validation_examples: usize,
    steps: usize,
    learning: usize,
    first_loss: Option<f64>,
    last_loss: Option<f64>,
    first_validation_loss: Option<f64>,
    best_validation_loss: Option<f64>,
    tokens_per_s: f64,
}

fn report(
    model: &Trainable,
    outcome: Outcome,
    [whole, last_stage]: [&History; 2],
    curriculum: &Curriculum,
    flags: &TuningFlags,
    json: bool,
) -> Result<()> {
    // Losses of several stages cannot be compared: those of the last are told.
    let last = curriculum.stages.last();
    let report = Report {
        out: &flags.out,
        purpose: &curriculum.purpose,
        outcome,
        curriculum: &curriculum.kinds,
        without_evidence: curriculum.without_evidence,
        examples: last.map_or(0, |stage| stage.training.len()),
        validation_examples: last.map_or(0, |stage| stage.validation.len()),
        steps: whole.steps.len(),
        learning: model.trainable_parameters(),
        first_loss: last_stage.steps.first().map(|step| step.loss),
        last_loss: last_stage.steps.last().map(|step| step.loss),
        first_validation_loss: last_stage.validations.first().map(|v| v.loss),
        best_validation_loss: last_stage.best().map(|best| best.loss),
        tokens_per_s: whole.tokens_per_second(),
    };
    if json {
        return output::json(&report);
    }
    let loss = |loss: Option<f64>| loss.map_or_else(|| "-".to_owned(), |loss| format!("{loss:.4}"));
    let kinds: Vec<String> = curriculum
        .kinds
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    let examples = if kinds.is_empty() {
        report.examples.to_string()
    } else {
        format!("{}: {}", report.examples, kinds.join(", "))
    };
    let mut rows = vec![("examples", examples)];
    if curriculum.without_evidence > 0 {
        let lost = format!(
            "{} questions, whose evidence was not found again",
            curriculum.without_evidence
        );
        rows.push(("without evidence", lost));
    }
    rows.extend([
        ("steps", report.steps.to_string()),
        ("trainable parameters", report.learning.to_string()),
        (
            "loss",
            format!("{} to {}", loss(report.first_loss), loss(report.last_loss)),
        ),
        (
            "validation loss",
            format!(
                "{} to {}",
                loss(report.first_validation_loss),
                loss(report.best_validation_loss)
            ),
        ),
        ("tokens/s", format!("{:.0}", report.tokens_per_s)),
        ("written to", report.out.display().to_string()),
    ]);
    output::pairs(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_training_that_began_anew_is_gone_on_with_without_beginning_anew() {
        let hint = |overwrote| {
            let error = stopped(&History::default(), Path::new("tuned"), overwrote);
            let refusal = error.find::<Refusal>().unwrap();
            refusal.hint().unwrap().to_owned()
        };
        assert!(hint(true).contains("without --overwrite"));
        assert!(!hint(false).contains("--overwrite"));
    }
}
