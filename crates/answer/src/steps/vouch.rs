//! The fourth step, if answers may be withheld: deciding whether a signal vouches for the answer.

use std::ops::ControlFlow;

use ken_policy::{Abstention, Measurements, Signal, Source};

use crate::draft::Draft;
use crate::error::AnswerError;
use crate::memory::Memory;
use crate::pipeline::{Event, Pipeline};

/// The signals that abstaining measures: its own, and one that has the short answer written, so that the trace has the
/// withheld answer.
pub fn signals_of_abstention(abstention: Abstention) -> [Signal; 2] {
    [abstention.signal, ANSWER]
}

/// A signal of the greedy answer alone.
pub(super) const ANSWER: Signal = Signal::PERPLEXITY;

impl Pipeline {
    /// If answers may be withheld: measures those that no signal vouches for yet, and withholds those that the abstention
    /// does not vouch for either. The settings' abstention judges every answer but those that the policy's own signal
    /// chose; the policy's own, answers from memory in place of evidence.
    pub(crate) fn vouch(
        &self,
        drafts: &mut [Draft<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        // A refusal would not fulfil the schema.
        if self.brought.schema.is_some() {
            return Ok(());
        }
        if self.settings.memory == Memory::Refuse {
            for (index, draft) in drafts.iter_mut().enumerate() {
                if draft.go_on && draft.stands_in() {
                    draft.choice.reason += ", and answers from memory are refused";
                    draft.withhold(String::new());
                    draft.go_on = watch(index, Event::Routed(&draft.choice)).is_continue();
                }
            }
        }
        let set = self.settings.abstain;
        let in_place = Abstention::in_place_of_evidence(self.settings.policy);
        match set.or(in_place) {
            Some(abstention) => self.vouch_by(abstention, set.is_none(), drafts, watch),
            None => Ok(()),
        }
    }

    /// `in_place_only`: judges only answers from memory in place of evidence.
    fn vouch_by(
        &self,
        abstention: Abstention,
        in_place_only: bool,
        drafts: &mut [Draft<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        let weighs = abstention.signal.weighs_evidence();
        let open = (0..drafts.len()).filter(|&index| {
            let draft = &drafts[index];
            let concerns = draft.stands_in() || !in_place_only;
            concerns && draft.go_on && !draft.is_vouched && draft.withheld.is_none()
        });
        let (read, remembered): (Vec<usize>, Vec<usize>) =
            open.partition(|&index| drafts[index].choice.source == Source::Corpus);
        let signals = signals_of_abstention(abstention);
        // A signal of the evidence cannot be measured without it.
        let of_memory = if weighs { &[ANSWER][..] } else { &signals };
        self.measure_drafts(of_memory, drafts, &remembered, false)?;
        if weighs {
            self.measure_drafts(&[abstention.signal], drafts, &read, false)?;
        }
        self.measure_drafts(&signals, drafts, &read, true)?;
        for index in remembered.into_iter().chain(read) {
            let draft = &mut drafts[index];
            let is_read = draft.choice.source == Source::Corpus;
            let (without, with) = (&draft.measured, &draft.measured_with);
            let signal = abstention.signal;
            let reading = match is_read {
                true => signal.review(without, with),
                false => signal.of(without),
            };
            let reading = self.reading(signal, reading);
            let (is_given, reason) = match (is_read, weighs) {
                (false, true) => (
                    false,
                    "there is no evidence to vouch for the answer".to_owned(),
                ),
                _ => {
                    draft.cannot_tell |= reading.cannot_tell();
                    abstention.judge(reading)?
                }
            };
            draft.choice.reason += &format!("; {reason}");
            let measured = if is_read { with } else { without };
            if is_given {
                draft.written = self.as_answer(draft.question, measured);
            } else {
                draft.withhold(short_answer(measured));
            }
            draft.go_on = watch(index, Event::Routed(&draft.choice)).is_continue();
        }
        Ok(())
    }
}

fn short_answer(measured: &Measurements) -> String {
    let answer = measured.greedy.as_ref();
    answer.map(|answer| answer.text.clone()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ken_testing::{Fact, TableModel, has, says, with};

    use super::*;
    use crate::prompt::{QuestionPrompt, verbalize};
    use crate::{Answer, AnswerSettings, Style};

    fn ask(
        question: &str,
        policy: &str,
        abstain: &str,
        style: Style,
    ) -> Result<Answer, AnswerError> {
        let fact = with!(Fact::default(), question: question.to_owned(), answer: "Ida".to_owned(), known: 1.0);
        let settings = with!(AnswerSettings::default(), policy: policy.parse().unwrap(),
            abstain: Some(abstain.parse().unwrap()), style: style, samples: 3);
        let instruction = verbalize(QuestionPrompt::open("who?"), None).instruction;
        let model = TableModel::new(vec![fact]).unwrap();
        let model = Arc::new(model.writing_texts(&[&instruction]));
        let mut seen = String::new();
        let answer = Pipeline::new(model, None, settings).answer(question, &mut |event| {
            if let Event::Text(text) = event {
                seen.push_str(text);
            }
            ControlFlow::Continue(())
        })?;
        assert_eq!(seen, answer.answer, "nothing of what is withheld is shown");
        assert_eq!(
            answer.verbalized, None,
            "what is vouched for is the plain answer"
        );
        Ok(answer)
    }

    #[test]
    fn what_nothing_vouches_for_is_withheld_before_it_is_written() {
        for style in [Style::Short, Style::Full] {
            // No perplexity is below 1.
            let answer = ask("who rows?", "never", "uncertainty:perplexity@0.5", style).unwrap();
            has!(answer, answer: "I do not know.", withheld.as_deref(): Some("Ida"), calls.model: 1,
                verbalized: None);
            assert!(
                answer.reason.ends_with("so it is withheld"),
                "{}",
                answer.reason
            );
            let answer = ask("who rows?", "never", "evidence:gain@-9", style).unwrap();
            assert_eq!(answer.withheld.as_deref(), Some("Ida"));
            assert!(answer.reason.contains("no evidence"), "{}", answer.reason);
        }
        let answer = ask("谁在划船？", "never", "certainty@0", Style::Short).unwrap();
        assert_eq!((answer.withheld, answer.answer.as_str()), (None, "Ida"));
        let answer = ask(
            "谁在划船？",
            "never",
            "uncertainty:perplexity@0.5",
            Style::Short,
        )
        .unwrap();
        assert_eq!(answer.answer, "我不知道。");
    }

    #[test]
    fn what_the_policy_itself_chose_stands() {
        let policy = "uncertainty:perplexity@100";
        let answer = ask(
            "who rows?",
            policy,
            "uncertainty:perplexity@0.5",
            Style::Short,
        )
        .unwrap();
        assert_eq!((answer.answer.as_str(), answer.withheld), ("Ida", None));
        let answer = ask(
            "who rows?",
            "never",
            "uncertainty:perplexity@9",
            Style::Short,
        )
        .unwrap();
        assert_eq!((answer.answer.as_str(), answer.withheld), ("Ida", None));
        assert!(
            answer.reason.ends_with("so it is given"),
            "{}",
            answer.reason
        );
    }

    #[test]
    fn without_a_threshold_nothing_is_asked() {
        let error = ask("who rows?", "never", "evidence:gain", Style::Short).unwrap_err();
        assert_eq!(error.kind(), "abstains_without_threshold");
        let remedy = error.remedy().unwrap();
        assert!(remedy.mentions("evidence:gain@THRESHOLD"), "{remedy}");
        assert!(remedy.mentions("CalibrateAbstention"), "{remedy}");
        let unknown = "prompt@0.4".parse::<Abstention>().unwrap_err().to_string();
        says!(unknown => "cannot vouch", "certainty");
        let number = "certainty@7".parse::<Abstention>().unwrap_err().to_string();
        assert!(number.contains("from 0 to 1"), "{number}");
        assert_eq!(
            "certainty@0.5".parse::<Abstention>().unwrap().to_string(),
            "certainty@0.5"
        );
    }
}
