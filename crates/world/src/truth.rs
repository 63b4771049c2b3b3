//! What a model knows of a world, exactly: the probability of each answer by teacher forcing, from
//! memory, with the documents that give it, and with the document of another subject. An answer
//! sampled at temperature 1 is right with exactly this probability.

use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::QuestionPrompt;
use ken_language::{LanguageModel, Prompt, Score, ScoreRequest};
use ken_probe::seed_of;
use ken_random::below;
use serde::Serialize;

use crate::biography::document_text;
use crate::error::WorldError;
use crate::prompts::{Passage, completion, prompt_of};
use crate::questions::{QuestionTruth, WorldQuestion};
use crate::subject::{Group, Subject};
use crate::world::World;

/// Questions that are scored together.
const BATCH: usize = 64;

/// What a model knows of one question.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct TruthRecord {
    /// The question's id.
    pub id: String,
    /// The question.
    pub question: String,
    /// The answer.
    pub answer: String,
    /// Probabilities in `[0, 1]` of the answer.
    pub probability: Probabilities,
    /// The truth about the question.
    pub metadata: QuestionTruth,
}

/// Probabilities in `[0, 1]` of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Probabilities {
    /// From memory.
    #[serde(rename = "self")]
    pub from_self: f64,
    /// With the documents that give it, where there are any.
    pub evidence: Option<f64>,
    /// With the document of another subject of the same kind.
    pub stranger: f64,
    /// Of the answer in training, from memory, where that is another.
    pub former: Option<f64>,
}

/// Measures what a model knows of questions of a world. `progress` gets the number of questions done;
/// `cancel` is checked before each batch.
///
/// # Shapes
/// Returns `[questions]`, in their order; fewer if canceled.
///
/// # Errors
/// A model that cannot score, or fails.
pub fn measure_truth(
    model: &dyn LanguageModel,
    world: &World,
    questions: &[WorldQuestion],
    progress: &mut dyn FnMut(usize),
    cancel: &AtomicBool,
) -> Result<Vec<TruthRecord>, WorldError> {
    if !model.capabilities().score {
        return Err(WorldError::CannotScore);
    }
    let in_corpus = world.subjects.iter();
    let in_corpus: Vec<&Subject> = in_corpus
        .filter(|subject| subject.group != Group::Nowhere)
        .collect();
    let mut records = Vec::with_capacity(questions.len());
    for questions in questions.chunks(BATCH) {
        if cancel.load(Ordering::Relaxed) {
            break;
        }
        let scored = |question| scored(world, &in_corpus, question);
        let scored: Vec<(Prompt, String)> = questions.iter().flat_map(scored).collect();
        let continuations = scored.iter().map(|(_, answer)| [answer.as_str()]);
        let continuations: Vec<[&str; 1]> = continuations.collect();
        let requests: Vec<ScoreRequest<'_, Prompt>> = scored
            .iter()
            .zip(&continuations)
            .map(|((prompt, _), continuations)| ScoreRequest {
                prompt,
                continuations,
            })
            .collect();
        let scores = model.score(&requests)?;
        let mut probabilities = scores.iter().map(|scores| {
            scores
                .first()
                .map_or(0.0, |score: &Score| score.sum().exp())
        });
        for question in questions {
            let truth = &question.metadata;
            let mut next = || probabilities.next().unwrap_or_default();
            records.push(TruthRecord {
                id: question.id.clone(),
                question: question.question.clone(),
                answer: question.golden_answers[0].clone(),
                probability: Probabilities {
                    from_self: next(),
                    stranger: next(),
                    evidence: (!truth.documents.is_empty()).then(&mut next),
                    former: truth.former.as_ref().map(|_| next()),
                },
                metadata: truth.clone(),
            });
        }
        progress(records.len());
    }
    Ok(records)
}

/// The prompts of a question, each with the completion that is scored: from memory, with a stranger's
/// document, with the documents that give the answer, and of the former answer, where there are any.
fn scored(
    world: &World,
    in_corpus: &[&Subject],
    question: &WorldQuestion,
) -> Vec<(Prompt, String)> {
    let truth = &question.metadata;
    let question_prompt = QuestionPrompt {
        question: &question.question,
        choices: &question.choices,
    };
    let answer = match truth.letter {
        Some(letter) => completion(&letter.to_string()),
        None => completion(&question.golden_answers[0]),
    };
    let passage = |subject: &Subject| Passage {
        title: subject.name.clone(),
        text: document_text(subject, world.settings.seed),
    };
    let stranger: Vec<Passage> = stranger(world, in_corpus, question)
        .map(passage)
        .into_iter()
        .collect();
    let from_memory = prompt_of(question_prompt, &[]);
    let mut prompts = vec![
        (from_memory.clone(), answer.clone()),
        (prompt_of(question_prompt, &stranger), answer.clone()),
    ];
    let documents = truth.documents.iter().filter_map(|id| {
        let subject = in_corpus.iter().find(|subject| subject.id == *id)?;
        Some(passage(subject))
    });
    let documents: Vec<Passage> = documents.collect();
    if !documents.is_empty() {
        prompts.push((prompt_of(question_prompt, &documents), answer));
    }
    if let Some(former) = &truth.former {
        prompts.push((from_memory, completion(former)));
    }
    prompts
}

/// Another subject of the same kind whose document does not give the answer, drawn by the question.
fn stranger<'w>(
    world: &World,
    in_corpus: &[&'w Subject],
    question: &WorldQuestion,
) -> Option<&'w Subject> {
    let truth = &question.metadata;
    let answer = &question.golden_answers[0];
    let others: Vec<&&Subject> = in_corpus
        .iter()
        .filter(|other| other.kind == truth.about)
        .collect();
    let first = below(
        &mut seed_of(world.settings.seed, &question.id),
        others.len(),
    );
    let in_turn = others.iter().cycle().skip(first).take(others.len());
    let mut in_turn = in_turn.filter(|other| {
        let gives = other.facts.iter().any(|fact| fact.value == *answer);
        other.id != truth.subject && !truth.documents.contains(&other.id) && !gives
    });
    in_turn.next().map(|other| **other)
}
