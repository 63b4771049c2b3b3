//! The passages before and after those that were found, which are read as well where the budget has room.

use std::collections::HashSet;

use ken_corpus::PassageId;
use ken_language::LanguageModel;

use crate::answer::Retrieved;
use crate::error::AnswerError;
use crate::prompt;
use crate::retrieve::Retriever;
use crate::retrieve::search_result::SearchResult;

/// The passages that are read, with their neighbors, up to `reach` on each side, in the order in which they stand in
/// their documents. Down the ranking each passage gets its nearest first; where one has no room, is missing or is read already, its side ends.
/// A neighbor has the score of the passage that it stands beside.
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
    let numbered = |(place, passage)| prompt::numbered(place + 1, passage);
    let all: String = read.clone().enumerate().map(numbered).collect();
    let mut left = budget.saturating_sub(model.count_tokens(&all)?);
    let mut number = read.count();
    let ids = retrieved.iter().map(|passage| passage.passage_id.clone());
    let mut taken: HashSet<String> = ids.collect();
    let mut evidence = Vec::new();
    for passage in retrieved {
        // Of a part of a passage, what stands beside the passage is not its neighbor; other corpora are not asked.
        let has_neighbors =
            passage.in_prompt && passage.chunk.is_none() && passage.corpus.is_none();
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let place = PassageId(passage.passage_id.clone());
        if let Some((document, at)) = place.split().filter(|_| has_neighbors) {
            // What follows a passage more often goes on with it than what is before.
            let mut sides = [(&mut after, true), (&mut before, true)];
            for distance in 1..=reach {
                let positions = [at.checked_add(distance), at.checked_sub(distance)];
                for ((side, is_open), position) in sides.iter_mut().zip(positions) {
                    let id = position.map(|position| PassageId::new(document, position).0);
                    let id = id.filter(|id| *is_open && !taken.contains(id));
                    let found = match &id {
                        Some(id) => retriever.back_end().find(id)?,
                        None => None,
                    };
                    let neighbor = found.map(|found| Retrieved {
                        in_prompt: true,
                        ..Retrieved::unread(SearchResult::of(found, passage.score))
                    });
                    let tokens = match &neighbor {
                        Some(own) => model.count_tokens(&prompt::numbered(number + 1, own))?,
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
