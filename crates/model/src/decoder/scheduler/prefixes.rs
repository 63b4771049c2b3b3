//! Prefixes that requests share: each is read once, and kept for later requests.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::decoder::scheduler::sampling::TokenLogprobs;

/// Identifies a prefix.
pub(super) type PrefixId = u64;

/// How the tokens of a prefix are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scored {
    /// How many of the most likely tokens are listed with each.
    pub(super) top: usize,
    /// The token after the prefix, which has the last log probabilities.
    pub(super) next: u32,
}

/// A prefix, with its sequence once it has been read.
struct Prefix<S> {
    exact: bool,
    tokens: Vec<u32>,
    /// Tokens whose keys and values are its own, not those of a shorter prefix.
    own: usize,
    sequence: Option<Arc<S>>,
    /// How its tokens are scored, if they are.
    scored: Option<Scored>,
    /// The log probabilities of its own tokens except the first, and of the next token.
    logprobs: Vec<TokenLogprobs>,
    /// Whether any prompt of a chain may continue it, or only those that know its length.
    open: bool,
    /// The last continuation: the rest of the prompt, and the text.
    written: Option<[Vec<u32>; 2]>,
    /// When it was used last.
    used: u64,
}

/// All prefixes that are kept or being read.
pub(super) struct Prefixes<S> {
    kept: BTreeMap<PrefixId, Prefix<S>>,
    clock: u64,
}

impl<S> Default for Prefixes<S> {
    fn default() -> Self {
        Self {
            kept: BTreeMap::new(),
            clock: 0,
        }
    }
}

impl<S> Prefixes<S> {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The prefix of exactly these tokens, scored in this way.
    pub(super) fn find(
        &self,
        exact: bool,
        tokens: &[u32],
        scored: Option<Scored>,
    ) -> Option<PrefixId> {
        let is_it = |p: &Prefix<S>| p.exact == exact && p.scored == scored && p.tokens == tokens;
        let known = self.kept.iter().find(|(_, prefix)| is_it(prefix));
        known.map(|(id, _)| *id)
    }

    /// The longest open prefix of some tokens that leaves at least one, and its length.
    pub(super) fn longest(&self, exact: bool, tokens: &[u32]) -> Option<(PrefixId, usize)> {
        let begins = |prefix: &Prefix<S>| {
            prefix.open
                && prefix.exact == exact
                && prefix.tokens.len() < tokens.len()
                && tokens.starts_with(&prefix.tokens)
        };
        let open = self.kept.iter().filter(|(_, prefix)| begins(prefix));
        let lengths = open.map(|(id, prefix)| (*id, prefix.tokens.len()));
        lengths.max_by_key(|(_, length)| *length)
    }

    /// Adds a prefix to read.
    pub(super) fn add(
        &mut self,
        exact: bool,
        tokens: Vec<u32>,
        own: usize,
        scored: Option<Scored>,
    ) -> PrefixId {
        let id = self.tick();
        let prefix = Prefix {
            exact,
            tokens,
            own,
            sequence: None,
            scored,
            logprobs: Vec::new(),
            open: false,
            written: None,
            used: id,
        };
        self.kept.insert(id, prefix);
        id
    }

    /// Keeps a sequence for any prompt of a chain that continues it.
    pub(super) fn keep_open(
        &mut self,
        exact: bool,
        tokens: Vec<u32>,
        own: usize,
        sequence: Arc<S>,
    ) {
        if tokens.is_empty() || self.find(exact, &tokens, None).is_some() {
            return;
        }
        let id = self.add(exact, tokens, own, None);
        if let Some(added) = self.kept.get_mut(&id) {
            added.open = true;
            added.sequence = Some(sequence);
        }
    }

    /// Stores the sequence of a prefix that has been read, and its log probabilities, if it is scored.
    pub(super) fn is_read(&mut self, id: PrefixId, sequence: Arc<S>, logprobs: Vec<TokenLogprobs>) {
        if let Some(prefix) = self.kept.get_mut(&id) {
            prefix.sequence = Some(sequence);
            prefix.logprobs = logprobs;
        }
    }

    /// The log probabilities of a prefix that has been read.
    pub(super) fn logprobs(&self, id: PrefixId) -> &[TokenLogprobs] {
        let prefix = self.kept.get(&id);
        prefix.map_or(&[], |prefix| &prefix.logprobs)
    }

    /// Records what was written after a prompt that begins with a prefix.
    pub(super) fn wrote(&mut self, id: PrefixId, prompt: &[u32], text: Vec<u32>) {
        if let Some(prefix) = self.kept.get_mut(&id) {
            let rest = prompt.get(prefix.tokens.len()..).unwrap_or_default();
            prefix.written = Some([rest.to_vec(), text]);
        }
    }

    /// What was written when such a prompt was last continued; empty if unknown.
    pub(super) fn written(&self, id: PrefixId, prompt: &[u32]) -> &[u32] {
        let prefix = self.kept.get(&id);
        match prefix.and_then(|prefix| Some((prefix, prefix.written.as_ref()?))) {
            Some((prefix, [rest, text])) if prompt.get(prefix.tokens.len()..) == Some(rest) => text,
            _ => &[],
        }
    }

    /// The sequence of a prefix, once it has been read.
    pub(super) fn sequence(&self, id: PrefixId) -> Option<&Arc<S>> {
        let prefix = self.kept.get(&id);
        prefix.and_then(|prefix| prefix.sequence.as_ref())
    }

    /// Marks a prefix as used, before those that it continues, so that these are dropped after it.
    pub(super) fn touch(&mut self, id: PrefixId) {
        let now = self.tick();
        if let Some(prefix) = self.kept.get_mut(&id) {
            prefix.used = now;
        }
    }

    /// Drops a prefix.
    pub(super) fn remove(&mut self, id: PrefixId) {
        self.kept.remove(&id);
    }

    /// The least recently used of the prefixes that have been read and satisfy a condition.
    pub(super) fn oldest(&self, of: impl Fn(PrefixId) -> bool) -> Option<PrefixId> {
        let read = self.kept.iter().filter(|(_, p)| p.sequence.is_some());
        let oldest = read.filter(|(id, _)| of(**id)).min_by_key(|(_, p)| p.used);
        oldest.map(|(id, _)| *id)
    }

    /// Tokens with keys and values in the prefixes that satisfy a condition.
    pub(super) fn tokens(&self, of: impl Fn(PrefixId) -> bool) -> usize {
        let own = self.kept.iter().filter(|(id, _)| of(**id));
        own.map(|(_, prefix)| prefix.own).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_one_used_longest_ago_goes_first_unless_it_is_being_read_or_used() {
        let mut prefixes = Prefixes::<()>::default();
        let first = prefixes.add(true, vec![1, 2], 2, None);
        let second = prefixes.add(true, vec![1, 2, 3], 1, None);
        let third = prefixes.add(false, vec![1, 2], 2, None);
        assert_eq!(prefixes.oldest(|_| true), None, "none has been read");
        for id in [first, second, third] {
            prefixes.is_read(id, Arc::new(()), Vec::new());
        }
        assert_eq!(prefixes.find(true, &[1, 2], None), Some(first));
        assert_eq!(prefixes.find(false, &[1, 2], None), Some(third));
        assert_eq!(prefixes.find(false, &[1, 2, 3], None), None);
        assert_eq!(prefixes.tokens(|_| true), 5);
        assert_eq!(prefixes.oldest(|_| true), Some(first));
        prefixes.touch(second);
        prefixes.touch(first);
        assert_eq!(prefixes.oldest(|_| true), Some(third));
        assert_eq!(prefixes.oldest(|id| id != third), Some(second));
        prefixes.remove(second);
        assert_eq!(prefixes.tokens(|_| true), 4);
    }

    #[test]
    fn a_chain_continues_the_longest_open_one() {
        let mut prefixes = Prefixes::<()>::default();
        let closed = prefixes.add(true, vec![1, 2, 3], 3, None);
        prefixes.is_read(closed, Arc::new(()), Vec::new());
        prefixes.keep_open(true, vec![1], 1, Arc::new(()));
        prefixes.keep_open(true, vec![1, 2], 1, Arc::new(()));
        prefixes.keep_open(true, vec![1, 2], 1, Arc::new(()));
        let length = |exact, tokens: &[u32]| {
            let found = prefixes.longest(exact, tokens);
            found.map(|(_, length)| length)
        };
        assert_eq!(length(true, &[1, 2, 3, 4]), Some(2));
        assert_eq!(length(true, &[1, 2]), Some(1), "one token is left to read");
        assert_eq!(length(true, &[1]), None);
        assert_eq!(length(false, &[1, 2, 3]), None);
        assert_eq!(prefixes.tokens(|_| true), 5);
    }
}
