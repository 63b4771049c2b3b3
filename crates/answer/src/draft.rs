//! An answer in the making: the route, the evidence and the text so far for one question, with their cost.

use std::collections::BTreeMap;
use std::time::Duration;

use ken_language::Prompt;
use ken_policy::{Calls, Choice, Cost, Measurements, Policy, Source, Step, Tokens};
use ken_probe::{Lack, Sample, letter, named_choice};

use crate::answer::{Answer, Retrieved, Verbalized};
use crate::cite::cite;
use crate::prompt::{self, QuestionPrompt};
use crate::style::Style;

/// What a question asks the corpus for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Subject {
    /// What its passages say.
    #[default]
    Passages,
    /// Documents as a whole.
    Documents,
    /// The list of its documents.
    List,
}

/// An answer in the making.
#[derive(Default)]
pub(crate) struct Draft<'q> {
    pub(crate) question: QuestionPrompt<'q>,
    pub(crate) choice: Choice,
    pub(crate) subject: Subject,
    /// Whether the caller wants the answer written.
    pub(crate) go_on: bool,
    pub(crate) retrieved: Vec<Retrieved>,
    /// As in [`SearchOutcome::named_documents`](crate::SearchOutcome::named_documents).
    pub(crate) named_documents: Vec<String>,
    /// The cosine of the question and the nearest passage, if the search for them computed it.
    pub(crate) nearest: Option<f32>,
    /// The time of finding them, if an earlier search did.
    pub(crate) found_in: Duration,
    pub(crate) verbalized: Option<Verbalized>,
    /// The corpus that the model chose, if it chooses.
    pub(crate) corpus: Option<String>,
    /// The measurements without evidence.
    pub(crate) measured: Measurements,
    /// The measurements with the evidence.
    pub(crate) measured_with: Measurements,
    /// Whether the policy's own signal chose an answer from memory, and so vouches for it.
    pub(crate) is_vouched: bool,
    /// The answer that is withheld.
    pub(crate) withheld: Option<String>,
    /// The answer, if the policy had the model write it.
    pub(crate) written: Option<Sample>,
    /// The answer with its log probability, if the model wrote it as it does for policies.
    pub(crate) greedy: Option<Sample>,
    /// Why there is no answer, or not all of one.
    pub(crate) lack: Option<Lack>,
    /// Whether a signal that should decide cannot tell.
    pub(crate) cannot_tell: bool,
    pub(crate) calls: Calls,
    pub(crate) tokens: Tokens,
    timing_ms: BTreeMap<String, f64>,
}

impl<'q> Draft<'q> {
    pub(crate) fn new(question: QuestionPrompt<'q>, choice: Choice, go_on: bool) -> Self {
        Self {
            question,
            choice,
            go_on,
            ..Self::default()
        }
    }

    pub(crate) fn took(&mut self, stage: &str, time: Duration) {
        self.timing_ms
            .insert(stage.to_owned(), time.as_secs_f64() * 1000.0);
    }

    /// Adds a call of the model with the tokens that it read and wrote.
    pub(crate) fn called(&mut self, read: usize, written: usize) {
        self.calls.model += 1;
        self.tokens.prompt += read;
        self.tokens.completion += written;
    }

    /// Adds the costs of measuring.
    pub(crate) fn paid<'c>(&mut self, costs: impl IntoIterator<Item = (&'c Step, &'c Cost)>) {
        for (step, cost) in costs {
            self.calls.model += cost.calls.model;
            self.calls.retriever += cost.calls.retriever;
            self.tokens.prompt += cost.tokens.prompt;
            self.tokens.completion += cost.tokens.completion;
            *self.timing_ms.entry(step.name()).or_default() += cost.ms;
        }
    }

    pub(crate) fn prompt(&self) -> Prompt {
        if let Some(known) = self.verbalized.as_ref().filter(|known| known.in_prompt) {
            return prompt::from_known(self.question, &known.text);
        }
        let evidence: Vec<&Retrieved> = self.retrieved.iter().filter(|p| p.in_prompt).collect();
        prompt::from_corpus(self.question, self.corpus.as_deref(), &evidence)
    }

    /// Has the model answer from memory, and read none of the passages found.
    pub(crate) fn drop_evidence(&mut self) {
        self.choice.source = Source::SelfKnowledge;
        for passage in &mut self.retrieved {
            passage.in_prompt = false;
        }
    }

    /// Whether it is answered from memory although passages were found.
    pub(crate) fn stands_in(&self) -> bool {
        self.choice.source == Source::SelfKnowledge && !self.retrieved.is_empty()
    }

    /// Withholds an answer, and says instead that the documents do not answer, if ken searched them, or that the answer is
    /// not known.
    pub(crate) fn withhold(&mut self, answer: String) {
        let question = self.question.question;
        let text = match self.stands_in() {
            true => prompt::nothing_said(question),
            false => prompt::no_answer(question),
        };
        self.withheld = Some(answer);
        self.written = Some(Sample {
            text: text.to_owned(),
            ..Sample::default()
        });
    }

    /// The prompt for a full answer.
    pub(crate) fn full_prompt(&self) -> Prompt {
        let known = self.verbalized.as_ref().filter(|known| known.in_prompt);
        let evidence: Vec<&Retrieved> = self.retrieved.iter().filter(|p| p.in_prompt).collect();
        match known {
            Some(known) => prompt::full_from_known(self.question.question, &known.text),
            None => prompt::full(self.question.question, &evidence),
        }
    }

    pub(crate) fn finish(self, policy: Policy, style: Style, answer: &str) -> Answer {
        let says_nothing = self.withheld.is_some()
            || style == Style::Full && prompt::says_nothing(self.question.question, answer);
        let cited = cite(answer, style, says_nothing, &self.retrieved);
        Answer {
            question: self.question.question.to_owned(),
            choices: self.question.choices.to_vec(),
            choice: named_choice(answer, self.question.choices).and_then(letter),
            style,
            policy: policy.to_string(),
            route: self.choice.source,
            reason: self.choice.reason,
            score: policy
                .signal()
                .and_then(|signal| signal.of(&self.measured).number()),
            cannot_tell: self.cannot_tell,
            citations: cited.citations,
            unfounded: cited.unfounded,
            answer: answer.to_owned(),
            withheld: self.withheld.filter(|text| !text.is_empty()),
            greedy: self.greedy,
            truncated: matches!(self.lack, Some(Lack::CutOff | Lack::Repeats)),
            lack: self.lack,
            named_documents: self.named_documents,
            retrieved: self.retrieved,
            verbalized: self.verbalized,
            calls: self.calls,
            tokens: self.tokens,
            timing_ms: self.timing_ms,
        }
    }
}
