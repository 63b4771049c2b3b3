//! `ken train self-route`: a language model learns to choose where its knowledge comes from, to write
//! what it knows, and to answer from either, from labelled sources.

use std::collections::HashSet;

use ken_answer::prompt::{from_memory, verbalize};
use ken_answer::{Datastore, Measurements, Policy, QuestionPrompt, Signal};
use ken_language::Prompt;
use ken_model::decoder::{Checkpoint, Origin, SourceTokens};
use ken_setup::Settings;
use ken_study::training_examples::{Routing, TextExample};
use ken_study::{
    LearnError, ProbeRecord, RoutingExample, RoutingStage, SourceRecord, place_in_split,
    read_results, routing_examples,
};
use ken_train::{MeanOver, Objective};

use super::fit::{Curriculum, Stage, check, fit};
use crate::arguments::{SelfRouteExampleFlags, TrainSelfRouteArguments};
use crate::commands::batches::in_batches;
use crate::failure::{Refusal, Result};
use crate::session::Session;

pub(super) fn run(arguments: &TrainSelfRouteArguments, session: &Session<'_>) -> Result<()> {
    check(&arguments.tuning, session)?;
    let examples = &arguments.examples;
    let (checkpoint, routing, tokens) = taught(examples, session)?;
    let border = examples.held_out + arguments.tuning.validation * (1.0 - examples.held_out);
    let (validation, training): (Vec<_>, Vec<_>) = routing
        .examples
        .into_iter()
        .partition(|example| place_in_split(&example.question) < border);
    let prefers = !examples.no_preference;
    let second = match prefers {
        true => RoutingStage::Prefer {
            beta: examples.beta,
        },
        false => RoutingStage::Imitate,
    };
    let soft = arguments.soft;
    let of = |examples: &[RoutingExample], stage| {
        objectives(&checkpoint, &tokens, examples, stage, soft)
    };
    let tuning = &arguments.tuning;
    let second_learning_rate = examples
        .second_learning_rate
        .unwrap_or(tuning.learning_rate / SECOND_SLOWER);
    let of_stage = |stage, learning_rate, epochs| -> Result<Stage> {
        Ok(Stage {
            training: of(&training, stage)?,
            validation: of(&validation, stage)?,
            learning_rate,
            epochs,
        })
    };
    let mut stages = vec![of_stage(
        RoutingStage::Imitate,
        tuning.learning_rate,
        tuning.epochs,
    )?];
    if examples.second_epochs != 0.0 {
        stages.push(of_stage(
            second,
            second_learning_rate,
            examples.second_epochs,
        )?);
    }
    let taught = Curriculum {
        sources: Some(tokens.clone()),
        held_out: Some(examples.held_out),
        // The losses of a training example are those of its source, its text and its answer, and count alike
        // however long these are (Eq. 4 and 5).
        mean_over: MeanOver::Examples,
        tokens: tokens.all(),
        begin: beginnings(&checkpoint, &tokens)?,
        ..Curriculum::new("self-route", checkpoint.prompt_form(), stages)
    };
    fit(&checkpoint, &taught, tuning, session)
}

/// The model, the training examples of the questions that are not held out, and the tokens that mark sources.
fn taught(
    flags: &SelfRouteExampleFlags,
    session: &Session<'_>,
) -> Result<(Checkpoint, Routing, SourceTokens)> {
    let mut records: Vec<SourceRecord> = read_results(&flags.labels)?;
    records.retain(|record| place_in_split(&record.question) >= flags.held_out);
    let checkpoint = session.setup().checkpoint()?;
    let routing = routing_examples(&records, flags.rule, checkpoint.fingerprint())?;
    let corpora: Vec<&str> = routing.corpora.iter().map(String::as_str).collect();
    let tokens = checkpoint.source_tokens(&corpora)?;
    Ok((checkpoint, routing, tokens))
}

/// The training examples of the first stage as text, or the preferences of the second.
pub(crate) fn texts(
    flags: &SelfRouteExampleFlags,
    preferences: bool,
    session: &Session<'_>,
) -> Result<Vec<TextExample>> {
    let (checkpoint, routing, tokens) = taught(flags, session)?;
    let stage = match preferences {
        true => RoutingStage::Prefer { beta: flags.beta },
        false => RoutingStage::Imitate,
    };
    let mut texts = Vec::new();
    for example in &routing.examples {
        let of_stage = example.texts(&checkpoint, &tokens, stage).ok_or_else(|| {
            let message = "the vocabulary of the model has no names for the marks of sources";
            Refusal::new("nameless_tokens", message).hinting(
                "train it with `ken train self-route`, or take a model with reserved tokens",
            )
        })?;
        texts.extend(of_stage);
    }
    texts.retain(|text| matches!(text, TextExample::Prefer { .. }) == preferences);
    Ok(texts)
}

/// What the model of the settings makes of each recorded question: `[records]`; `None` of those that it
/// was taught, and of entries of the datastore, which would vote for themselves.
pub(crate) fn scores(records: &[ProbeRecord], session: &Session<'_>) -> Result<Vec<Option<f64>>> {
    let policy = Policy::measured(Signal::SELF_ROUTE);
    let pipeline = session.setup().pipeline_for(false, &[policy])?;
    let received = pipeline.model().fingerprint();
    if let Some(record) = records
        .iter()
        .find(|record| !ken_storage::same_fingerprint(&record.fingerprint.model, received))
    {
        return Err(LearnError::OtherModel {
            expected: record.fingerprint.model.clone(),
            received: received.to_owned(),
        }
        .into());
    }
    let held_out = held_out(session)?;
    let entries = entries(session.settings)?;
    let unknown: Vec<usize> = (0..records.len())
        .filter(|&at| {
            let question = &records[at].question;
            place_in_split(question) < held_out && !entries.contains(&words(question))
        })
        .collect();
    let needs = in_batches(&unknown, BATCH, "chosen", session.stop, |batch| {
        let questions = batch.iter().map(|&at| records[at].question.trim());
        let questions: Vec<&str> = questions.collect();
        let nothing = vec![Measurements::default(); batch.len()];
        let measured = pipeline.measure(&[Signal::SELF_ROUTE], &questions, nothing, None)?;
        let scores = measured.iter().map(|one| Signal::SELF_ROUTE.of(one));
        Ok(scores.collect())
    })?;
    let mut scores = vec![None; records.len()];
    for (at, need) in unknown.into_iter().zip(needs) {
        scores[at] = need;
    }
    Ok(scores)
}

/// The share of questions of which the model of the settings was not taught the source.
fn held_out(session: &Session<'_>) -> Result<f64> {
    let folder = match &session.settings.adapter {
        Some(adapter) => adapter.clone(),
        None => session.setup().fetched(&session.settings.model)?,
    };
    let held_out = Origin::read(&folder)?.and_then(|origin| origin.held_out);
    held_out.ok_or_else(|| {
        let message = format!(
            "{} does not say which questions it was taught the source of",
            folder.display()
        );
        Refusal::new("unknown_split", message)
            .hinting("train it again with `ken train self-route`, or write the share that was left out into its ken.json: \"held_out\": 0.3")
            .into()
    })
}

/// The questions of the datastore, where there is one.
fn entries(settings: &Settings) -> Result<HashSet<String>> {
    let Some(folder) = &settings.datastore else {
        return Ok(HashSet::new());
    };
    let datastore = Datastore::open(folder)?;
    let entries = datastore.entries().iter();
    Ok(entries.map(|entry| words(&entry.question)).collect())
}

/// What tells a question from others, whatever its case.
fn words(question: &str) -> String {
    question.trim().to_lowercase()
}

/// Questions between two looks at whether to stop.
const BATCH: usize = 32;

/// By what the learning rate of the second stage is smaller (SR-RAG, section 4.1).
const SECOND_SLOWER: f64 = 20.0;

/// What the tokens begin as: the end of the question as what asks for an answer, the model itself as
/// what asks for what it knows, a corpus as the number of a passage, the end of the knowledge as the
/// end of a line.
fn beginnings(checkpoint: &Checkpoint, tokens: &SourceTokens) -> Result<Vec<(u32, Vec<u32>)>> {
    let question_prompt = QuestionPrompt::open("");
    let last_line = |prompt: Prompt| prompt.input.lines().last().unwrap_or_default().to_owned();
    let read = |text: &str| -> Result<Vec<u32>> { Ok(checkpoint.continued("", text)?.1) };
    let mut beginnings = vec![
        (
            tokens.end_of_question,
            read(&last_line(from_memory(question_prompt)))?,
        ),
        (
            tokens.own,
            read(&last_line(verbalize(question_prompt, None)))?,
        ),
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
    examples: &[RoutingExample],
    stage: RoutingStage,
    soft: bool,
) -> Result<Vec<Objective>> {
    let mut objectives = Vec::new();
    for example in examples {
        objectives.extend(example.objectives(checkpoint, tokens, stage, soft)?);
    }
    Ok(objectives)
}
