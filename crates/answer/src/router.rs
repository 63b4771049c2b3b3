//! A router at work: which vector of a question it takes, and whether it may be used with this model
//! and embedder. What it makes of the vector is in `ken_route`.

use ken_model::embedder::Embedder;
use ken_model::encoder::Role;
use ken_model::language::{LanguageModel, Prompt};
use ken_route::{Head, Input};
use serde::{Deserialize, Serialize};

use crate::error::AnswerError;
use crate::prompt;

/// A router that fits the model and the embedder at hand.
pub(crate) struct Router {
    pub(crate) head: Head,
    pub(crate) fingerprint: String,
}

/// What a router held of a question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Routed {
    /// The router's fingerprint.
    pub router: String,
    /// The probability that the model does not answer right from memory.
    pub need: f64,
}

/// Where the vector of a question comes from.
#[derive(Clone, Copy)]
pub enum Representation<'a> {
    /// Its embedding.
    Embedding(&'a dyn Embedder),
    /// The model's residual stream at the end of the prompt that asks it from memory.
    HiddenState {
        /// The model.
        model: &'a dyn LanguageModel,
        /// Behind so many blocks.
        layer: usize,
    },
}

impl<'a> Representation<'a> {
    /// What a head takes, by the model and the embedder that there are.
    pub(crate) fn of(
        input: Input,
        model: &'a dyn LanguageModel,
        embedder: Option<&'a dyn Embedder>,
    ) -> Result<Self, AnswerError> {
        match input {
            Input::HiddenState { layer } => Ok(Self::HiddenState { model, layer }),
            Input::QuestionEmbedding | Input::PassageEmbedding => {
                embedder.map(Self::Embedding).ok_or(AnswerError::NoCorpus)
            }
        }
    }
}

/// The vectors of questions.
///
/// # Shapes
/// Returns `[questions][dimensions]`.
///
/// # Errors
/// A question that does not fit, a model that shows no states, a model or embedder that fails.
pub fn represent(by: Representation<'_>, questions: &[&str]) -> Result<Vec<Vec<f32>>, AnswerError> {
    let questions: Vec<&str> = questions.iter().map(|question| question.trim()).collect();
    match by {
        Representation::Embedding(embedder) => Ok(embedder.embed(&questions, Role::Query)?),
        Representation::HiddenState { model, layer } => {
            let posed = questions.into_iter().map(prompt::Posed::open);
            let prompts: Vec<Prompt> = posed.map(prompt::from_memory).collect();
            Ok(model.hidden(&prompts.iter().collect::<Vec<_>>(), layer)?)
        }
    }
}

/// Makes sure that a router was learned with a model, an embedder, where there is one, and the prompts
/// of today; given by their fingerprints.
///
/// # Errors
/// [`AnswerError::OtherRouter`].
pub fn fits(head: &Head, model: &str, embedder: Option<&str>) -> Result<(), AnswerError> {
    let prompt = prompt::fingerprint();
    let measured = &head.measured_on;
    let now = [
        ("model", Some(&measured.model), Some(model)),
        ("embedder", measured.embedder.as_ref(), embedder),
        ("prompts", measured.prompt.as_ref(), Some(prompt.as_str())),
    ];
    for (what, expected, received) in now {
        if let (Some(expected), Some(received)) = (expected, received)
            && expected != received
        {
            return Err(AnswerError::OtherRouter {
                what,
                expected: expected.clone(),
                received: received.to_owned(),
                renewal: head.renewal(),
            });
        }
    }
    Ok(())
}

impl Router {
    /// Makes sure that a head was learned with this model and this embedder.
    ///
    /// # Errors
    /// [`AnswerError::OtherRouter`].
    pub(crate) fn new(
        head: Head,
        model: &dyn LanguageModel,
        embedder: Option<&dyn Embedder>,
    ) -> Result<Self, AnswerError> {
        fits(
            &head,
            model.fingerprint(),
            embedder.map(Embedder::fingerprint),
        )?;
        Ok(Self {
            fingerprint: head.fingerprint(),
            head,
        })
    }

    /// What is held of the question with this vector. A vector that is no number needs retrieval:
    /// that is the side that costs least.
    pub(crate) fn route(&self, vector: &[f32]) -> Routed {
        let need = self.head.apply(vector).filter(|need| need.is_finite());
        Routed {
            router: self.fingerprint.clone(),
            need: need.unwrap_or(1.0),
        }
    }
}
