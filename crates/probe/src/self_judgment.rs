//! Asking the model itself whether it needs to look a question up: KBM's prompting baseline
//! (section 4.1), which takes no sample and no training.

use ken_language::{Examples, LanguageModel, ModelError, Prompt, ScoreRequest, WorkedExample};

// Small models lean to one word whatever is asked. Of nine wordings tried, this one, a statement to
// be called true or false, follows the question most (results/2026-11-22-main-job).
const INSTRUCTION: &str =
    "For each question, it is written whether a search is needed to answer it.";

/// What the model chooses between to go on with.
const CHOICES: [&str; 2] = [" True", " False"];

/// By turns what everyone knows and what nobody has read about, as many of one as of the other.
const EXAMPLES: [WorkedExample<'static>; 8] = [
    WorkedExample {
        input: "Question: How many legs does a spider have?\nA search is needed:",
        output: "False",
    },
    WorkedExample {
        input: "Question: Who was the night porter of the Hotel Aldemar in 1962?\nA search is needed:",
        output: "True",
    },
    WorkedExample {
        input: "Question: Which ocean lies west of Portugal?\nA search is needed:",
        output: "False",
    },
    WorkedExample {
        input: "Question: What did the town of Quellmark pay for its second bridge?\nA search is needed:",
        output: "True",
    },
    WorkedExample {
        input: "Question: What is the boiling point of water in Celsius?\nA search is needed:",
        output: "False",
    },
    WorkedExample {
        input: "Question: When was the Tessin street library in Borowold repainted?\nA search is needed:",
        output: "True",
    },
    WorkedExample {
        input: "Question: Who wrote Romeo and Juliet?\nA search is needed:",
        output: "False",
    },
    WorkedExample {
        input: "Question: Which song did Ilka Dornath sing at the harbour fair?\nA search is needed:",
        output: "True",
    },
];

/// The model's own judgment of a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelfJudgment {
    /// Probability in `[0, 1]` of "a search is needed" against "it is not".
    pub need: f64,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
}

/// Asks the model of each question whether it must be looked up.
///
/// # Errors
/// A question that does not fit into the model's context, a model that cannot tell how likely a
/// word is.
pub fn judge_need(
    model: &dyn LanguageModel,
    questions: &[&str],
) -> Result<Vec<SelfJudgment>, ModelError> {
    let prompts: Vec<Prompt> = questions.iter().map(|question| prompt(question)).collect();
    let requests: Vec<_> = prompts
        .iter()
        .map(|prompt| ScoreRequest {
            prompt,
            continuations: &CHOICES,
        })
        .collect();
    let chances = model.choose(&requests)?;
    prompts
        .iter()
        .zip(chances)
        .map(|(prompt, chances)| {
            Ok(SelfJudgment {
                need: chances[0],
                prompt_tokens: model.count_prompt_tokens(prompt)?,
            })
        })
        .collect()
}

/// The tokens that the model reads to judge a question.
///
/// # Errors
/// A model that cannot count them.
pub fn judgment_tokens(model: &dyn LanguageModel, question: &str) -> Result<usize, ModelError> {
    model.count_prompt_tokens(&prompt(question))
}

fn prompt(question: &str) -> Prompt {
    Prompt {
        instruction: INSTRUCTION,
        examples: Examples::Fixed(&EXAMPLES),
        input: format!("Question: {question}\nA search is needed:"),
        sourced: None,
    }
}
