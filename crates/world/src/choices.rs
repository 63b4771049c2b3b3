//! Multiple-choice questions: the answer among distractors.

use ken_probe::letter;
use ken_random::shuffle;

use crate::generate::another_value;
use crate::names::Names;
use crate::query::Query;
use crate::relation::Relation;

/// Choices per multiple-choice question.
const CHOICES: usize = 4;

/// The answer among distractors, in random order, and its letter; `None` for an answer that names a person or a book.
/// `told`, which the corpus states instead of the answer, is one of the distractors.
pub(crate) fn choices(
    names: &Names,
    query: Query,
    answer: &str,
    told: Option<&str>,
    state: &mut u64,
) -> Option<(Vec<String>, char)> {
    let relation = query.last();
    if matches!(
        relation,
        Relation::Spouse | Relation::Book | Relation::Author
    ) {
        return None;
    }
    let mut choices = vec![answer.to_owned()];
    choices.extend(told.filter(|told| *told != answer).map(str::to_owned));
    while choices.len() < CHOICES {
        let other = another_value(names, relation, state);
        if !choices.contains(&other) {
            choices.push(other);
        }
    }
    shuffle(&mut choices, CHOICES, state);
    let right = choices.iter().position(|choice| choice == answer)?;
    Some((choices, letter(right)?))
}
