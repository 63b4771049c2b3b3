//! The second step: finding passages for the questions that retrieve, and fitting them into the prompt.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::time::Duration;

use ken_language::LanguageModel;
use ken_policy::{Policy, Source};

use super::neighbors::with_neighbors;
use super::window::best_window;
use crate::answer::Retrieved;
use crate::draft::{Draft, Subject};
use crate::error::AnswerError;
use crate::pipeline::{Event, Pipeline};
use crate::prompt::truncate::SPARE_TOKENS;
use crate::prompt::{self, QuestionPrompt};
use crate::retrieve::{Retriever, SearchOutcome};

impl Pipeline {
    /// The passages for questions as if all retrieved, best first; those that fit into the prompt are marked.
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
        let questions = question_prompts.iter().map(|prompt| prompt.trimmed());
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

    /// Finds passages for drafts that retrieve, and marks those that fit into the prompt. `budgets`: the tokens that
    /// question and passages may have together.
    pub(crate) fn gather(
        &self,
        drafts: &mut [Draft<'_>],
        budgets: &[usize],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        let mut by_corpus: BTreeMap<Option<String>, Vec<usize>> = BTreeMap::new();
        for (index, draft) in drafts.iter().enumerate() {
            if draft.choice.source == Source::Corpus && draft.subject == Subject::Passages {
                let indices = by_corpus.entry(draft.corpus.clone()).or_default();
                indices.push(index);
            }
        }
        let (wanted, reach) = (self.settings.evidence_tokens, self.settings.neighbors);
        let mut all = Vec::new();
        for (corpus, indices) in by_corpus {
            let questions = indices.iter().map(|&index| drafts[index].question.question);
            let found = self.find(corpus.as_deref(), &questions.collect::<Vec<_>>())?;
            all.extend(indices.into_iter().zip(found));
        }
        for (index, (found, before)) in all {
            let (draft, limit) = (&mut drafts[index], budgets[index]);
            draft.found_in = before;
            draft.nearest = found.nearest;
            draft.named_documents = found.named_documents;
            if found.is_whole {
                draft.subject = Subject::Documents;
            }
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
            let (model, question) = (self.model.as_ref(), draft.question.question);
            // As in `check`: the question's length matters only if the budget is tight.
            let budget = if question.len().saturating_add(wanted) <= limit {
                wanted
            } else {
                let question = self.model.count_tokens(question)?;
                limit.saturating_sub(question).min(wanted)
            };
            let retriever = self.retriever_of(draft.corpus.as_deref());
            fit(model, retriever, question, &mut draft.retrieved, budget)?;
            if let Some(retriever) = retriever.filter(|_| reach > 0) {
                let retrieved = std::mem::take(&mut draft.retrieved);
                draft.retrieved = with_neighbors(model, retriever, retrieved, reach, budget)?;
            }
            if draft.go_on {
                draft.go_on = watch(index, Event::Retrieved(&draft.retrieved)).is_continue();
            }
        }
        Ok(())
    }

    /// Searches a corpus, by default that of the pipeline, for questions. Results of an earlier search come with the time
    /// that it took.
    ///
    /// # Shapes
    /// Returns `[questions]`.
    ///
    /// # Errors
    /// No corpus, or a search that fails.
    fn find(
        &self,
        corpus: Option<&str>,
        questions: &[&str],
    ) -> Result<Vec<(SearchOutcome, Duration)>, AnswerError> {
        let before = questions.iter().map(|question| {
            let found = self.found.get(*question)?;
            Some((found.clone(), found.time()))
        });
        if let Some(before) = before.collect() {
            return Ok(before);
        }
        let retriever = self.retriever_of(corpus).ok_or(AnswerError::NoCorpus)?;
        let found = retriever.evidence(questions, self.settings.mode, self.settings.k)?;
        Ok(found.into_iter().map(|new| (new, Duration::ZERO)).collect())
    }
}

/// The fewest tokens of a part of a passage that are worth reading.
const LEAST_WINDOW: usize = 48;

/// Marks the passages that go into the prompt, down the ranking. One that is too long is cut to the part that fits the
/// question best, within an equal share of the tokens left of `budget`.
fn fit(
    model: &dyn LanguageModel,
    retriever: Option<&Retriever>,
    question: &str,
    retrieved: &mut [Retrieved],
    budget: usize,
) -> Result<(), AnswerError> {
    // Usually all of them fit, which a single count shows.
    let numbered = |(index, passage)| prompt::numbered(index + 1, passage);
    let all: String = retrieved.iter().enumerate().map(numbered).collect();
    if all.is_empty() || model.count_tokens(&all)? <= budget {
        retrieved
            .iter_mut()
            .for_each(|passage| passage.in_prompt = true);
        return Ok(());
    }
    let (mut left, count) = (budget, retrieved.len());
    let mut number = 1;
    for (index, passage) in retrieved.iter_mut().enumerate() {
        let mut tokens = model.count_tokens(&prompt::numbered(number, passage))?;
        if tokens > left {
            let heading = tokens.saturating_sub(model.count_tokens(&passage.text)?);
            let around = heading + SPARE_TOKENS;
            let most = left.saturating_sub(around);
            let share = (left / (count - index)).saturating_sub(around);
            let share = share.max(LEAST_WINDOW).min(most);
            // A little of the best passage is better than nothing.
            if share == 0 || share < LEAST_WINDOW && number > 1 {
                continue;
            }
            let window = best_window(model, retriever, question, &passage.text, share)?;
            if window.is_empty() {
                continue;
            }
            passage.keep(window);
            tokens = model.count_tokens(&prompt::numbered(number, passage))?;
        }
        if tokens <= left {
            passage.in_prompt = true;
            left -= tokens;
            number += 1;
        }
    }
    Ok(())
}
