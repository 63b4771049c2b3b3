//! Messages between callers and the scheduler.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::Sender;
use std::time::Duration;

use ken_language::{Finish, Sampling};

use crate::decoder::error::DecoderError;
use crate::decoder::scheduler::sampling::{Choice, TokenLogprobs};
use crate::decoder::text::constraint::Constraint;
use crate::decoder::text::prompt::{Course, Prompt};

/// Identifies a call; later calls have greater ids.
pub(super) type CallId = u64;

/// Identifies a request by its call and its index there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Place {
    pub(super) call: CallId,
    pub(super) request: usize,
}

/// One request of a call.
pub(in crate::decoder) struct Job {
    pub(in crate::decoder) prompt: Prompt,
    /// Lengths of the prefixes that it shares with others, ascending; each is less than the prompt's.
    pub(in crate::decoder) shared: Vec<usize>,
    pub(in crate::decoder) work: Work,
}

/// The work after a prompt.
pub(in crate::decoder) enum Work {
    /// Generate continuations, at least one.
    Write {
        samples: usize,
        sampling: Sampling,
        stop: Arc<[String]>,
        /// The constraint of each of them.
        constraint: Option<Constraint>,
        /// The most tokens of each, at least 1.
        most: usize,
    },
    /// Compute the probabilities of these continuations; none is empty.
    Score {
        continuations: Vec<Vec<u32>>,
        exact: bool,
    },
    /// Return the residual stream at the last token, after this layer.
    State(usize),
    /// Return that, and the probability of each of these tokens to come next.
    Choose { layer: usize, tokens: Vec<u32> },
}

impl Job {
    /// Whether it needs the exact graph. Greedy text is exact if it continues what was read exactly, and so is all
    /// text after a prompt that is scored.
    pub(super) fn exactly(&self) -> bool {
        match &self.work {
            Work::Write { sampling, .. } => {
                let in_chain = self.prompt.course() != Course::Alone;
                *sampling == Sampling::Greedy && in_chain || self.prompt.prompt_logprobs().is_some()
            }
            Work::Score { exact, .. } => *exact,
            Work::State(_) | Work::Choose { .. } => true,
        }
    }

    /// The number of its texts or tasks.
    pub(super) fn parts(&self) -> usize {
        match &self.work {
            Work::Write { samples, .. } => *samples,
            _ => 1,
        }
    }

    /// Tokens that must fit besides the prompt for the work to continue.
    pub(super) fn beside_prompt(&self) -> usize {
        match &self.work {
            Work::Write { most, .. } => *most,
            Work::Score { continuations, .. } => continuations.iter().map(Vec::len).sum(),
            Work::State(_) | Work::Choose { .. } => 0,
        }
    }
}

/// A message from a caller to the scheduler.
pub(super) enum Order {
    Begin {
        call: CallId,
        jobs: Vec<Job>,
        messages: Sender<Message>,
        seat: Seat,
    },
    /// A request, or one of its samples, is no longer wanted.
    Cancel { place: Place, sample: Option<usize> },
    /// The caller has received what was written, and has sent any cancellations.
    Seen(CallId),
    /// The caller has left.
    Leave(CallId),
    /// The decoder was dropped.
    End,
}

/// A message from the scheduler to a caller.
pub(in crate::decoder) enum Message {
    /// How many tokens of a request's prompt have been read.
    Read { request: usize, tokens: usize },
    /// The log probabilities of a request's prompt, without its first token.
    PromptLogprobs {
        request: usize,
        tokens: Vec<TokenLogprobs>,
    },
    /// What one step wrote for the call.
    Wrote(Vec<Written>),
    /// The natural-log probabilities of each continuation's tokens.
    Scored {
        request: usize,
        logprobs: Vec<Vec<f32>>,
    },
    /// What reading a prompt gave.
    State { request: usize, state: ReadState },
    /// The call has failed.
    Failed(DecoderError),
}

/// The results of reading a prompt.
#[derive(Debug, Clone, Default)]
pub(in crate::decoder) struct ReadState {
    /// The residual stream at its last token.
    pub(in crate::decoder) residual: Vec<f32>,
    /// The natural-log probabilities of the requested tokens.
    pub(in crate::decoder) logprobs: Vec<f32>,
}

/// What one step wrote of one sample.
pub(in crate::decoder) struct Written {
    pub(in crate::decoder) request: usize,
    pub(in crate::decoder) sample: usize,
    pub(in crate::decoder) choice: Choice,
    /// Whether the choice is a token of the text; otherwise it is the end token.
    pub(in crate::decoder) is_text: bool,
    /// The log probabilities of the choice, if they are requested.
    pub(in crate::decoder) logprobs: Option<TokenLogprobs>,
    /// Text that can no longer change.
    pub(in crate::decoder) piece: String,
    pub(in crate::decoder) end: Option<End>,
    /// Time to read the prompt, and to write so far.
    pub(in crate::decoder) prompt_time: Duration,
    pub(in crate::decoder) write_time: Duration,
}

/// How a sample ended.
pub(in crate::decoder) struct End {
    pub(in crate::decoder) finish: Finish,
    /// The text that was held back until the end.
    pub(in crate::decoder) last_piece: String,
    /// The whole text.
    pub(in crate::decoder) text: String,
}

/// A seat in the waiting room, taken until it is dropped.
pub(super) struct Seat(Arc<AtomicUsize>);

impl Seat {
    /// `None` if all `limit` seats are taken.
    pub(super) fn take(taken: &Arc<AtomicUsize>, limit: usize) -> Option<Self> {
        let more = |taken| (taken < limit).then_some(taken + 1);
        let before = taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        before.is_ok().then(|| Self(Arc::clone(taken)))
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
