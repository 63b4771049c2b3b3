//! Admits requests: calls take turns, and each request waits until its keys and values fit into memory.

use std::collections::VecDeque;
use std::mem;

use super::batch::{Active, Batch, MOST_BRANCHES};
use super::job::{CallId, Job, Place, Work};
use super::prefixes::{PrefixId, Scored};
use super::reading::{Goal, Lane, Reading, Wanted};
use super::turns;
use crate::decoder::graph::Depth;
use crate::decoder::graph::backend::Backend;
use crate::decoder::text::prompt::Course;

/// The share of the memory for prefixes that no request uses: one n-th.
const KEPT_SHARE: usize = 4;

impl<B: Backend> Batch<B> {
    /// Tokens whose keys and values are in memory, or will be.
    pub(super) fn held(&self) -> usize {
        let active: usize = self.active.values().map(Active::charge).sum();
        let branches: usize = self.branches.iter().map(|branch| branch.most).sum();
        active + branches + self.prefixes.tokens(|_| true)
    }

    /// Whether there is memory for more tokens, after dropping unused prefixes.
    pub(super) fn make_room(&mut self, more: usize) -> bool {
        while self.held() + more > self.budget {
            if !self.evict() {
                return false;
            }
        }
        true
    }

    /// Drops unused prefixes: those that are not read yet, and the oldest beyond their share of the memory.
    pub(super) fn trim_prefixes(&mut self) {
        let unread = self
            .readings
            .iter()
            .filter_map(|reading| match reading.goal {
                Goal::Prefix(id) if !self.is_used(id) => Some(id),
                _ => None,
            });
        let unread: Vec<PrefixId> = unread.collect();
        for id in unread {
            self.prefixes.remove(id);
            self.readings
                .retain(|reading| reading.goal != Goal::Prefix(id));
        }
        while self.prefixes.tokens(|id| !self.is_used(id)) > self.budget / KEPT_SHARE {
            if !self.evict() {
                return;
            }
        }
    }

    fn evict(&mut self) -> bool {
        let oldest = self.prefixes.oldest(|id| !self.is_used(id));
        oldest.inspect(|&id| self.prefixes.remove(id)).is_some()
    }

    /// Whether a request needs a prefix, or a longer one that will be read after it.
    fn is_used(&self, id: PrefixId) -> bool {
        let mut active = self.active.values();
        let mut readings = self.readings.iter();
        active.any(|active| active.prefixes.contains(&id))
            || readings.any(|reading| reading.sequence.is_none() && reading.after == Some(id))
    }

    /// Admits waiting requests. The call whose turn it is waits for memory before the others do, so that a large
    /// request is not passed over forever; if nothing is active, it is admitted anyway.
    pub(super) fn admit(&mut self) {
        while let Some(next) = self.next_to_admit() {
            let queue = self.calls.get(&next).map(|call| &call.queue);
            let Some((_, job)) = queue.and_then(VecDeque::front) else {
                return;
            };
            let unknown = job.prompt.tokens().len() - self.known(job);
            let more = unknown + job.beside_prompt();
            if !self.make_room(more) && !self.active.is_empty() {
                return;
            }
            let Some(call) = self.calls.get_mut(&next) else {
                return;
            };
            call.seat = None;
            let job = call.queue.pop_front();
            self.admitted = Some(next);
            if let Some((place, job)) = job {
                self.begin(place, job);
            }
        }
    }

    /// The next call with requests to admit, by turns. Once the limit of texts is reached, only calls without active
    /// requests.
    fn next_to_admit(&self) -> Option<CallId> {
        let parts = self.active.values();
        let parts: usize = parts.map(|active| active.job.parts() - active.ended).sum();
        let is_active = |id: CallId| self.active.keys().any(|place| place.call == id);
        let waiting = self.calls.iter().filter(|(id, call)| {
            !call.queue.is_empty() && (parts < MOST_BRANCHES || !is_active(**id))
        });
        let waiting = waiting.map(|(id, _)| *id);
        turns::after(self.admitted, waiting).first().copied()
    }

    /// Whether a request is computed exactly; always, if there is no cheaper graph.
    fn exact(&self, job: &Job) -> bool {
        job.exactly() || self.engines.cheaper.is_none()
    }

    /// The longest prefix that any prompt of a chain may continue, if this prompt is in a chain.
    fn continued(&self, job: &Job) -> Option<(PrefixId, usize)> {
        let in_chain = job.prompt.course() != Course::Alone;
        let longest = || self.prefixes.longest(self.exact(job), job.prompt.tokens());
        in_chain.then(longest).flatten()
    }

    /// How many tokens of a request's prompt have been read, or are being read.
    fn known(&self, job: &Job) -> usize {
        let (exact, tokens) = (self.exact(job), job.prompt.tokens());
        let shared = job.shared.iter().copied();
        let find = |length: usize| {
            let scored = scored(job, length);
            self.prefixes.find(exact, &tokens[..length], scored)
        };
        let known = shared.filter(|&length| find(length).is_some());
        let continued = self.continued(job).map(|(_, length)| length);
        known.chain(continued).max().unwrap_or_default()
    }

    /// Schedules the readings that a request needs.
    fn begin(&mut self, place: Place, mut job: Job) {
        let exact = self.exact(&job);
        let tokens = job.prompt.tokens();
        let (mut prefixes, mut before) = (Vec::new(), 0);
        if let Some((id, length)) = self.continued(&job) {
            prefixes.push(id);
            before = length;
        }
        for &length in &job.shared {
            if length <= before {
                continue;
            }
            let scored = scored(&job, length);
            let known = self.prefixes.find(exact, &tokens[..length], scored);
            let id = known.unwrap_or_else(|| {
                let (all, own) = (tokens[..length].to_vec(), length - before);
                let id = self.prefixes.add(exact, all, own, scored);
                let (goal, own) = (Goal::Prefix(id), tokens[before..length].to_vec());
                let wanted = match scored {
                    None => Wanted::Nothing,
                    Some(Scored { top, .. }) => Wanted::Logprobs {
                        tokens: tokens[before + 1..=length].to_vec(),
                        top,
                        next: false,
                    },
                };
                let depth = Depth::Final;
                self.readings.push(Reading {
                    after: prefixes.last().copied(),
                    before,
                    ..Reading::new(place.call, goal, Lane { exact, depth }, own, wanted)
                });
                id
            });
            prefixes.push(id);
            before = length;
        }
        for &id in prefixes.iter().rev() {
            self.prefixes.touch(id);
        }
        let mut rest = tokens[before..].to_vec();
        let (depth, wanted) = wanted(&mut job, &mut rest);
        let charge = rest.len();
        let (goal, lane) = (Goal::Prompt(place), Lane { exact, depth });
        self.readings.push(Reading {
            after: prefixes.last().copied(),
            before,
            ..Reading::new(place.call, goal, lane, rest, wanted)
        });
        self.active
            .insert(place, Active::new(job, prefixes, charge));
        self.tell_read(place, before);
    }
}

/// How the prefix of this length of a request's prompt is scored.
fn scored(job: &Job, length: usize) -> Option<Scored> {
    let top = job.prompt.prompt_logprobs()?;
    let next = *job.prompt.tokens().get(length)?;
    Some(Scored { top, next })
}

/// How deep a request's prompt is read, and the wanted results of its last tokens. A single continuation is read with
/// the prompt.
fn wanted(job: &mut Job, rest: &mut Vec<u32>) -> (Depth, Wanted) {
    match &mut job.work {
        Work::Write { .. } => match job.prompt.prompt_logprobs() {
            Some(top) => {
                let tokens = rest.iter().skip(1).copied().collect();
                let next = true;
                (Depth::Final, Wanted::Logprobs { tokens, top, next })
            }
            None => (Depth::Final, Wanted::Logits),
        },
        Work::State(layer) => (Depth::Residual(*layer), Wanted::State),
        Work::Choose { layer, tokens } => (
            Depth::FinalAndResidual(*layer),
            Wanted::Next(mem::take(tokens)),
        ),
        Work::Score { continuations, .. } => match continuations.as_mut_slice() {
            [only] => {
                rest.extend_from_slice(&only[..only.len() - 1]);
                (Depth::Final, Wanted::Each(mem::take(only)))
            }
            several => {
                let firsts = several.iter().map(|tokens| tokens[0]).collect();
                (Depth::Final, Wanted::Next(firsts))
            }
        },
    }
}
