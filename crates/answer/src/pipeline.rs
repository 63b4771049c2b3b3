//! The pipeline: measure what the policy asks for, let it choose a source, gather that source's
//! knowledge, write the answer, keep the trace.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ken_index::Mode;
use ken_model::language::{
    Finish, GenerateOptions, GenerateRequest, Generation, LanguageModel, Prompt, Sampling,
};
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
    /// Passages retrieved; with a reranking, chunks kept.
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
    model: Arc<dyn LanguageModel>,
    retriever: Option<Retriever>,
    settings: Settings,
}

impl Pipeline {
    /// Puts a pipeline together. Without a retriever no policy may choose the corpus.
    #[must_use]
    pub fn new(
        model: Arc<dyn LanguageModel>,
        retriever: Option<Retriever>,
        settings: Settings,
    ) -> Self {
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
    pub fn model(&self) -> &dyn LanguageModel {
        self.model.as_ref()
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
        let mut answers = self.answer_many(&[question], &mut |_, event| watch(event))?;
        answers.pop().unwrap_or(Err(AnswerError::EmptyQuestion))
    }

    /// Answers many questions, each stage for all of them at once. The answers are those that the
    /// questions get one by one, but the times are shares: what a stage took, divided among its
    /// questions. `watch` is given the index of the question that an event belongs to.
    ///
    /// # Shapes
    /// Returns one answer, or its question's own failure, for each question.
    ///
    /// # Errors
    /// A failure that other questions would meet as well.
    pub fn answer_many(
        &self,
        questions: &[&str],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Result<Answer, AnswerError>>, AnswerError> {
        match self.answer_batch(questions, watch) {
            // One of them is at fault: find it.
            Err(error) if error.concerns_question() && questions.len() > 1 => questions
                .iter()
                .enumerate()
                .map(|(index, question)| {
                    let mut watch = |_, event: Event<'_>| watch(index, event);
                    let mut answers = self.answer_many(&[question], &mut watch)?;
                    Ok(answers.pop().unwrap_or(Err(AnswerError::EmptyQuestion)))
                })
                .collect(),
            Err(error) if error.concerns_question() => Ok(vec![Err(error)]),
            answers => answers,
        }
    }

    fn answer_batch(
        &self,
        questions: &[&str],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Result<Answer, AnswerError>>, AnswerError> {
        let started = Instant::now();
        let questions: Vec<&str> = questions.iter().map(|question| question.trim()).collect();
        let room = self.room_for_question()?;
        self.check(&questions, room)?;
        let mut drafts = self.route(&questions, watch)?;
        self.gather(&mut drafts, room, watch)?;
        let lines = self.write(&mut drafts, watch)?;
        let share = started.elapsed() / drafts.len().max(1) as u32;
        Ok(drafts
            .into_iter()
            .zip(lines)
            .map(|(mut draft, line)| {
                draft.took("total", share);
                let line = line.ok_or(AnswerError::Interrupted)?;
                Ok(draft.finish(&self.settings.policy, line.answer()))
            })
            .collect())
    }

    /// Refuses what can never be answered before any work is done.
    fn check(&self, questions: &[&str], limit: usize) -> Result<(), AnswerError> {
        for question in questions {
            if question.is_empty() {
                return Err(AnswerError::EmptyQuestion);
            }
            // A token has at least one byte, so that few questions need to be counted.
            if question.len() <= limit {
                continue;
            }
            let received = self.model.count_tokens(question)?;
            if received > limit {
                return Err(AnswerError::QuestionTooLong { received, limit });
            }
        }
        Ok(())
    }

    /// Tokens that a question may have: what the longest prompt without evidence leaves.
    fn room_for_question(&self) -> Result<usize, AnswerError> {
        let instructions = prompt::from_evidence("", &[]);
        let used = self.model.count_prompt_tokens(&instructions)? + self.settings.max_tokens;
        Ok(self.model.context_tokens().saturating_sub(used))
    }

    /// Measures what the policy needs, and nothing else, and lets it choose.
    fn route<'q>(
        &self,
        questions: &[&'q str],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Draft<'q>>, AnswerError> {
        let started = Instant::now();
        let judgments = if self.settings.policy.needs_self_judgment() {
            Some(judge_need(self.model.as_ref(), questions)?)
        } else {
            None
        };
        let share = started.elapsed() / questions.len().max(1) as u32;
        questions
            .iter()
            .enumerate()
            .map(|(index, question)| {
                let judgment = judgments.as_ref().map(|judgments| judgments[index]);
                let choice = self.settings.policy.choose(&Signals {
                    self_judgment: judgment.map(|judgment| judgment.need),
                })?;
                let go_on = watch(index, Event::Routed(&choice)).is_continue();
                let mut draft = Draft::new(question, choice, go_on);
                if let Some(judgment) = judgment {
                    draft.tokens.prompt += judgment.prompt_tokens;
                    draft.took("judge", share);
                }
                Ok(draft)
            })
            .collect()
    }

    /// Finds passages where they are wanted, and marks those that fit into the prompt, where question
    /// and passages have `room` tokens.
    fn gather(
        &self,
        drafts: &mut [Draft<'_>],
        room: usize,
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        let (indices, questions): (Vec<usize>, Vec<&str>) = drafts
            .iter()
            .enumerate()
            .filter(|(_, draft)| draft.choice.source == Source::Corpus)
            .map(|(index, draft)| (index, draft.question))
            .unzip();
        if indices.is_empty() {
            return Ok(());
        }
        let retriever = self.retriever.as_ref().ok_or(AnswerError::NoCorpus)?;
        let found = retriever.find(&questions, self.settings.mode, self.settings.k)?;
        let wanted = self.settings.evidence_tokens;
        for (index, found) in indices.into_iter().zip(found) {
            let draft = &mut drafts[index];
            draft.took("embed", found.embed_time);
            draft.took("search", found.search_time);
            if let Some(rerank) = found.rerank {
                draft.took("rerank", rerank.time);
                draft.tokens.prompt += rerank.tokens;
            }
            draft.retrieved = found.findings.into_iter().map(Retrieved::unread).collect();
            // As in `check`: only where the room is tight does the question's length matter.
            let budget = if draft.question.len().saturating_add(wanted) <= room {
                wanted
            } else {
                let question = self.model.count_tokens(draft.question)?;
                room.saturating_sub(question).min(wanted)
            };
            evidence::fit(self.model.as_ref(), &mut draft.retrieved, budget)?;
            if draft.go_on {
                draft.go_on = watch(index, Event::Retrieved(&draft.retrieved)).is_continue();
            }
        }
        Ok(())
    }

    /// Writes the answers; `None` where the model was stopped before.
    fn write(
        &self,
        drafts: &mut [Draft<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Option<FirstLine>>, AnswerError> {
        let started = Instant::now();
        let prompts: Vec<Prompt> = drafts.iter().map(Draft::prompt).collect();
        let options = GenerateOptions {
            sampling: self.settings.sampling,
            max_tokens: self.settings.max_tokens,
            stop: Vec::new(),
        };
        // Who broke off before gets nothing written.
        let nothing = GenerateOptions {
            max_tokens: 0,
            ..options.clone()
        };
        let requests: Vec<_> = prompts
            .iter()
            .zip(drafts.iter())
            .map(|(prompt, draft)| GenerateRequest {
                prompt,
                samples: 1,
                options: if draft.go_on { &options } else { &nothing },
            })
            .collect();
        let mut lines: Vec<FirstLine> = drafts.iter().map(|_| FirstLine::default()).collect();
        let mut broken_off = vec![false; drafts.len()];
        let written = self.model.generate(&requests, &mut |piece| {
            let line = &mut lines[piece.request];
            let part = line.take(piece.text);
            if !part.is_empty() && watch(piece.request, Event::Text(part)).is_break()
                || line.has_ended()
            {
                broken_off[piece.request] = true;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        let written: Vec<Generation> = written.into_iter().flatten().collect();
        let reading: Duration = written.iter().map(|written| written.prompt_time).sum();
        let writing = started.elapsed().saturating_sub(reading) / written.len().max(1) as u32;
        for (draft, written) in drafts.iter_mut().zip(&written) {
            draft.tokens.prompt += written.prompt_tokens;
            draft.tokens.completion += written.tokens;
            draft.took("read", written.prompt_time);
            draft.took("write", writing);
        }
        let stopped = written
            .iter()
            .zip(broken_off)
            .map(|(written, broken_off)| written.finish == Finish::Cancelled && !broken_off);
        Ok(lines
            .into_iter()
            .zip(stopped)
            .map(|(line, stopped)| (!stopped).then_some(line))
            .collect())
    }
}

/// An answer in the making.
struct Draft<'q> {
    question: &'q str,
    choice: Choice,
    /// Whether the caller wants the answer written.
    go_on: bool,
    retrieved: Vec<Retrieved>,
    tokens: Tokens,
    timing_ms: BTreeMap<String, f64>,
}

impl<'q> Draft<'q> {
    fn new(question: &'q str, choice: Choice, go_on: bool) -> Self {
        Self {
            question,
            choice,
            go_on,
            retrieved: Vec::new(),
            tokens: Tokens::default(),
            timing_ms: BTreeMap::new(),
        }
    }

    fn took(&mut self, stage: &str, time: Duration) {
        self.timing_ms
            .insert(stage.to_owned(), time.as_secs_f64() * 1000.0);
    }

    fn prompt(&self) -> Prompt {
        let evidence: Vec<&Retrieved> = self.retrieved.iter().filter(|p| p.in_prompt).collect();
        if evidence.is_empty() {
            prompt::from_memory(self.question)
        } else {
            prompt::from_evidence(self.question, &evidence)
        }
    }

    fn finish(self, policy: &Policy, answer: &str) -> Answer {
        Answer {
            question: self.question.to_owned(),
            policy: policy.to_string(),
            route: self.choice.source,
            reason: self.choice.reason,
            citations: cite(answer, &self.retrieved),
            answer: answer.to_owned(),
            retrieved: self.retrieved,
            tokens: self.tokens,
            timing_ms: self.timing_ms,
        }
    }
}
