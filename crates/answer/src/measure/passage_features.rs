//! A pruner's features of a passage that a language model has read: a passage that the model predicts word for word
//! tells it little that it does not know.

use ken_language::{LanguageModel, Prompt};
use ken_policy::Input;
use ken_probe::FewShot;

use crate::AnswerError;
use crate::measure::score::score_texts;
use crate::prompt::truncate::{SPARE_TOKENS, truncate};

const PASSAGE: FewShot = FewShot {
    instruction: "Write a passage of a reference work.",
    examples: &[],
};

/// The least likely tokens that count one by one.
const LEAST_LIKELY: usize = 8;

/// The features to take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PassageFeatures {
    /// The residual stream at its end, `[hidden]`.
    State {
        /// After this many layers.
        layer: usize,
    },
    /// How likely its tokens are: the eight smallest natural-log probabilities in ascending order, the
    /// mean over all tokens, and the natural logarithm of the number of tokens, `[10]`.
    Likelihood,
}

impl PassageFeatures {
    /// The features that a head reads; `None` for a head whose input no model computes from passages.
    pub fn of(input: Input) -> Option<Self> {
        match input {
            Input::PassageState { layer } => Some(Self::State { layer }),
            Input::PassageLikelihood => Some(Self::Likelihood),
            _ => None,
        }
    }

    /// The input of a head that is trained on them.
    pub fn input(self) -> Input {
        match self {
            Self::State { layer } => Input::PassageState { layer },
            Self::Likelihood => Input::PassageLikelihood,
        }
    }
}

/// The vectors of passages. Passages that do not fit into the model's context are truncated.
///
/// # Shapes
/// Returns `[texts][dimensions]`.
///
/// # Errors
/// A model that exposes no hidden states, does not score, or fails.
pub fn passage_features(
    model: &dyn LanguageModel,
    view: PassageFeatures,
    texts: &[&str],
) -> Result<Vec<Vec<f32>>, AnswerError> {
    let prompt = PASSAGE.prompt(String::new());
    let used = model.count_prompt_tokens(&prompt)? + SPARE_TOKENS;
    let budget = model.context_tokens().saturating_sub(used);
    let texts = texts
        .iter()
        .map(|text| truncate(model, text.trim(), budget));
    let texts: Vec<&str> = texts.collect::<Result<_, _>>()?;
    match view {
        PassageFeatures::State { layer } => {
            let prompts: Vec<Prompt> = texts.iter().map(|text| prompt.continued(text)).collect();
            Ok(model.hidden(&prompts.iter().collect::<Vec<_>>(), layer)?)
        }
        PassageFeatures::Likelihood => {
            let pairs: Vec<_> = texts.iter().map(|text| (&prompt, *text)).collect();
            let scores = score_texts(model, &pairs)?.into_iter();
            Ok(scores.map(|score| likelihood(score.logprobs)).collect())
        }
    }
}

/// The vector of [`PassageFeatures::Likelihood`]. A passage of fewer than eight tokens is padded with its
/// most likely one.
fn likelihood(mut logprobs: Vec<f32>) -> Vec<f32> {
    logprobs.sort_unstable_by(f32::total_cmp);
    let count = logprobs.len().max(1) as f32;
    let mean = logprobs.iter().sum::<f32>() / count;
    let most_likely = logprobs.last().copied().unwrap_or(0.0);
    let mut kept: Vec<f32> = logprobs.into_iter().take(LEAST_LIKELY).collect();
    kept.resize(LEAST_LIKELY, most_likely);
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
