//! Before evidence is reviewed: answering from memory the questions that no passage is about and the model knows.

use std::ops::ControlFlow;

use ken_policy::{OffTopic, Reading};

use super::review::with_evidence;
use super::vouch::ANSWER;
use crate::draft::Draft;
use crate::error::AnswerError;
use crate::memory::Memory;
use crate::pipeline::{Event, Pipeline};
use crate::retrieve::Retriever;

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
        open.retain(|&index| far(&drafts[index]).is_some());
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
