//! `ken train self-route`: a language model learns to choose where its knowledge comes from, to write
//! what it knows, and to answer from either, from labelled sources.

use std::sync::atomic::AtomicBool;

use anyhow::Result;
use ken_answer::prompt::{from_memory, verbalize};
use ken_answer::{Posed, Taken};
use ken_model::decoder::{Checkpoint, SourceTokens};
use ken_model::language::Prompt;
use ken_route::{Measure, Policy};
use ken_study::lessons::{Routing, TextLesson};
use ken_study::{
    LearnError, ProbeRecord, RoutingLesson, RoutingStage, SourceRecord, place_in_split,
    read_results, routing_lessons,
};
use ken_train::Objective;

use super::fit::{Lessons, Stage, fit, opened};
use crate::arguments::{SelfRouteLessonFlags, TrainSelfRouteArguments};
use crate::commands::batches::in_batches;
use crate::commands::open;
use crate::config::Settings;
use crate::failure::Refusal;

pub(super) fn run(
    arguments: &TrainSelfRouteArguments,
    settings: &Settings,
    json: bool,
    stop: &AtomicBool,
) -> Result<()> {
    let lessons = &arguments.lessons;
    let (checkpoint, routing, tokens) = taught(lessons, settings, stop)?;
    let border = lessons.held_out + arguments.tuning.validation * (1.0 - lessons.held_out);
    let (validation, training): (Vec<_>, Vec<_>) = routing
        .lessons
        .into_iter()
        .partition(|lesson| place_in_split(&lesson.question) < border);
    let prefers = !lessons.no_preference;
    let second = match prefers {
        true => RoutingStage::Prefer { beta: lessons.beta },
        false => RoutingStage::Imitate,
    };
    let soft = arguments.soft;
    let of_stage =
        |lessons: &[RoutingLesson], stage| objectives(&checkpoint, &tokens, lessons, stage, soft);
    let tuning = &arguments.tuning;
    let stage = Stage {
        training: of_stage(&training, second)?,
        validation: of_stage(&validation, second)?,
        learning_rate: lessons
            .second_learning_rate
            .unwrap_or(tuning.learning_rate / SECOND_SLOWER),
        epochs: lessons.second_epochs,
    };
    let taught = Lessons {
        kinds: std::collections::BTreeMap::new(),
        purpose: "self-route".to_owned(),
        prompt: checkpoint.prompt_form(),
        boundary: None,
        sources: Some(tokens.clone()),
        tokens: tokens.all(),
        begin: beginnings(&checkpoint, &tokens)?,
        training: of_stage(&training, RoutingStage::Imitate)?,
        validation: of_stage(&validation, RoutingStage::Imitate)?,
        second: (lessons.second_epochs > 0.0).then_some(stage),
    };
    fit(&checkpoint, &taught, tuning, settings, json, stop)
}

/// The model, the lessons of the questions that are not held out, and the tokens that mark sources.
fn taught(
    flags: &SelfRouteLessonFlags,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<(Checkpoint, Routing, SourceTokens)> {
    let mut records: Vec<SourceRecord> = read_results(&flags.labels)?;
    records.retain(|record| place_in_split(&record.question) >= flags.held_out);
    let checkpoint = opened(settings, stop)?;
    let routing = routing_lessons(&records, flags.rule, checkpoint.fingerprint())?;
    let corpora: Vec<&str> = routing.corpora.iter().map(String::as_str).collect();
    let tokens = checkpoint.source_tokens(&corpora)?;
    Ok((checkpoint, routing, tokens))
}

/// The lessons of the first stage as text, or the preferences of the second.
pub(crate) fn texts(
    flags: &SelfRouteLessonFlags,
    preferences: bool,
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Vec<TextLesson>> {
    let (checkpoint, routing, tokens) = taught(flags, settings, stop)?;
    let stage = match preferences {
        true => RoutingStage::Prefer { beta: flags.beta },
        false => RoutingStage::Imitate,
    };
    let mut texts = Vec::new();
    for lesson in &routing.lessons {
        let of_stage = lesson.texts(&checkpoint, &tokens, stage).ok_or_else(|| {
            let message = "the vocabulary of the model has no names for the marks of sources";
            Refusal::new("nameless_tokens", message)
                .hinting("train it by `ken train self-route`, or take a model with reserved tokens")
        })?;
        texts.extend(of_stage);
    }
    texts.retain(|text| matches!(text, TextLesson::Prefer { .. }) == preferences);
    Ok(texts)
}

/// What the model of the settings makes of each recorded question: `[records]`.
pub(crate) fn scores(
    records: &[ProbeRecord],
    settings: &Settings,
    stop: &AtomicBool,
) -> Result<Vec<Option<f64>>> {
    let policy = Policy::measured(Measure::SelfRoute);
    let pipeline = open::routed_pipeline(false, &[policy], settings, stop)?;
    let received = pipeline.model().fingerprint();
    if let Some(record) = records
        .iter()
        .find(|record| record.fingerprint.model != received)
    {
        return Err(LearnError::OtherModel {
            expected: record.fingerprint.model.clone(),
            received: received.to_owned(),
        }
        .into());
    }
    in_batches(records, BATCH, "chosen", stop, |batch| {
        let questions: Vec<&str> = batch.iter().map(|record| record.question.trim()).collect();
        let nothing = vec![Taken::default(); batch.len()];
        let taken = pipeline.take(&[Measure::SelfRoute], &questions, nothing, None)?;
        let needs = taken.iter().map(|taken| taken.need(Measure::SelfRoute));
        Ok(needs.collect())
    })
}

/// Questions between two looks at whether to stop.
const BATCH: usize = 32;

/// By what the learning rate of the second stage is smaller (SR-RAG, section 4.1).
const SECOND_SLOWER: f64 = 20.0;

/// What the tokens begin as: the end of the question as what asks for an answer, the model itself as
/// what asks for what it knows, a corpus as the number of a passage, the end of the knowledge as the
/// end of a line.
fn beginnings(checkpoint: &Checkpoint, tokens: &SourceTokens) -> Result<Vec<(u32, Vec<u32>)>> {
    let posed = Posed::open("");
    let last_line = |prompt: Prompt| prompt.input.lines().last().unwrap_or_default().to_owned();
    let read = |text: &str| -> Result<Vec<u32>> { Ok(checkpoint.continued("", text)?.1) };
    let mut beginnings = vec![
        (
            tokens.end_of_question,
            read(&last_line(from_memory(posed)))?,
        ),
        (tokens.own, read(&last_line(verbalize(posed, None)))?),
        (tokens.end_of_knowledge, read("\n")?),
    ];
    for corpus in &tokens.corpora {
        beginnings.push((corpus.token, read("[1]")?));
    }
    Ok(beginnings)
}

fn objectives(
    checkpoint: &Checkpoint,
    tokens: &SourceTokens,
    lessons: &[RoutingLesson],
    stage: RoutingStage,
    soft: bool,
) -> Result<Vec<Objective>> {
    let mut objectives = Vec::new();
    for lesson in lessons {
        objectives.extend(lesson.objectives(checkpoint, tokens, stage, soft)?);
    }
    Ok(objectives)
}
