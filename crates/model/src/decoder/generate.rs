//! Generating continuations token by token: many prompts, and many samples of each, in one batch.

use std::collections::VecDeque;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::{Duration, Instant};

use ken_language::{Finish, GenerateOptions, Piece, Sampling};
use rayon::prelude::*;

use super::Decoder;
use super::backend::{Backend, Sequence};
use super::engine::{Depth, Engine};
use super::error::DecoderError;
use super::graph::Input;
use super::prompt::{Course, Prompt};
use super::runtime::with_engine;
use super::sampling::Sampler;
use super::streamed_text::StreamedText;
use super::tokenizer::TextTokenizer;

/// The most sequences that are generated at the same time.
const MOST_BRANCHES: usize = 128;

/// The capacity of a sequence in tokens at first; it grows where it needs more.
const FIRST_CAPACITY: usize = 64;

/// A request for continuations of a tokenized prompt.
pub type GenerateRequest<'a> = ken_language::GenerateRequest<'a, Prompt>;

/// A generated answer.
#[derive(Debug, Clone)]
pub struct Generation {
    /// The text, without the stop string.
    pub text: String,
    /// The generated tokens, without the end token.
    pub tokens: Vec<u32>,
    /// Natural-log probability of each token at temperature 1, then of the end token if there was one:
    /// `[tokens]` or `[tokens + 1]`.
    pub logprobs: Vec<f32>,
    /// Entropy in nats of what each of these was chosen from, at temperature 1.
    pub entropies: Vec<f32>,
    /// Of each of these how far the probability is above that of the runner-up, at temperature 1.
    /// `None` of what was not chosen greedily.
    pub margins: Option<Vec<f32>>,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Time to read the prompt; its share where several were read at once.
    pub prompt_time: Duration,
    /// Time to generate the answer.
    pub write_time: Duration,
}

impl Decoder {
    /// Continues one prompt. `on_text` receives the text piece by piece as soon as it can no
    /// longer change, and may cancel.
    ///
    /// # Errors
    /// As [`Decoder::generate_many`].
    pub fn generate(
        &self,
        prompt: &Prompt,
        options: &GenerateOptions,
        on_text: &mut dyn FnMut(&str) -> ControlFlow<()>,
    ) -> Result<Generation, DecoderError> {
        let request = GenerateRequest {
            prompt,
            samples: 1,
            options,
        };
        let answers = self.generate_many(&[request], &mut |piece| on_text(piece.text))?;
        answers
            .into_iter()
            .flatten()
            .next()
            .ok_or(DecoderError::NoSamples)
    }

    /// Continues prompts. All are generated in one batch, as many at a time as memory allows; where
    /// one ends, the next takes its place. The texts do not depend on the batch.
    /// `on_piece` receives each text piece by piece as soon as it can no longer change, and may
    /// cancel that text.
    ///
    /// # Shapes
    /// Returns `[requests][samples]`.
    ///
    /// # Errors
    /// A prompt that fills the context, a request for no sample, weights that give no
    /// numbers.
    pub fn generate_many(
        &self,
        requests: &[GenerateRequest<'_>],
        on_piece: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, DecoderError> {
        let context = self.context_tokens();
        for request in requests {
            let received = request.prompt.tokens().len();
            if received >= context {
                return Err(DecoderError::ContextExceeded { received, context });
            }
            if request.samples == 0 {
                return Err(DecoderError::NoSamples);
            }
        }
        let writer = Writer {
            tokenizer: &self.tokenizer,
            end_tokens: &self.end_tokens,
            context,
        };
        let exactly: Vec<bool> = requests
            .iter()
            .map(|request| {
                request.options.sampling == Sampling::Greedy
                    && request.prompt.course() != Course::Alone
            })
            .collect();
        let mut answers = vec![Vec::new(); requests.len()];
        for (runtime, indices) in self.engines.assign(&exactly) {
            let own: Vec<_> = indices
                .iter()
                .map(|&index| GenerateRequest { ..requests[index] })
                .collect();
            let mut on_piece = |piece: Piece<'_>| {
                on_piece(Piece {
                    request: indices[piece.request],
                    ..piece
                })
            };
            let written = with_engine!(runtime, |engine| engine.generate(
                &own,
                &writer,
                &mut on_piece
            ))?;
            for (&index, written) in indices.iter().zip(written) {
                answers[index] = written;
            }
        }
        Ok(answers)
    }
}

/// What turns logits into text.
struct Writer<'a> {
    tokenizer: &'a TextTokenizer,
    end_tokens: &'a [u32],
    context: usize,
}

impl Writer<'_> {
    /// The most tokens that a sample of a request may have.
    fn budget(&self, request: &GenerateRequest<'_>) -> usize {
        let left = self.context - request.prompt.tokens().len();
        request.options.max_tokens.min(left)
    }
}

/// A sequence that waits to be generated: its prompt has been read.
struct Waiting<S> {
    request: usize,
    sample: usize,
    prompt: Arc<ReadPrompt<S>>,
}

/// A prompt that has been read.
struct ReadPrompt<S> {
    sequence: Arc<S>,
    /// What comes next.
    logits: Vec<f32>,
    time: Duration,
}

/// A sequence that is being generated.
struct Branch<'a, S> {
    request: usize,
    sample: usize,
    sequence: S,
    sampler: Sampler,
    text: StreamedText<'a>,
    tokens: Vec<u32>,
    logprobs: Vec<f32>,
    entropies: Vec<f32>,
    margins: Option<Vec<f32>>,
    /// The most tokens.
    budget: usize,
    /// Tokens whose keys and values it is charged with.
    held: usize,
    /// What the last token released.
    piece: String,
    finish: Option<Finish>,
    prompt_tokens: usize,
    prompt_time: Duration,
    started: Instant,
}

impl<B: Backend> Engine<B> {
    fn generate(
        &self,
        requests: &[GenerateRequest<'_>],
        writer: &Writer<'_>,
        on_piece: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, DecoderError> {
        let mut done: Vec<Vec<Option<Generation>>> = requests
            .iter()
            .map(|request| vec![None; request.samples])
            .collect();
        let mut unread = 0..requests.len();
        let mut waiting = VecDeque::new();
        let mut active: Vec<Branch<'_, B::Sequence>> = Vec::new();
        loop {
            let free = MOST_BRANCHES.saturating_sub(active.len() + waiting.len());
            if free > 0 && !unread.is_empty() {
                let held = active.iter().map(|branch| branch.held).sum();
                waiting.extend(self.read_prompts(requests, writer, &mut unread, free, held)?);
            }
            while active.len() < MOST_BRANCHES
                && let Some(next) = waiting.pop_front()
            {
                active.push(Branch::begin(&next, requests, writer)?);
            }
            if active.is_empty() {
                break;
            }
            stream(&mut active, on_piece);
            self.retire(requests, &mut active, on_piece, &mut done);
            self.step(&mut active, writer)?;
        }
        Ok(done
            .into_iter()
            .map(|samples| samples.into_iter().flatten().collect())
            .collect())
    }

    /// Reads the prompts of the next requests: as many as fill the free places, or as memory
    /// allows, but at least one where nothing else is going on.
    ///
    /// # Units
    /// `held`: tokens whose keys and values are held already.
    fn read_prompts(
        &self,
        requests: &[GenerateRequest<'_>],
        writer: &Writer<'_>,
        unread: &mut Range<usize>,
        free: usize,
        mut held: usize,
    ) -> Result<Vec<Waiting<B::Sequence>>, DecoderError> {
        let started = Instant::now();
        let (mut places, mut prompts) = (0, Vec::new());
        // Each request with the reading of its prompt.
        let mut indices: Vec<(usize, usize)> = Vec::new();
        for index in unread.clone() {
            let request = &requests[index];
            // A prompt that comes twice in a row is read once.
            let last = indices
                .last()
                .filter(|(last, _)| requests[*last].prompt.tokens() == request.prompt.tokens());
            let read = last.map(|(_, reading)| *reading);
            let to_read = if read.is_some() {
                0
            } else {
                request.prompt.parts().1.len()
            };
            let more = to_read + request.samples.min(free) * writer.budget(request);
            if places >= free || (held > 0 && held + more > self.budget()) {
                break;
            }
            held += more;
            places += request.samples;
            unread.start = index + 1;
            indices.push((index, read.unwrap_or(prompts.len())));
            if read.is_none() {
                prompts.push(request.prompt);
            }
        }
        let mut readings = self.readings(&prompts)?;
        let hidden = self.read(&mut readings, Depth::Final)?.concat();
        let mut rows: Vec<Vec<f32>> = Vec::with_capacity(indices.len());
        self.logits(&hidden, |_, logits| {
            rows.extend(logits.chunks(self.vocabulary()).map(<[f32]>::to_vec));
            Ok(())
        })?;
        let time = started.elapsed() / u32::try_from(rows.len().max(1)).unwrap_or(u32::MAX);
        let mut waiting = Vec::with_capacity(places);
        let prompts: Vec<_> = readings
            .into_iter()
            .zip(rows)
            .map(|(reading, logits)| {
                Arc::new(ReadPrompt {
                    sequence: Arc::new(reading.sequence),
                    logits,
                    time,
                })
            })
            .collect();
        for (request, reading) in indices {
            let prompt = &prompts[reading];
            waiting.extend((0..requests[request].samples).map(|sample| Waiting {
                request,
                sample,
                prompt: Arc::clone(prompt),
            }));
        }
        Ok(waiting)
    }

    /// Takes out the branches that have ended.
    fn retire(
        &self,
        requests: &[GenerateRequest<'_>],
        active: &mut Vec<Branch<'_, B::Sequence>>,
        on_piece: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>,
        done: &mut [Vec<Option<Generation>>],
    ) {
        for mut branch in active.extract_if(.., |branch| branch.finish.is_some()) {
            let finish = branch.finish.unwrap_or(Finish::Length);
            if finish != Finish::Cancelled {
                let text = branch.text.finish();
                if !text.is_empty() {
                    // There is nothing left to cancel.
                    let _ = on_piece(Piece {
                        request: branch.request,
                        sample: branch.sample,
                        text,
                    });
                }
            }
            let (request, sample) = (branch.request, branch.sample);
            let prompt = requests[request].prompt;
            let (sequence, written) = branch.end(finish);
            if prompt.course() == Course::IsContinued {
                let mut tokens = [prompt.tokens(), &written.tokens].concat();
                // The last token was written and not read.
                tokens.truncate(sequence.length());
                self.hold(tokens, Arc::new(sequence));
            }
            done[request][sample] = Some(written);
        }
    }

    /// Writes one more token of every branch.
    fn step(
        &self,
        active: &mut [Branch<'_, B::Sequence>],
        writer: &Writer<'_>,
    ) -> Result<(), DecoderError> {
        let mut inputs: Vec<Input<'_, B::Sequence>> = active
            .iter_mut()
            .map(|branch| Input {
                tokens: &branch.tokens[branch.tokens.len() - 1..],
                sequence: &mut branch.sequence,
            })
            .collect();
        let hidden = self.next(&mut inputs)?;
        self.logits(&hidden, |first, logits| {
            let rows = logits.par_chunks(self.vocabulary());
            active[first..]
                .par_iter_mut()
                .zip(rows)
                .try_for_each(|(branch, logits)| branch.take(logits, writer))
        })
    }
}

impl<'a, S: Sequence> Branch<'a, S> {
    /// Begins a sequence and writes its first token.
    fn begin(
        waiting: &Waiting<S>,
        requests: &[GenerateRequest<'a>],
        writer: &Writer<'_>,
    ) -> Result<Self, DecoderError> {
        let request = &requests[waiting.request];
        let prompt_tokens = request.prompt.tokens().len();
        let budget = writer.budget(request);
        let mut branch = Self {
            request: waiting.request,
            sample: waiting.sample,
            sequence: waiting.prompt.sequence.branch(budget.min(FIRST_CAPACITY))?,
            sampler: Sampler::new(request.options.sampling, waiting.sample),
            text: StreamedText::new(&request.options.stop),
            tokens: Vec::new(),
            logprobs: Vec::new(),
            entropies: Vec::new(),
            margins: (request.options.sampling == Sampling::Greedy).then(Vec::new),
            budget,
            held: budget + request.prompt.parts().1.len().div_ceil(request.samples),
            piece: String::new(),
            finish: None,
            prompt_tokens,
            prompt_time: waiting.prompt.time,
            started: Instant::now(),
        };
        if budget == 0 {
            branch.finish = Some(Finish::Length);
        } else {
            branch.take(&waiting.prompt.logits, writer)?;
        }
        Ok(branch)
    }

    /// Takes the logits of what comes next and writes a token.
    fn take(&mut self, logits: &[f32], writer: &Writer<'_>) -> Result<(), DecoderError> {
        let choice = self.sampler.next(logits).ok_or(DecoderError::NotFinite)?;
        self.logprobs.push(choice.logprob);
        self.entropies.push(choice.entropy);
        if let Some(margins) = &mut self.margins {
            margins.extend(choice.margin);
        }
        if writer.end_tokens.binary_search(&choice.token).is_ok() {
            self.finish = Some(Finish::End);
            return Ok(());
        }
        self.tokens.push(choice.token);
        let whole = writer.tokenizer.decode(&self.tokens)?;
        self.piece.push_str(self.text.extend(&whole));
        if self.text.stopped {
            self.finish = Some(Finish::StopString);
        } else if self.tokens.len() == self.budget {
            self.finish = Some(Finish::Length);
        }
        Ok(())
    }

    /// What was written, and the sequence that it was written in.
    fn end(self, finish: Finish) -> (S, Generation) {
        let written = Generation {
            text: self.text.released().to_owned(),
            tokens: self.tokens,
            logprobs: self.logprobs,
            entropies: self.entropies,
            margins: self.margins,
            finish,
            prompt_tokens: self.prompt_tokens,
            prompt_time: self.prompt_time,
            write_time: self.started.elapsed(),
        };
        (self.sequence, written)
    }
}

/// Streams what was released. A text whose receiver breaks is cancelled.
fn stream<S>(active: &mut [Branch<'_, S>], on_piece: &mut dyn FnMut(Piece<'_>) -> ControlFlow<()>) {
    for branch in active {
        let text = std::mem::take(&mut branch.piece);
        let piece = Piece {
            request: branch.request,
            sample: branch.sample,
            text: &text,
        };
        if !text.is_empty() && on_piece(piece).is_break() {
            branch.finish = Some(Finish::Cancelled);
        }
    }
}
