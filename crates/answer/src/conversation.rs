//! Questions in a conversation. The model rewrites a follow-up into a question that stands alone, since policies and
//! searches see one question and nothing before it. A message that only greets or thanks asks nothing.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use ken_language::{LanguageModel, Prompt};
use ken_policy::Tokens;
use ken_probe::normalize::{Rules, is_mostly_chinese, normalize, on_one_line};
use ken_probe::{DrawRequest, FewShot, draw, worked_examples};

use crate::AnswerError;

/// A question that was asked before, and its answer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Exchange {
    /// The question.
    pub question: String,
    /// The answer; empty if there was none.
    pub answer: String,
}

/// A question that can be understood without the conversation.
#[derive(Debug, Clone, PartialEq)]
pub struct Standalone {
    /// The question.
    pub question: String,
    /// Tokens spent on it.
    pub tokens: Tokens,
    /// Time spent on it.
    pub time: Duration,
}

/// The exchanges that the model is shown: a follow-up mostly refers to the last.
const EXCHANGES: usize = 3;

/// The most characters of an answer that it is shown.
const ANSWER_CHARACTERS: usize = 400;

/// The longest question that it may write, in tokens.
const LONGEST: usize = 96;

/// The least share of its words that the conversation has to contain: small models invent questions.
const LEAST_SHARED: f64 = 0.7;

const ENGLISH: FewShot = FewShot {
    instruction: "Rewrite the last question so that it can be understood without the conversation. \
Replace words such as it, they, there or that by what they stand for. Write the question and nothing \
else.",
    examples: worked_examples! {
        "Question: who built the lighthouse of orsand\nAnswer: Maria Tolvik\nLast question: when was it built?\nRewritten:"
            => "when was the lighthouse of orsand built?",
        "Question: How long is the river Laun?\nAnswer: 240 kilometres\nLast question: And where does it rise?\nRewritten:"
            => "Where does the river Laun rise?",
        "Question: what is the tallest land animal\nAnswer: the giraffe\nLast question: who painted the ceiling of the sistine chapel\nRewritten:"
            => "who painted the ceiling of the sistine chapel",
        "Question: Which port does the Vela line serve?\nAnswer: Orsand\nLast question: How many people live there?\nRewritten:"
            => "How many people live in Orsand?",
    },
};

const CHINESE: FewShot = FewShot {
    instruction: "改写最后一个问题，使它离开对话也能理解：把“它”“他们”“那里”等词换成所指的内容。只写改写后的问题。",
    examples: worked_examples! {
        "问题：谁设计了海湾大桥？\n答案：李明\n最后一个问题：它是哪一年建成的？\n改写："
            => "海湾大桥是哪一年建成的？",
        "问题：青河有多长？\n答案：240公里\n最后一个问题：它从哪里发源？\n改写："
            => "青河从哪里发源？",
        "问题：陆地上最高的动物是什么？\n答案：长颈鹿\n最后一个问题：谁写了《静夜思》？\n改写："
            => "谁写了《静夜思》？",
    },
};

/// As [`crate::Pipeline::standalone`].
///
/// # Errors
/// A question that does not fit, a model that fails or is stopped.
pub(crate) fn standalone(
    model: &dyn LanguageModel,
    before: &[Exchange],
    question: &str,
) -> Result<Standalone, AnswerError> {
    let question = question.trim();
    let as_asked = Standalone {
        question: question.to_owned(),
        tokens: Tokens::default(),
        time: Duration::ZERO,
    };
    if before.is_empty() || question.is_empty() {
        return Ok(as_asked);
    }
    let started = Instant::now();
    let prompt = prompt(before, question);
    let tokens = model.count_prompt_tokens(&prompt)? + LONGEST;
    if tokens > model.context_tokens() {
        return Ok(as_asked);
    }
    let drawn = draw(model, &[DrawRequest::greedy(&prompt, LONGEST)])?;
    let drawn = drawn.into_iter().flatten().next();
    let drawn = drawn.ok_or(AnswerError::Interrupted)?;
    let tokens = Tokens {
        prompt: drawn.prompt_tokens,
        completion: drawn.written_tokens(),
    };
    let rewritten = drawn.into_text();
    let rewritten = rewritten.trim();
    Ok(Standalone {
        question: match is_of(before, question, rewritten) {
            true => rewritten.to_owned(),
            false => question.to_owned(),
        },
        tokens,
        time: started.elapsed(),
    })
}

fn prompt(before: &[Exchange], question: &str) -> Prompt {
    let (task, [asked, answered, last, rewritten]) = match is_mostly_chinese(question) {
        true => (&CHINESE, ["问题：", "答案：", "最后一个问题：", "改写："]),
        false => (
            &ENGLISH,
            ["Question: ", "Answer: ", "Last question: ", "Rewritten:"],
        ),
    };
    let mut input = String::new();
    for Exchange { question, answer } in &before[before.len().saturating_sub(EXCHANGES)..] {
        let question = on_one_line(question);
        let answer = on_one_line(answer);
        let answer: String = answer.chars().take(ANSWER_CHARACTERS).collect();
        input.push_str(&format!("{asked}{question}\n{answered}{answer}\n"));
    }
    let question = on_one_line(question);
    input.push_str(&format!("{last}{question}\n{rewritten}"));
    task.prompt(input)
}

/// Whether most words of a rewritten question are from the conversation.
fn is_of(before: &[Exchange], question: &str, rewritten: &str) -> bool {
    let mut known = words(question);
    for exchange in before {
        known.extend(words(&exchange.question));
        known.extend(words(&exchange.answer));
    }
    let rewritten = words(rewritten);
    let shared = rewritten.intersection(&known).count();
    !rewritten.is_empty() && shared as f64 >= LEAST_SHARED * rewritten.len() as f64
}

/// The words of a text; the characters of a Chinese one.
fn words(text: &str) -> BTreeSet<String> {
    let text = normalize(text, Rules::for_pair(text, ""));
    text.split_whitespace().map(str::to_owned).collect()
}

/// Messages that ask nothing, between bars.
const SMALL_TALK: &str = "hi|hello|hey|hi there|hello there|hey there|good morning|good afternoon|good evening|\
good night|good day|bye|goodbye|bye bye|see you|thanks|thank you|many thanks|thanks a lot|thank you very much|\
thank you so much|thanks so much|ok|okay|ok thanks|okay thanks|ok thank you|great|great thanks|perfect thanks|cool|\
cool thanks|nice|how are you|hi how are you|hello how are you|youre welcome|cheers|ta|thx|\
你好|您好|嗨|早上好|下午好|晚上好|晚安|再见|谢谢|谢谢你|谢谢您|多谢|好的|好的谢谢";

/// Whether a message only greets, thanks or says goodbye, and so asks nothing.
pub fn is_small_talk(message: &str) -> bool {
    let rules = Rules::for_pair(message, "");
    let message = normalize(message, rules);
    let mut known = SMALL_TALK.split('|');
    known.any(|known| normalize(known, rules) == message)
}

#[cfg(test)]
mod tests {
    use ken_testing::{Fact, TableModel, has, with};
    use proptest::prelude::*;

    use super::*;

    fn exchange(question: &str, answer: &str) -> Exchange {
        Exchange {
            question: question.to_owned(),
            answer: answer.to_owned(),
        }
    }

    /// A model that rewrites the question `last` as `into`.
    fn rewriter(last: &str, into: &str) -> TableModel {
        let fact = with!(Fact::default(), question: last.to_owned(), answer: into.to_owned(), known: 1.0,
            copied: 1.0);
        TableModel::new(vec![fact]).unwrap()
    }

    #[test]
    fn a_follow_up_is_rewritten_from_what_was_said() {
        let before = [exchange("Who built the mill of Orsand?", "Ida")];
        let ask = |into: &str| {
            let model = rewriter("When was it built?", into);
            standalone(&model, &before, "When was it built?").unwrap()
        };
        let good = ask("When was the mill of Orsand built?");
        assert_eq!(good.question, "When was the mill of Orsand built?");
        assert!(good.tokens.prompt > 0 && good.tokens.completion > 0);
        // A rewriting in words that the conversation does not have is discarded.
        for invented in ["Which planet is the largest?", ""] {
            assert_eq!(ask(invented).question, "When was it built?");
        }
    }

    #[test]
    fn a_first_question_costs_nothing() {
        let model = rewriter("who rows?", "who?");
        let alone = standalone(&model, &[], " who rows? ").unwrap();
        has!(alone, question: "who rows?", tokens: Tokens::default());
    }

    #[test]
    fn prompts_hold_the_last_exchanges_on_one_line_each() {
        let before: Vec<Exchange> = (0..5)
            .map(|n| exchange(&format!("q{n}\nmore"), &"word ".repeat(200)))
            .collect();
        let prompt = prompt(&before, "and\nthen?");
        assert!(!prompt.input.contains("q1 more") && prompt.input.contains("q2 more"));
        assert!(
            prompt
                .input
                .ends_with("Last question: and then?\nRewritten:")
        );
        assert!(prompt.input.lines().all(|line| line.chars().count() < 420));
    }

    #[test]
    fn greetings_and_thanks_ask_nothing() {
        for message in [
            "Hi!",
            " hello there. ",
            "Thanks a lot!",
            "Thank you.",
            "你好！",
            "OK, thanks",
        ] {
            assert!(is_small_talk(message), "{message}");
        }
        for message in [
            "hi, who rows?",
            "",
            "who",
            "thanks to whom was it built?",
            "好的作品是什么",
        ] {
            assert!(!is_small_talk(message), "{message}");
        }
    }

    proptest! {
        #[test]
        fn a_question_of_said_words_is_of_the_conversation(picks in prop::collection::vec(0..6_usize, 1..8)) {
            let words = ["mill", "orsand", "built", "ida", "when", "who"];
            let before = [exchange("who built mill orsand", "ida")];
            let rewritten: Vec<&str> = picks.iter().map(|&index| words[index]).collect();
            prop_assert!(is_of(&before, "when", &rewritten.join(" ")));
            let foreign: Vec<String> = picks.iter().map(|index| format!("x{index}")).collect();
            prop_assert!(!is_of(&before, "when", &foreign.join(" ")));
        }
    }
}
