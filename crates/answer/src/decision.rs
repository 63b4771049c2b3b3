//! The decision about a question: its route and its evidence, for callers whose own program writes the answer.

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

/// A question with its source of knowledge, and with the evidence to read.
pub struct Decision<'q> {
    draft: Draft<'q>,
    policy: Policy,
    started: Instant,
}

/// An answer that another program wrote.
#[derive(Debug, Clone, Default)]
pub struct Written {
    /// The answer.
    pub text: String,
    /// The tokens spent on it.
    pub tokens: Tokens,
    /// The time spent on it.
    pub time: Duration,
    /// Why it is no answer, or not all of one.
    pub lack: Option<Lack>,
}

impl Pipeline {
    /// Takes the steps up to the evidence: routes, gathers and reviews. A conversation that leaves no room for evidence, or
    /// asks nothing, gets none.
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
        // Counting tokens may take a request, and a question without evidence needs no count.
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
    /// The evidence as a part of a conversation; empty if there is none.
    pub fn message(&self, form: &EvidenceForm) -> String {
        self.draft.message(form)
    }

    /// The trace, if no answer is written.
    pub fn unwritten(self) -> Answer {
        self.ended("")
    }

    /// The written answer with its trace.
    pub fn finish(mut self, written: Written) -> Answer {
        let Tokens { prompt, completion } = written.tokens;
        self.draft.took("write", written.time);
        self.draft.called(prompt, completion);
        self.draft.lack = written.lack;
        self.ended(&written.text)
    }

    fn ended(mut self, answer: &str) -> Answer {
        self.draft.took("total", self.started.elapsed());
        self.draft.finish(self.policy, Style::AsSent, answer)
    }
}

impl Draft<'_> {
    /// As [`Decision::message`].
    pub(crate) fn message(&self, form: &EvidenceForm) -> String {
        let read: Vec<&Retrieved> = self.retrieved.iter().filter(|p| p.in_prompt).collect();
        prompt::evidence_message(self.question.question, form.words.as_deref(), &read)
    }
}
