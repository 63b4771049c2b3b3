//! Questions of the world as the pipeline puts them to a model: the prompts are its own.

use ken_answer::{QuestionPrompt, Retrieved, prompt};
use ken_language::Prompt;
use ken_probe::letter;

use super::names::Names;
use super::relation::{Query, Relation};
use super::scene::another;
use crate::random::{below, shuffle};

/// Choices of a multiple-choice question.
const CHOICES: usize = 4;

/// A text with its title, which may be empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Passage {
    pub(super) title: String,
    pub(super) text: String,
}

/// The prompt for a question with passages, the best first; from memory where there are none.
pub(super) fn prompt_of(question_prompt: QuestionPrompt<'_>, passages: &[Passage]) -> Prompt {
    let found: Vec<Retrieved> = passages
        .iter()
        .map(|passage| Retrieved {
            passage_id: String::new(),
            doc_id: String::new(),
            title: passage.title.clone(),
            text: passage.text.clone(),
            chunk: None,
            score: 0.0,
            in_prompt: true,
        })
        .collect();
    prompt::from_evidence(question_prompt, &found.iter().collect::<Vec<_>>())
}

/// The input for a question with passages that stand behind it, which the pipeline never does: a
/// model that has read both orders looks for what is asked, and not at a place.
pub(super) fn input_with_passages_last(
    question_prompt: QuestionPrompt<'_>,
    passages: &[Passage],
) -> String {
    let alone = prompt::from_memory(question_prompt).input;
    let whole = prompt_of(question_prompt, passages).input;
    let passages = whole.strip_suffix(&alone).unwrap_or_default();
    // The last line asks for the answer.
    let (question, wanted) = alone.rsplit_once('\n').unwrap_or(("", &alone));
    format!("{question}\n{passages}{wanted}")
}

/// What a model goes on with to answer: behind a space, up to the end of the line.
pub(super) fn answered(answer: &str) -> String {
    format!(" {answer}\n")
}

/// Choices to an answer in any order, and the letter of the right one; `None` for an answer that is a
/// name of a person or a book.
pub(super) fn choices(
    names: &Names,
    towns: &[String],
    query: Query,
    answer: &str,
    state: &mut u64,
) -> Option<(Vec<String>, char)> {
    let relation = query.answered_by();
    if matches!(
        relation,
        Relation::Spouse | Relation::Book | Relation::Author
    ) {
        return None;
    }
    let mut choices = vec![answer.to_owned()];
    while choices.len() < CHOICES {
        let other = another(names, towns, relation, state);
        if !choices.contains(&other) {
            choices.push(other);
        }
    }
    shuffle(&mut choices, CHOICES, state);
    let right = choices.iter().position(|choice| choice == answer)?;
    Some((choices, letter(right)?))
}

/// One of some ways to say something.
pub(super) fn one_of<'p>(patterns: &'p [&'p str], state: &mut u64) -> &'p str {
    patterns
        .get(below(state, patterns.len()))
        .copied()
        .unwrap_or_default()
}
