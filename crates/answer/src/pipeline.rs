//! The pipeline: measure what the policy asks for, let it choose a source, gather that source's
//! knowledge, write the answer, keep the trace.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ken_index::Mode;
use ken_model::decoder::{Decoder, GenerateOptions, Sampling};
use ken_probe::judge_need;
use ken_route::{Choice, Policy, Signals, Source};

use crate::answer::{Answer, Retrieved, Tokens};
use crate::cite::cite;
use crate::error::AnswerError;
use crate::evidence;
use crate::first_line::FirstLine;
use crate::prompt;
use crate::retrieve::Retriever;

/// How questions are answered.
#[derive(Debug, Clone, PartialEq)]
pub struct Settings {
    /// Decides whether a question retrieves.
    pub policy: Policy,
    /// How passages are searched.
    pub mode: Mode,
    /// Passages retrieved.
    pub k: usize,
    /// Most tokens of evidence in the prompt; less where the model's context is smaller.
    pub evidence_tokens: usize,
    /// Most tokens of an answer.
    pub max_tokens: usize,
    /// How the answer's tokens are chosen.
    pub sampling: Sampling,
}

/// What happens while a question is answered, for those who watch.
#[derive(Debug)]
pub enum Event<'a> {
    /// The source was chosen.
    Routed(&'a Choice),
    /// Passages were found and fitted.
    Retrieved(&'a [Retrieved]),
    /// A piece of the answer was written.
    Text(&'a str),
}

/// All that answering takes. Calls from several threads are safe.
pub struct Pipeline {
    model: Decoder,
    retriever: Option<Retriever>,
    settings: Settings,
}

impl Pipeline {
    /// Puts a pipeline together. Without a retriever no policy may choose the corpus.
    #[must_use]
    pub fn new(model: Decoder, retriever: Option<Retriever>, settings: Settings) -> Self {
        Self {
            model,
            retriever,
            settings,
        }
    }

    /// The same pipeline with other settings from here on.
    pub fn set(&mut self, settings: Settings) {
        self.settings = settings;
    }

    /// How questions are answered.
    #[must_use]
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// The retriever, where there is a corpus.
    #[must_use]
    pub fn retriever(&self) -> Option<&Retriever> {
        self.retriever.as_ref()
    }

    /// The language model.
    #[must_use]
    pub fn model(&self) -> &Decoder {
        &self.model
    }

    /// Answers one question. `watch` may break off the writing of the answer; what was written
    /// until then is returned.
    ///
    /// # Errors
    /// A question that is empty or does not fit, an empty corpus, a failing model or index.
    pub fn answer(
        &self,
        question: &str,
        watch: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Answer, AnswerError> {
        let question = question.trim();
        let started = Instant::now();
        let mut trace = Trace::default();
        self.check(question)?;

        let signals = self.measure(question, &mut trace)?;
        let choice = self.settings.policy.choose(&signals)?;
        let mut go_on = watch(Event::Routed(&choice));

        let mut retrieved = Vec::new();
        if choice.source == Source::Corpus {
            retrieved = self.retrieve(question, &mut trace)?;
            if go_on.is_continue() {
                go_on = watch(Event::Retrieved(&retrieved));
            }
        }
        let evidence: Vec<&Retrieved> = retrieved.iter().filter(|p| p.in_prompt).collect();
        let prompt = if evidence.is_empty() {
            prompt::from_memory(&self.model, question)?
        } else {
            prompt::from_evidence(&self.model, question, &evidence)?
        };
        let options = GenerateOptions {
            sampling: self.settings.sampling,
            max_tokens: if go_on.is_continue() {
                self.settings.max_tokens
            } else {
                0
            },
            stop: Vec::new(),
        };
        let mut line = FirstLine::default();
        let written = self.model.generate(&prompt, &options, &mut |text| {
            let part = line.take(text);
            if !part.is_empty() && watch(Event::Text(part)).is_break() || line.has_ended() {
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        trace.tokens.prompt += written.prompt_tokens;
        trace.tokens.completion += written.tokens.len();
        trace.took("read", written.prompt_time);
        trace.took("write", written.write_time);
        trace.took("total", started.elapsed());

        let answer = line.answer().to_owned();
        Ok(Answer {
            question: question.to_owned(),
            policy: self.settings.policy.to_string(),
            route: choice.source,
            reason: choice.reason,
            citations: cite(&answer, &retrieved),
            answer,
            retrieved,
            tokens: trace.tokens,
            timing_ms: trace.timing_ms,
        })
    }

    /// Refuses what can never be answered before any work is done.
    fn check(&self, question: &str) -> Result<(), AnswerError> {
        if question.is_empty() {
            return Err(AnswerError::EmptyQuestion);
        }
        let received = self.model.count_tokens(question)?;
        let limit = self.room_for_question()?;
        if received > limit {
            return Err(AnswerError::QuestionTooLong { received, limit });
        }
        Ok(())
    }

    /// Tokens that a question may have: what the longest prompt without evidence leaves.
    fn room_for_question(&self) -> Result<usize, AnswerError> {
        let instructions = prompt::from_evidence(&self.model, "", &[])?.tokens().len();
        let used = instructions + self.settings.max_tokens;
        Ok(self.model.context_tokens().saturating_sub(used))
    }

    /// Measures what the policy needs, and nothing else.
    fn measure(&self, question: &str, trace: &mut Trace) -> Result<Signals, AnswerError> {
        let mut signals = Signals::default();
        if self.settings.policy.needs_self_judgment() {
            let started = Instant::now();
            let judgment = judge_need(&self.model, question)?;
            signals.self_judgment = Some(judgment.need);
            trace.tokens.prompt += judgment.prompt_tokens;
            trace.took("judge", started.elapsed());
        }
        Ok(signals)
    }

    /// Finds passages and marks those that fit into the prompt.
    fn retrieve(&self, question: &str, trace: &mut Trace) -> Result<Vec<Retrieved>, AnswerError> {
        let retriever = self.retriever.as_ref().ok_or(AnswerError::NoCorpus)?;
        let found = retriever.find(question, self.settings.mode, self.settings.k)?;
        trace.took("embed", found.embed_time);
        trace.took("search", found.search_time);
        let mut retrieved: Vec<Retrieved> = found.hits.into_iter().map(Retrieved::unread).collect();
        let question_tokens = self.model.count_tokens(question)?;
        let room = self.room_for_question()?.saturating_sub(question_tokens);
        evidence::fit(
            &self.model,
            &mut retrieved,
            room.min(self.settings.evidence_tokens),
        )?;
        Ok(retrieved)
    }
}

/// Tokens and times of one answer.
#[derive(Default)]
struct Trace {
    tokens: Tokens,
    timing_ms: BTreeMap<String, f64>,
}

impl Trace {
    fn took(&mut self, stage: &str, time: Duration) {
        self.timing_ms
            .insert(stage.to_owned(), time.as_secs_f64() * 1000.0);
    }
}
