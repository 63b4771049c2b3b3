//! The pipeline: measure what the policy asks for, let it choose a source, gather that source's
//! knowledge, write the answer, keep the trace.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ken_index::Mode;
use ken_language::{
    CancelToken, Finish, GenerateOptions, GenerateRequest, Generation, LanguageModel, Progress,
    Prompt, Sampling, bound_model,
};
use ken_policy::{Abstention, Choice, Policy, Source};
use ken_probe::{Lack, Sample};

use crate::answer::{Answer, Retrieved};
use crate::conversation::{Exchange, Standalone, standalone};
use crate::draft::Draft;
use crate::error::AnswerError;
use crate::evidence;
use crate::prompt::{self, QuestionPrompt};
use crate::retrieve::{Found, Retriever};
use crate::routing_models::RoutingModels;
use crate::style::Style;
use crate::verbalize::verbalize;
use crate::written::Written;

/// How questions are answered.
#[derive(Debug, Clone, PartialEq)]
pub struct AnswerSettings {
    /// Decides whether a question retrieves.
    pub policy: Policy,
    /// Which answers are withheld, if any.
    pub abstain: Option<Abstention>,
    /// How passages are searched.
    pub mode: Mode,
    /// Passages retrieved; with a reranking, chunks kept.
    pub k: usize,
    /// Most tokens of evidence in the prompt; less where the model's context is smaller.
    pub evidence_tokens: usize,
    /// How much answers say. Policies measure by short ones in either case.
    pub style: Style,
    /// Most tokens of a short answer.
    pub max_tokens: usize,
    /// Most tokens of a full answer.
    pub full_tokens: usize,
    /// How the answer's tokens are chosen.
    pub sampling: Sampling,
    /// Answers that are sampled to measure by, where the policy does; at least 1.
    pub samples: usize,
    /// The seed of what a policy draws.
    pub seed: u64,
}

impl AnswerSettings {
    /// Whether questions can be answered so.
    ///
    /// # Errors
    /// A policy or an abstention that cannot decide, and a policy that reads more search results than there are.
    pub fn check(&self) -> Result<(), AnswerError> {
        self.policy.check()?;
        self.abstain.map_or(Ok(()), Abstention::check)?;
        Ok(self.policy.check_k(self.k)?)
    }
}

/// What happens while a question is answered, for observers.
#[derive(Debug)]
pub enum Event<'a> {
    /// The source was chosen.
    Routed(&'a Choice),
    /// Passages were found and fitted.
    Retrieved(&'a [Retrieved]),
    /// The question waits, or a prompt of it is being read. Told now and again, and maybe never.
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
    /// How questions are answered from here on.
    pub settings: AnswerSettings,
    /// What policies decide by beside the model. [`Pipeline::with`] checks that they fit.
    pub routing: RoutingModels,
    /// Corpora beside that of the retriever, by the names under which a model chooses them.
    pub extra_corpora: BTreeMap<String, Retriever>,
    /// What was found before, by the question without white space around it: this is read instead of
    /// being searched again, at the time that it took then.
    pub found: HashMap<String, Found>,
}

impl Pipeline {
    /// Puts a pipeline together. Without a retriever no policy may choose the corpus.
    #[must_use]
    pub fn new(
        model: Arc<dyn LanguageModel>,
        retriever: Option<Retriever>,
        settings: AnswerSettings,
    ) -> Self {
        Self {
            model,
            retriever,
            settings,
            routing: RoutingModels::default(),
            extra_corpora: BTreeMap::new(),
            found: HashMap::new(),
        }
    }

    /// The same with models whose calls end with a token: whatever of them is waited for, measuring,
    /// searching and writing end once it is set.
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

    /// The retriever, where there is a corpus.
    #[must_use]
    pub fn retriever(&self) -> Option<&Retriever> {
        self.retriever.as_ref()
    }

    /// The question that a follow-up means, given what was said before it. What has nothing before it, or
    /// what the model rewrites into words that were never said, stays as it is.
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

    /// Answers one question. `watch` may break off the writing of the answer; what was written
    /// until then is returned.
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
        questions: &[QuestionPrompt<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Result<Answer, AnswerError>>, AnswerError> {
        match self.answer_batch(questions, watch) {
            // One of them is at fault: find it.
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
        let questions: Vec<QuestionPrompt<'_>> = questions
            .iter()
            .map(|question| question.trimmed())
            .collect();
        let budgets = self.budgets(&questions)?;
        self.check(&questions, &budgets)?;
        let mut drafts = self.route(&questions, watch)?;
        self.gather(&mut drafts, &budgets, watch)?;
        self.review(&mut drafts, watch)?;
        self.abstain(&mut drafts, watch)?;
        self.verbalize(&mut drafts, &budgets, watch)?;
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

    /// How much the answer to a question says: what is to be chosen from is answered by a letter.
    pub(crate) fn style_of(&self, question: QuestionPrompt<'_>) -> Style {
        match question.choices {
            [] => self.settings.style,
            _ => Style::Short,
        }
    }

    /// Refuses what can never be answered before any work is done.
    fn check(&self, questions: &[QuestionPrompt<'_>], limits: &[usize]) -> Result<(), AnswerError> {
        for (question, &limit) in questions.iter().map(|one| one.question).zip(limits) {
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

    /// The tokens that each question and its evidence may have: what the longest prompt without evidence
    /// leaves.
    fn budgets(&self, question_prompts: &[QuestionPrompt<'_>]) -> Result<Vec<usize>, AnswerError> {
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
                Ok(match self.style_of(*question_prompt) {
                    Style::Short => short,
                    Style::Full => {
                        let frame = prompt::full_frame(question_prompt.question);
                        short.min(budget(frame, self.settings.full_tokens)?)
                    }
                })
            })
            .collect()
    }

    /// The passages that questions are answered from where they retrieve, best first; those that
    /// the model gets to read are marked.
    ///
    /// # Shapes
    /// Returns one list for each question.
    ///
    /// # Errors
    /// A question that is empty or does not fit, no corpus or an empty one, a failing index.
    pub fn evidence(
        &self,
        question_prompts: &[QuestionPrompt<'_>],
    ) -> Result<Vec<Vec<Retrieved>>, AnswerError> {
        let questions = question_prompts.iter().map(|one| one.trimmed());
        let questions: Vec<QuestionPrompt<'_>> = questions.collect();
        let budgets = self.budgets(&questions)?;
        self.check(&questions, &budgets)?;
        let always = Policy::ALWAYS.choose(None)?;
        let mut drafts: Vec<Draft<'_>> = questions
            .iter()
            .map(|question| Draft::new(*question, always.clone(), true))
            .collect();
        self.gather(&mut drafts, &budgets, &mut |_, _| ControlFlow::Continue(()))?;
        Ok(drafts.into_iter().map(|draft| draft.retrieved).collect())
    }

    /// Finds passages for drafts that retrieve, and marks those that fit into the prompt. `budgets` are
    /// the tokens that question and passages may have together.
    fn gather(
        &self,
        drafts: &mut [Draft<'_>],
        budgets: &[usize],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        let mut by_corpus: BTreeMap<Option<String>, Vec<usize>> = BTreeMap::new();
        for (index, draft) in drafts.iter().enumerate() {
            if draft.choice.source == Source::Corpus {
                let corpus = draft.corpus.clone();
                let corpus = corpus.filter(|name| self.extra_corpora.contains_key(name));
                by_corpus.entry(corpus).or_default().push(index);
            }
        }
        let wanted = self.settings.evidence_tokens;
        let mut all = Vec::new();
        for (corpus, indices) in by_corpus {
            let questions: Vec<&str> = indices
                .iter()
                .map(|&at| drafts[at].question.question)
                .collect();
            let found = self.find(corpus.as_deref(), &questions)?;
            all.extend(indices.into_iter().zip(found));
        }
        for (index, (found, before)) in all {
            let (draft, limit) = (&mut drafts[index], budgets[index]);
            draft.found_in = before;
            draft.calls.retriever += 1;
            draft.took("embed", found.embed_time);
            draft.took("search", found.search_time);
            if let Some(rerank) = found.rerank {
                draft.took("rerank", rerank.time);
                draft.tokens.prompt += rerank.tokens;
            }
            let k = draft.choice.k.unwrap_or(found.results.len());
            let results = found.results.into_iter().take(k);
            draft.retrieved = results.map(Retrieved::unread).collect();
            // As in `check`: the question's length matters only where the budget is tight.
            let budget = if draft.question.question.len().saturating_add(wanted) <= limit {
                wanted
            } else {
                let question = self.model.count_tokens(draft.question.question)?;
                limit.saturating_sub(question).min(wanted)
            };
            evidence::fit(self.model.as_ref(), &mut draft.retrieved, budget)?;
            if draft.go_on {
                draft.go_on = watch(index, Event::Retrieved(&draft.retrieved)).is_continue();
            }
        }
        Ok(())
    }

    /// Whether an answer from memory is written from what the model has written of what it knows. A model that chooses
    /// its source was trained to do so. Not where answers may be withheld: what is vouched for is the plain answer.
    #[must_use]
    pub fn verbalizes(&self) -> bool {
        let chooser = self.model.source_chooser();
        self.settings.abstain.is_none() && chooser.is_ok_and(|chooser| chooser.verbalizes())
    }

    /// Verbalizes what the model knows, where it is to answer from that.
    fn verbalize(
        &self,
        drafts: &mut [Draft<'_>],
        budgets: &[usize],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        let (indices, questions): (Vec<usize>, Vec<(QuestionPrompt<'_>, usize)>) = drafts
            .iter()
            .zip(budgets)
            .enumerate()
            .filter(|(_, (draft, _))| draft.go_on && draft.withheld.is_none())
            .filter(|(_, (draft, _))| draft.choice.source == Source::SelfKnowledge)
            .map(|(index, (draft, budget))| (index, (draft.question, *budget)))
            .unzip();
        if !self.verbalizes() || indices.is_empty() {
            return Ok(());
        }
        let started = Instant::now();
        let mut broken_off = vec![false; drafts.len()];
        let written = verbalize(self.model.as_ref(), &questions, &mut |place, piece| {
            let index = indices[place];
            let flow = match piece {
                "" => watch(index, Event::Reading),
                piece => watch(index, Event::Verbalized(piece)),
            };
            broken_off[index] = flow.is_break();
            flow
        })?;
        let share = started.elapsed() / indices.len() as u32;
        for (index, written) in indices.into_iter().zip(written) {
            let draft = &mut drafts[index];
            draft.took("verbalize", share);
            match written {
                Some(written) => {
                    draft.calls.model += 1;
                    draft.tokens.prompt += written.tokens.prompt;
                    draft.tokens.completion += written.tokens.completion;
                    // What the policy had written was not written from this text.
                    draft.written = draft.written.take().filter(|_| !written.in_prompt);
                    draft.verbalized = Some(written);
                }
                None if broken_off[index] => draft.go_on = false,
                // The model was stopped from outside, before any answer was written.
                None => return Err(AnswerError::Interrupted),
            }
        }
        Ok(())
    }

    /// Writes the answers that the policy did not have written already; `None` where the model was
    /// stopped before.
    fn write(
        &self,
        drafts: &mut [Draft<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Option<Written>>, AnswerError> {
        let started = Instant::now();
        let styles: Vec<Style> = drafts
            .iter()
            .map(|one| self.style_of(one.question))
            .collect();
        let each = drafts.iter().zip(&styles);
        let prompts = each.map(|(draft, style)| match style {
            Style::Short => draft.prompt(),
            Style::Full => draft.full_prompt(),
        });
        let prompts: Vec<Prompt> = prompts.collect();
        let limited = |max_tokens| GenerateOptions {
            sampling: self.settings.sampling,
            max_tokens,
            stop: Vec::new(),
        };
        let short = limited(self.settings.max_tokens);
        let full = limited(self.settings.full_tokens);
        // Who broke off before, or has an answer, gets nothing written.
        let nothing = limited(0);
        let mut lines: Vec<Written> = drafts
            .iter()
            .zip(&styles)
            .map(|(draft, style)| match draft.withheld {
                // It rests on nothing.
                Some(_) => Written::new(*style, &[]),
                None => Written::new(*style, &draft.retrieved),
            })
            .collect();
        for (index, (draft, line)) in drafts.iter_mut().zip(&mut lines).enumerate() {
            if let (true, Some(written)) = (draft.go_on, &draft.written) {
                draft.lack.clone_from(&written.lack);
                // There is nothing left to break off.
                let _ = watch(index, Event::Text(&line.take(&written.text)));
            }
        }
        let open: Vec<usize> = (0..drafts.len())
            .filter(|&index| drafts[index].written.is_none())
            .collect();
        let options = |at: usize| match (drafts[at].go_on, styles[at]) {
            (true, Style::Short) => &short,
            (true, Style::Full) => &full,
            (false, _) => &nothing,
        };
        let requests = open.iter().map(|&index| GenerateRequest {
            prompt: &prompts[index],
            samples: 1,
            options: options(index),
        });
        let requests: Vec<_> = requests.collect();
        let (mut broken_off, mut left) = (vec![false; drafts.len()], vec![false; drafts.len()]);
        let written = self.model.generate(&requests, &mut |progress| {
            let (index, breaks) = match progress {
                Progress::Reading { request, .. } => {
                    let index = open[request];
                    (index, watch(index, Event::Reading).is_break())
                }
                Progress::Text(piece) => {
                    let index = open[piece.request];
                    let line = &mut lines[index];
                    let part = line.take(piece.text);
                    left[index] = !part.is_empty() && watch(index, Event::Text(&part)).is_break();
                    (index, left[index] || line.has_ended())
                }
            };
            match breaks {
                true => {
                    broken_off[index] = true;
                    ControlFlow::Break(())
                }
                false => ControlFlow::Continue(()),
            }
        })?;
        let written: Vec<Generation> = written.into_iter().flatten().collect();
        let reading: Duration = written.iter().map(|written| written.prompt_time).sum();
        let writing = started.elapsed().saturating_sub(reading) / written.len().max(1) as u32;
        let mut stopped = vec![false; drafts.len()];
        for (&index, written) in open.iter().zip(&written) {
            let draft = &mut drafts[index];
            draft.calls.model += 1;
            draft.tokens.prompt += written.prompt_tokens;
            draft.tokens.completion += written.tokens;
            draft.took("read", written.prompt_time);
            draft.took("write", writing);
            let line = &mut lines[index];
            if !broken_off[index] && !written.text.trim_start().starts_with(line.taken()) {
                // What was given out was what the model thought, without a mark that said so.
                *line = Written::new(styles[index], &draft.retrieved);
                line.take(&written.text);
            }
            draft.lack = Lack::of(written, line.answer(), line.has_ended());
            let is_plain = draft.verbalized.is_none() && draft.corpus.is_none();
            let is_greedy = self.settings.sampling == Sampling::Greedy;
            if let (true, Written::Short(line)) = (is_plain && is_greedy, &*line) {
                // Without its log probability it says nothing that the answer does not.
                draft.greedy = Sample::of(written, line).filter(|one| one.logprob.is_some());
            }
            stopped[index] = written.finish == Finish::Cancelled && !broken_off[index];
        }
        for (index, line) in lines.iter_mut().enumerate() {
            let rest = line.finish();
            if !rest.is_empty() && !left[index] {
                // There is nothing left to break off.
                let _ = watch(index, Event::Text(&rest));
            }
        }
        let lines = lines.into_iter().zip(stopped);
        let lines = lines.map(|(line, stopped)| (!stopped).then_some(line));
        Ok(lines.collect())
    }
}
