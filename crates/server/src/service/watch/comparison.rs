//! The last drawn questions: both answers, without and with retrieval, or the given one, and the answers said to be
//! right. Whichever comes first waits here, in memory, for the other.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many drawn questions are remembered.
const REMEMBERED: usize = 2000;

/// The short answers of a drawn question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Compared {
    /// The question was answered with retrieval, so nothing can have been lost.
    Retrieved,
    /// The question was answered without retrieval.
    Both { without: String, with: String },
    /// The given answer, where few of these are promised to be wrong.
    Given(String),
}

impl Compared {
    /// Whether retrieval changes the answer, if there are two.
    pub(crate) fn differs(&self) -> bool {
        match self {
            Self::Both { without, with } => !is_right(without, std::slice::from_ref(with)),
            Self::Retrieved | Self::Given(_) => false,
        }
    }

    /// The answers for a judge to call right or wrong.
    pub(crate) fn answers(&self) -> Vec<&str> {
        match self {
            Self::Retrieved => Vec::new(),
            Self::Both { without, with } => vec![without, with],
            Self::Given(answer) => vec![answer],
        }
    }

    /// The loss by not retrieving, or whether the given answer is wrong, 0 or 1, if these answers are right.
    fn loss(&self, right: &[String]) -> f64 {
        let is_right = |answer: &String| is_right(answer, right);
        let is_lost = match self {
            Self::Retrieved => false,
            Self::Both { without, with } => is_right(with) && !is_right(without),
            Self::Given(answer) => !is_right(answer),
        };
        f64::from(u8::from(is_lost))
    }
}

fn is_right(answer: &str, right: &[String]) -> bool {
    ken_probe::score(answer, right).exact_match
}

/// A judge's verdict on the answers to a drawn question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(inline)]
pub(crate) enum Verdict {
    /// On both answers.
    Both {
        /// Whether the answer without retrieval is right.
        without: bool,
        /// Whether the one with retrieval is right.
        with: bool,
    },
    /// On the given answer.
    Given {
        /// Whether it is right.
        right: bool,
    },
}

impl Verdict {
    /// From the verdict on each answer, in the order of [`Compared::answers`].
    pub(crate) fn of(right: &[Option<bool>]) -> Option<Self> {
        match *right {
            [Some(without), Some(with)] => Some(Self::Both { without, with }),
            [Some(right)] => Some(Self::Given { right }),
            _ => None,
        }
    }

    /// Its label in metrics.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Both { .. } if self.loss() > 0.0 => "lost",
            Self::Both { .. } => "kept",
            Self::Given { right: true } => "right",
            Self::Given { right: false } => "wrong",
        }
    }

    /// The loss by not retrieving, or whether the given answer is wrong, 0 or 1.
    pub(crate) fn loss(self) -> f64 {
        f64::from(u8::from(match self {
            Self::Both { without, with } => with && !without,
            Self::Given { right } => !right,
        }))
    }
}

/// A drawn question.
#[derive(Debug)]
struct Question {
    request_id: String,
    /// The id of the key that asked.
    key: Option<String>,
    compared: Option<Compared>,
    right: Option<Vec<String>>,
}

impl Question {
    fn loss(&self) -> Option<f64> {
        Some(self.compared.as_ref()?.loss(self.right.as_ref()?))
    }
}

/// The last drawn questions, oldest first.
#[derive(Default)]
pub(crate) struct Remembered(VecDeque<Question>);

impl Remembered {
    /// Remembers a question; its answers follow.
    pub(crate) fn add(&mut self, request_id: &str, key: Option<&str>) {
        if self.0.len() >= REMEMBERED {
            self.0.pop_front();
        }
        self.0.push_back(Question {
            request_id: request_id.to_owned(),
            key: key.map(str::to_owned),
            compared: None,
            right: None,
        });
    }

    fn find(&mut self, request_id: &str) -> Option<&mut Question> {
        let mut newest_first = self.0.iter_mut().rev();
        newest_first.find(|question| question.request_id == request_id)
    }

    /// Takes the answers; returns the loss if the right answers are known.
    pub(crate) fn compare(&mut self, request_id: &str, compared: Compared) -> Option<f64> {
        let question = self.find(request_id)?;
        question.compared = Some(compared);
        question.loss()
    }

    /// Takes the right answers to a question of this key or, if any key may, of any; returns the loss if the
    /// question's answers are known. `None` if they do not count.
    pub(crate) fn judge(
        &mut self,
        request_id: &str,
        key: Option<&str>,
        may_any: bool,
        right: Vec<String>,
    ) -> Option<Option<f64>> {
        let question = self.find(request_id)?;
        let may = may_any || question.key.as_deref() == key;
        if !may || question.right.is_some() {
            return None;
        }
        question.right = Some(right);
        Some(question.loss())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(without: &str, with: &str) -> Compared {
        Compared::Both {
            without: without.to_owned(),
            with: with.to_owned(),
        }
    }

    fn right(answer: &str) -> Vec<String> {
        vec![answer.to_owned()]
    }

    #[test]
    fn only_a_right_answer_that_retrieval_would_have_given_is_lost() {
        for (without, with, loss) in [
            ("Bob", "Ida", 1.0),
            ("Ida", "Bob", 0.0),
            ("the Ida.", "Ida", 0.0),
            ("Bob", "Eve", 0.0),
        ] {
            assert_eq!(
                both(without, with).loss(&right("Ida")),
                loss,
                "{without} {with}"
            );
        }
        assert_eq!(Compared::Retrieved.loss(&right("Ida")), 0.0);
        for (without, with, loss) in [(false, true, 1.0), (true, true, 0.0), (true, false, 0.0)] {
            let verdict = Verdict::of(&[Some(without), Some(with)]).unwrap();
            assert_eq!(verdict.loss(), loss, "{without} {with}");
        }
        assert!(!both("Ida", "ida").differs() && both("Ida", "Bob").differs());
    }

    #[test]
    fn an_answer_given_is_an_error_where_it_is_wrong() {
        let given = |answer: &str| Compared::Given(answer.to_owned());
        assert_eq!(given("the Ida.").loss(&right("Ida")), 0.0);
        assert_eq!(given("Bob").loss(&right("Ida")), 1.0);
        for (right, loss, name) in [(true, 0.0, "right"), (false, 1.0, "wrong")] {
            let verdict = Verdict::of(&[Some(right)]).unwrap();
            assert_eq!((verdict.loss(), verdict.name()), (loss, name));
        }
        assert_eq!(Verdict::of(&[None]), None);
    }

    #[test]
    fn answers_and_what_is_right_come_in_any_order_and_count_once() {
        let mut all = Remembered::default();
        all.add("a", None);
        assert_eq!(all.judge("a", None, false, right("Ida")), Some(None));
        assert_eq!(all.compare("a", both("Bob", "Ida")), Some(1.0));
        assert_eq!(all.judge("a", None, true, right("Bob")), None);
        all.add("b", Some("key"));
        assert_eq!(all.compare("b", both("Ida", "Ida")), None);
        assert_eq!(all.judge("b", Some("other"), false, right("Ida")), None);
        assert_eq!(
            all.judge("b", Some("other"), true, right("Ida")),
            Some(Some(0.0))
        );
        assert_eq!(all.judge("c", None, true, right("Ida")), None);
    }

    #[test]
    fn the_oldest_are_forgotten() {
        let mut all = Remembered::default();
        for number in 0..=REMEMBERED {
            all.add(&number.to_string(), None);
        }
        assert_eq!(all.judge("0", None, true, right("x")), None);
        assert_eq!(all.judge("1", None, true, right("x")), Some(None));
    }
}
