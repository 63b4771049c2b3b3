//! Tuning a model to choose its source of knowledge, to write what it knows, and to answer from either (SR-RAG,
//! section 3.3).

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::prompt::{choose_source, from_memory, verbalize};
use ken_answer::{AnswerError, QuestionPrompt};
use ken_eval::split::Split;
use ken_language::{LanguageModel, Prompt};
use ken_model::decoder::{Checkpoint, DecoderError, Origin, SourceTokens};
use ken_policy::{Goal, Observation, Policy, Signal, calibrate, digest_of};
use ken_train::{MeanOver, Objective};

use super::curriculum::{Curriculum, Stage};
use super::error::TuneError;
use super::fine_tune::FineTuning;
use crate::examples::{
    Routing, RoutingExample, RoutingExampleOptions, RoutingStage, TextExample, routing_examples,
};
use crate::label::SourceRecord;

/// The factor by which the learning rate of the second stage is smaller (SR-RAG, section 4.1).
const SECOND_SLOWER: f64 = 20.0;

/// Examples of sources.
pub struct TaughtRouting {
    routing: Routing,
    tokens: SourceTokens,
}

/// The settings of the second stage.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SecondStage {
    /// What it trains.
    pub kind: RoutingStage,
    /// The peak learning rate; by default a twentieth of the first stage's.
    pub learning_rate: Option<f64>,
    /// Passes over the training examples; 0 skips the stage.
    pub epochs: f64,
}

/// The training examples of the labeled questions that are not held out, and the tokens that mark sources.
///
/// # Errors
/// As of [`routing_examples`]; a model without spare tokens.
pub fn taught_routing(
    mut records: Vec<SourceRecord>,
    making: RoutingExampleOptions,
    held_out: f64,
    checkpoint: &Checkpoint,
) -> Result<TaughtRouting, TuneError> {
    let split = Split {
        held_out,
        validation: 0.0,
    };
    records.retain(|record| split.keeps(record));
    let routing = routing_examples(&records, making, checkpoint.fingerprint())?;
    let corpora: Vec<&str> = routing.corpora.iter().map(String::as_str).collect();
    let tokens = SourceTokens {
        verbalizes: making.verbalizes,
        ..checkpoint.source_tokens(&corpora)?
    };
    Ok(TaughtRouting { routing, tokens })
}

/// The curriculum for these examples, with one or two stages.
///
/// # Errors
/// A text that the model's tokenizer cannot read.
pub fn self_route_curriculum(
    checkpoint: &Checkpoint,
    taught: TaughtRouting,
    split: Split,
    soft: bool,
    second: SecondStage,
    tuning: &FineTuning<'_>,
) -> Result<Curriculum, TuneError> {
    let TaughtRouting { routing, tokens } = taught;
    let questions = routing.examples.iter();
    let learned_from = questions.map(|q| digest_of(&q.question)).collect();
    let (validation, training): (Vec<_>, Vec<_>) = routing
        .examples
        .into_iter()
        .partition(|example| split.validates(example));
    let objectives = |examples: &[RoutingExample], stage| -> Result<Vec<Objective>, TuneError> {
        let mut objectives = Vec::new();
        for example in examples {
            objectives.extend(example.objectives(checkpoint, &tokens, stage, soft)?);
        }
        Ok(objectives)
    };
    let stage = |kind| -> Result<Stage, TuneError> {
        Ok(tuning.stage(objectives(&training, kind)?, objectives(&validation, kind)?))
    };
    let mut stages = vec![stage(RoutingStage::Imitate)?];
    if second.epochs != 0.0 {
        let slower = tuning.train.schedule.peak / SECOND_SLOWER;
        stages.push(Stage {
            learning_rate: second.learning_rate.unwrap_or(slower),
            epochs: second.epochs,
            ..stage(second.kind)?
        });
    }
    Ok(Curriculum {
        held_out: Some(split.held_out),
        learned_from,
        // The losses of source, text and answer count equally, however long they are (Eq. 4 and 5).
        mean_over: MeanOver::Examples,
        tokens: tokens.all(),
        begin: beginnings(checkpoint, &tokens)?,
        sources: Some(tokens),
        ..Curriculum::new("self-route", checkpoint.prompt_form(), stages)
    })
}

/// Questions for which a model chooses the source in one batch.
const BATCH: usize = 64;

impl TaughtRouting {
    /// The validation examples.
    pub fn validating(&self, split: Split) -> Vec<RoutingExample> {
        let all = self.routing.examples.iter();
        all.filter(|e| split.validates(*e)).cloned().collect()
    }
}

/// The threshold of the policy `self-route` at which the examples would be answered best; of equals, the one that
/// answers from memory most often. It depends on what the trained model chooses for each example, and on how likely
/// the labels say the golden answer is from each source. 0, above which is every choice that gives a corpus a chance,
/// if every example is best answered from a corpus; `None` without examples.
///
/// # Errors
/// A model that was not trained to choose, a prompt that does not fit, and [`AnswerError::Interrupted`] if `stop` is
/// set.
pub fn best_threshold(
    model: &dyn LanguageModel,
    examples: &[RoutingExample],
    stop: &AtomicBool,
) -> Result<Option<f64>, AnswerError> {
    let chooser = model.source_chooser()?;
    let mut observations = Vec::new();
    for batch in examples.chunks(BATCH) {
        if stop.load(Ordering::Relaxed) {
            return Err(AnswerError::Interrupted);
        }
        let prompts: Vec<Prompt> = batch.iter().map(asked).collect();
        let choices = chooser.choose_sources(&prompts.iter().collect::<Vec<_>>(), 0)?;
        for (example, choice) in batch.iter().zip(choices) {
            let own = choice.probabilities.first().copied().unwrap_or_default();
            observations.extend(
                example
                    .likelihoods
                    .map(|[without, with]| Observation::of(1.0 - own, without, with)),
            );
        }
    }
    let policy = Policy::above(Signal::SELF_ROUTE, None);
    let best = calibrate(&policy, None, 0, &observations, Goal::BestAccuracy);
    let threshold = best.policy.threshold();
    Ok(threshold.or((!observations.is_empty()).then_some(0.0)))
}

fn asked(example: &RoutingExample) -> Prompt {
    choose_source(QuestionPrompt::new(&example.question, &example.choices))
}

/// Records the threshold of the policy `self-route` in the folder of a trained model.
///
/// # Errors
/// A folder that cannot be read or written.
pub fn record_threshold(folder: &Path, threshold: f64) -> Result<(), DecoderError> {
    let Some(mut origin) = Origin::read(folder)? else {
        return Ok(());
    };
    if let Some(sources) = &mut origin.sources {
        sources.threshold = Some(threshold);
    }
    origin.write(folder)
}

/// The training examples of the first stage as text, or the preferences of the second.
///
/// # Errors
/// [`TuneError::NamelessTokens`].
pub fn routing_texts(
    checkpoint: &Checkpoint,
    taught: &TaughtRouting,
    stage: RoutingStage,
) -> Result<Vec<TextExample>, TuneError> {
    let mut texts = Vec::new();
    for example in &taught.routing.examples {
        let of_stage = example.texts(checkpoint, &taught.tokens, stage);
        texts.extend(of_stage.ok_or(TuneError::NamelessTokens)?);
    }
    let prefers = stage != RoutingStage::Imitate;
    texts.retain(|text| matches!(text, TextExample::Prefer { .. }) == prefers);
    Ok(texts)
}

/// Existing tokens from whose embeddings the new tokens start: for the end of the question, the text that asks for an
/// answer; for the model itself, the text that asks for what it knows; for a corpus, the number of a passage; for the
/// end of the knowledge, a line end.
fn beginnings(
    checkpoint: &Checkpoint,
    tokens: &SourceTokens,
) -> Result<Vec<(u32, Vec<u32>)>, TuneError> {
    let question = QuestionPrompt::open("");
    let last_line = |prompt: Prompt| prompt.input.lines().last().unwrap_or_default().to_owned();
    let read =
        |text: &str| -> Result<Vec<u32>, TuneError> { Ok(checkpoint.continued("", text)?.1) };
    let asks = read(&last_line(from_memory(question)))?;
    let asks_to_write = read(&last_line(verbalize(question, None)))?;
    let mut beginnings = vec![
        (tokens.end_of_question, asks),
        (tokens.own, asks_to_write),
        (tokens.end_of_knowledge, read("\n")?),
    ];
    for corpus in &tokens.corpora {
        beginnings.push((corpus.token, read("[1]")?));
    }
    Ok(beginnings)
}
