//! Applying a router: the vector of a question that it reads, and whether it fits this model and embedder. The head itself
//! is in `ken_policy`.

use ken_language::{
    Embedder, GenerateOptions, GenerateRequest, LanguageModel, Prompt, Role, Sampling,
};
use ken_policy::{Head, Input, Routed, Vocabulary};
use std::ops::ControlFlow;

use crate::error::AnswerError;
use crate::measure::assessor::Assessor;
use crate::measure::mismatch::Mismatch;
use crate::measure::routing_head::RoutingHead;
use crate::prompt::{self, Indicator, QuestionPrompt};

/// The source of the vector of a question.
#[derive(Clone, Copy)]
pub enum Representation<'a> {
    /// Its words.
    Words(&'a Vocabulary),
    /// Its embedding.
    Embedding(&'a dyn Embedder),
    /// The model's residual stream at the end of the prompt that asks it from memory.
    HiddenState {
        /// The model.
        model: &'a dyn LanguageModel,
        /// After this many layers.
        layer: usize,
    },
    /// How sure the model is of the first token of its answer from memory.
    FirstToken(&'a dyn LanguageModel),
    /// As [`Representation::FirstToken`], with an assessor's verdict on whether the model masters the answer.
    FirstTokenAndMastery {
        /// The model.
        model: &'a dyn LanguageModel,
        /// The assessor.
        assessor: &'a Assessor,
    },
}

impl<'a> Representation<'a> {
    /// Whether a vector says anything of a question: an embedding or a state without direction does not, and neither
    /// does the first token of an answer that would be empty.
    pub fn says_something(self, vector: &[f32]) -> bool {
        match self {
            Self::Words(_) => true,
            Self::Embedding(_) | Self::HiddenState { .. } => {
                vector.iter().any(|number| *number != 0.0)
            }
            Self::FirstToken(_) | Self::FirstTokenAndMastery { .. } => {
                !vector.starts_with(&WRITES_NOTHING)
            }
        }
    }

    /// The input of a head, by the model, the embedder and the assessor at hand.
    ///
    /// # Errors
    /// An embedding, and no embedder; a verdict, and no assessor.
    pub fn for_head(
        head: &'a Head,
        model: &'a dyn LanguageModel,
        embedder: Option<&'a dyn Embedder>,
        assessor: Option<&'a Assessor>,
    ) -> Result<Self, AnswerError> {
        match &head.vocabulary {
            Some(vocabulary) => Ok(Self::Words(vocabulary)),
            None => Self::of(head.input, model, embedder, assessor),
        }
    }

    /// As [`Representation::for_head`], for an input without a vocabulary.
    ///
    /// # Errors
    /// As [`Representation::for_head`].
    pub fn of(
        input: Input,
        model: &'a dyn LanguageModel,
        embedder: Option<&'a dyn Embedder>,
        assessor: Option<&'a Assessor>,
    ) -> Result<Self, AnswerError> {
        match input {
            Input::HiddenState { layer } => Ok(Self::HiddenState { model, layer }),
            Input::FirstToken => Ok(Self::FirstToken(model)),
            Input::FirstTokenAndMastery => {
                let assessor = assessor.ok_or(AnswerError::NoAssessor)?;
                Ok(Self::FirstTokenAndMastery { model, assessor })
            }
            _ => embedder.map(Self::Embedding).ok_or(AnswerError::NoCorpus),
        }
    }
}

/// The vectors of questions.
///
/// # Shapes
/// Returns `[questions][dimensions]`.
///
/// # Errors
/// A question that does not fit, a model that exposes no hidden states, a model or embedder that fails.
pub fn represent(
    by: Representation<'_>,
    questions: &[QuestionPrompt<'_>],
) -> Result<Vec<Vec<f32>>, AnswerError> {
    let texts: Vec<&str> = questions.iter().map(|q| q.question.trim()).collect();
    match by {
        Representation::Words(vocabulary) => Ok(questions
            .iter()
            .map(|question| vocabulary.vector(&all_words(*question)))
            .collect()),
        Representation::Embedding(embedder) => Ok(embedder.embed(&texts, Role::Query)?),
        Representation::HiddenState { model, layer } => {
            let prompts = from_memory(questions);
            Ok(model.hidden(&prompts.iter().collect::<Vec<_>>(), layer)?)
        }
        Representation::FirstToken(model) => first_token(model, &from_memory(questions)),
        Representation::FirstTokenAndMastery { model, assessor } => {
            let prompts = from_memory(questions);
            let mut vectors = first_token(model, &prompts)?;
            let asked: Vec<&Prompt> = prompts.iter().collect();
            let denied = assessor.needs(&texts, &asked, Indicator::Mastery)?;
            for (vector, denied) in vectors.iter_mut().zip(denied) {
                vector.push(log_odds(denied) as f32);
            }
            Ok(vectors)
        }
    }
}

/// The text of a question with its choices, for a vocabulary.
pub fn all_words(question: QuestionPrompt<'_>) -> String {
    let choices = question.choices.iter().map(String::as_str);
    let texts: Vec<&str> = std::iter::once(question.question).chain(choices).collect();
    texts.join(" ")
}

fn from_memory(questions: &[QuestionPrompt<'_>]) -> Vec<Prompt> {
    let questions = questions.iter().map(|question| question.trimmed());
    questions.map(prompt::from_memory).collect()
}

/// The natural logarithm of the odds of a probability, which is clamped to one in a million at both ends.
fn log_odds(probability: f64) -> f64 {
    const LEAST: f64 = 1e-6;
    let probability = probability.clamp(LEAST, 1.0 - LEAST);
    (probability / (1.0 - probability)).ln()
}

/// The vector of a model that would write nothing: as if ten thousand first tokens were equally likely.
const WRITES_NOTHING: [f32; 2] = [-9.2, 9.2];

/// The vector of [`Input::FirstToken`] for each prompt: `[prompts][2]`.
fn first_token(
    model: &dyn LanguageModel,
    prompts: &[Prompt],
) -> Result<Vec<Vec<f32>>, AnswerError> {
    let options = GenerateOptions::new(Sampling::Greedy, 1);
    let requests = prompts
        .iter()
        .map(|prompt| GenerateRequest::new(prompt, 1, &options));
    let requests: Vec<_> = requests.collect();
    let written = model.generate(&requests, &mut |_| ControlFlow::Continue(()))?;
    let each = written.into_iter().map(|answers| {
        let answer = answers.into_iter().next();
        let answer = answer.ok_or(AnswerError::NoFirstToken)?;
        let reported = answer.logprobs.zip(answer.entropies);
        let (logprobs, entropies) = reported.ok_or(AnswerError::NoFirstToken)?;
        Ok(match (&logprobs[..], &entropies[..]) {
            // An end without a token before it is no first token.
            (&[logprob, ..], &[entropy, ..]) if answer.tokens > 0 => vec![logprob, entropy],
            _ => WRITES_NOTHING.to_vec(),
        })
    });
    each.collect()
}

/// Checks that a router was trained with this model, embedder and assessor, as far as it reads them, and with the
/// current prompts; all by their fingerprints.
///
/// # Errors
/// [`AnswerError::OtherRouter`].
pub fn fits(
    head: &Head,
    model: &str,
    embedder: Option<&str>,
    assessor: Option<&str>,
) -> Result<(), AnswerError> {
    let prompt = prompt::fingerprint();
    let measured = &head.measured_on;
    let mismatch = Mismatch::find([
        ("model", Some(measured.model.as_str()), Some(model)),
        ("embedder", measured.embedder.as_deref(), embedder),
        ("model of kbm", measured.assessor.as_deref(), assessor),
        ("prompts", measured.prompt.as_deref(), Some(prompt.as_str())),
    ]);
    match mismatch {
        Some(mismatch) => Err(AnswerError::OtherRouter {
            mismatch,
            renewal: head.purpose.renewal(),
        }),
        None => Ok(()),
    }
}

/// A router's prediction for the question with this vector; without a need if the vector says nothing of the question.
pub(crate) fn route(router: &RoutingHead, by: Representation<'_>, vector: &[f32]) -> Routed {
    let need = router.head.apply(vector).filter(|need| need.is_finite());
    Routed {
        router: router.fingerprint.clone(),
        need: need.filter(|_| by.says_something(vector)),
    }
}
