//! The passages before and after those found, which the model reads as well if the budget has room.

use std::collections::HashSet;

use ken_corpus::{Passage, PassageId};
use ken_language::LanguageModel;

use crate::SearchResult;
use crate::answer::Retrieved;
use crate::error::AnswerError;
use crate::prompt;
use crate::retrieve::Retriever;

/// The passages with up to `reach` neighbors on each side, in the order of their documents. Down the ranking, each
/// passage that is read gets its nearest neighbors first; a side ends at one that does not fit, is missing or is read
/// already.
///
/// # Errors
/// A damaged corpus, a server or a model that fails.
pub(super) fn with_neighbors(
    model: &dyn LanguageModel,
    retriever: &Retriever,
    retrieved: Vec<Retrieved>,
    reach: usize,
    budget: usize,
) -> Result<Vec<Retrieved>, AnswerError> {
    let read = retrieved.iter().filter(|passage| passage.in_prompt);
    let numbered = |(index, passage)| prompt::numbered(index + 1, passage);
    let all: String = read.clone().enumerate().map(numbered).collect();
    let mut left = budget.saturating_sub(model.count_tokens(&all)?);
    let mut number = read.count();
    let ids = retrieved.iter().map(|passage| passage.passage_id.clone());
    let mut taken: HashSet<String> = ids.collect();
    let mut evidence = Vec::new();
    for passage in retrieved {
        // The neighbors of a passage do not adjoin a part of it; other corpora are not asked.
        let has_neighbors =
            passage.in_prompt && passage.chunk.is_none() && passage.corpus.is_none();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let id = PassageId(passage.passage_id.clone());
        if let Some((document, index)) = id.split().filter(|_| has_neighbors) {
            // The text after a passage more often belongs to it than the text before.
            let mut sides = [(&mut after, true), (&mut before, true)];
            for distance in 1..=reach {
                let positions = [index.checked_add(distance), index.checked_sub(distance)];
                for ((side, is_open), position) in sides.iter_mut().zip(positions) {
                    let id = position.map(|position| PassageId::new(document, position).0);
                    let id = id.filter(|id| *is_open && !taken.contains(id));
                    let found = match &id {
                        Some(id) => retriever.back_end().find(id)?,
                        None => None,
                    };
                    let neighbor = found.map(beside);
                    let tokens = match &neighbor {
                        Some(next) => model.count_tokens(&prompt::numbered(number + 1, next))?,
                        None => usize::MAX,
                    };
                    *is_open = tokens <= left;
                    if let Some(neighbor) = neighbor.filter(|_| *is_open) {
                        (left, number) = (left - tokens, number + 1);
                        taken.insert(neighbor.passage_id.clone());
                        side.push(neighbor);
                    }
                }
                if sides.iter().all(|(_, is_open)| !is_open) {
                    break;
                }
            }
        }
        evidence.extend(before.into_iter().rev());
        evidence.push(passage);
        evidence.append(&mut after);
    }
    Ok(evidence)
}

/// A passage that no search found, so that it has no score.
fn beside(passage: Passage) -> Retrieved {
    Retrieved {
        score: None,
        in_prompt: true,
        ..Retrieved::unread(SearchResult::of(passage, 0.0))
    }
}
