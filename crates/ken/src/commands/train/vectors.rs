//! How what heads look at is shown.

use ken_policy::Input;
use ken_study::learn::CandidateLoss;

/// A head's input in words.
pub(super) fn looks_at(input: Input) -> String {
    match input {
        Input::Words => "the question's words".to_owned(),
        Input::QuestionEmbedding => "the question's embedding".to_owned(),
        Input::PassageEmbedding => "the passage's embedding".to_owned(),
        Input::HiddenState { layer } | Input::PassageState { layer } => {
            format!("the hidden state after layer {layer}")
        }
        Input::FirstToken => "how sure the model is of its first token".to_owned(),
        Input::FirstTokenAndMastery => {
            "how sure the model is of its first token, and kbm of the answer".to_owned()
        }
        Input::Evidence => "the evidence and the answer from memory".to_owned(),
        Input::EvidenceAndAnswer => "the evidence and both answers".to_owned(),
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
