//! `ken train noise-tolerant`: a language model learns to answer right whatever stands in its prompt.

use std::collections::HashSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use ken_study::{
    Lesson, NoiseTolerant, ProbeRecord, Question, noise_tolerant, place_in_split, read_results,
};

use super::fit::{Lessons, counted, fit, objectives, opened};
use crate::arguments::{NoiseTolerantFlags, TrainNoiseTolerantArguments};
use crate::commands::open;
use crate::config::Settings;
use crate::progress::{Display, Unit};

pub(super) fn run(
    arguments: &TrainNoiseTolerantArguments,
    settings: &Settings,
    json: bool,
    stop: &AtomicBool,
) -> Result<()> {
    let checkpoint = opened(settings, stop)?;
    let share = arguments.tuning.validation;
    let (training, validation) = taught(&arguments.lessons, share, settings, stop)?;
    let form = arguments.lessons.lesson.prompt;
    let lessons = Lessons {
        kinds: counted(&training),
        purpose: "noise-tolerant".to_owned(),
        prompt: form,
        boundary: None,
        sources: None,
        second: None,
        begin: Vec::new(),
        tokens: Vec::new(),
        training: objectives(&checkpoint, form, &training)?,
        validation: objectives(&checkpoint, form, &validation)?,
    };
    fit(
        &checkpoint,
        &lessons,
        &arguments.tuning,
        settings,
        json,
        stop,
    )
}

/// The ids of the questions that were answered right from memory at least half of the time.
fn known(records: &Path) -> Result<HashSet<String>> {
    /// As for the known rate.
    const SHARE: f64 = 0.5;
    let records: Vec<ProbeRecord> = read_results(records)?;
    let known = |record: &ProbeRecord| record.confidence.from_self.is_some_and(|c| c >= SHARE);
    Ok(records
        .into_iter()
        .filter(known)
        .map(|record| record.id)
        .collect())
}

/// The lessons of the questions that are not held out, and those of the share that validates.
pub(crate) fn taught(
    flags: &NoiseTolerantFlags,
    validation: f64,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<(Vec<Lesson>, Vec<Lesson>)> {
    let mut questions = ken_study::read_questions(&flags.questions)?;
    if let Some(limit) = flags.limit {
        questions = ken_study::sample(questions, limit.get(), settings.seed);
    }
    let held_out = flags.held_out;
    questions.retain(|question| place_in_split(&question.question) >= held_out);
    let border = held_out + validation * (1.0 - held_out);
    let (validation, training): (Vec<Question>, Vec<Question>) = questions
        .into_iter()
        .partition(|question| place_in_split(&question.question) < border);
    let retriever = open::retriever(settings, stop)?;
    let making = NoiseTolerant {
        mode: settings.mode,
        k: flags.k.get(),
        depth: flags.depth.get(),
        random: flags.random,
        known: flags.records.as_deref().map(known).transpose()?,
        seed: settings.seed,
    };
    let mut display = Display::new();
    let total = (training.len() + validation.len()) as u64;
    let mut lessons = |questions: &[Question], before: usize| {
        noise_tolerant(questions, &retriever, &making, &mut |done| {
            let done = (before + done) as u64;
            display.show("passages found", Unit::Items, done, Some(total));
        })
    };
    let (training, validation) = (
        lessons(&training, 0)?,
        lessons(&validation, training.len())?,
    );
    Ok((training, validation))
}
