//! Whether answers are right by the judgment of a model that has read the passages, for questions without golden
//! answers. The judge makes mistakes, and it knows no more than the passages say.

use ken_language::{LanguageModel, ModelError, Prompt};

use crate::few_shot::FewShot;
use crate::normalize::{is_mostly_chinese, on_one_line};
use crate::verdict::verdicts;
use crate::worked_examples;

/// Tokens of the judge's context that stay free for its verdict.
const SPARE_TOKENS: usize = 16;

/// Alternates answers that the passages support, also in other words, with ones that they do not.
const BORNE_OUT: FewShot = FewShot {
    instruction: "For each answer to a question, it is written whether the passages show that it is right.",
    examples: worked_examples! {
        "Passages:\n- The mill at Orrow burned down in 1904 and was built again by Tessa Blum.\n\
    Question: Who built the mill at Orrow again?\nAnswer: Tessa Blum\nThe passages show that it is right:" => "True",
        "Passages:\n- The mill at Orrow burned down in 1904 and was built again by Tessa Blum.\n\
    Question: When did the mill at Orrow burn down?\nAnswer: 1940\nThe passages show that it is right:" => "False",
        "Passages:\n- Herons nest in the alders. The reeds are cut every third winter.\n\
    Question: How often are the reeds cut?\nAnswer: once in three years\nThe passages show that it is right:" => "True",
        "Passages:\n- Herons nest in the alders. The reeds are cut every third winter.\n\
    Question: Who cuts the reeds?\nAnswer: the fishermen\nThe passages show that it is right:" => "False",
    },
};

const CHINESE_BORNE_OUT: FewShot = FewShot {
    instruction: "判断每个问题的回答是否由所给段落证实。",
    examples: worked_examples! {
        "段落：\n- 奥罗的磨坊毁于1904年的一场火，后由布卢姆重建。\n问题：谁重建了磨坊？\n回答：布卢姆\n段落证实回答正确：" => "是",
        "段落：\n- 奥罗的磨坊毁于1904年的一场火，后由布卢姆重建。\n问题：磨坊毁于哪一年？\n回答：1940年\n段落证实回答正确：" => "否",
        "段落：\n- 芦苇每三个冬天割一次。\n问题：芦苇多久割一次？\n回答：每三年一次\n段落证实回答正确：" => "是",
        "段落：\n- 芦苇每三个冬天割一次。\n问题：谁来割芦苇？\n回答：渔民\n段落证实回答正确：" => "否",
    },
};

/// A question with the passages retrieved for it.
#[derive(Debug, Clone, Copy)]
pub struct Evidenced<'a> {
    /// The question.
    pub question: &'a str,
    /// The passages, best first.
    pub passages: &'a [&'a str],
}

/// Whether each answer to a question is right, by the judgment of a model that reads as many of the first passages as
/// its context holds. An empty answer is wrong; the judge is not asked about it.
///
/// # Shapes
/// Returns one truth value for each answer; `None` if the judge gives no verdict, or was stopped from outside.
///
/// # Errors
/// A question that does not fit into the judge's context without any passage, a judge that fails.
pub fn judge_answers(
    judge: &dyn LanguageModel,
    asked: Evidenced<'_>,
    answers: &[&str],
) -> Result<Vec<Option<bool>>, ModelError> {
    let given = answers.iter().filter(|answer| !answer.trim().is_empty());
    let prompts = given.map(|answer| fitting(judge, asked, answer));
    let prompts = prompts.collect::<Result<Vec<_>, _>>()?;
    let mut judged = match prompts.is_empty() {
        true => Vec::new().into_iter(),
        false => verdicts(judge, prompts)?.into_iter(),
    };
    Ok(answers
        .iter()
        .map(|answer| match answer.trim().is_empty() {
            true => Some(false),
            false => judged.next().flatten().and_then(|verdict| verdict.holds),
        })
        .collect())
}

/// The prompt with as many passages as fit, and the two words of the verdict.
fn fitting(
    judge: &dyn LanguageModel,
    asked: Evidenced<'_>,
    answer: &str,
) -> Result<(Prompt, [&'static str; 2]), ModelError> {
    let room = judge.context_tokens().saturating_sub(SPARE_TOKENS);
    let mut shown = asked.passages.len();
    loop {
        let worded = worded(asked.question, &asked.passages[..shown], answer);
        if shown == 0 || judge.count_prompt_tokens(&worded.0)? <= room {
            return Ok(worded);
        }
        shown -= 1;
    }
}

fn worded(question: &str, passages: &[&str], answer: &str) -> (Prompt, [&'static str; 2]) {
    let passages = passages
        .iter()
        .map(|passage| format!("- {}\n", on_one_line(passage)));
    let passages: String = passages.collect();
    let (question, answer) = (on_one_line(question), on_one_line(answer));
    match is_mostly_chinese(&question) {
        true => {
            let input =
                format!("段落：\n{passages}问题：{question}\n回答：{answer}\n段落证实回答正确：");
            (CHINESE_BORNE_OUT.prompt(input), [" 是", " 否"])
        }
        false => {
            let input = format!(
                "Passages:\n{passages}Question: {question}\nAnswer: {answer}\nThe passages show that it is right:"
            );
            (BORNE_OUT.prompt(input), [" True", " False"])
        }
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::FnModel;

    use super::*;

    const ASKED: Evidenced<'_> = Evidenced {
        question: "Who changes the oil?",
        passages: &["Ida changes\nthe oil.", "Bob sweeps the chimney."],
    };

    #[test]
    fn each_answer_is_judged_with_question_and_passages() {
        let judge = FnModel::first_where(|input| {
            let expected = "Passages:\n- Ida changes the oil.\n- Bob sweeps the chimney.\n\
                            Question: Who changes the oil?\nAnswer: Ida\nThe passages show that it is right:";
            input == expected
        });
        let judged = judge_answers(&judge, ASKED, &["Ida", "Bob", " ", "Ida\n"]).unwrap();
        assert_eq!(judged, [true, false, false, true].map(Some));
        assert_eq!(judge_answers(&judge, ASKED, &[]).unwrap(), []);
    }

    #[test]
    fn a_judge_that_tells_nothing_gives_no_verdict() {
        let judge = FnModel::new(4096, |_| {
            let untold = || ken_language::Score {
                logprobs: vec![f32::NAN],
            };
            vec![untold(), untold()]
        });
        let judged = judge_answers(&judge, ASKED, &["Ida", ""]).unwrap();
        assert_eq!(judged, [None, Some(false)]);
    }

    #[test]
    fn a_small_judge_reads_the_first_passages() {
        // A word is a token, and sixteen stay free.
        let judge = FnModel::new(16 + 23, |request| {
            let reads = |text: &str| request.prompt.input.contains(text);
            let is = reads("Ida changes the oil.") && !reads("chimney");
            let score = |likely: bool| ken_language::Score {
                logprobs: vec![if likely { -0.1 } else { -3.0 }],
            };
            vec![score(is), score(!is)]
        });
        assert_eq!(
            judge_answers(&judge, ASKED, &["Ida"]).unwrap(),
            [Some(true)]
        );
    }

    #[test]
    fn a_chinese_question_is_judged_in_chinese() {
        let judge =
            FnModel::first_where(|input| input.starts_with("段落：\n- 李白写的。\n问题：谁写的？"));
        let asked = Evidenced {
            question: "谁写的？",
            passages: &["李白写的。"],
        };
        assert_eq!(
            judge_answers(&judge, asked, &["李白"]).unwrap(),
            [Some(true)]
        );
    }
}
