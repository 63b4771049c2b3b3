//! What a language model makes of a passage, as a vector that a pruner takes: a passage that it
//! predicts word for word says little that it does not know.

use ken_model::language::{Examples, LanguageModel, Prompt, ScoreRequest};
use ken_route::Input;

use crate::AnswerError;
use crate::truncate::truncate;

const INSTRUCTION: &str = "Write a passage of a reference work.";

/// Tokens left free, for those that come about where texts meet.
const SPARE_TOKENS: usize = 8;

/// How many of the least likely tokens count one by one.
const LEAST_LIKELY: usize = 8;

/// What is taken of a passage that a model has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassageView {
    /// The residual stream at its end, `[hidden]`.
    State {
        /// Behind so many blocks.
        layer: usize,
    },
    /// How likely its tokens were: the eight smallest natural-log probabilities, the smallest first,
    /// their mean over all tokens, and the natural logarithm of how many there are, `[10]`.
    Likelihood,
}

impl PassageView {
    /// The view that a head takes; `None` of a head that takes no model's.
    #[must_use]
    pub fn of(input: Input) -> Option<Self> {
        match input {
            Input::PassageState { layer } => Some(Self::State { layer }),
            Input::PassageLikelihood => Some(Self::Likelihood),
            Input::PassageEmbedding
            | Input::QuestionEmbedding
            | Input::HiddenState { .. }
            | Input::FirstToken
            | Input::FirstTokenAndMastery => None,
        }
    }

    /// What a head takes that is learned from it.
    #[must_use]
    pub fn input(self) -> Input {
        match self {
            Self::State { layer } => Input::PassageState { layer },
            Self::Likelihood => Input::PassageLikelihood,
        }
    }
}

/// The vectors of passages. What of a passage does not fit into the model's context is left out at
/// its end.
///
/// # Shapes
/// Returns `[texts][dimensions]`.
///
/// # Errors
/// A model that shows no states, or scores no text, or that fails.
pub fn view_passages(
    model: &dyn LanguageModel,
    view: PassageView,
    texts: &[&str],
) -> Result<Vec<Vec<f32>>, AnswerError> {
    let asked = Prompt {
        instruction: INSTRUCTION,
        examples: Examples::Fixed(&[]),
        input: String::new(),
        sourced: None,
    };
    let used = model.count_prompt_tokens(&asked)? + SPARE_TOKENS;
    let room = model.context_tokens().saturating_sub(used);
    let texts = texts.iter().map(|text| truncate(model, text.trim(), room));
    let texts: Vec<&str> = texts.collect::<Result<_, _>>()?;
    match view {
        PassageView::State { layer } => {
            let prompts: Vec<Prompt> = texts.iter().map(|text| asked.continued(text)).collect();
            Ok(model.hidden(&prompts.iter().collect::<Vec<_>>(), layer)?)
        }
        PassageView::Likelihood => {
            let continuations: Vec<[String; 1]> =
                texts.iter().map(|text| [format!(" {text}")]).collect();
            let continuations: Vec<[&str; 1]> =
                continuations.iter().map(|[text]| [text.as_str()]).collect();
            let requests: Vec<ScoreRequest<'_, Prompt>> = continuations
                .iter()
                .map(|continuations| ScoreRequest {
                    prompt: &asked,
                    continuations,
                })
                .collect();
            let scores = model.score(&requests)?.into_iter().flatten();
            Ok(scores.map(|score| likelihood(score.logprobs)).collect())
        }
    }
}

/// What is kept of the log probabilities of a passage's tokens. Of fewer than eight tokens the
/// likeliest counts for those that are missing.
fn likelihood(mut logprobs: Vec<f32>) -> Vec<f32> {
    logprobs.sort_unstable_by(f32::total_cmp);
    let count = logprobs.len().max(1) as f32;
    let mean = logprobs.iter().sum::<f32>() / count;
    let likeliest = logprobs.last().copied().unwrap_or(0.0);
    let mut kept: Vec<f32> = logprobs.into_iter().take(LEAST_LIKELY).collect();
    kept.resize(LEAST_LIKELY, likeliest);
    kept.extend([mean, count.ln()]);
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_least_likely_tokens_come_first_and_the_rest_is_a_mean() {
        let kept = likelihood(vec![-1.0, -3.0, 0.0, -2.0]);
        assert_eq!(kept[..5], [-3.0, -2.0, -1.0, 0.0, 0.0]);
        assert_eq!(kept[8..], [-1.5, 4.0_f32.ln()]);
        assert_eq!(likelihood(vec![-1.0; 20]).len(), kept.len());
        assert!(likelihood(Vec::new()).iter().all(|number| *number == 0.0));
    }
}
