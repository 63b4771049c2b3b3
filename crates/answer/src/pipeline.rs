//! The pipeline: measures the signals of the policy, lets it choose a source, gathers that source's knowledge, writes the
//! answer and keeps the trace.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Instant;

use ken_index::Mode;
use ken_language::{CancelToken, Embedder, LanguageModel, Prompt, Sampling, bound_model};
use ken_policy::{Abstention, Choice, Measurements, Policy, Reading, Rule, Signal};
use ken_probe::Sample;

use crate::answer::{Answer, Retrieved};
use crate::brought::{Brought, Conversation};
use crate::conversation::{Exchange, Standalone, is_small_talk, standalone};
use crate::error::AnswerError;
use crate::measure::routing_models::RoutingModels;
use crate::memory::Memory;
use crate::prompt::{self, QuestionPrompt};
use crate::retrieve::{Retriever, SearchOutcome};
use crate::style::Style;

/// The answers that a policy samples by default: more are more precise, and cost more.
pub const SAMPLES: usize = 10;

/// How questions are answered.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerSettings {
    /// Decides whether a question retrieves.
    pub policy: Policy,
    /// Which answers are withheld, if any.
    pub abstain: Option<Abstention>,
    /// Whether an answer from memory in place of one from documents is given, and marked.
    pub memory: Memory,
    /// How passages are searched.
    pub mode: Mode,
    /// Passages retrieved; with a reranking, chunks kept.
    pub k: usize,
    /// The most tokens of evidence in the prompt; fewer if the model's context is smaller.
    pub evidence_tokens: usize,
    /// Neighbors on each side of a passage that the model reads as well, if these tokens have room for them.
    pub neighbors: usize,
    /// The style of answers. Policies measure short ones in any case.
    pub style: Style,
    /// The most tokens of a short answer.
    pub max_tokens: usize,
    /// The most tokens of a full answer.
    pub full_tokens: usize,
    /// How the answer's tokens are chosen.
    pub sampling: Sampling,
    /// Answers that a policy of samples samples; at least 1.
    pub samples: usize,
    /// The seed of the policy's random draws.
    pub seed: u64,
}

/// Every question retrieves, and answers are short and greedy. Settings that a person leaves out have these values.
impl Default for AnswerSettings {
    fn default() -> Self {
        Self {
            policy: Policy::ALWAYS,
            abstain: None,
            memory: Memory::Mark,
            mode: Mode::default(),
            k: 3,
            evidence_tokens: 1536,
            neighbors: 0,
            style: Style::Short,
            max_tokens: 64,
            full_tokens: 512,
            sampling: Sampling::Greedy,
            samples: SAMPLES,
            seed: 0,
        }
    }
}

impl AnswerSettings {
    /// Checks that questions can be answered with these settings.
    ///
    /// # Errors
    /// A policy or an abstention that cannot decide, and a policy that reads more search results than there are.
    pub fn check(&self) -> Result<(), AnswerError> {
        self.policy.check()?;
        self.abstain.map_or(Ok(()), Abstention::check)?;
        Ok(self.policy.check_k(self.k)?)
    }

    /// The settings for greetings and thanks: answers from memory, in whole sentences.
    #[must_use]
    pub fn for_small_talk(self) -> Self {
        Self {
            policy: Policy::NEVER,
            abstain: None,
            style: Style::Full,
            ..self
        }
    }
}

/// What happens while a question is answered, for observers.
#[derive(Debug)]
pub enum Event<'a> {
    /// The source was chosen.
    Routed(&'a Choice),
    /// Passages were found and fitted.
    Retrieved(&'a [Retrieved]),
    /// The question waits, or the model reads a prompt of it. Sent from time to time, and maybe never.
    Reading,
    /// A piece of what the model knows was written.
    Verbalized(&'a str),
    /// A piece of the answer was written.
    Text(&'a str),
}

/// Answers questions. Calls from several threads are safe. A clone shares models and corpora, and may
/// have settings of its own.
#[derive(Clone)]
pub struct Pipeline {
    /// The language model, to be shared.
    pub model: Arc<dyn LanguageModel>,
    pub(crate) retriever: Option<Retriever>,
    /// The settings of the answers from now on.
    pub settings: AnswerSettings,
    /// The application's own conversation and rules, if it brings any.
    pub brought: Arc<Brought>,
    /// The models beside the language model that policies decide by. [`Pipeline::with`] checks that they fit.
    pub routing: RoutingModels,
    /// Corpora beside that of the retriever, by the names under which a model chooses them.
    pub extra_corpora: BTreeMap<String, Retriever>,
    /// The results of earlier searches, by the trimmed question: read instead of searching again, with the times of
    /// then.
    pub found: HashMap<String, SearchOutcome>,
}

impl Pipeline {
    /// Creates a pipeline. Without a retriever no policy may choose the corpus.
    pub fn new(
        model: Arc<dyn LanguageModel>,
        retriever: Option<Retriever>,
        settings: AnswerSettings,
    ) -> Self {
        Self {
            model,
            retriever,
            settings,
            brought: Arc::default(),
            routing: RoutingModels::default(),
            extra_corpora: BTreeMap::new(),
            found: HashMap::new(),
        }
    }

    /// Replaces the routing models.
    ///
    /// # Errors
    /// A routing model that was trained with another model, embedder, assessor or other prompts.
    pub fn with(mut self, routing: RoutingModels) -> Result<Self, AnswerError> {
        let embedder = self.retriever().map(Retriever::embedder);
        routing.check(
            self.model.fingerprint(),
            embedder.map(Embedder::fingerprint),
        )?;
        self.routing = routing;
        Ok(self)
    }

    /// The pipeline for a question: small talk is answered from memory, whatever the policy.
    pub fn suited_to(&self, question: QuestionPrompt<'_>) -> Cow<'_, Self> {
        let mut suited = Cow::Borrowed(self);
        if question.choices.is_empty() && is_small_talk(question.question) {
            let pipeline = suited.to_mut();
            pipeline.settings = pipeline.settings.clone().for_small_talk();
        }
        suited
    }

    /// Replaces the corpus, or removes it.
    ///
    /// # Errors
    /// A router or a gate that was trained with another embedder than that of the corpus.
    pub fn over(mut self, retriever: Option<Retriever>) -> Result<Self, AnswerError> {
        let routing = std::mem::take(&mut self.routing);
        self.retriever = retriever;
        self.with(routing)
    }

    /// Binds all models to a token: measuring, searching and writing end once it is set, even while they wait.
    #[must_use]
    pub fn bound(self, token: &CancelToken) -> Self {
        let extra_corpora = self.extra_corpora.into_iter();
        Self {
            model: bound_model(self.model, token),
            retriever: self.retriever.map(|retriever| retriever.bound(token)),
            routing: self.routing.bound(token),
            extra_corpora: extra_corpora
                .map(|(name, retriever)| (name, retriever.bound(token)))
                .collect(),
            ..self
        }
    }

    /// The retriever, if there is a corpus.
    pub fn retriever(&self) -> Option<&Retriever> {
        self.retriever.as_ref()
    }

    /// The retriever of a corpus by the name under which a model chooses it; that of the pipeline for any other name.
    pub(crate) fn retriever_of(&self, corpus: Option<&str>) -> Option<&Retriever> {
        let extra = corpus.and_then(|name| self.extra_corpora.get(name));
        extra.or(self.retriever())
    }

    /// The question that a follow-up means, given the exchanges before it. A first question stays as it is, and so does
    /// one that the model rewrites in words that are not in the conversation.
    ///
    /// # Errors
    /// A model that fails or is stopped.
    pub fn standalone(
        &self,
        before: &[Exchange],
        question: &str,
    ) -> Result<Standalone, AnswerError> {
        standalone(self.model.as_ref(), before, question)
    }

    /// Answers one question. `watch` may break off the writing of the answer; the text written until then is returned.
    ///
    /// # Errors
    /// A question that is empty or does not fit, an empty corpus, a failing model or index.
    pub fn answer<'q>(
        &self,
        question: impl Into<QuestionPrompt<'q>>,
        watch: &mut dyn FnMut(Event<'_>) -> ControlFlow<()>,
    ) -> Result<Answer, AnswerError> {
        let mut answers = self.answer_many(&[question.into()], &mut |_, event| watch(event))?;
        answers.pop().unwrap_or(Err(AnswerError::EmptyQuestion))
    }

    /// Answers many questions, each stage for all of them at once. The answers are those that the
    /// questions get one by one, but the times are shares: the time of a stage, divided among its questions. `watch`
    /// gets the index of the question that an event belongs to.
    ///
    /// # Shapes
    /// Returns one answer, or its question's own failure, for each question.
    ///
    /// # Errors
    /// A failure that other questions would meet as well.
    pub fn answer_many(
        &self,
        questions: &[QuestionPrompt<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Result<Answer, AnswerError>>, AnswerError> {
        match self.answer_batch(questions, watch) {
            // One question is at fault: answer each alone.
            Err(error) if error.concerns_question() && questions.len() > 1 => questions
                .iter()
                .enumerate()
                .map(|(index, question)| {
                    let mut watch = |_, event: Event<'_>| watch(index, event);
                    let mut answers = self.answer_many(&[*question], &mut watch)?;
                    Ok(answers.pop().unwrap_or(Err(AnswerError::EmptyQuestion)))
                })
                .collect(),
            Err(error) if error.concerns_question() => Ok(vec![Err(error)]),
            answers => answers,
        }
    }

    fn answer_batch(
        &self,
        questions: &[QuestionPrompt<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Result<Answer, AnswerError>>, AnswerError> {
        let started = Instant::now();
        let questions = questions.iter().map(|question| question.trimmed());
        let questions: Vec<QuestionPrompt<'_>> = questions.collect();
        let budgets = self.budgets(&questions)?;
        self.check(&questions, &budgets)?;
        let mut drafts = self.route(&questions, watch)?;
        self.list(&mut drafts, watch)?;
        self.gather(&mut drafts, &budgets, watch)?;
        self.review(&mut drafts, watch)?;
        // In an application's own conversation only the evidence is ken's.
        if self.brought.conversation.is_none() {
            self.vouch(&mut drafts, watch)?;
            self.verbalize(&mut drafts, &budgets, watch)?;
        }
        let lines = self.write(&mut drafts, watch)?;
        let share = started.elapsed() / drafts.len().max(1) as u32;
        let policy = self.resolved(self.settings.policy);
        Ok(drafts
            .into_iter()
            .zip(lines)
            .map(|(mut draft, line)| {
                draft.took("total", share + draft.found_in);
                let line = line.ok_or(AnswerError::Interrupted)?;
                let style = self.style_of(draft.question);
                Ok(draft.finish(policy, style, line.answer()))
            })
            .collect())
    }

    /// The style of the answer to a question; multiple choice is answered by a letter.
    pub(crate) fn style_of(&self, question: QuestionPrompt<'_>) -> Style {
        match question.choices {
            [] if self.brought.conversation.is_some() => Style::AsSent,
            [] => self.settings.style,
            _ => Style::Short,
        }
    }

    /// Refuses questions that are empty or too long before any work is done.
    pub(crate) fn check(
        &self,
        questions: &[QuestionPrompt<'_>],
        limits: &[usize],
    ) -> Result<(), AnswerError> {
        for (question, &limit) in questions.iter().map(|prompt| prompt.question).zip(limits) {
            if question.is_empty() {
                return Err(AnswerError::EmptyQuestion);
            }
            // A token has at least one byte, so few questions need a count.
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

    /// The tokens that each question and its evidence may have: those that the longest prompt without evidence leaves.
    pub(crate) fn budgets(
        &self,
        question_prompts: &[QuestionPrompt<'_>],
    ) -> Result<Vec<usize>, AnswerError> {
        // Few frames differ, so few have to be counted.
        let mut known: Vec<(Prompt, usize)> = Vec::new();
        let mut budget = |frame: Prompt, answer: usize| {
            if let Some((_, budget)) = known.iter().find(|(other, _)| *other == frame) {
                return Ok::<_, AnswerError>(*budget);
            }
            let used = self.model.count_prompt_tokens(&frame)? + answer;
            let budget = self.model.context_tokens().saturating_sub(used);
            known.push((frame, budget));
            Ok(budget)
        };
        question_prompts
            .iter()
            .map(|question_prompt| {
                let short = budget(prompt::frame(*question_prompt), self.settings.max_tokens)?;
                let frame = match self.style_of(*question_prompt) {
                    Style::Short => return Ok(short),
                    Style::Full => prompt::full_frame(question_prompt.question),
                    // The conversation without its question and without evidence.
                    Style::AsSent => Conversation {
                        question: String::new(),
                        ..self.brought.asked()
                    }
                    .prompt(),
                };
                Ok(short.min(budget(frame, self.settings.full_tokens)?))
            })
            .collect()
    }

    /// Gives a policy without a threshold the one that is recorded with the model, or the default if none is. A datastore
    /// changes the scores, so with one the default stands.
    pub fn resolved(&self, policy: Policy) -> Policy {
        match policy.searches_by() {
            Some(signal)
                if signal.is_recorded && policy.retrieve.is_open() && !policy.is_graded() =>
            {
                let chooser = self.model.source_chooser().ok();
                let recorded = chooser.filter(|_| self.routing.datastore.is_none());
                let recorded = recorded.and_then(|chooser| chooser.threshold());
                Policy {
                    retrieve: Rule::above(signal, recorded.or(signal.threshold)),
                    ..policy
                }
            }
            _ => policy,
        }
    }

    /// The reading of a signal, measured with this model: see [`Signal::where_reported`].
    pub fn reading(&self, signal: Signal, reading: Reading) -> Reading {
        match signal.is_reported_by(self.model.capabilities()) {
            true => signal.where_reported(reading),
            false => reading,
        }
    }

    /// Whether the policy says, in the model's place, that no passage answers a question.
    pub(crate) fn refuses_by_policy(&self) -> bool {
        self.settings.policy.withhold.is_some() && self.model.capabilities().logprobs
    }

    /// The measured greedy answer, if answers are short and greedy.
    pub(crate) fn as_answer(
        &self,
        question: QuestionPrompt<'_>,
        measured: &Measurements,
    ) -> Option<Sample> {
        let is_answer =
            self.settings.sampling == Sampling::Greedy && self.style_of(question) == Style::Short;
        measured.greedy.clone().filter(|_| is_answer)
    }
}
