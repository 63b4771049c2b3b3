//! Questions of the world in the prompts of the online path.

use ken_answer::{QuestionPrompt, Retrieved, prompt};
use ken_language::Prompt;

/// A passage by its title, which may be empty, and its text.
pub(crate) fn passage(title: &str, text: String) -> Retrieved {
    Retrieved {
        title: title.to_owned(),
        text,
        in_prompt: true,
        ..Retrieved::default()
    }
}

/// The prompt for a question with passages, best first; without passages, the prompt from memory.
pub(crate) fn prompt_of(question_prompt: QuestionPrompt<'_>, passages: &[Retrieved]) -> Prompt {
    prompt::from_evidence(question_prompt, &passages.iter().collect::<Vec<_>>())
}

/// The input for a question with its passages after it, which the online path never writes. A model trained on both
/// orders looks for what the question asks for, and not at a position.
pub(crate) fn input_with_passages_last(
    question_prompt: QuestionPrompt<'_>,
    passages: &[Retrieved],
) -> String {
    let alone = prompt::from_memory(question_prompt).input;
    let whole = prompt_of(question_prompt, passages).input;
    let passages = whole.strip_suffix(&alone).unwrap_or_default();
    // The last line asks for the answer.
    let (question, answer_line) = alone.rsplit_once('\n').unwrap_or(("", &alone));
    format!("{question}\n{passages}{answer_line}")
}

/// The completion of a prompt: a space, the answer, and the end of the line.
pub(crate) fn completion(answer: &str) -> String {
    format!(" {answer}\n")
}
