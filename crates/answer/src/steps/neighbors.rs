//! The passages before and after those that were found, which are read as well where the budget has room.

use std::collections::HashSet;

use ken_corpus::PassageId;
use ken_language::LanguageModel;

use crate::answer::Retrieved;
use crate::error::AnswerError;
use crate::prompt;
use crate::retrieve::Retriever;
use crate::retrieve::search_result::SearchResult;

/// What is read with the neighbors of what is read, up to `reach` on each side, in the order in which they stand in
/// their documents. Down the ranking each passage gets its nearest first, and one that has no room ends its side.
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
        let (mut before, mut after) = (Vec::new(), Vec::new());
        // Of a part of a passage, what stands beside the passage is not its neighbor; other corpora are not asked.
        let has_neighbors =
            passage.in_prompt && passage.chunk.is_none() && passage.corpus.is_none();
        let place = PassageId(passage.passage_id.clone());
        if let Some((document, at)) = place.split().filter(|_| has_neighbors) {
            let behind = |distance| Some(at + distance);
            let ahead = |distance| at.checked_sub(distance);
            let sides: [(&mut Vec<Retrieved>, &dyn Fn(usize) -> Option<usize>); 2] =
                [(&mut after, &behind), (&mut before, &ahead)];
            for (side, position) in sides {
                for position in (1..=reach).map_while(position) {
                    let id = PassageId::new(document, position).0;
                    if taken.contains(&id) {
                        break;
                    }
                    let Some(found) = retriever.back_end().find(&id)? else {
                        break;
                    };
                    let neighbor = Retrieved {
                        in_prompt: true,
                        ..Retrieved::unread(SearchResult::of(found, passage.score))
                    };
                    let tokens = model.count_tokens(&prompt::numbered(number + 1, &neighbor))?;
                    if tokens > left {
                        break;
                    }
                    (left, number) = (left - tokens, number + 1);
                    taken.insert(id);
                    side.push(neighbor);
                }
            }
        }
        evidence.extend(before.into_iter().rev());
        evidence.push(passage);
        evidence.append(&mut after);
    }
    Ok(evidence)
}
