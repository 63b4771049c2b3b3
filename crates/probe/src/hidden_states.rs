//! How far apart answers are in the model's hidden states. The model reads each answer after its prompt;
//! `uncertainty` scores the states.

use ken_language::{LanguageModel, ModelError, Prompt};

use crate::uncertainty::eigenscore;

/// The eigenscore of the answers to each prompt, computed from the state of each answer's last token after half of
/// the model's layers (Chen and others 2024, INSIDE, section 4). The model reads equal answers once.
///
/// # Shapes
/// `answers`: `[prompts][answers]`. Returns `[prompts]`; `None` if [`eigenscore`] returns it, or if the model exposes
/// no states.
///
/// # Errors
/// An answer that does not fit after its prompt, a model that fails.
pub fn eigenscores(
    model: &dyn LanguageModel,
    prompts: &[&Prompt],
    answers: &[Vec<&str>],
) -> Result<Vec<Option<f64>>, ModelError> {
    let Some(layers) = model.capabilities().hidden_layers else {
        return Ok(vec![None; prompts.len()]);
    };
    let mut read: Vec<Prompt> = Vec::new();
    // The index in `read` of each prompt's answers.
    let places: Vec<Vec<usize>> = prompts
        .iter()
        .zip(answers)
        .map(|(prompt, answers)| {
            let first = read.len();
            let mut texts: Vec<&str> = Vec::new();
            let places = answers.iter().map(|answer| {
                let known = texts.iter().position(|text| text == answer);
                first
                    + known.unwrap_or_else(|| {
                        texts.push(answer);
                        texts.len() - 1
                    })
            });
            let places = places.collect();
            read.extend(texts.iter().map(|answer| prompt.continued(answer)));
            places
        })
        .collect();
    if read.is_empty() {
        return Ok(vec![None; prompts.len()]);
    }
    let states = model.hidden(&read.iter().collect::<Vec<_>>(), layers / 2)?;
    Ok(places
        .into_iter()
        .map(|places| {
            let states: Option<Vec<&[f32]>> = places
                .into_iter()
                .map(|place| states.get(place).map(Vec::as_slice))
                .collect();
            eigenscore(&states?)
        })
        .collect())
}
