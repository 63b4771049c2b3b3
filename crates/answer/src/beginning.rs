//! As much of a text as a model can read.

use ken_language::LanguageModel;

use crate::AnswerError;

/// The longest beginning of a text that has at most `room` tokens.
pub(crate) fn beginning<'t>(
    model: &dyn LanguageModel,
    text: &'t str,
    room: usize,
) -> Result<&'t str, AnswerError> {
    // A token has at least one byte, so that few texts need to be counted.
    if text.len() <= room || model.count_tokens(text)? <= room {
        return Ok(text);
    }
    let ends: Vec<usize> = text.char_indices().map(|(end, _)| end).collect();
    // The beginning before the first fits, all of the text does not.
    let (mut fits, mut exceeds) = (0, ends.len());
    while fits + 1 < exceeds {
        let middle = (fits + exceeds) / 2;
        if model.count_tokens(&text[..ends[middle]])? <= room {
            fits = middle;
        } else {
            exceeds = middle;
        }
    }
    Ok(&text[..ends.get(fits).copied().unwrap_or(0)])
}
