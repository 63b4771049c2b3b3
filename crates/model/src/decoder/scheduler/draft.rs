//! Drafts: tokens that probably come next, looked up where the same words occurred before. An answer about documents
//! repeats its passages, so the text after an earlier occurrence of the last words often follows again (prompt lookup
//! decoding, a form of speculative decoding). An answer that was written to be measured is written again to be read.
//! A pass reads the draft with the last token, which shows how much of it is right.

/// The most rows of texts in a pass with drafts: this many cost less than twice as much as one, since each weight is
/// loaded once. Products are computed for 1, 2, 4 or 8 rows at once, so each text gets one of these numbers.
pub(super) const DRAFT_ROWS: usize = 8;

/// The fewest last tokens that must occur before.
const FEWEST: usize = 2;

/// The most last tokens that are compared.
const LONGEST: usize = 8;

/// The draft of a text.
#[derive(Debug)]
pub(super) struct Draft {
    /// The text that followed the prompt before, and probably will again.
    expected: Vec<u32>,
    /// The last token and the draft after it.
    tokens: Vec<u32>,
    /// How many rows are worth reading, the last token's included, judging by the last drafts.
    worth: usize,
}

impl Default for Draft {
    fn default() -> Self {
        Self {
            expected: Vec::new(),
            tokens: Vec::new(),
            worth: DRAFT_ROWS / 2,
        }
    }
}

impl Draft {
    /// Sets the expected text.
    pub(super) fn expect(&mut self, text: &[u32]) {
        self.expected = text.to_vec();
    }

    /// Drafts the continuation of a text, given also what precedes it, for at most `rows` rows.
    pub(super) fn look_up(&mut self, before: &[u32], text: &[u32], rows: usize) {
        let ahead = rows.min(self.worth).saturating_sub(1);
        self.tokens.extend(text.last());
        if ahead > 0 {
            match self.expected.strip_prefix(text) {
                Some(rest) if !rest.is_empty() => self.tokens.extend(rest.iter().take(ahead)),
                _ => self.tokens.extend(continuation(before, text, ahead)),
            }
            self.tokens.truncate(1 << self.tokens.len().max(1).ilog2());
        }
    }

    /// The last token and the draft after it; empty before the text has begun.
    pub(super) fn tokens(&self) -> &[u32] {
        &self.tokens
    }

    /// The draft without the last token.
    pub(super) fn ahead(&self) -> &[u32] {
        self.tokens.get(1..).unwrap_or_default()
    }

    /// Ends the draft, of which `right` tokens were right.
    pub(super) fn end(&mut self, right: usize) {
        let drafted = self.ahead().len();
        if drafted > 0 {
            self.worth = match right == drafted {
                true => (2 * self.worth).min(DRAFT_ROWS),
                false => (right + 1).next_power_of_two().max(self.worth / 2).max(2),
            };
        }
        self.tokens.clear();
    }
}

/// The tokens after the earlier occurrence of the most last tokens; of equal ones, the last.
fn continuation(before: &[u32], text: &[u32], most: usize) -> Vec<u32> {
    let length = before.len() + text.len();
    let token_at = |place: usize| match place.checked_sub(before.len()) {
        Some(place) => text[place],
        None => before[place],
    };
    let alike = |end: usize| {
        (0..end.min(LONGEST))
            .take_while(|back| token_at(end - 1 - back) == token_at(length - 1 - back))
            .count()
    };
    let ends = (1..length).map(|end| (alike(end), end));
    let best = ends.filter(|&(alike, _)| alike >= FEWEST).max();
    let from = best.map_or(length, |(_, end)| end);
    (from..length.min(from + most)).map(token_at).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// All earlier occurrences of the text's last tokens, compared as slices.
    fn reference(before: &[u32], text: &[u32], most: usize) -> Vec<u32> {
        let all = [before, text].concat();
        for count in (FEWEST..=LONGEST.min(all.len())).rev() {
            let last = &all[all.len() - count..];
            for end in (count..all.len()).rev() {
                if &all[end - count..end] == last {
                    return all[end..].iter().copied().take(most).collect();
                }
            }
        }
        Vec::new()
    }

    proptest! {
        #[test]
        fn what_followed_the_longest_match_is_drafted(
            before in prop::collection::vec(0..3_u32, 0..30),
            text in prop::collection::vec(0..3_u32, 1..20),
            most in 1..10_usize,
        ) {
            prop_assert_eq!(continuation(&before, &text, most), reference(&before, &text, most));
        }
    }

    #[test]
    fn what_was_written_before_is_expected_as_long_as_it_holds() {
        let mut draft = Draft::default();
        draft.expect(&[5, 6, 7, 8, 9]);
        let mut drafted = |text: &[u32]| {
            draft.look_up(&[6, 0, 6, 0], text, 40);
            let ahead = draft.ahead().to_vec();
            draft.end(ahead.len());
            ahead
        };
        assert_eq!(drafted(&[5]), [6, 7, 8]);
        assert_eq!(drafted(&[5, 6, 7, 8]), [9]);
        assert_eq!(drafted(&[5, 6, 7, 8, 9]), [0; 0]);
        assert_eq!(drafted(&[5, 6, 0]), [5, 6, 0]);
    }

    #[test]
    fn wrong_drafts_make_the_next_ones_shorter() {
        let before: Vec<u32> = (0..40).collect();
        let mut draft = Draft::default();
        let mut length = |right: &dyn Fn(usize) -> usize| {
            draft.look_up(&before, &[1, 2], 40);
            let drafted = draft.ahead().len();
            draft.end(right(drafted));
            drafted
        };
        assert_eq!(length(&|all| all), 3);
        assert_eq!(length(&|_| 0), 7);
        assert_eq!(length(&|_| 0), 3);
        assert_eq!(length(&|_| 0), 1);
        assert_eq!(length(&|all| all), 1);
        assert_eq!(length(&|_| 2), 3);
        assert_eq!(length(&|_| 0), 3);
    }
}
