//! The last step: writing the answers, or returning those that a policy had written.

use std::ops::ControlFlow;
use std::time::{Duration, Instant};

use ken_language::{
    Finish, GenerateOptions, GenerateRequest, Generation, Progress, Prompt, Sampling, StreamedText,
};
use ken_probe::{Lack, Sample};

use super::text::AnswerText;
use crate::brought::Brought;
use crate::draft::{Draft, Subject};
use crate::error::AnswerError;
use crate::memory::Memory;
use crate::pipeline::{Event, Pipeline};
use crate::prompt;
use crate::style::Style;

/// An answer while it is written.
struct Line {
    style: Style,
    /// The words before a full answer.
    mark: &'static str,
    text: AnswerText,
    /// The model's text, up to the application's stop strings.
    until: StreamedText,
    written: String,
    /// Whether `generate` stopped the model: the caller left, or the answer has ended.
    broken_off: bool,
    /// Whether the caller left.
    left: bool,
    /// Whether something else stopped the model before the answer was complete.
    stopped: bool,
}

impl Line {
    fn new(draft: &Draft<'_>, style: Style, memory: Memory, stop: &[String]) -> Self {
        // A withheld answer rests on no passage.
        let read = match draft.withheld {
            Some(_) => &[][..],
            None => &draft.retrieved,
        };
        let is_marked = memory == Memory::Mark
            && style != Style::AsSent
            && draft.stands_in()
            && draft.withheld.is_none();
        let mark = match is_marked {
            true => prompt::remembered(draft.question.question),
            false => "",
        };
        Self {
            style,
            text: AnswerText::new(style, read, mark),
            until: StreamedText::new(stop.into()),
            written: String::new(),
            mark,
            broken_off: false,
            left: false,
            stopped: false,
        }
    }

    /// Takes the next piece of the model's text and returns the next of the answer.
    fn take(&mut self, piece: &str) -> String {
        self.written.push_str(piece);
        let follows = self.until.extend(&self.written).to_owned();
        self.text.take(&follows).into_owned()
    }

    /// Returns the held-back rest of the answer: no piece follows.
    fn finish(&mut self) -> String {
        let held = match self.until.stopped {
            true => String::new(),
            false => self.until.finish().to_owned(),
        };
        let follows = self.text.take(&held).into_owned();
        follows + &self.text.finish()
    }

    /// Whether the answer has ended before the model's text.
    fn has_ended(&self) -> bool {
        self.until.stopped || self.text.has_ended()
    }
}

impl Pipeline {
    /// Writes the answers that the policy did not have written already; `None` if the model was stopped before.
    pub(crate) fn write(
        &self,
        drafts: &mut [Draft<'_>],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Option<AnswerText>>, AnswerError> {
        let mut lines: Vec<Line> = drafts
            .iter()
            .map(|draft| {
                // A list may repeat itself.
                let style = match draft.subject {
                    Subject::List => Style::AsSent,
                    _ => self.style_of(draft.question),
                };
                Line::new(draft, style, self.settings.memory, &self.brought.stop)
            })
            .collect();
        for (index, (draft, line)) in drafts.iter_mut().zip(&mut lines).enumerate() {
            if let (true, Some(written)) = (draft.go_on, &draft.written) {
                draft.lack.clone_from(&written.lack);
                // There is nothing left to break off.
                let _ = watch(index, Event::Text(&line.take(&written.text)));
            }
        }
        self.generate(drafts, &mut lines, watch)?;
        for (index, line) in lines.iter_mut().enumerate() {
            let rest = line.finish();
            if !rest.is_empty() && !line.left {
                // There is nothing left to break off.
                let _ = watch(index, Event::Text(&rest));
            }
        }
        Ok(lines
            .into_iter()
            .map(|line| (!line.stopped).then_some(line.text))
            .collect())
    }

    /// Has the model write the missing answers.
    fn generate(
        &self,
        drafts: &mut [Draft<'_>],
        lines: &mut [Line],
        watch: &mut dyn FnMut(usize, Event<'_>) -> ControlFlow<()>,
    ) -> Result<(), AnswerError> {
        let started = Instant::now();
        let open: Vec<usize> = (0..drafts.len())
            .filter(|&index| drafts[index].written.is_none())
            .collect();
        let asked: Vec<(Prompt, GenerateOptions)> = open
            .iter()
            .map(|&index| self.request(&drafts[index], lines[index].style))
            .collect();
        let requests: Vec<_> = asked
            .iter()
            .map(|(prompt, options)| GenerateRequest::new(prompt, 1, options))
            .collect();
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
                    line.left = !part.is_empty() && watch(index, Event::Text(&part)).is_break();
                    (index, line.left || line.has_ended())
                }
            };
            if breaks {
                lines[index].broken_off = true;
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        })?;
        let written: Vec<Generation> = written.into_iter().flatten().collect();
        let reading: Duration = written.iter().map(|written| written.prompt_time).sum();
        let writing = started.elapsed().saturating_sub(reading) / written.len().max(1) as u32;
        for (&index, written) in open.iter().zip(&written) {
            drafts[index].took("write", writing);
            self.keep(written, &mut drafts[index], &mut lines[index]);
        }
        Ok(())
    }

    /// The prompt and the options of an answer; one whose caller left before has no tokens.
    fn request(&self, draft: &Draft<'_>, style: Style) -> (Prompt, GenerateOptions) {
        let (prompt, max_tokens, stop) = match style {
            Style::Short => (draft.prompt(), self.settings.max_tokens, Vec::new()),
            Style::Full => (
                draft.full_prompt(),
                self.settings.full_tokens,
                prompt::full_ends(draft.question.question),
            ),
            Style::AsSent => (
                self.sent_prompt(draft),
                self.settings.full_tokens,
                Vec::new(),
            ),
        };
        let options = GenerateOptions {
            sampling: self.settings.sampling,
            max_tokens: if draft.go_on { max_tokens } else { 0 },
            stop: [stop, self.brought.stop.clone()].concat(),
            schema: self.brought.schema.clone(),
        };
        (prompt, options)
    }

    /// The application's conversation with the evidence in it.
    fn sent_prompt(&self, draft: &Draft<'_>) -> Prompt {
        let Brought { evidence, .. } = self.brought.as_ref();
        let message = draft.message(evidence);
        self.brought.asked().with(&message, evidence.place).prompt()
    }

    /// Records the model's text in the draft, with its cost.
    fn keep(&self, written: &Generation, draft: &mut Draft<'_>, line: &mut Line) {
        draft.called(written.prompt_tokens, written.tokens);
        draft.took("read", written.prompt_time);
        if !line.broken_off && !written.text.trim_start().starts_with(line.text.taken()) {
            // The streamed text was the model's reasoning, which no mark set apart.
            line.text = AnswerText::new(line.style, &draft.retrieved, line.mark);
            line.text.take(&written.text);
        }
        draft.lack = match line.text.repeats() {
            true => Some(Lack::Repeats),
            false => Lack::of(written, line.text.answer(), line.text.has_ended()),
        };
        let is_plain = draft.verbalized.is_none() && draft.corpus.is_none();
        let is_greedy = self.settings.sampling == Sampling::Greedy;
        if let (true, AnswerText::Short(first_line)) = (is_plain && is_greedy, &line.text) {
            // Without its log probability it adds nothing to the answer.
            draft.greedy = Sample::of(written, first_line).filter(|own| own.logprob.is_some());
        }
        line.stopped = written.finish == Finish::Cancelled && !line.broken_off;
    }
}
