//! The last drawn questions: both answers, without and with retrieval, and what is said to be right. Whichever
//! comes first waits here for the other, in memory.

use std::collections::VecDeque;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Drawn questions that are remembered.
const REMEMBERED: usize = 2000;

/// Both short answers of a drawn question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Compared {
    /// It retrieved, so nothing can have been lost.
    Retrieved,
    /// It did not.
    Both { without: String, with: String },
}

impl Compared {
    /// Whether retrieval makes no difference.
    pub(crate) fn agrees(&self) -> bool {
        match self {
            Self::Retrieved => true,
            Self::Both { without, with } => is_right(without, std::slice::from_ref(with)),
        }
    }

    /// What was lost by not retrieving, 0 or 1, where these answers are right.
    fn loss(&self, right: &[String]) -> f64 {
        match self {
            Self::Both { without, with } if is_right(with, right) && !is_right(without, right) => {
                1.0
            }
            _ => 0.0,
        }
    }
}

fn is_right(answer: &str, right: &[String]) -> bool {
    ken_probe::score(answer, right).exact_match
}

/// What a judge says of both answers of a drawn question.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub(crate) struct Verdict {
    /// Whether the answer without retrieval is right.
    pub(crate) without: bool,
    /// Whether the one with retrieval is.
    pub(crate) with: bool,
}

impl Verdict {
    /// What was lost by not retrieving, 0 or 1.
    pub(crate) fn loss(self) -> f64 {
        match self.with && !self.without {
            true => 1.0,
            false => 0.0,
        }
    }
}

/// A drawn question.
#[derive(Debug)]
struct Question {
    request_id: String,
    /// The id of the key by which it came.
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
    /// Remembers a question; both answers follow.
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

    /// Takes both answers; returns the loss where it is said what is right.
    pub(crate) fn compare(&mut self, request_id: &str, compared: Compared) -> Option<f64> {
        let question = self.find(request_id)?;
        question.compared = Some(compared);
        question.loss()
    }

    /// Takes what is right, of a question of this key or, where any key may be, of any; returns the loss
    /// where both answers are known. `None` where it does not count.
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
            assert_eq!(Verdict { without, with }.loss(), loss, "{without} {with}");
        }
        assert!(both("Ida", "ida").agrees() && !both("Ida", "Bob").agrees());
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
