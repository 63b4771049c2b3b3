//! Prefixes that requests share: each is read once, and kept for later requests.

use std::sync::Arc;

use crate::decoder::scheduler::sampling::TokenLogprobs;

/// Names a prefix.
pub(super) type PrefixId = u64;

/// How the tokens of a prefix are scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Scored {
    /// How many of the most likely tokens are listed with each.
    pub(super) top: usize,
    /// The token after the prefix, of which the last log probabilities are.
    pub(super) next: u32,
}

/// A prefix, and its sequence where that has been read.
struct Prefix<S> {
    id: PrefixId,
    exact: bool,
    tokens: Vec<u32>,
    /// Tokens whose keys and values are its own, and not those of a shorter prefix.
    own: usize,
    sequence: Option<Arc<S>>,
    /// How its tokens are scored, if they are.
    scored: Option<Scored>,
    /// The log probabilities of its own tokens but the first, and of the next.
    logprobs: Vec<TokenLogprobs>,
    /// Whether any prompt of a chain may continue it, or only those that know its length.
    open: bool,
    /// What was written last after it: the rest of the prompt, and the text.
    written: Option<[Vec<u32>; 2]>,
    /// When it was used last.
    used: u64,
}

/// All prefixes that are kept or being read.
pub(super) struct Prefixes<S> {
    kept: Vec<Prefix<S>>,
    clock: u64,
}

impl<S> Default for Prefixes<S> {
    fn default() -> Self {
        Self {
            kept: Vec::new(),
            clock: 0,
        }
    }
}

impl<S> Prefixes<S> {
    fn tick(&mut self) -> u64 {
        self.clock += 1;
        self.clock
    }

    /// The prefix of just these tokens, scored in this way.
    pub(super) fn find(
        &self,
        exact: bool,
        tokens: &[u32],
        scored: Option<Scored>,
    ) -> Option<PrefixId> {
        let found =
            |one: &&Prefix<S>| one.exact == exact && one.scored == scored && one.tokens == tokens;
        self.kept.iter().find(found).map(|one| one.id)
    }

    /// The longest open prefix of some tokens that leaves at least one, and its length.
    pub(super) fn longest(&self, exact: bool, tokens: &[u32]) -> Option<(PrefixId, usize)> {
        let begins = |one: &&Prefix<S>| {
            one.open
                && one.exact == exact
                && one.tokens.len() < tokens.len()
                && tokens.starts_with(&one.tokens)
        };
        let longest = self.kept.iter().filter(begins);
        let longest = longest.max_by_key(|one| one.tokens.len())?;
        Some((longest.id, longest.tokens.len()))
    }

    /// Adds a prefix that is to be read.
    pub(super) fn add(
        &mut self,
        exact: bool,
        tokens: Vec<u32>,
        own: usize,
        scored: Option<Scored>,
    ) -> PrefixId {
        let id = self.tick();
        self.kept.push(Prefix {
            id,
            exact,
            tokens,
            own,
            sequence: None,
            scored,
            logprobs: Vec::new(),
            open: false,
            written: None,
            used: id,
        });
        id
    }

    /// Keeps a sequence, for any prompt of a chain that continues it.
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
        if let Some(added) = self.kept.last_mut() {
            added.open = true;
        }
        self.is_read(id, sequence, Vec::new());
    }

    /// A prefix has been read, and scored where that is wanted.
    pub(super) fn is_read(&mut self, id: PrefixId, sequence: Arc<S>, logprobs: Vec<TokenLogprobs>) {
        if let Some(prefix) = self.kept.iter_mut().find(|one| one.id == id) {
            prefix.sequence = Some(sequence);
            prefix.logprobs = logprobs;
        }
    }

    /// How likely the tokens of a prefix are that has been read.
    pub(super) fn logprobs(&self, id: PrefixId) -> &[TokenLogprobs] {
        let found = self.kept.iter().find(|one| one.id == id);
        found.map_or(&[], |one| &one.logprobs)
    }

    /// Notes what was written after a prompt that begins with a prefix.
    pub(super) fn wrote(&mut self, id: PrefixId, prompt: &[u32], text: Vec<u32>) {
        if let Some(prefix) = self.kept.iter_mut().find(|one| one.id == id) {
            let rest = prompt.get(prefix.tokens.len()..).unwrap_or_default();
            prefix.written = Some([rest.to_vec(), text]);
        }
    }

    /// What was written when such a prompt was continued last; empty where that is not known.
    pub(super) fn written(&self, id: PrefixId, prompt: &[u32]) -> &[u32] {
        let found = self.kept.iter().find(|one| one.id == id);
        match found.and_then(|one| Some((one, one.written.as_ref()?))) {
            Some((one, [rest, text])) if prompt.get(one.tokens.len()..) == Some(rest) => text,
            _ => &[],
        }
    }

    /// The sequence of a prefix, where it has been read.
    pub(super) fn sequence(&self, id: PrefixId) -> Option<&Arc<S>> {
        let found = self.kept.iter().find(|one| one.id == id);
        found.and_then(|one| one.sequence.as_ref())
    }

    /// Notes that a prefix is used, before those that it continues: they are dropped after it.
    pub(super) fn touch(&mut self, id: PrefixId) {
        let now = self.tick();
        if let Some(prefix) = self.kept.iter_mut().find(|one| one.id == id) {
            prefix.used = now;
        }
    }

    /// Drops a prefix.
    pub(super) fn remove(&mut self, id: PrefixId) {
        self.kept.retain(|one| one.id != id);
    }

    /// The one that was used longest ago, of those that have been read and fulfil a condition.
    pub(super) fn oldest(&self, of: impl Fn(PrefixId) -> bool) -> Option<PrefixId> {
        let read = self.kept.iter().filter(|one| one.sequence.is_some());
        let oldest = read.filter(|one| of(one.id)).min_by_key(|one| one.used);
        oldest.map(|one| one.id)
    }

    /// Tokens whose keys and values are held, of the prefixes that fulfil a condition.
    pub(super) fn tokens(&self, of: impl Fn(PrefixId) -> bool) -> usize {
        let own = self.kept.iter().filter(|one| of(one.id));
        own.map(|one| one.own).sum()
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
