//! Texts begin after their prompts are read, their pieces go to their callers, and they end.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use rayon::prelude::*;

use super::batch::{Batch, MOST_BRANCHES};
use super::branch::{Branch, ReadPrompt};
use super::job::{CallId, Message, Place, Work, Written};
use super::pass::in_pool;
use super::turns;
use crate::decoder::error::DecoderError;
use crate::decoder::graph::backend::{Backend, Sequence};
use crate::decoder::text::prompt::Course;

impl<B: Backend> Batch<B> {
    /// Begins texts whose prompts have been read, as far as there is room, and writes their first tokens. Calls take
    /// turns.
    pub(super) fn begin_texts(&mut self) {
        let first = self.branches.len();
        let (mut prompts, mut failed) = (Vec::new(), None);
        while let Some(place) = self.next_to_begin() {
            let Some(active) = self.active.get(&place) else {
                break;
            };
            let (writing, most) = (active.is_writing(), active.job.beside_prompt());
            if writing && !self.make_room(most) {
                break;
            }
            match self.begin_text(place) {
                Ok(Some(prompt)) => prompts.push(prompt),
                Ok(None) => break,
                Err(error) => {
                    failed = Some((place.call, error));
                    break;
                }
            }
        }
        if let Err(reason) = self.take_first(first, &prompts) {
            let begun = self.branches[first..].iter();
            let calls: BTreeSet<CallId> = begun.map(|branch| branch.place.call).collect();
            for call in calls {
                self.fail(call, DecoderError::broken_off(&reason));
            }
        }
        if let Some((call, error)) = failed {
            self.fail(call, error);
        }
    }

    /// Writes the first tokens of the texts from `first` on, each after its prompt.
    fn take_first(
        &mut self,
        first: usize,
        prompts: &[Arc<ReadPrompt<B::Sequence>>],
    ) -> Result<(), String> {
        let (begun, writer) = (&mut self.branches[first..], &self.writer);
        if begun.is_empty() {
            return Ok(());
        }
        in_pool(&self.pool, || {
            let pairs = begun.par_iter_mut().zip(prompts);
            pairs.for_each(|(branch, prompt)| branch.take(&prompt.logits, writer));
            Ok(())
        })
    }

    /// The request whose text begins next. Once the limit of texts is reached, only of a call that has none.
    fn next_to_begin(&self) -> Option<Place> {
        let is_writing = |call| self.branches.iter().any(|branch| branch.place.call == call);
        let full = self.branches.len() >= MOST_BRANCHES;
        let ready = self.active.iter().filter(|(place, active)| {
            active.prompt.is_some()
                && active.begun < active.job.parts()
                && !(full && is_writing(place.call))
        });
        let ready: Vec<Place> = ready.map(|(place, _)| *place).collect();
        let calls = ready.iter().map(|place| place.call);
        let next = turns::after(self.begun, calls).first().copied()?;
        ready.into_iter().find(|place| place.call == next)
    }

    fn begin_text(
        &mut self,
        place: Place,
    ) -> Result<Option<Arc<ReadPrompt<B::Sequence>>>, DecoderError> {
        let exactly = self.engines.cheaper.is_none();
        let Some(active) = self.active.get_mut(&place) else {
            return Ok(None);
        };
        let (
            Some(prompt),
            Work::Write {
                sampling,
                stop,
                constraint,
                most,
                ..
            },
        ) = (&active.prompt, &active.job.work)
        else {
            return Ok(None);
        };
        let prompt = Arc::clone(prompt);
        let exact = exactly || active.job.exactly();
        let begun = Branch::begin(place, active.begun, exact, &prompt, *sampling, stop, *most);
        let mut branch = begun?;
        branch.top_logprobs = active.job.prompt.top_logprobs();
        branch.constraint.clone_from(constraint);
        if let Some(&prefix) = active.prefixes.last() {
            let tokens = active.job.prompt.tokens();
            branch.draft.expect(self.prefixes.written(prefix, tokens));
        }
        self.branches.push(branch);
        active.begun += 1;
        self.begun = Some(place.call);
        Ok(Some(prompt))
    }

    /// Sends the new pieces, and removes the texts that have ended. Returns the calls that may acknowledge soon:
    /// those that had seen all earlier pieces.
    pub(super) fn deliver(&mut self) -> Vec<CallId> {
        let mut texts: BTreeMap<CallId, Vec<Written>> = BTreeMap::new();
        let mut failed = BTreeMap::new();
        let mut ended = Vec::new();
        for branch in &mut self.branches {
            let call = branch.place.call;
            if let Some(error) = branch.failed.take() {
                failed.insert(call, error);
            }
            if branch.written.iter().any(|written| written.end.is_some()) {
                ended.push((branch.place, branch.sample));
            }
            if !branch.written.is_empty() {
                texts.entry(call).or_default().append(&mut branch.written);
            }
        }
        for (call, error) in failed {
            self.fail(call, error);
        }
        ended.sort_unstable();
        let is_ended =
            |branch: &mut Branch<_>| ended.binary_search(&(branch.place, branch.sample)).is_ok();
        let ended: Vec<_> = self.branches.extract_if(.., is_ended).collect();
        for branch in ended {
            self.end_text(branch);
        }
        let mut asked = Vec::new();
        for (id, written) in texts {
            if let Some(call) = self.calls.get_mut(&id) {
                if call.unseen == 0 {
                    asked.push(id);
                }
                call.unseen += 1;
            }
            self.tell(id, Message::Wrote(written));
        }
        asked
    }

    /// Ends a text, and keeps what a chain of prompts may continue.
    pub(super) fn end_text(&mut self, branch: Branch<B::Sequence>) {
        let Some(active) = self.active.get_mut(&branch.place) else {
            return;
        };
        active.ended += 1;
        let prompt = &active.job.prompt;
        if let Some(&prefix) = active.prefixes.last() {
            let text = branch.tokens.clone();
            self.prefixes.wrote(prefix, prompt.tokens(), text);
        }
        if prompt.course() == Course::IsContinued
            && let Some(read) = &active.prompt
        {
            let before = prompt.tokens();
            let mut tokens = [before, &branch.tokens].concat();
            // The last token was written but not read.
            tokens.truncate(branch.sequence.length());
            let (own, exact) = (tokens.len() - before.len(), branch.exact);
            let (before, read) = (before.to_vec(), Arc::clone(&read.sequence));
            if own > 0 {
                let sequence = Arc::new(branch.sequence);
                self.prefixes.keep_open(exact, tokens, own, sequence);
            }
            self.prefixes.keep_open(exact, before, active.rest, read);
        }
        if active.ended == active.job.parts() {
            self.active.remove(&branch.place);
        }
    }
}
