//! Training examples for noise tolerance (Zero-RAG, section 3.3): each question from memory, with passages that
//! contain the answer, and with passages that do not.

use std::collections::HashSet;

use ken_answer::prompt::{QuestionPrompt, from_evidence, from_memory};
use ken_answer::{AnswerError, Retrieved, Retriever};
use ken_eval::dataset::Question;
use ken_index::Mode;
use ken_probe::covers;

use super::{ExampleKind, TrainingExample};
use ken_random::{below, shuffle};

/// Questions per batch of searches.
const BATCH: usize = 64;

/// How to make the training examples.
#[derive(Debug, Clone, PartialEq)]
pub struct NoiseTolerant {
    /// The search mode.
    pub mode: Mode,
    /// Passages in a prompt.
    pub k: usize,
    /// Passages searched per question, from which near distractors are taken.
    pub depth: usize,
    /// The share of distractors from other questions, in `[0, 1]`.
    pub random: f64,
    /// The ids of the questions that the model knows from memory. Only these get examples from memory and with noise,
    /// since training a model to answer what it does not know makes it hallucinate. `None` gives them to all
    /// questions, as in the paper.
    pub known: Option<HashSet<String>>,
    /// The seed of random draws.
    pub seed: u64,
}

/// The training examples of questions, up to three each. A question without a golden answer gives none; one whose
/// passages do not contain the answer gives none with evidence.
///
/// # Errors
/// An empty question, a search that fails.
pub fn noise_tolerant(
    questions: &[Question],
    retriever: &Retriever,
    settings: &NoiseTolerant,
    progress: &mut dyn FnMut(usize),
) -> Result<Vec<TrainingExample>, AnswerError> {
    let questions: Vec<&Question> = questions
        .iter()
        .filter(|question| !question.golden_answers.is_empty())
        .collect();
    let mut found: Vec<Vec<Retrieved>> = Vec::with_capacity(questions.len());
    for batch in questions.chunks(BATCH) {
        let texts: Vec<&str> = batch.iter().map(|q| q.question.as_str()).collect();
        let depth = settings.depth.max(settings.k);
        for results in retriever.search_many(&texts, settings.mode, depth)? {
            found.push(results.into_iter().map(Retrieved::unread).collect());
        }
        progress(found.len());
    }
    let mut examples = Vec::new();
    for (place, question) in questions.iter().enumerate() {
        let question_prompt = QuestionPrompt::new(&question.question, &question.choices);
        let Some(output) = question.taught_answer() else {
            continue;
        };
        let mut add = |kind, prompt| {
            examples.push(TrainingExample {
                id: question.id.clone(),
                kind,
                prompt,
                output: output.clone(),
                weight: 1.0,
            });
        };
        let known = settings.known.as_ref();
        let from_itself = known.is_none_or(|known| known.contains(&question.id));
        if from_itself {
            add(ExampleKind::FromMemory, from_memory(question_prompt));
        }
        if let Some(evidence) = evidence(question, &found[place], settings.k) {
            add(
                ExampleKind::WithEvidence,
                from_evidence(question_prompt, &evidence),
            );
        }
        let noise = noise(question, place, &found, settings);
        if from_itself && !noise.is_empty() {
            add(
                ExampleKind::WithNoise,
                from_evidence(question_prompt, &noise),
            );
        }
    }
    Ok(examples)
}

fn holds_answer(question: &Question, passage: &Retrieved) -> bool {
    covers(&passage.text, &question.answers_in_words()) == Some(true)
}

/// Whether a prompt with this passage shows the answer.
fn shows_answer(question: &Question, passage: &Retrieved) -> bool {
    let shown = format!("{} {}", passage.full_title(), passage.text);
    covers(&shown, &question.answers_in_words()) == Some(true)
}

/// The best `k` passages; if none of them contains the answer, the first passage that does replaces the last of them.
/// `None` if no passage contains it.
fn evidence<'a>(
    question: &Question,
    found: &'a [Retrieved],
    k: usize,
) -> Option<Vec<&'a Retrieved>> {
    let first = found.iter().position(|p| holds_answer(question, p))?;
    let mut evidence: Vec<&Retrieved> = found.iter().take(k).collect();
    if first >= k {
        evidence.pop();
        evidence.push(&found[first]);
    }
    Some(evidence)
}

/// `k` passages that do not show the answer: the best ones, and some that were retrieved for other questions.
fn noise<'a>(
    question: &Question,
    place: usize,
    found: &'a [Vec<Retrieved>],
    settings: &NoiseTolerant,
) -> Vec<&'a Retrieved> {
    let mut state = settings.seed ^ (place as u64).wrapping_mul(ken_random::STEP);
    let from_others = (settings.random * settings.k as f64).round() as usize;
    let mut noise: Vec<&Retrieved> = found[place]
        .iter()
        .filter(|passage| !shows_answer(question, passage))
        .take(settings.k.saturating_sub(from_others))
        .collect();
    // More attempts than needed, since a drawn passage may show the answer or be a repetition.
    for _ in 0..8 * settings.k {
        if noise.len() >= settings.k || found.len() < 2 {
            break;
        }
        let other = &found[below(&mut state, found.len())];
        let Some(passage) = other.get(below(&mut state, other.len())) else {
            continue;
        };
        let known = noise.iter().any(|p| p.passage_id == passage.passage_id);
        if !known && !shows_answer(question, passage) {
            noise.push(passage);
        }
    }
    let count = noise.len();
    shuffle(&mut noise, count, &mut state);
    noise
}

#[cfg(test)]
mod tests {
    use ken_testing::with;
    use proptest::prelude::*;
    use serde_json::Map;

    use super::*;

    fn passage(id: usize, title: &str, text: &str) -> Retrieved {
        with!(Retrieved::default(), passage_id: id.to_string(), doc_id: id.to_string(),
            title: title.to_owned(), text: text.to_owned())
    }

    #[test]
    fn letters_are_taught_and_words_are_looked_for() {
        let question = Question {
            id: "q".to_owned(),
            question: "who rows?".to_owned(),
            golden_answers: vec!["B".to_owned()],
            choices: vec!["Ole".to_owned(), "Ida".to_owned()],
            metadata: Map::new(),
        };
        assert_eq!(question.taught_answer().as_deref(), Some("B"));
        assert!(holds_answer(&question, &passage(0, "", "Ida rows")));
        assert!(!holds_answer(&question, &passage(0, "", "plan B")));
        assert!(!shows_answer(&question, &passage(0, "B", "Ole rows")));
        let named = with!(question.clone(), golden_answers: vec!["Ida".to_owned()]);
        assert_eq!(named.taught_answer().as_deref(), Some("B"));
        let open = Question {
            choices: Vec::new(),
            ..named
        };
        assert_eq!(open.taught_answer().as_deref(), Some("Ida"));
    }

    proptest! {
        #[test]
        fn no_noise_shows_the_answer_and_none_is_there_twice(
            texts in prop::collection::vec(
                prop::collection::vec(("(Ida|Ole|Liv)", "(Ida rows|Ole sails|they sing)"), 0..6),
                1..6,
            ),
            k in 1..5_usize,
            random in 0.0..=1.0,
            seed: u64,
        ) {
            let mut next = 0;
            let found: Vec<Vec<Retrieved>> = texts
                .iter()
                .map(|passages| {
                    passages.iter().map(|(title, text)| {
                        next += 1;
                        passage(next, title, text)
                    })
                    .collect()
                })
                .collect();
            let question = Question {
                id: "q".to_owned(),
                question: "who rows?".to_owned(),
                golden_answers: vec!["Ida".to_owned()],
                choices: Vec::new(),
                metadata: Map::new(),
            };
            let settings = NoiseTolerant {
                mode: Mode::Dense,
                k,
                depth: k,
                random,
                known: None,
                seed,
            };
            let noise = noise(&question, 0, &found, &settings);
            prop_assert!(noise.len() <= k);
            for one in &noise {
                prop_assert!(one.title != "Ida" && !one.text.contains("Ida"), "{:?}", one);
            }
            let ids: HashSet<&str> = noise.iter().map(|one| one.passage_id.as_str()).collect();
            prop_assert_eq!(ids.len(), noise.len());
            // As many as there are of the passages retrieved for the question itself.
            let own = found[0].iter().filter(|one| !shows_answer(&question, one)).count();
            if random == 0.0 {
                prop_assert!(noise.len() >= own.min(k));
            }
        }
    }
}
