//! The fifth step, for a model that chooses its source: it writes what it knows, and answers from that.

use std::ops::ControlFlow;
use std::time::Instant;

use ken_language::{LanguageModel, Prompt};
use ken_policy::{Source, Tokens};
use ken_probe::{DrawRequest, draw_watched};

use crate::AnswerError;
use crate::answer::Verbalized;
use crate::draft::Draft;
use crate::pipeline::{Event, Pipeline};
use crate::prompt::truncate::SPARE_TOKENS;
use crate::prompt::{self, QuestionPrompt};

/// The most tokens of a text, as in SR-RAG (section 4.1).
pub const VERBALIZED_TOKENS: usize = 150;

impl Pipeline {
    /// Whether the model writes what it knows before it answers from memory. A model that chooses its source was trained to
    /// do so. If answers may be withheld, it does not: signals vouch for the plain answer.
    pub fn verbalizes(&self) -> bool {
        let chooser = self.model.source_chooser();
        self.settings.abstain.is_none() && chooser.is_ok_and(|chooser| chooser.verbalizes())
    }

    /// Has the model write what it knows about the questions that it answers from memory.
    pub(crate) fn verbalize(
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
        let written = verbalize(self.model.as_ref(), &questions, &mut |position, piece| {
            let index = indices[position];
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
                    draft.called(written.tokens.prompt, written.tokens.completion);
                    // The policy's answer was not written from this text.
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
}

/// Writes the greedy text about each question (SR-RAG, section 3.4), all in one batch. `questions` come with the tokens
/// that question and text may have together. `watch` gets the index of the question and each piece of its text, and may
/// cancel it.
///
/// # Shapes
/// Returns `[questions]`; `None` for a text that was cancelled.
///
/// # Errors
/// A question that does not fit, a model that fails.
fn verbalize(
    model: &dyn LanguageModel,
    questions: &[(QuestionPrompt<'_>, usize)],
    watch: &mut dyn FnMut(usize, &str) -> ControlFlow<()>,
) -> Result<Vec<Option<Verbalized>>, AnswerError> {
    let prompts: Vec<Prompt> = questions
        .iter()
        .map(|(question, _)| prompt::verbalize(*question, None))
        .collect();
    let budgets = questions
        .iter()
        .map(|(question, budget)| text_budget(model, question.question, *budget))
        .collect::<Result<Vec<usize>, AnswerError>>()?;
    let requests: Vec<DrawRequest<'_>> = prompts
        .iter()
        .zip(&budgets)
        .map(|(prompt, budget)| DrawRequest::greedy(prompt, VERBALIZED_TOKENS.min(*budget)))
        .collect();
    let drawn = draw_watched(model, &requests, watch)?;
    let each = drawn.into_iter().zip(budgets).map(|(drawn, budget)| {
        let Some(drawn) = drawn else {
            return Ok(None);
        };
        let tokens = Tokens {
            prompt: drawn.prompt_tokens,
            completion: drawn.written_tokens(),
        };
        let text = drawn.into_text();
        // A token has at least one byte, so few texts need a count.
        let fits = text.len() <= budget || model.count_tokens(&text)? <= budget;
        Ok(Some(Verbalized {
            in_prompt: fits && !text.is_empty(),
            text,
            tokens,
        }))
    });
    each.collect()
}

/// Tokens that a text may have beside its question.
fn text_budget(
    model: &dyn LanguageModel,
    question: &str,
    budget: usize,
) -> Result<usize, AnswerError> {
    let budget = budget.saturating_sub(SPARE_TOKENS);
    // The question's length matters only if the budget is tight.
    if question.len() + 2 * VERBALIZED_TOKENS <= budget {
        return Ok(budget - question.len());
    }
    Ok(budget.saturating_sub(model.count_tokens(question)?))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Answer, AnswerSettings};
    use ken_testing::{Fact, TableModel, has, with};
    use std::sync::Arc;

    /// Over a model that surely knows who rows, hardly who sings, and copies all it reads.
    fn pipeline(policy: &str, verbalize: bool) -> Pipeline {
        let fact = |question: &str, answer: &str, known: f64| Fact {
            question: question.to_owned(),
            answer: answer.to_owned(),
            wrong: vec!["Nils".to_owned()],
            known,
            copied: 1.0,
            misled: 1.0,
        };
        let table = TableModel::new(vec![
            fact("who rows?", "Ida", 1.0),
            fact("who sings?", "Per", 0.1),
        ]);
        let instruction = prompt::verbalize(QuestionPrompt::open("who?"), None).instruction;
        let table = match verbalize {
            true => table.unwrap().writing_texts(&[&instruction]),
            false => table.unwrap(),
        };
        let settings =
            with!(AnswerSettings::default(), policy: policy.parse().unwrap(), samples: 3);
        Pipeline::new(Arc::new(table), None, settings)
    }

    fn answers(verbalize: bool, questions: &[&str]) -> Vec<Answer> {
        let mut go_on = |_, _: Event<'_>| ControlFlow::Continue(());
        let questions: Vec<_> = questions
            .iter()
            .copied()
            .map(QuestionPrompt::open)
            .collect();
        let answers = pipeline("never", verbalize).answer_many(&questions, &mut go_on);
        answers.unwrap().into_iter().map(Result::unwrap).collect()
    }

    #[test]
    fn the_answer_comes_from_what_was_written() {
        let questions = ["who rows?", "who sings?", "who is unheard of?"];
        let written = answers(true, &questions);
        let [rows, sings, unheard] = written.as_slice() else {
            panic!("{written:?}");
        };
        let known = rows.verbalized.as_ref().unwrap();
        assert_eq!(known.text, "What is known of it: Ida.");
        assert!(known.in_prompt && known.tokens.completion == 1);
        has!(rows, answer.as_str(): "Ida", citations.len(): 0, tokens.completion: 2);
        assert!(rows.tokens.prompt > known.tokens.prompt);
        for stage in ["verbalize", "read", "write", "total"] {
            assert!(rows.timing_ms.contains_key(stage), "{stage}");
        }
        assert_eq!(sings.answer, "Nils", "misled by what it wrote itself");
        let nothing = unheard.verbalized.as_ref().unwrap();
        assert_eq!((nothing.text.as_str(), nothing.in_prompt), ("", false));

        // One by one, the texts are the same; a model that does not verbalize writes none.
        for (question, together) in questions.iter().zip(&written) {
            let alone = answers(true, &[question]).remove(0);
            has!(alone, verbalized: together.verbalized, answer: together.answer, tokens: together.tokens);
            let plain = answers(false, &[question]).remove(0);
            assert_eq!(plain.verbalized, None);
            assert!(!plain.timing_ms.contains_key("verbalize"));
        }
    }

    #[test]
    fn an_answer_that_the_policy_had_written_is_replaced() {
        let mut go_on = |_: Event<'_>| ControlFlow::Continue(());
        let mut answer = |verbalize| {
            let pipeline = pipeline("uncertainty:perplexity@100", verbalize);
            pipeline.answer("who rows?", &mut go_on).unwrap()
        };
        let (plain, written) = (answer(false), answer(true));
        assert_eq!((plain.calls.model, plain.tokens.completion), (1, 1));
        assert_eq!((written.calls.model, written.tokens.completion), (3, 3));
        assert_eq!(plain.answer, written.answer);
    }

    #[test]
    fn breaking_off_the_text_leaves_no_answer() {
        let mut seen = String::new();
        let answer = pipeline("never", true).answer("who rows?", &mut |event| match event {
            Event::Verbalized(piece) => {
                seen.push_str(piece);
                ControlFlow::Break(())
            }
            Event::Text(_) => panic!("an answer was written"),
            _ => ControlFlow::Continue(()),
        });
        let answer = answer.unwrap();
        assert_eq!((answer.answer.as_str(), answer.verbalized), ("", None));
        assert_eq!(seen, "What is known of it: Ida.");
    }

    #[test]
    fn a_text_has_the_budget_that_question_and_answer_leave() {
        let pipeline = pipeline("never", true);
        let model = pipeline.model.as_ref();
        let mut go_on = |_, _: &str| ControlFlow::Continue(());
        // Two words of the question and eight to spare: nothing is left.
        for (budget, text) in [(10, ""), (11, "What is known of it: Ida.")] {
            let written = verbalize(model, &[("who rows?".into(), budget)], &mut go_on).unwrap();
            let written = written[0].as_ref().unwrap();
            // The table writes a whole text where there is room for a token; it is then too long.
            assert_eq!((written.text.as_str(), written.in_prompt), (text, false));
        }
        let written = verbalize(model, &[("who rows?".into(), 16)], &mut go_on).unwrap();
        assert!(written[0].as_ref().unwrap().in_prompt);
    }
}
