//! Generating continuations token by token: many prompts, and many samples of each.

use std::ops::ControlFlow;
use std::time::Duration;

use ken_language::{Finish, GenerateOptions, Piece, Progress, Sampling, TokenLogprob};

use crate::decoder::Decoder;
use crate::decoder::error::DecoderError;
use crate::decoder::scheduler::sampling::TokenLogprobs;
use crate::decoder::scheduler::shared_prefix::{kept_length, shared_lengths};
use crate::decoder::scheduler::{Call, Job, Message, Work, Written};
use crate::decoder::text::prompt::Prompt;
use crate::decoder::text::token_texts::TokenTexts;

/// A request for continuations of a tokenized prompt.
pub type GenerateRequest<'a> = ken_language::GenerateRequest<'a, Prompt>;

type OnProgress<'a> = &'a mut dyn FnMut(Progress<'_>) -> ControlFlow<()>;

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
    /// Entropy in nats of the distribution of each of these, at temperature 1.
    pub entropies: Vec<f32>,
    /// The probability of each of these minus that of the runner-up, at temperature 1. `None` unless chosen greedily.
    pub margins: Option<Vec<f32>>,
    /// The log probability of each token, with the most likely tokens at its position; empty unless requested. Tokens
    /// that a stop string cut off are left out.
    pub(in crate::decoder) token_logprobs: Vec<TokenLogprob>,
    /// Why it ended.
    pub finish: Finish,
    /// Tokens of the prompt.
    pub prompt_tokens: usize,
    /// Time to read the prompt; a share if it was computed together with others.
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
        let request = GenerateRequest::new(prompt, 1, options);
        let answers = self.generate_many(&[request], &mut |progress| match progress {
            Progress::Text(piece) => on_text(piece.text),
            Progress::Reading { .. } => ControlFlow::Continue(()),
        })?;
        answers
            .into_iter()
            .flatten()
            .next()
            .ok_or(DecoderError::NoSamples)
    }

    /// Continues prompts, in one batch with the requests of other callers, as many at a time as memory allows. The
    /// texts do not depend on the batch. `on_progress` is called on the caller's own thread: with the number of
    /// tokens read of each prompt, also while waiting, and with each text piece by piece as soon as it can no longer
    /// change. It may cancel the request or the text that it is called with.
    ///
    /// # Shapes
    /// Returns `[requests][samples]`.
    ///
    /// # Errors
    /// A prompt that fills the context, a request for no samples, a full queue of callers, weights whose logits are
    /// not finite.
    pub fn generate_many(
        &self,
        requests: &[GenerateRequest<'_>],
        on_progress: &mut dyn FnMut(Progress<'_>) -> ControlFlow<()>,
    ) -> Result<Vec<Vec<Generation>>, DecoderError> {
        let answers = self.answer_many(requests, on_progress)?.into_iter();
        Ok(answers.map(|answer| answer.texts).collect())
    }

    /// As [`Decoder::generate_many`], with the log probabilities of the prompts.
    pub(in crate::decoder) fn answer_many(
        &self,
        requests: &[GenerateRequest<'_>],
        on_progress: OnProgress<'_>,
    ) -> Result<Vec<Answer>, DecoderError> {
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
        let mut answers: Vec<Answer> = requests.iter().map(Answer::new).collect();
        let asked = answers.iter_mut().zip(requests).enumerate();
        let asked = asked.filter(|(_, (_, request))| {
            request.options.max_tokens > 0 || request.prompt.prompt_logprobs().is_some()
        });
        let mut asked: Vec<Asked<'_>> = asked
            .map(|(index, (answer, request))| Asked {
                index,
                request,
                answer,
            })
            .collect();
        if !asked.is_empty() {
            let call = self.scheduler.call(self.jobs(&asked)?)?;
            let mut names = TokenTexts::new(&self.tokenizer);
            receive(&call, &mut asked, &mut names, on_progress)?;
        }
        Ok(answers)
    }

    /// The jobs for the scheduler.
    fn jobs(&self, asked: &[Asked<'_>]) -> Result<Vec<Job>, DecoderError> {
        let context = self.context_tokens();
        let prompts: Vec<&Prompt> = asked.iter().map(|asked| asked.request.prompt).collect();
        let jobs = asked.iter().zip(shared_lengths(&prompts));
        let job = |(asked, shared): (&Asked<'_>, Vec<usize>)| {
            let GenerateRequest {
                prompt,
                samples,
                options,
            } = *asked.request;
            let shared = match prompt.prompt_logprobs() {
                // The log probabilities of a prefix include that of the token after it, so prompts must share that
                // too.
                Some(_) => shared.iter().map(|length| length - 1).collect(),
                None => {
                    let kept = kept_length(prompt, &shared).filter(|_| samples == 1);
                    shared.into_iter().chain(kept).collect()
                }
            };
            let constraint = options.schema.as_ref();
            let constraint = constraint.map(|schema| self.constraint(schema));
            Ok(Job {
                prompt: prompt.clone(),
                shared,
                work: Work::Write {
                    samples,
                    sampling: options.sampling,
                    stop: options.stop.as_slice().into(),
                    constraint: constraint.transpose()?,
                    most: options
                        .max_tokens
                        .max(1)
                        .min(context - prompt.tokens().len()),
                },
            })
        };
        jobs.map(job).collect()
    }
}

/// The answers to a request.
pub(in crate::decoder) struct Answer {
    pub(in crate::decoder) texts: Vec<Generation>,
    /// The log probabilities of the prompt without its first token, if it is scored.
    pub(in crate::decoder) prompt_logprobs: Vec<TokenLogprobs>,
    /// Whether each text is still being written.
    open: Vec<bool>,
    /// How much of each text was passed on.
    told: Vec<Told>,
    /// Tokens of the prompt that have been read.
    read: usize,
}

/// How much of a text was passed on.
#[derive(Debug, Clone, Copy, Default)]
struct Told {
    /// Code points of the text.
    length: usize,
    /// Tokens with log probabilities.
    tokens: usize,
    /// Code points of these tokens.
    tokens_length: usize,
}

impl Told {
    /// Advances by `length` code points of text, which these tokens cover with their log probabilities; returns the
    /// index after the last token that they reach.
    fn extend(&mut self, length: usize, scored: &[TokenLogprob]) -> usize {
        self.length += length;
        let next = &scored[self.tokens.min(scored.len())..];
        for token in next {
            if self.tokens_length >= self.length {
                break;
            }
            self.tokens_length += token.text.chars().count();
            self.tokens += 1;
        }
        self.tokens
    }
}

/// A request that the scheduler works on.
struct Asked<'a> {
    /// Its index among all requests.
    index: usize,
    request: &'a GenerateRequest<'a>,
    answer: &'a mut Answer,
}

/// Receives messages until all texts have ended.
fn receive(
    call: &Call,
    asked: &mut [Asked<'_>],
    names: &mut TokenTexts<'_>,
    on_progress: OnProgress<'_>,
) -> Result<(), DecoderError> {
    let mut open: usize = asked.iter().map(|asked| asked.request.samples).sum();
    while open > 0 {
        match call.next()? {
            Some(Message::Read { request, tokens }) => {
                asked[request].answer.read = tokens;
                open -= asked[request].ask(call, request, on_progress);
            }
            Some(Message::PromptLogprobs { request, tokens }) => {
                asked[request].answer.prompt_logprobs = tokens;
            }
            Some(Message::Wrote(texts)) => {
                for written in texts {
                    let asked = &mut asked[written.request];
                    if asked.request.options.max_tokens > 0 {
                        asked.answer.note(&written, names)?;
                    }
                    open -= asked.take(call, written, on_progress);
                }
                call.seen();
            }
            // The scheduler sends nothing else for a text.
            Some(_) => {}
            None => {
                for (request, asked) in asked.iter_mut().enumerate() {
                    open -= asked.ask(call, request, on_progress);
                }
            }
        }
    }
    Ok(())
}

impl Asked<'_> {
    /// Reports how much of the prompt has been read. Returns how many texts that ended.
    fn ask(&mut self, call: &Call, job: usize, on_progress: OnProgress<'_>) -> usize {
        let progress = Progress::Reading {
            request: self.index,
            read: self.answer.read,
            tokens: self.request.prompt.tokens().len(),
        };
        let open = self.answer.open.iter().filter(|open| **open).count();
        if open == 0 || on_progress(progress).is_continue() {
            return 0;
        }
        call.cancel(job, None);
        for sample in 0..self.answer.texts.len() {
            self.answer.end(sample, Finish::Cancelled);
        }
        open
    }

    /// Takes the new piece of a text. Returns 1 if it ended the text.
    fn take(&mut self, call: &Call, written: Written, on_progress: OnProgress<'_>) -> usize {
        let Written { sample, .. } = written;
        // Pieces written before a cancellation arrived do not count.
        if !self.answer.open[sample] {
            return 0;
        }
        // If only the prompt is scored, reading it still ends with a token, which is ignored.
        if self.request.options.max_tokens == 0 {
            self.answer.end(sample, Finish::Length);
            return 1;
        }
        self.answer.texts[sample].take(&written);
        let progress = self.tell(sample, &written.piece, false, on_progress);
        let broken_off = progress.is_break();
        match written.end {
            _ if broken_off => {
                call.cancel(written.request, Some(sample));
                self.answer.end(sample, Finish::Cancelled);
            }
            None => return 0,
            Some(end) => {
                let answer = &mut self.answer;
                if end.finish == Finish::StopString {
                    let scored = &mut answer.texts[sample].token_logprobs;
                    let length = end.last_piece.chars().count();
                    let kept = { answer.told[sample] }.extend(length, scored);
                    scored.truncate(kept);
                }
                // Nothing is left to cancel.
                let _ = self.tell(sample, &end.last_piece, true, on_progress);
                self.answer.texts[sample].text = end.text;
                self.answer.end(sample, end.finish);
            }
        }
        1
    }

    /// Passes a piece on, with its tokens; the last piece, with all remaining tokens.
    fn tell(
        &mut self,
        sample: usize,
        text: &str,
        is_last: bool,
        on_progress: OnProgress<'_>,
    ) -> ControlFlow<()> {
        let scored = &self.answer.texts[sample].token_logprobs;
        let sent = &mut self.answer.told[sample];
        let start = sent.tokens;
        let reached = sent.extend(text.chars().count(), scored);
        let end = if is_last { scored.len() } else { reached };
        match text.is_empty() && start == end {
            true => ControlFlow::Continue(()),
            false => on_progress(Progress::Text(Piece {
                request: self.index,
                sample,
                text,
                logprobs: &scored[start..end],
            })),
        }
    }
}

impl Answer {
    fn new(request: &GenerateRequest<'_>) -> Self {
        let greedy = request.options.sampling == Sampling::Greedy;
        let text = Generation {
            text: String::new(),
            tokens: Vec::new(),
            logprobs: Vec::new(),
            entropies: Vec::new(),
            margins: greedy.then(Vec::new),
            token_logprobs: Vec::new(),
            finish: Finish::Length,
            prompt_tokens: request.prompt.tokens().len(),
            prompt_time: Duration::ZERO,
            write_time: Duration::ZERO,
        };
        Self {
            texts: vec![text; request.samples],
            prompt_logprobs: Vec::new(),
            open: vec![true; request.samples],
            told: vec![Told::default(); request.samples],
            read: 0,
        }
    }

    /// Records the log probabilities of a new token.
    fn note(&mut self, written: &Written, names: &mut TokenTexts<'_>) -> Result<(), DecoderError> {
        if let (true, Some(scored)) = (self.open[written.sample], &written.logprobs) {
            let scored = names.named(scored)?;
            self.texts[written.sample].token_logprobs.push(scored);
        }
        Ok(())
    }

    /// Ends a text unless it has ended.
    fn end(&mut self, sample: usize, finish: Finish) {
        if std::mem::take(&mut self.open[sample]) {
            self.texts[sample].finish = finish;
        }
    }
}

impl Generation {
    fn take(&mut self, written: &Written) {
        let choice = written.choice;
        if written.is_text {
            self.tokens.push(choice.token);
        }
        self.text.push_str(&written.piece);
        self.logprobs.push(choice.logprob);
        self.entropies.push(choice.entropy);
        if let Some(margins) = &mut self.margins {
            margins.extend(choice.margin);
        }
        self.prompt_time = written.prompt_time;
        self.write_time = written.write_time;
    }
}
