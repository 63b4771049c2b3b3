//! Before evidence is reviewed: answering from memory the questions that no passage is about and the model knows.

use std::ops::ControlFlow;

use ken_policy::{OffTopic, Reading};

use super::review::with_evidence;
use super::vouch::ANSWER;
use crate::answer::Retrieved;
use crate::cite::{common, passage_words, telling_words};
use crate::draft::Draft;
use crate::error::AnswerError;
use crate::memory::Memory;
use crate::pipeline::{Event, Pipeline};
use crate::retrieve::Retriever;

/// The fewest longer words of a question that are looked for in passages.
const FEWEST: usize = 4;

impl Pipeline {
    /// Drops the evidence of questions off topic unread, if the sampled answers vouch for the one from memory. Passages are
    /// searched again only for questions whose search told no cosine. Does nothing if a corpus is not rated by cosines, or
    /// if answers from memory are refused.
    pub(super) fn recall(
        &self,
        off_topic: OffTopic,
        drafts: &mut [Draft<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        let is_rated = self.retriever().is_some_and(Retriever::rates_all);
        if !is_rated || self.settings.memory == Memory::Refuse {
            return Ok(());
        }
        let mut open = with_evidence(drafts);
        // Its subject is a file of the corpus.
        open.retain(|&index| drafts[index].named_documents.is_empty());
        let mut unrated = open.clone();
        unrated.retain(|&index| drafts[index].nearest.is_none());
        self.measure_drafts(&[OffTopic::SIMILARITY], drafts, &unrated, true)?;
        let far = |draft: &Draft<'_>| {
            let similarity = match draft.nearest {
                Some(cosine) => Reading::from(f64::from(cosine)),
                None => OffTopic::SIMILARITY.weigh(&draft.measured, &draft.measured_with),
            };
            off_topic.is_off_topic(similarity)
        };
        open.retain(|&index| {
            let draft = &drafts[index];
            far(draft).is_some() && !is_worded(draft.question.question, &draft.retrieved)
        });
        self.measure_drafts(&[OffTopic::UNCERTAINTY, ANSWER], drafts, &open, false)?;
        for index in open {
            let draft = &mut drafts[index];
            let known = off_topic.is_known(OffTopic::UNCERTAINTY.of(&draft.measured));
            let Some((far, known)) = far(draft).zip(known) else {
                continue;
            };
            draft.choice.reason += &format!("; {far}, and {known}, so no passage is read");
            draft.is_vouched = true;
            draft.written = self.as_answer(draft.question, &draft.measured);
            draft.drop_evidence();
            draft.go_on = watch(index, Event::Routed(&draft.choice)).is_continue();
        }
        Ok(())
    }
}

/// Whether a passage has two thirds of a question's longer words: one about many things may answer a question from which
/// its vector is far.
fn is_worded(question: &str, passages: &[Retrieved]) -> bool {
    let telling = telling_words(question, |_| false);
    let has_most =
        |passage: &Retrieved| 3 * common(&telling, &passage_words(passage)) >= 2 * telling.len();
    telling.len() >= FEWEST && passages.iter().any(has_most)
}

#[cfg(test)]
mod tests {
    use ken_testing::with;

    use super::*;

    #[test]
    fn a_question_in_the_words_of_a_passage_is_on_topic() {
        let passages = [
            with!(Retrieved::default(), title: "Garden notes".to_owned(),
            text: "Water on weekdays. The key of the shed is under the third flower pot.".to_owned()),
        ];
        for (question, expected) in [
            ("Is the shed key under the third flower pot?", true),
            ("Is the garden key under a third stone pot?", true),
            ("Who painted the third Mona Lisa in Florence?", false),
            // Too few words to tell.
            ("Which third flower?", false),
            ("", false),
        ] {
            assert_eq!(is_worded(question, &passages), expected, "{question}");
        }
    }
}
