//! What a model knows of a world, exactly: the probability of each answer by teacher forcing, from memory, with the
//! documents that give it or mislead, and with the document of another subject. An answer sampled at temperature 1 is
//! right with exactly this probability.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_answer::{QuestionPrompt, Retrieved};
use ken_language::{LanguageModel, Prompt, Score, ScoreRequest};
use ken_probe::seed_of;
use ken_random::below;
use serde::Serialize;

use crate::document::{Document, documents};
use crate::error::WorldError;
use crate::prompts::{completion, passage, prompt_of};
use crate::questions::{QuestionTruth, WorldQuestion};
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
    /// The metadata of the question.
    pub metadata: QuestionTruth,
}

/// Probabilities in `[0, 1]` of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Probabilities {
    /// From memory.
    #[serde(rename = "self")]
    pub from_self: f64,
    /// With the documents that give it, if there are any.
    pub evidence: Option<f64>,
    /// With the misleading documents that the corpus holds instead, if there are any.
    pub misled: Option<f64>,
    /// With the document of another subject of the same kind.
    pub stranger: f64,
    /// From memory, of the answer in training, if it has changed since.
    pub former: Option<f64>,
}

/// Measures what a model knows of a world's questions. `progress` receives the number of finished questions; `cancel`
/// is checked before each batch.
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
    let documents = documents(world);
    let by_id = documents.iter();
    let by_id = by_id.map(|document| (document.id.as_str(), document));
    let corpus = Corpus {
        by_id: by_id.collect(),
        documents: &documents,
    };
    let mut records = Vec::with_capacity(questions.len());
    for questions in questions.chunks(BATCH) {
        if cancel.load(Ordering::Relaxed) {
            break;
        }
        let scored = |question| scored(world, &corpus, question);
        let scored: Vec<(Prompt, String)> = questions.iter().flat_map(scored).collect();
        let continuations = scored.iter().map(|(_, answer)| [answer.as_str()]);
        let continuations: Vec<[&str; 1]> = continuations.collect();
        let requests: Vec<ScoreRequest<'_, Prompt>> = scored
            .iter()
            .zip(&continuations)
            .map(|((prompt, _), continuations)| ScoreRequest::new(prompt, continuations))
            .collect();
        let scores = model.score(&requests)?;
        let probability = |score: Option<&Score>| score.map_or(0.0, |score| score.sum().exp());
        let mut probabilities = scores.iter().map(|scores| probability(scores.first()));
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
                    misled: (!truth.misleading.is_empty()).then(&mut next),
                    former: truth.former.as_ref().map(|_| next()),
                },
                metadata: truth.clone(),
            });
        }
        progress(records.len());
    }
    Ok(records)
}

/// The documents, in their order and by their ids.
struct Corpus<'w> {
    documents: &'w [Document<'w>],
    by_id: HashMap<&'w str, &'w Document<'w>>,
}

/// The prompts of a question, each with the completion to score: from memory, with a stranger's document, with the
/// documents that give the answer or mislead, and for the former answer, if there are any.
fn scored(world: &World, corpus: &Corpus<'_>, question: &WorldQuestion) -> Vec<(Prompt, String)> {
    let truth = &question.metadata;
    let question_prompt = QuestionPrompt::new(&question.question, &question.choices);
    let answer = match truth.letter {
        Some(letter) => completion(&letter.to_string()),
        None => completion(&question.golden_answers[0]),
    };
    let passage = |document: &Document<'_>| passage(document.title, document.text.clone());
    let stranger: Vec<Retrieved> = stranger(world, corpus.documents, question)
        .map(passage)
        .into_iter()
        .collect();
    let from_memory = prompt_of(question_prompt, &[]);
    let mut prompts = vec![
        (from_memory.clone(), answer.clone()),
        (prompt_of(question_prompt, &stranger), answer.clone()),
    ];
    for ids in [&truth.documents, &truth.misleading] {
        let held = ids.iter().filter_map(|id| corpus.by_id.get(id.as_str()));
        let held: Vec<Retrieved> = held.map(|document| passage(document)).collect();
        if !held.is_empty() {
            prompts.push((prompt_of(question_prompt, &held), answer.clone()));
        }
    }
    if let Some(former) = &truth.former {
        prompts.push((from_memory, completion(former)));
    }
    prompts
}

/// A document about another subject of the same kind that does not contain the answer, drawn by the question.
fn stranger<'w>(
    world: &World,
    documents: &'w [Document<'w>],
    question: &WorldQuestion,
) -> Option<&'w Document<'w>> {
    let truth = &question.metadata;
    let answer = &question.golden_answers[0];
    let others: Vec<&Document<'_>> = documents
        .iter()
        .filter(|other| other.of.kind == truth.about)
        .collect();
    let first = below(
        &mut seed_of(world.settings.seed, &question.id),
        others.len(),
    );
    let in_turn = others.iter().cycle().skip(first).take(others.len());
    let mut in_turn = in_turn.filter(|other| {
        let needed = [&truth.documents, &truth.misleading];
        let needed = needed.iter().any(|ids| ids.contains(&other.id));
        other.of.id != truth.subject && !needed && !other.text.contains(answer.as_str())
    });
    in_turn.next().copied()
}
