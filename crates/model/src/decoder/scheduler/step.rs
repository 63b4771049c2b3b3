//! A step of the batch: a forward pass, and what follows from the finished readings.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::batch::{Active, Batch};
use super::branch::{Branch, ReadPrompt};
use super::draft::DRAFT_ROWS;
use super::job::{CallId, Message, Place, ReadState, Work};
use super::pass::{Computer, Piece, in_pool};
use super::prefixes::PrefixId;
use super::reading::{Goal, Lane, Outputs, Reading, Wanted};
use super::turns;
use crate::decoder::error::DecoderError;
use crate::decoder::graph::Depth;
use crate::decoder::graph::backend::{Backend, Sequence};

/// The most rows of one forward pass. More would not be faster, and would take memory.
const PASS_ROWS: usize = 512;

/// The most rows that a pass reads while it serves several calls, so that none of them waits long for its next token.
const SHARED_PASS_ROWS: usize = 64;

impl<B: Backend> Batch<B> {
    /// Writes a token of every text, and reads pieces. Work that cannot share a pass takes turns.
    pub(super) fn pass(&mut self) {
        self.start_readings();
        let writing = self.branches.iter().map(lane);
        let reading = self.readings.iter().filter(|reading| reading.left() > 0);
        let lanes = writing.chain(reading.map(|reading| reading.lane));
        let Some(&now) = turns::after(self.lane, lanes).first() else {
            return;
        };
        self.lane = Some(now);
        let pieces = self.pieces(now);
        let started = Instant::now();
        let computer = Computer {
            graph: self.engines.graph(now.exact),
            writer: &self.writer,
            hidden: self.hidden,
            vocabulary: self.vocabulary,
        };
        let branches = self.branches.iter_mut();
        let mut branches: Vec<_> = branches.filter(|branch| lane(branch) == now).collect();
        let rows = DRAFT_ROWS / branches.len().max(1);
        for branch in &mut branches {
            let active = self.active.get(&branch.place);
            let prompt = active.map(|active| active.job.prompt.tokens());
            branch.look_ahead(prompt.unwrap_or_default(), rows);
        }
        let written: usize = branches.iter().map(|branch| branch.rows()).sum();
        let readings = &mut self.readings;
        let computed = in_pool(&self.pool, || {
            computer.run(now, &mut branches, readings, &pieces)
        });
        let rows = written + pieces.iter().map(|piece| piece.rows).sum::<usize>();
        self.pass_time = started.elapsed();
        match computed {
            Ok(not_finite) => {
                self.advance(
                    &pieces,
                    self.pass_time / u32::try_from(rows.max(1)).unwrap_or(1),
                );
                let calls = not_finite
                    .iter()
                    .map(|&reading| self.readings[reading].call);
                let calls: BTreeSet<CallId> = calls.collect();
                for call in calls {
                    self.fail(call, DecoderError::NotFinite);
                }
                self.finish_readings();
            }
            Err(reason) => self.fail_pass(now, &pieces, &reason),
        }
    }

    /// Creates the sequences of readings whose prefixes have been read.
    fn start_readings(&mut self) {
        let mut failed = Vec::new();
        for reading in &mut self.readings {
            if reading.sequence.is_some() {
                continue;
            }
            let sequence = match reading.after {
                None => self.engines.exact.empty(reading.tokens.len()),
                Some(id) => match self.prefixes.sequence(id) {
                    None => continue,
                    Some(prefix) => prefix.branch(reading.tokens.len()),
                },
            };
            match sequence {
                Ok(sequence) => reading.sequence = Some(sequence),
                Err(error) => failed.push((reading.goal, error.to_string())),
            }
        }
        for (goal, reason) in failed {
            self.fail_all(&[goal], &reason);
        }
    }

    /// What a pass reads, in the order of the readings: calls share the rows.
    fn pieces(&mut self, now: Lane) -> Vec<Piece> {
        let rows = match self.calls.len() {
            0 | 1 => PASS_ROWS.saturating_sub(self.branches.len()).max(1),
            _ => SHARED_PASS_ROWS,
        };
        let of_lane = |reading: &&Reading<_>| reading.lane == now && reading.left() > 0;
        let calls = self
            .readings
            .iter()
            .filter(of_lane)
            .map(|reading| reading.call);
        let calls = turns::after(self.read, calls);
        self.read = calls.first().copied().or(self.read);
        let want = |call: &CallId| {
            let own = self.readings.iter().filter(of_lane);
            let own = own.filter(|reading| reading.call == *call);
            own.map(Reading::left).sum()
        };
        let wants: Vec<usize> = calls.iter().map(want).collect();
        let shares = turns::shares(rows, &wants);
        let mut left: BTreeMap<CallId, usize> = calls.into_iter().zip(shares).collect();
        let mut pieces = Vec::new();
        for (index, reading) in self.readings.iter().enumerate() {
            if reading.lane != now {
                continue;
            }
            let left = left.get_mut(&reading.call);
            let rows = left.as_ref().map_or(0, |left| reading.left().min(**left));
            if let (Some(left), true) = (left, rows > 0) {
                *left -= rows;
                pieces.push(Piece {
                    reading: index,
                    rows,
                });
            }
        }
        pieces
    }

    /// Records what has been read, and reports it to callers that wait for a text.
    fn advance(&mut self, pieces: &[Piece], time: Duration) {
        for piece in pieces {
            let reading = &mut self.readings[piece.reading];
            reading.read += piece.rows;
            reading.time += time * u32::try_from(piece.rows).unwrap_or(1);
            let (goal, tokens) = (reading.goal, reading.before + reading.read);
            match goal {
                Goal::Prompt(place) => self.tell_read(place, tokens),
                Goal::Prefix(id) => {
                    let active = self.active.iter();
                    let waiting = active.filter(|(_, active)| active.prefixes.contains(&id));
                    waiting.for_each(|(place, _)| self.tell_read(*place, tokens));
                }
                Goal::Continuation(..) => {}
            }
        }
    }

    /// Reports to callers that wait for a text how much of its prompt has been read.
    pub(super) fn tell_read(&self, place: Place, tokens: usize) {
        let active = self.active.get(&place);
        if active.is_some_and(|active| matches!(active.job.work, Work::Write { .. })) {
            let request = place.request;
            self.tell(place.call, Message::Read { request, tokens });
        }
    }

    /// Fails the calls of a pass.
    fn fail_pass(&mut self, now: Lane, pieces: &[Piece], reason: &str) {
        let goals = pieces.iter().map(|piece| self.readings[piece.reading].goal);
        let goals: Vec<Goal> = goals.collect();
        let writing = self.branches.iter().filter(|branch| lane(branch) == now);
        let calls: BTreeSet<CallId> = writing.map(|branch| branch.place.call).collect();
        self.fail_all(&goals, reason);
        for call in calls {
            self.fail(call, DecoderError::broken_off(reason));
        }
    }

    /// Fails the calls of readings, and drops the readings of prefixes.
    fn fail_all(&mut self, goals: &[Goal], reason: &str) {
        let mut calls = BTreeSet::new();
        let mut prefixes = BTreeSet::new();
        for goal in goals {
            match goal {
                Goal::Prompt(place) | Goal::Continuation(place, _) => {
                    calls.insert(place.call);
                }
                Goal::Prefix(id) => {
                    prefixes.insert(*id);
                }
            }
        }
        // A prefix is read after those that it continues.
        for reading in &self.readings {
            if let (Goal::Prefix(id), Some(after)) = (reading.goal, &reading.after)
                && prefixes.contains(after)
            {
                prefixes.insert(id);
            }
        }
        for (place, active) in &self.active {
            if active.prefixes.iter().any(|id| prefixes.contains(id)) {
                calls.insert(place.call);
            }
        }
        self.readings
            .retain(|reading| !matches!(reading.goal, Goal::Prefix(id) if prefixes.contains(&id)));
        for id in prefixes {
            self.prefixes.remove(id);
        }
        for call in calls {
            self.fail(call, DecoderError::broken_off(reason));
        }
    }

    /// Uses the readings that are complete.
    fn finish_readings(&mut self) {
        let done: Vec<_> = self
            .readings
            .extract_if(.., |reading| reading.is_done())
            .collect();
        for reading in done {
            let Reading {
                call,
                goal,
                sequence: Some(sequence),
                found,
                time,
                ..
            } = reading
            else {
                continue;
            };
            let sequence = Arc::new(sequence);
            match goal {
                Goal::Prefix(id) => {
                    let logprobs = found.prompt_logprobs;
                    self.prefixes.is_read(id, sequence, logprobs);
                    self.charge(id, call, time);
                }
                Goal::Prompt(place) => self.finish_prompt(place, sequence, found, time),
                Goal::Continuation(place, index) => {
                    if let Some(active) = self.active.get_mut(&place) {
                        active.scores[index].extend(found.logprobs);
                        active.unscored -= 1;
                    }
                    self.finish_scores(place);
                }
            }
        }
    }

    /// Adds the time that a prefix took to the first reading after it of the call that requested it.
    fn charge(&mut self, prefix: PrefixId, call: CallId, time: Duration) {
        let mut after = self.readings.iter_mut();
        let first = after.find(|reading| reading.call == call && reading.after == Some(prefix));
        if let Some(reading) = first {
            reading.time += time;
        }
    }

    fn finish_prompt(
        &mut self,
        place: Place,
        sequence: Arc<B::Sequence>,
        found: Outputs,
        time: Duration,
    ) {
        let Some(active) = self.active.get_mut(&place) else {
            return;
        };
        let request = place.request;
        match &active.job.work {
            Work::Write { .. } => {
                let is_scored = active.job.prompt.prompt_logprobs().is_some();
                active.prompt = Some(Arc::new(ReadPrompt {
                    sequence,
                    logits: found.logits,
                    time,
                }));
                if is_scored {
                    let prefixes = active.prefixes.iter();
                    let before = prefixes.flat_map(|&id| self.prefixes.logprobs(id).to_vec());
                    let tokens = before.chain(found.prompt_logprobs).collect();
                    self.tell(place.call, Message::PromptLogprobs { request, tokens });
                }
            }
            Work::State(_) | Work::Choose { .. } => {
                if matches!(active.job.work, Work::Choose { .. }) {
                    let tokens = active.job.prompt.tokens().to_vec();
                    self.prefixes.keep_open(true, tokens, active.rest, sequence);
                }
                self.active.remove(&place);
                let state = ReadState {
                    residual: found.state,
                    logprobs: found.logprobs,
                };
                self.tell(place.call, Message::State { request, state });
            }
            Work::Score { continuations, .. } if continuations.len() == 1 => {
                active.scores = vec![found.logprobs];
                self.finish_scores(place);
            }
            Work::Score { .. } => {
                let firsts = found.logprobs.into_iter();
                active.scores = firsts.map(|first| vec![first]).collect();
                match self.read_continuations(place, &sequence) {
                    Ok(()) => self.finish_scores(place),
                    Err(error) => self.fail(place.call, error),
                }
            }
        }
    }

    /// Begins to read several continuations after a prompt, for the probabilities of all their tokens except the
    /// first.
    fn read_continuations(
        &mut self,
        place: Place,
        prompt: &Arc<B::Sequence>,
    ) -> Result<(), DecoderError> {
        let Some(active) = self.active.get_mut(&place) else {
            return Ok(());
        };
        let Work::Score {
            continuations,
            exact,
        } = &active.job.work
        else {
            return Ok(());
        };
        let lane = Lane {
            exact: *exact || self.engines.cheaper.is_none(),
            depth: Depth::Final,
        };
        let mut begun = Ok(());
        for (index, tokens) in continuations.iter().enumerate() {
            let Some((_, after @ [_, ..])) = tokens.split_first() else {
                continue;
            };
            let goal = Goal::Continuation(place, index);
            let wanted = Wanted::Each(after.to_vec());
            let before = tokens[..after.len()].to_vec();
            match prompt.branch(before.len()) {
                Ok(sequence) => self.readings.push(Reading {
                    before: active.job.prompt.tokens().len(),
                    sequence: Some(sequence),
                    ..Reading::new(place.call, goal, lane, before, wanted)
                }),
                Err(error) => begun = Err(error),
            }
            active.unscored += 1;
        }
        begun
    }

    /// Reports the probabilities of continuations once all are known.
    fn finish_scores(&mut self, place: Place) {
        let done = |active: &mut Active<_>| active.unscored == 0;
        if self.active.get_mut(&place).is_some_and(done)
            && let Some(active) = self.active.remove(&place)
        {
            let message = Message::Scored {
                request: place.request,
                logprobs: active.scores,
            };
            self.tell(place.call, message);
        }
    }
}

fn lane<S>(branch: &Branch<S>) -> Lane {
    Lane {
        exact: branch.exact,
        depth: Depth::Final,
    }
}
