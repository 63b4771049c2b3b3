//! The words that the model is given: instructions, worked examples, evidence and the question.

use ken_model::language::{Prompt, WorkedExample};

use crate::answer::Retrieved;

const FROM_MEMORY: &str = "Answer the question with a name, a number or a short phrase. \
Write nothing else.";

const FROM_MEMORY_EXAMPLES: [WorkedExample<'static>; 4] = [
    WorkedExample {
        input: "Question: what is the tallest land animal\nAnswer:",
        output: "the giraffe",
    },
    WorkedExample {
        input: "Question: who painted the ceiling of the sistine chapel\nAnswer:",
        output: "Michelangelo",
    },
    WorkedExample {
        input: "Question: when did the first world war end\nAnswer:",
        output: "11 November 1918",
    },
    WorkedExample {
        input: "Question: how many strings does a violin have\nAnswer:",
        output: "four",
    },
];

const FROM_EVIDENCE: &str = "Find the answer to the question in the passages. Answer with a name, \
a number or a short phrase, copied from a passage. Write nothing else.";

const FROM_EVIDENCE_EXAMPLES: [WorkedExample<'static>; 4] = [
    WorkedExample {
        input: "[1] Giraffe: The giraffe of the African savanna is the tallest animal that lives on land; a grown bull reaches 5.5 metres.\n[2] Elephant: The African elephant is the heaviest land animal, at up to six tonnes.\nQuestion: what is the tallest land animal\nAnswer:",
        output: "the giraffe",
    },
    WorkedExample {
        input: "[1] Harbour Bell: The bronze bell over Orsand harbour was cast in 1734 by Maria Tolvik. It has been rung every evening since then.\nQuestion: who made the bell of orsand harbour\nAnswer:",
        output: "Maria Tolvik",
    },
    WorkedExample {
        input: "[1] Street market: Traders meet in the square every second Saturday.\n[2] Treaty of Laun: After three years of talks the treaty was signed on 9 May 1816, and came into force the following spring.\nQuestion: when was the treaty of laun signed\nAnswer:",
        output: "9 May 1816",
    },
    WorkedExample {
        input: "[1] Violin: A violin has four strings, tuned in perfect fifths, and is played with a bow.\nQuestion: how many strings does a violin have\nAnswer:",
        output: "four",
    },
];

/// Asks the model to answer from what it knows.
pub(crate) fn from_memory(question: &str) -> Prompt {
    Prompt {
        instruction: FROM_MEMORY,
        examples: &FROM_MEMORY_EXAMPLES,
        input: format!("Question: {question}\nAnswer:"),
    }
}

/// Asks the model to answer from passages, given best first. The best stands last in the prompt,
/// next to the question, where small models read best.
pub(crate) fn from_evidence(question: &str, evidence: &[&Retrieved]) -> Prompt {
    let mut input = String::new();
    for (at, passage) in evidence.iter().enumerate().rev() {
        input.push_str(&numbered(at + 1, passage));
    }
    input.push_str(&format!("Question: {question}\nAnswer:"));
    Prompt {
        instruction: FROM_EVIDENCE,
        examples: &FROM_EVIDENCE_EXAMPLES,
        input,
    }
}

/// A passage as it stands in the prompt.
pub(crate) fn numbered(number: usize, passage: &Retrieved) -> String {
    if passage.title.is_empty() {
        format!("[{number}] {}\n", passage.text)
    } else {
        format!("[{number}] {}: {}\n", passage.title, passage.text)
    }
}
