//! Fitting passages into the model's context: whole passages only, best first.

use ken_language::LanguageModel;

use crate::AnswerError;
use crate::answer::Retrieved;
use crate::prompt;

/// Marks the passages that go into the prompt: down the ranking, each one that still fits into
/// `budget` tokens.
pub(crate) fn fit(
    model: &dyn LanguageModel,
    retrieved: &mut [Retrieved],
    budget: usize,
) -> Result<(), AnswerError> {
    // Usually all of them fit, which a single count shows.
    let numbered = |(place, passage)| prompt::numbered(place + 1, passage);
    let all: String = retrieved.iter().enumerate().map(numbered).collect();
    if all.is_empty() || model.count_tokens(&all)? <= budget {
        retrieved
            .iter_mut()
            .for_each(|passage| passage.in_prompt = true);
        return Ok(());
    }
    let mut left = budget;
    let mut number = 1;
    for passage in retrieved {
        let tokens = model.count_tokens(&prompt::numbered(number, passage))?;
        if tokens <= left {
            passage.in_prompt = true;
            left -= tokens;
            number += 1;
        }
    }
    Ok(())
}
