//! The third step: judging again with the evidence, and dropping the evidence that the policy does not keep.

use std::ops::ControlFlow;

use ken_policy::{Abstention, Choice, Policy, RoutingModel, Signal, Source};
use ken_probe::Sample;

use crate::draft::{Draft, Subject};
use crate::error::AnswerError;
use crate::pipeline::{Event, Pipeline};
use crate::prompt::says_nothing;

impl Pipeline {
    /// Checks that an assessor that reviews evidence, or vouches for answers with it, was trained on some.
    ///
    /// # Errors
    /// [`AnswerError::AssessorWithoutEvidence`].
    pub fn check_review(
        &self,
        policy: Policy,
        abstain: Option<Abstention>,
    ) -> Result<(), AnswerError> {
        let Some(assessor) = &self.routing.assessor else {
            return Ok(());
        };
        let by_assessor = |signal: Signal| signal.told_by == Some(RoutingModel::Assessor);
        if policy.reviews_by().is_some_and(by_assessor) {
            assessor.check_evidence(policy)?;
        }
        match abstain.filter(|abstain| by_assessor(abstain.signal)) {
            Some(abstain) => assessor.check_evidence(abstain),
            None => Ok(()),
        }
    }

    /// If the policy reviews evidence: measures the signal of the review, and drops the evidence that it does not keep. The
    /// answer is then the one from memory.
    pub(crate) fn review(
        &self,
        drafts: &mut [Draft<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        let policy = self.resolved(self.settings.policy);
        // A policy that refuses in the model's place leaves that to a model without log probabilities.
        let is_left = policy.withhold.is_some() && !self.refuses_by_policy();
        let Some(reviewer) = policy.reviews_by().filter(|_| !is_left) else {
            return Ok(());
        };
        if let Some(off_topic) = policy.off_topic {
            self.recall(off_topic, drafts, watch)?;
        }
        let indices = with_evidence(drafts);
        self.measure_drafts(&[reviewer], drafts, &indices, false)?;
        self.measure_drafts(&[reviewer], drafts, &indices, true)?;
        for index in indices {
            let draft = &mut drafts[index];
            let (without, with) = (&draft.measured, &draft.measured_with);
            let greedy = with.greedy.as_ref().filter(|_| self.refuses_by_policy());
            let says_nothing =
                |answer: &Sample| says_nothing(draft.question.question, &answer.text);
            let decided = if greedy.is_some_and(says_nothing) {
                Choice {
                    source: Source::SelfKnowledge,
                    reason: "with the evidence, the model says that no passage answers".to_owned(),
                    k: None,
                }
            } else {
                let review = self.reading(reviewer, reviewer.review(without, with));
                draft.cannot_tell |= review.cannot_tell();
                policy.review(review)?
            };
            draft.choice.source = decided.source;
            draft.choice.reason += &format!("; {}", decided.reason);
            if decided.source == Source::Corpus {
                draft.written = self.as_answer(draft.question, with);
            } else {
                draft.choice.reason += ", so the evidence is dropped";
                draft.written = self.as_answer(draft.question, without);
                draft.drop_evidence();
            }
            draft.go_on = watch(index, Event::Routed(&draft.choice)).is_continue();
        }
        Ok(())
    }
}

/// The indices of the drafts to answer with evidence that may not help: what documents begin with is what was asked for.
pub(super) fn with_evidence(drafts: &[Draft<'_>]) -> Vec<usize> {
    (0..drafts.len())
        .filter(|&index| drafts[index].go_on)
        .filter(|&index| drafts[index].choice.source == Source::Corpus)
        .filter(|&index| drafts[index].subject == Subject::Passages)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ken_language::LanguageModel;
    use ken_testing::{Fact, TableModel, with};

    use super::*;
    use crate::{AnswerSettings, AssessedModel, Assessor, RoutingModels, prompt};

    fn pipeline(with_evidence: bool) -> Pipeline {
        let fact = with!(Fact::default(), question: "who rows?".to_owned(), answer: "Ida".to_owned(), known: 1.0);
        let settings = with!(AnswerSettings::default(), policy: Policy::NEVER, samples: 3);
        let model = Arc::new(TableModel::new(vec![fact]).unwrap());
        let assessed = AssessedModel {
            model: model.fingerprint().to_owned(),
            prompt: prompt::fingerprint(),
            with_evidence,
        };
        let assessor = Assessor {
            model: model.clone(),
            assessed,
            for_any_model: false,
        };
        let routing = with!(RoutingModels::default(), assessor: Some(Arc::new(assessor)));
        Pipeline::new(model, None, settings).with(routing).unwrap()
    }

    #[test]
    fn an_assessor_that_was_trained_on_no_evidence_is_not_asked_about_it() {
        let refused = |policy: &str, abstain: Option<&str>| {
            let mut pipeline = pipeline(false);
            pipeline.settings.policy = policy.parse().unwrap();
            pipeline.settings.abstain = abstain.map(|text| text.parse().unwrap());
            let answer = pipeline.answer("who rows?", &mut |_| ControlFlow::Continue(()));
            answer.err().map(|error| (error.kind(), error.remedy()))
        };
        assert_eq!(refused("kbm@1", None), None);
        for (policy, abstain) in [
            ("kbm@1+double", None),
            ("kbm:certainty@1+double", None),
            ("never", Some("kbm@0.5")),
        ] {
            let (kind, remedy) = refused(policy, abstain).unwrap();
            assert_eq!(kind, "assessor_without_evidence", "{policy}");
            let remedy = remedy.unwrap();
            assert!(
                remedy.mentions("TrainKbm") && remedy.mentions("corpus"),
                "{remedy}"
            );
        }
        let with_evidence = pipeline(true);
        let policy = "kbm@1+double".parse().unwrap();
        assert!(with_evidence.check_review(policy, None).is_ok());
    }
}
