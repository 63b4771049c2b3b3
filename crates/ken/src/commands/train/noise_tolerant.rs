//! `ken train noise-tolerant`: a language model learns to answer right whatever stands in its prompt.

use std::collections::BTreeMap;
use std::sync::atomic::AtomicBool;

use anyhow::Result;
use ken_study::{Lesson, NoiseTolerant, Question, noise_tolerant, place_in_split};

use super::fit::{Lessons, fit, objectives, opened};
use crate::arguments::TrainNoiseTolerantArguments;
use crate::commands::open;
use crate::config::Settings;
use crate::output;
use crate::progress::{Display, Unit};

pub(crate) fn run(
    arguments: &TrainNoiseTolerantArguments,
    settings: &Settings,
    json: bool,
    stop: &AtomicBool,
) -> Result<()> {
    let mut questions = ken_study::read_questions(&arguments.questions)?;
    if let Some(limit) = arguments.limit {
        questions = ken_study::sample(questions, limit.get(), settings.seed);
    }
    let held_out = arguments.held_out;
    questions.retain(|question| place_in_split(&question.question) >= held_out);
    let border = held_out + arguments.tuning.validation * (1.0 - held_out);
    let (validation, training): (Vec<Question>, Vec<Question>) = questions
        .into_iter()
        .partition(|question| place_in_split(&question.question) < border);
    let checkpoint = opened(settings, stop)?;
    let retriever = open::retriever(settings, stop)?;
    let making = NoiseTolerant {
        mode: settings.mode,
        k: arguments.k.get(),
        depth: arguments.depth.get(),
        random: arguments.random,
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
    drop(display);
    tell(&training);
    let form = arguments.prompt.prompt;
    let lessons = Lessons {
        purpose: "noise-tolerant".to_owned(),
        prompt: form,
        boundary: None,
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

/// How many lessons of each kind there are.
pub(super) fn tell(lessons: &[Lesson]) {
    let mut kinds = BTreeMap::new();
    for lesson in lessons {
        *kinds.entry(lesson.kind).or_insert(0usize) += 1;
    }
    let kinds: Vec<String> = kinds
        .iter()
        .map(|(kind, count)| format!("{count} {kind}"))
        .collect();
    output::remark(format!("lessons: {}", kinds.join(", ")));
}
