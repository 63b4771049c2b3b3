//! Asking the model itself whether it needs to look a question up: KBM's prompting baseline (section 4.1), which
//! needs no samples and no training.

use ken_language::{LanguageModel, ModelError, Prompt};

use crate::few_shot::FewShot;
use crate::first_of_two::first_of_two;
use crate::worked_examples;

/// Alternates common knowledge with details that no model has read about.
// Small models lean to one word whatever the question. Of nine wordings tried, this one, a statement
// to be called true or false, follows the question most (results/2026-11-22-main-job).
const SEARCH_NEEDED: FewShot = FewShot {
    instruction: "For each question, it is written whether a search is needed to answer it.",
    examples: worked_examples! {
        "Question: How many legs does a spider have?\nA search is needed:" => "False",
        "Question: Who was the night porter of the Hotel Aldemar in 1962?\nA search is needed:"
            => "True",
        "Question: Which ocean lies west of Portugal?\nA search is needed:" => "False",
        "Question: What did the town of Quellmark pay for its second bridge?\nA search is needed:"
            => "True",
        "Question: What is the boiling point of water in Celsius?\nA search is needed:" => "False",
        "Question: When was the Tessin street library in Borowold repainted?\nA search is needed:"
            => "True",
        "Question: Who wrote Romeo and Juliet?\nA search is needed:" => "False",
        "Question: Which song did Ilka Dornath sing at the harbour fair?\nA search is needed:"
            => "True",
    },
};

/// Asks the model whether it needs to look up each question: the probability in `[0, 1]` of "a search is needed" against
/// "it is not", NaN if the model does not report it, and the tokens in the prompt.
///
/// # Shapes
/// Returns `[questions]`.
///
/// # Errors
/// A question that does not fit into the model's context, a model that does not score.
pub fn judge_need(
    model: &dyn LanguageModel,
    questions: &[&str],
) -> Result<Vec<(f64, usize)>, ModelError> {
    let prompts: Vec<(Prompt, [&str; 2])> = questions
        .iter()
        .map(|question| (prompt(question), [" True", " False"]))
        .collect();
    let needs = first_of_two(model, &prompts)?;
    let judged = prompts.iter().zip(needs);
    judged
        .map(|((prompt, _), need)| Ok((need, model.count_prompt_tokens(prompt)?)))
        .collect()
}

fn prompt(question: &str) -> Prompt {
    SEARCH_NEEDED.prompt(format!("Question: {question}\nA search is needed:"))
}
