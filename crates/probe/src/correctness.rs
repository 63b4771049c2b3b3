//! Whether a sampled answer is right: by exact match, because it contains a golden answer, or by the judgment of a
//! model (KBM, section A.2, uses one for Chinese). The comparisons themselves are in `scores` and `choices`.

use ken_language::{LanguageModel, ModelError, named};

use crate::choices::{named_choice, right_choices};
use crate::few_shot::FewShot;
use crate::first_of_two::first_of_two;
use crate::normalize::is_mostly_chinese;
use crate::scores::{Scores, covers, score};
use crate::worked_examples;

/// When an answer counts as right.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum Correctness {
    /// It equals a golden answer after normalization.
    #[default]
    Exact,
    /// It contains a golden answer, after normalization.
    Contains,
    /// A model judges that it says the same as a golden answer.
    Judge,
}

named! {
    Correctness, "way to tell right answers",
    Correctness::Exact => "exact",
    Correctness::Contains => "contains",
    Correctness::Judge => "judge",
}

/// The right answers to a question.
#[derive(Debug, Clone, Copy)]
pub struct Golden<'a> {
    /// Every answer that counts as right.
    pub answers: &'a [String],
    /// The choices of a multiple-choice question; empty for any other.
    pub choices: &'a [String],
}

impl<'a> Golden<'a> {
    /// One right answer alone.
    pub fn only(answer: &'a String, choices: &'a [String]) -> Self {
        let answers = std::slice::from_ref(answer);
        Self { answers, choices }
    }

    /// How well an answer matches. For a multiple-choice question the scores are all 1 if the answer names a right
    /// choice, by its letter or its text, else 0.
    pub fn scores(&self, answer: &str) -> Scores {
        let right = right_choices(self.answers, self.choices);
        if right.is_empty() {
            return score(answer, self.answers);
        }
        let named = named_choice(answer, self.choices);
        let is_right = named.is_some_and(|named| right.contains(&named));
        Scores {
            exact_match: is_right,
            f1: f64::from(u8::from(is_right)),
            contains: is_right,
        }
    }

    /// Whether there are choices, but the golden answers name none of them.
    pub fn names_no_choice(&self) -> bool {
        !self.choices.is_empty()
            && !self.answers.is_empty()
            && right_choices(self.answers, self.choices).is_empty()
    }

    /// Why no answer to the question can be scored; `None` if answers can.
    pub fn obstacle(&self) -> Option<Obstacle> {
        if self.answers.is_empty() {
            Some(Obstacle::NoGoldenAnswers)
        } else if covers("", self.answers).is_none() {
            // To the normalization, a letter such as `A` is an article, but it still names a choice.
            right_choices(self.answers, self.choices)
                .is_empty()
                .then_some(Obstacle::EmptyGoldenAnswers)
        } else {
            None
        }
    }
}

/// Why answers to a question cannot be scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Obstacle {
    /// The question has no golden answer.
    NoGoldenAnswers,
    /// Nothing is left of the golden answers after normalization.
    EmptyGoldenAnswers,
}

/// Whether each answer is right. An answer to a multiple-choice question is right if it names a right choice, by its
/// letter or its text, whatever the rule for other questions. The judge is not asked about exact matches and empty
/// answers.
///
/// # Shapes
/// Returns one truth value for each answer.
///
/// # Errors
/// A judge that does not score, or that fails.
pub fn are_right(
    correctness: Correctness,
    answers: &[(&str, Golden<'_>)],
    judge: &dyn LanguageModel,
) -> Result<Vec<bool>, ModelError> {
    let verdicts: Vec<Option<bool>> = answers
        .iter()
        .map(|(answer, golden)| without_judge(correctness, answer, golden))
        .collect();
    let open: Vec<&(&str, Golden<'_>)> = answers
        .iter()
        .zip(&verdicts)
        .filter_map(|(answer, verdict)| verdict.is_none().then_some(answer))
        .collect();
    let mut judged = judgments(judge, &open)?.into_iter();
    Ok(verdicts
        .into_iter()
        .map(|verdict| verdict.or_else(|| judged.next()).unwrap_or(false))
        .collect())
}

/// The verdict, if it needs no judge.
fn without_judge(correctness: Correctness, answer: &str, golden: &Golden<'_>) -> Option<bool> {
    let scores = golden.scores(answer);
    if !right_choices(golden.answers, golden.choices).is_empty() {
        return Some(scores.exact_match);
    }
    match correctness {
        Correctness::Exact => Some(scores.exact_match),
        Correctness::Contains => Some(scores.contains),
        Correctness::Judge if scores.exact_match => Some(true),
        Correctness::Judge if answer.trim().is_empty() => Some(false),
        Correctness::Judge => None,
    }
}

/// Alternates answers that are right in other words with answers that are close but wrong.
const SAME: FewShot = FewShot {
    instruction: "For each answer, it is written whether it means the same as one of the \
right answers.",
    examples: worked_examples! {
        "Right answers: the United States\nAnswer: America, the USA\nIt is right:" => "True",
        "Right answers: 1912 / April 1912\nAnswer: 1913\nIt is right:" => "False",
        "Right answers: Johann Sebastian Bach\nAnswer: Carl Philipp Emanuel Bach\nIt is right:"
            => "False",
        "Right answers: three / 3\nAnswer: there are three of them\nIt is right:" => "True",
    },
};

const CHINESE_SAME: FewShot = FewShot {
    instruction: "判断每个回答与某个正确答案的意思是否相同。",
    examples: worked_examples! {
        "正确答案：美国\n回答：美利坚合众国\n回答正确：" => "是",
        "正确答案：1912年\n回答：1913年\n回答正确：" => "否",
        "正确答案：李白\n回答：杜甫\n回答正确：" => "否",
        "正确答案：三个 / 3个\n回答：一共有三个\n回答正确：" => "是",
    },
};

/// The judge's verdict on each answer. The prompt leaves out the question, so that the judge compares only the
/// answers.
fn judgments(
    judge: &dyn LanguageModel,
    answers: &[&(&str, Golden<'_>)],
) -> Result<Vec<bool>, ModelError> {
    let prompts: Vec<_> = answers
        .iter()
        .map(|(answer, golden)| {
            let right = golden.answers.join(" / ");
            if is_mostly_chinese(&right) {
                let input = format!("正确答案：{right}\n回答：{answer}\n回答正确：");
                (CHINESE_SAME.prompt(input), [" 是", " 否"])
            } else {
                let input = format!("Right answers: {right}\nAnswer: {answer}\nIt is right:");
                (SAME.prompt(input), [" True", " False"])
            }
        })
        .collect();
    let right = first_of_two(judge, &prompts)?;
    Ok(right.into_iter().map(|right| right > 0.5).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_testing::FnModel;

    fn right(correctness: Correctness, answer: &str, golden: &[&str], choices: &[&str]) -> bool {
        let golden: Vec<String> = golden.iter().map(|&text| text.to_owned()).collect();
        let choices: Vec<String> = choices.iter().map(|&text| text.to_owned()).collect();
        let golden = Golden {
            answers: &golden,
            choices: &choices,
        };
        // A judge that calls every answer with a bird in it right.
        let judge = FnModel::first_where(|input| input.contains("bird"));
        are_right(correctness, &[(answer, golden)], &judge).unwrap()[0]
    }

    #[test]
    fn each_way_has_its_own_idea_of_right() {
        let cases = [
            ("the wren", [true, true, true]),
            ("a wren, I think", [false, true, false]),
            ("that small bird", [false, false, true]),
            ("", [false, false, false]),
        ];
        for (answer, expected) in cases {
            let ways = [
                Correctness::Exact,
                Correctness::Contains,
                Correctness::Judge,
            ];
            let verdicts = ways.map(|way| right(way, answer, &["Wren"], &[]));
            assert_eq!(verdicts, expected, "{answer}");
        }
        assert!(right(Correctness::Judge, "小鸟 bird", &["鹪鹩"], &[]));
    }

    #[test]
    fn choices_are_compared_by_letter_and_text() {
        let colours = ["red", "blue"];
        for way in [Correctness::Exact, Correctness::Judge] {
            assert!(right(way, "B", &["blue"], &colours));
            assert!(right(way, "blue", &["B"], &colours));
            assert!(right(way, "A. red", &["A"], &colours));
            assert!(!right(way, "bird", &["B"], &colours));
        }
    }

    #[test]
    fn a_question_without_golden_answers_says_so() {
        let obstacle = |golden: &[&str], choices: &[&str]| {
            let answers: Vec<String> = golden.iter().map(|&text| text.to_owned()).collect();
            let choices: Vec<String> = choices.iter().map(|&text| text.to_owned()).collect();
            Golden {
                answers: &answers,
                choices: &choices,
            }
            .obstacle()
        };
        assert_eq!(obstacle(&[], &[]), Some(Obstacle::NoGoldenAnswers));
        assert_eq!(
            obstacle(&["the", " "], &[]),
            Some(Obstacle::EmptyGoldenAnswers)
        );
        assert_eq!(obstacle(&["the", "x"], &[]), None);
        assert_eq!(obstacle(&["A"], &["red", "blue"]), None);
    }
}
