//! What heads look at: which layers are tried, and how it is told.

use ken_language::LanguageModel;
use ken_route::Input;
use ken_study::learn::CandidateLoss;

use crate::arguments::LayerChoice;

/// The layers behind which hidden states are taken.
pub(super) fn layers(model: &dyn LanguageModel, choice: LayerChoice) -> Vec<usize> {
    // A model that shows none says so when it is asked.
    let all = model.capabilities().hidden_layers.unwrap_or(0);
    match choice {
        LayerChoice::After(layer) => vec![layer],
        LayerChoice::Middle => vec![all / 2],
        LayerChoice::Auto => {
            let mut quarters: Vec<usize> = (1..=4).map(|quarter| all * quarter / 4).collect();
            quarters.dedup();
            quarters
        }
    }
}

/// A head's input in words.
pub(super) fn looks_at(input: Input) -> String {
    match input {
        Input::QuestionEmbedding => "the question's embedding".to_owned(),
        Input::PassageEmbedding => "the passage's embedding".to_owned(),
        Input::HiddenState { layer } | Input::PassageState { layer } => {
            format!("the hidden state behind {layer} blocks")
        }
        Input::FirstToken => "how sure the model is of its first token".to_owned(),
        Input::FirstTokenAndMastery => {
            "how sure the model is of its first token, and kbm of the answer".to_owned()
        }
        Input::PassageLikelihood => "how likely the model finds the passage".to_owned(),
    }
}

/// How well each layer did, where several were tried.
pub(super) fn losses(candidates: &[CandidateLoss]) -> Option<(&'static str, String)> {
    let losses = candidates
        .iter()
        .map(|CandidateLoss { input, loss }| match input {
            Input::HiddenState { layer } | Input::PassageState { layer } => {
                format!("{layer}: {loss:.4}")
            }
            _ => format!("{loss:.4}"),
        });
    let losses: Vec<String> = losses.collect();
    (losses.len() > 1).then(|| ("loss by layer", losses.join(", ")))
}
