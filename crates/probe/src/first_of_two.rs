//! Asking a model a yes-or-no question: the probability of one continuation against another.

use ken_language::{LanguageModel, ModelError, Prompt, ScoreRequest};

/// The probability in `[0, 1]` of the first continuation of each prompt, given that it is one of the two; NaN if the
/// model does not report it.
///
/// # Shapes
/// Returns `[prompts]`.
///
/// # Errors
/// A prompt that does not fit, a model that does not score or that fails.
pub(crate) fn first_of_two(
    model: &dyn LanguageModel,
    prompts: &[(Prompt, [&str; 2])],
) -> Result<Vec<f64>, ModelError> {
    if prompts.is_empty() {
        return Ok(Vec::new());
    }
    let requests: Vec<_> = prompts
        .iter()
        .map(|(prompt, continuations)| ScoreRequest::new(prompt, continuations))
        .collect();
    let first = |of_two: Vec<f64>| of_two.first().copied().unwrap_or(f64::NAN);
    Ok(model.choose(&requests)?.into_iter().map(first).collect())
}
