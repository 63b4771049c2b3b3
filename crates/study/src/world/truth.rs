//! What a model knows of a world, exactly: the probability of each answer by teacher forcing, from
//! memory, after the passages that give it, and after a passage about somebody else. An answer drawn
//! at temperature 1 is right with just this probability.

use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::QuestionPrompt;
use ken_language::{LanguageModel, Prompt, Score, ScoreRequest};
use ken_probe::seed_of;
use serde::Serialize;

use super::error::WorldError;
use super::invent::World;
use super::posed::{Passage, answered, prompt_of};
use super::questions::{QuestionTruth, WorldQuestion};
use super::subject::{Group, Subject};
use super::tell::document_text;
use crate::random::below;

/// Questions that are scored at once.
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
    /// After the documents that give it, where there are any.
    pub evidence: Option<f64>,
    /// After the document of another subject of the same kind.
    pub stranger: f64,
    /// Of the answer as training told it, from memory, where that is another.
    pub former: Option<f64>,
}

/// The prompts of a question, and the continuation that each is scored for.
struct Scored {
    prompts: Vec<(Prompt, String)>,
    has_evidence: bool,
    has_former: bool,
}

/// Measures what a model knows of questions of a world. `progress` is given how many are done; `cancel`
/// is looked at before each batch.
///
/// # Shapes
/// Returns `[questions]`, in their order; fewer where it was cancelled.
///
/// # Errors
/// A model that cannot score or that fails.
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
    let told: Vec<&Subject> = world.subjects.iter().collect();
    let told: Vec<&Subject> = told
        .into_iter()
        .filter(|subject| subject.group != Group::Nowhere)
        .collect();
    let mut records = Vec::with_capacity(questions.len());
    for questions in questions.chunks(BATCH) {
        if cancel.load(Ordering::Relaxed) {
            break;
        }
        let scored: Vec<Scored> = questions
            .iter()
            .map(|question| scored(world, &told, question))
            .collect();
        let continuations: Vec<[&str; 1]> = scored
            .iter()
            .flat_map(|scored| scored.prompts.iter().map(|(_, answer)| [answer.as_str()]))
            .collect();
        let prompts = scored.iter().flat_map(|scored| &scored.prompts);
        let requests: Vec<ScoreRequest<'_, Prompt>> = prompts
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
        for (question, scored) in questions.iter().zip(&scored) {
            let mut next = || probabilities.next().unwrap_or_default();
            records.push(TruthRecord {
                id: question.id.clone(),
                question: question.question.clone(),
                answer: question.golden_answers[0].clone(),
                probability: Probabilities {
                    from_self: next(),
                    stranger: next(),
                    evidence: scored.has_evidence.then(&mut next),
                    former: scored.has_former.then(&mut next),
                },
                metadata: question.metadata.clone(),
            });
        }
        progress(records.len());
    }
    Ok(records)
}

/// In the order in which the probabilities are taken: from memory, with a stranger's passage, with
/// evidence, the former answer.
fn scored(world: &World, told: &[&Subject], question: &WorldQuestion) -> Scored {
    let truth = &question.metadata;
    let question_prompt = QuestionPrompt {
        question: &question.question,
        choices: &question.choices,
    };
    let answer = match truth.letter {
        Some(letter) => answered(&letter.to_string()),
        None => answered(&question.golden_answers[0]),
    };
    let passage = |subject: &Subject| Passage {
        title: subject.name.clone(),
        text: document_text(subject, world.settings.seed),
    };
    let stranger: Vec<Passage> = stranger(world, told, question)
        .map(passage)
        .into_iter()
        .collect();
    let from_memory = prompt_of(question_prompt, &[]);
    let mut prompts = vec![
        (from_memory.clone(), answer.clone()),
        (prompt_of(question_prompt, &stranger), answer.clone()),
    ];
    let documents = truth.documents.iter().filter_map(|id| {
        let subject = told.iter().find(|subject| subject.id == *id)?;
        Some(passage(subject))
    });
    let documents: Vec<Passage> = documents.collect();
    let has_evidence = !documents.is_empty();
    if has_evidence {
        prompts.push((prompt_of(question_prompt, &documents), answer));
    }
    if let Some(former) = &truth.former {
        prompts.push((from_memory, answered(former)));
    }
    Scored {
        prompts,
        has_evidence,
        has_former: truth.former.is_some(),
    }
}

/// Somebody of the same kind whose document does not give the answer, drawn by the question.
fn stranger<'w>(
    world: &World,
    told: &[&'w Subject],
    question: &WorldQuestion,
) -> Option<&'w Subject> {
    let truth = &question.metadata;
    let answer = &question.golden_answers[0];
    let others: Vec<&&Subject> = told
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
