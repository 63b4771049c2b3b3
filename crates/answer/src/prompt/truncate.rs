//! Truncating a text to what a model can read.

use ken_language::LanguageModel;

use crate::AnswerError;

/// Tokens kept free, since texts may tokenize differently where they meet.
pub const SPARE_TOKENS: usize = 8;

/// The longest prefix of a text with at most `budget` tokens.
pub(crate) fn truncate<'t>(
    model: &dyn LanguageModel,
    text: &'t str,
    budget: usize,
) -> Result<&'t str, AnswerError> {
    // A token has at least one byte, so few texts need a count.
    if text.len() <= budget || model.count_tokens(text)? <= budget {
        return Ok(text);
    }
    let ends: Vec<usize> = text.char_indices().map(|(end, _)| end).collect();
    // Binary search: the empty prefix fits, the whole text does not.
    let (mut fits, mut exceeds) = (0, ends.len());
    while fits + 1 < exceeds {
        let middle = (fits + exceeds) / 2;
        if model.count_tokens(&text[..ends[middle]])? <= budget {
            fits = middle;
        } else {
            exceeds = middle;
        }
    }
    Ok(&text[..ends.get(fits).copied().unwrap_or(0)])
}
