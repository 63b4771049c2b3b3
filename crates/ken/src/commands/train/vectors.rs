//! What heads look at: the embedder of questions, and how it is shown.

use ken_answer::Retriever;
use ken_language::Embedder;
use ken_route::Input;
use ken_study::learn::CandidateLoss;

use crate::failure::Result;
use crate::session::Session;

/// The embedder of the corpus or, if none is named, that of the settings.
pub(crate) enum CorpusEmbedder {
    OfCorpus(Box<Retriever>),
    OfSettings(Box<dyn Embedder>),
}

impl CorpusEmbedder {
    pub(crate) fn open(session: &Session<'_>) -> Result<Self> {
        let (setup, settings) = (session.setup(), session.settings);
        Ok(match &settings.corpus {
            Some(corpus) => Self::OfCorpus(Box::new(setup.retriever_of(corpus)?)),
            None => Self::OfSettings(setup.embedder(&settings.embedder)?),
        })
    }

    pub(crate) fn get(&self) -> &dyn Embedder {
        match self {
            Self::OfCorpus(retriever) => retriever.embedder(),
            Self::OfSettings(embedder) => embedder.as_ref(),
        }
    }
}

/// A head's input in words.
pub(super) fn looks_at(input: Input) -> String {
    match input {
        Input::QuestionEmbedding => "the question's embedding".to_owned(),
        Input::PassageEmbedding => "the passage's embedding".to_owned(),
        Input::HiddenState { layer } | Input::PassageState { layer } => {
            format!("the hidden state after layer {layer}")
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
