//! Verbalizing: having the model write what it knows about a question, as a text that a question
//! can then be answered from (GenRead; SR-RAG, sections 3.2 and 3.3). What the prompts say is not
//! decided here.

use std::ops::ControlFlow;

use ken_language::{
    Finish, FirstLine, GenerateOptions, GenerateRequest, LanguageModel, ModelError, Prompt,
    Sampling,
};

/// Most tokens of a text: SR-RAG's number (section 4.1).
pub const VERBALIZED_TOKENS: usize = 150;

/// A text that is wanted.
#[derive(Debug, Clone, Copy)]
pub struct TextWanted<'a> {
    /// Asks for it.
    pub prompt: &'a Prompt,
    /// How its tokens are chosen.
    pub sampling: Sampling,
    /// Most tokens of it.
    pub max_tokens: usize,
}

/// What the model wrote of what it knows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verbalization {
    /// The text, one line; empty where the model wrote nothing.
    pub text: String,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Tokens written.
    pub tokens: usize,
}

/// Writes texts, all in one batch. A text is the first line that is not blank. `watch` is given the
/// number of the text and each piece of it, and may break that text off.
///
/// # Shapes
/// Returns one text for each that is wanted; `None` for one that was broken off, or at which the
/// model was stopped from outside.
///
/// # Errors
/// A prompt that does not fit, a model that fails.
pub fn verbalize(
    model: &dyn LanguageModel,
    wanted: &[TextWanted<'_>],
    watch: &mut dyn FnMut(usize, &str) -> ControlFlow<()>,
) -> Result<Vec<Option<Verbalization>>, ModelError> {
    let options: Vec<GenerateOptions> = wanted
        .iter()
        .map(|wanted| GenerateOptions {
            sampling: wanted.sampling,
            max_tokens: wanted.max_tokens,
            stop: Vec::new(),
        })
        .collect();
    let requests: Vec<_> = wanted
        .iter()
        .zip(&options)
        .map(|(wanted, options)| GenerateRequest {
            prompt: wanted.prompt,
            samples: 1,
            options,
        })
        .collect();
    let mut lines: Vec<FirstLine> = wanted.iter().map(|_| FirstLine::default()).collect();
    let mut broken_off = vec![false; wanted.len()];
    let written = model.generate(&requests, &mut |piece| {
        let line = &mut lines[piece.request];
        let part = line.take(piece.text);
        if !part.is_empty() && watch(piece.request, part).is_break() {
            broken_off[piece.request] = true;
            return ControlFlow::Break(());
        }
        if line.has_ended() {
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    })?;
    let mut written = written
        .into_iter()
        .map(|samples| samples.into_iter().next());
    Ok(lines
        .iter()
        .zip(broken_off)
        .map(|(line, broken_off)| {
            let written = written.next().flatten()?;
            let stopped = written.finish == Finish::Cancelled && !line.has_ended();
            (!stopped && !broken_off).then(|| Verbalization {
                text: line.answer().to_owned(),
                prompt_tokens: written.prompt_tokens,
                tokens: written.tokens,
            })
        })
        .collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_language::Examples;
    use ken_testing::{Fact, TableModel};

    const INSTRUCTION: &str = "Write.";

    fn table() -> TableModel {
        let fact = |question: &str, answer: &str| Fact {
            question: question.to_owned(),
            answer: answer.to_owned(),
            wrong: Vec::new(),
            known: 1.0,
            copied: 0.0,
            misled: 0.0,
        };
        let facts = vec![
            fact("who rows?", "Ida\nand more"),
            fact("who sings?", "Per"),
        ];
        TableModel::new(facts)
            .unwrap()
            .writing_texts(&[INSTRUCTION])
    }

    fn written(
        questions: &[&str],
        max_tokens: usize,
        watch: &mut dyn FnMut(usize, &str) -> ControlFlow<()>,
    ) -> Vec<Option<Verbalization>> {
        let prompts: Vec<Prompt> = questions
            .iter()
            .map(|question| Prompt {
                instruction: INSTRUCTION,
                examples: Examples::Fixed(&[]),
                input: format!("Question: {question}\nBackground:"),
                sourced: None,
            })
            .collect();
        let wanted: Vec<TextWanted<'_>> = prompts
            .iter()
            .map(|prompt| TextWanted {
                prompt,
                sampling: Sampling::Greedy,
                max_tokens,
            })
            .collect();
        verbalize(&table(), &wanted, watch).unwrap()
    }

    fn texts(written: &[Option<Verbalization>]) -> Vec<Option<&str>> {
        let each = written.iter();
        each.map(|written| Some(written.as_ref()?.text.as_str()))
            .collect()
    }

    #[test]
    fn a_text_is_one_line() {
        let written = written(&["who rows?", "who sings?", "who?"], 9, &mut |_, _| {
            ControlFlow::Continue(())
        });
        assert_eq!(
            texts(&written),
            [
                Some("What is known of it: Ida"),
                Some("What is known of it: Per."),
                Some("")
            ]
        );
    }

    #[test]
    fn one_that_is_broken_off_is_none_and_harms_no_other() {
        let written = written(&["who rows?", "who sings?"], 9, &mut |text, _| {
            if text == 0 {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        });
        assert_eq!(texts(&written), [None, Some("What is known of it: Per.")]);
    }

    #[test]
    fn without_room_nothing_is_written() {
        let written = written(&["who sings?"], 0, &mut |_, _| ControlFlow::Continue(()));
        assert_eq!(texts(&written), [Some("")]);
    }
}
