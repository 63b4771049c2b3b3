//! The probabilities of single texts to a language model.

use ken_language::{LanguageModel, ModelError, Prompt, Score, ScoreRequest};

/// Scores one text after each prompt, preceded by a space.
///
/// # Shapes
/// Returns `[texts]`.
pub(crate) fn score_texts(
    model: &dyn LanguageModel,
    texts: &[(&Prompt, &str)],
) -> Result<Vec<Score>, ModelError> {
    let continuations: Vec<String> = texts.iter().map(|(_, text)| format!(" {text}")).collect();
    let continuations: Vec<[&str; 1]> = continuations.iter().map(|text| [text.as_str()]).collect();
    let requests: Vec<_> = texts
        .iter()
        .zip(&continuations)
        .map(|((prompt, _), continuations)| ScoreRequest::new(*prompt, continuations))
        .collect();
    Ok(model.score(&requests)?.into_iter().flatten().collect())
}
