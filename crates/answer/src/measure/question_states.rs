//! A model's hidden states of questions, which are the keys of a policy datastore.

use ken_language::{LanguageModel, Prompt};

use crate::error::AnswerError;
use crate::measure::datastore::Datastore;
use crate::prompt::{self, QuestionPrompt};

/// The residual streams at the end of questions, after the layer of the datastore's keys.
///
/// # Shapes
/// Returns `[questions][hidden]`.
///
/// # Errors
/// Another model than that of the keys, or one that fails.
pub fn question_states(
    datastore: &Datastore,
    questions: &[&str],
    model: &dyn LanguageModel,
) -> Result<Vec<Vec<f32>>, AnswerError> {
    datastore.check(model.fingerprint())?;
    let prompts = questions
        .iter()
        .map(|question| prompt::choose_source(QuestionPrompt::open(question)));
    let prompts: Vec<Prompt> = prompts.collect();
    let prompts: Vec<&Prompt> = prompts.iter().collect();
    let chooser = model.source_chooser()?;
    let choices = chooser.choose_sources(&prompts, datastore.keyed_by().layer)?;
    Ok(choices.into_iter().map(|choice| choice.state).collect())
}
