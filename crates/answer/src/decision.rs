//! The decision about a question: its route and its evidence, for callers that have the answer written by another program.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ken_policy::{Policy, Tokens};
use ken_probe::Lack;

use crate::answer::{Answer, Retrieved};
use crate::brought::EvidenceForm;
use crate::draft::Draft;
use crate::error::AnswerError;
use crate::pipeline::{Event, Pipeline};
use crate::prompt::{self, QuestionPrompt};
use crate::style::Style;

/// A question with its source of knowledge, and with the evidence that is to be read.
pub struct Decision<'q> {
    draft: Draft<'q>,
    policy: Policy,
    started: Instant,
}

/// What was written of a question.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// The answer.
    pub text: String,
    /// What it cost.
    pub tokens: Tokens,
    /// How long it took.
    pub time: Duration,
    /// Why it is none, or not all of one.
    pub lack: Option<Lack>,
}

impl Pipeline {
    /// Takes the steps up to the evidence: routes, gathers and reviews. A conversation that leaves no room for evidence gets
    /// none, and nor does one that asks nothing.
    ///
    /// # Errors
    /// An empty corpus, a failing model or index.
    pub fn decide<'q>(
        &self,
        question: impl Into<QuestionPrompt<'q>>,
        watch: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Decision<'q>, AnswerError> {
        let started = Instant::now();
        let policy = self.resolved(self.settings.policy);
        let question = question.into().trimmed();
        let draft = self.decided(question, &mut |_, event| watch(event))?;
        Ok(Decision {
            draft,
            policy,
            started,
        })
    }

    fn decided<'q>(
        &self,
        question: QuestionPrompt<'q>,
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Draft<'q>, AnswerError> {
        let questions = [question];
        let mut choice = Policy::NEVER.choose(None)?;
        // What reads nothing need not be counted, which may take a request.
        if self.settings.policy != Policy::NEVER {
            let budgets = self.budgets(&questions)?;
            let reason = match self.check(&questions, &budgets) {
                Ok(()) => {
                    let mut drafts = self.route(&questions, watch)?;
                    self.gather(&mut drafts, &budgets, watch)?;
                    self.review(&mut drafts, watch)?;
                    return drafts.pop().ok_or(AnswerError::EmptyQuestion);
                }
                Err(AnswerError::QuestionTooLong { .. }) => "no room is left for evidence",
                Err(AnswerError::EmptyQuestion) => "nothing is asked in words",
                Err(other) => return Err(other),
            };
            reason.clone_into(&mut choice.reason);
        }
        let _ = watch(0, Event::Routed(&choice));
        Ok(Draft::new(question, choice, true))
    }
}

impl Decision<'_> {
    /// The evidence as a part of a conversation; empty where there is none.
    #[must_use]
    pub fn message(&self, form: &EvidenceForm) -> String {
        self.draft.message(form)
    }

    /// The trace, where nothing is written.
    #[must_use]
    pub fn unwritten(mut self) -> Answer {
        self.draft.took("total", self.started.elapsed());
        self.draft.finish(self.policy, Style::AsSent, "")
    }

    /// The answer that was written, with its trace.
    #[must_use]
    pub fn finish(self, written: Written) -> Answer {
        let Self {
            mut draft,
            policy,
            started,
        } = self;
        draft.took("write", written.time);
        draft.took("total", started.elapsed());
        draft.calls.model += 1;
        draft.tokens.prompt += written.tokens.prompt;
        draft.tokens.completion += written.tokens.completion;
        draft.lack = written.lack;
        draft.finish(policy, Style::AsSent, &written.text)
    }
}

impl Draft<'_> {
    /// The evidence as a part of a conversation; empty where there is none.
    pub(crate) fn message(&self, form: &EvidenceForm) -> String {
        let read: Vec<&Retrieved> = self.retrieved.iter().filter(|one| one.in_prompt).collect();
        prompt::evidence_message(self.question.question, form.words.as_deref(), &read)
    }
}
