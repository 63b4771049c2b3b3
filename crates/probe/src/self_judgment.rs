//! Asking the model itself whether it needs to look a question up: KBM's prompting baseline
//! (section 4.1), which takes no sample and no training.

use ken_model::decoder::{Decoder, DecoderError, WorkedExample};

const INSTRUCTION: &str = "Decide whether you must look the question up before you answer it. \
Say no if you are sure of the answer, and yes if it asks about something you have never read about.";

/// What the model chooses between to go on with.
const CHOICES: [&str; 2] = [" yes", " no"];

/// As many of one kind as of the other, so that the examples favour neither.
const EXAMPLES: [WorkedExample<'static>; 4] = [
    WorkedExample {
        input: "Question: How many legs does a spider have?\nLook up:",
        output: "no",
    },
    WorkedExample {
        input: "Question: Who was the night porter of the Hotel Aldemar in 1962?\nLook up:",
        output: "yes",
    },
    WorkedExample {
        input: "Question: What did the town of Quellmark pay for its second bridge?\nLook up:",
        output: "yes",
    },
    WorkedExample {
        input: "Question: Which ocean lies west of Portugal?\nLook up:",
        output: "no",
    },
];

/// The model's own judgment of a question.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SelfJudgment {
    /// Probability in `[0, 1]` of "yes, I must look it up" against "no".
    pub need: f64,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
}

/// Asks the model whether it must look the question up.
///
/// # Errors
/// A question that does not fit into the model's context.
pub fn judge_need(model: &Decoder, question: &str) -> Result<SelfJudgment, DecoderError> {
    let input = format!("Question: {question}\nLook up:");
    let prompt = model.prompt_with_examples(INSTRUCTION, &EXAMPLES, &input)?;
    let probabilities = model.choose(&prompt, &CHOICES)?;
    Ok(SelfJudgment {
        need: probabilities[0],
        prompt_tokens: prompt.tokens().len(),
    })
}
