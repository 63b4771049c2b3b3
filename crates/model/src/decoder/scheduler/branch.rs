//! A text that is being generated: one sample of one request.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ken_language::{Finish, Sampling, StreamedText};

use super::draft::Draft;
use super::job::{End, Place, Written};
use crate::decoder::error::DecoderError;
use crate::decoder::graph::backend::{Input, Sequence};
use crate::decoder::scheduler::sampling::{Sampler, token_logprobs};
use crate::decoder::text::constraint::Constraint;
use crate::decoder::text::tokenizer::TextTokenizer;

/// The initial capacity of a sequence in tokens; it grows on demand.
const FIRST_CAPACITY: usize = 64;

/// Turns logits into text.
pub(in crate::decoder) struct Writer {
    pub(in crate::decoder) tokenizer: Arc<TextTokenizer>,
    /// In ascending order.
    pub(in crate::decoder) end_tokens: Arc<[u32]>,
}

/// A prompt that has been read.
pub(super) struct ReadPrompt<S> {
    pub(super) sequence: Arc<S>,
    /// The logits of the next token.
    pub(super) logits: Vec<f32>,
    pub(super) time: Duration,
}

/// A sequence that is being generated.
pub(super) struct Branch<S> {
    pub(super) place: Place,
    pub(super) sample: usize,
    /// Whether it is computed exactly.
    pub(super) exact: bool,
    pub(super) sequence: S,
    pub(super) tokens: Vec<u32>,
    /// How many of the most likely tokens are listed with each token; `None` if no log probabilities are requested.
    pub(super) top_logprobs: Option<usize>,
    /// Its constraint.
    pub(super) constraint: Option<Constraint>,
    /// The most tokens, with whose keys and values it is charged.
    pub(super) most: usize,
    /// Its draft of the next tokens, which is read before they are known.
    pub(super) draft: Draft,
    /// Tokens that were written but not delivered.
    pub(super) written: Vec<Written>,
    /// Why it cannot continue.
    pub(super) failed: Option<DecoderError>,
    sampler: Sampler,
    text: StreamedText,
    prompt_time: Duration,
    started: Instant,
}

impl<S: Sequence> Branch<S> {
    /// Begins a text after a prompt.
    pub(super) fn begin(
        place: Place,
        sample: usize,
        exact: bool,
        prompt: &ReadPrompt<S>,
        sampling: Sampling,
        stop: &Arc<[String]>,
        most: usize,
    ) -> Result<Self, DecoderError> {
        Ok(Self {
            place,
            sample,
            exact,
            sequence: prompt.sequence.branch(most.min(FIRST_CAPACITY))?,
            tokens: Vec::new(),
            top_logprobs: None,
            constraint: None,
            most,
            draft: Draft::default(),
            written: Vec::new(),
            failed: None,
            sampler: Sampler::new(sampling, sample),
            text: StreamedText::new(Arc::clone(stop)),
            prompt_time: prompt.time,
            started: Instant::now(),
        })
    }

    /// How many tokens the next pass reads.
    pub(super) fn rows(&self) -> usize {
        self.draft.tokens().len()
    }

    /// Drafts what comes after a prompt, for at most `rows` rows.
    pub(super) fn look_ahead(&mut self, prompt: &[u32], rows: usize) {
        let left = self.most - self.tokens.len();
        self.draft.look_up(prompt, &self.tokens, rows.min(left));
    }

    /// The input of the next pass: the last token and its draft.
    pub(super) fn input(&mut self) -> Input<'_, S> {
        Input {
            tokens: self.draft.tokens(),
            sequence: &mut self.sequence,
        }
    }

    /// Takes the logits after the last token and after each token of the draft; writes tokens as long as the draft is
    /// right, and one more. The text is the same as without a draft.
    ///
    /// # Shapes
    /// `logits`: `[1 + draft, vocabulary]`.
    pub(super) fn take(&mut self, logits: &[f32], writer: &Writer) {
        let result = self.write(logits, writer);
        self.failed = result.err();
    }

    fn write(&mut self, logits: &[f32], writer: &Writer) -> Result<(), DecoderError> {
        let drafted = self.draft.ahead().len();
        let mut right = 0;
        for logits in logits.chunks(logits.len() / (drafted + 1)) {
            let written = self.next(logits, writer)?;
            let goes_on = written.end.is_none()
                && self.draft.ahead().get(right) == Some(&written.choice.token);
            self.written.push(written);
            if !goes_on {
                break;
            }
            right += 1;
        }
        self.draft.end(right);
        self.sequence.forget(drafted - right)
    }

    fn next(&mut self, logits: &[f32], writer: &Writer) -> Result<Written, DecoderError> {
        let choice = match &mut self.constraint {
            None => self.sampler.next(logits),
            Some(constraint) => self.sampler.next(&constraint.allowed(logits)?),
        };
        let choice = choice.ok_or(DecoderError::NotFinite)?;
        if let Some(constraint) = &mut self.constraint {
            constraint.take(choice.token)?;
        }
        let is_text = writer.end_tokens.binary_search(&choice.token).is_err();
        let logprobs = self
            .top_logprobs
            .and_then(|top| token_logprobs(logits, choice.token, top));
        let mut piece = String::new();
        if is_text {
            self.tokens.push(choice.token);
            let whole = writer.tokenizer.decode(&self.tokens)?;
            piece.push_str(self.text.extend(&whole));
        }
        let finish = match is_text {
            false => Some(Finish::End),
            true if self.text.stopped => Some(Finish::StopString),
            true => (self.tokens.len() == self.most).then_some(Finish::Length),
        };
        Ok(Written {
            request: self.place.request,
            sample: self.sample,
            choice,
            is_text,
            logprobs,
            piece,
            end: finish.map(|finish| End {
                finish,
                last_piece: self.text.finish().to_owned(),
                text: self.text.released().to_owned(),
            }),
            prompt_time: self.prompt_time,
            write_time: self.started.elapsed(),
        })
    }
}
