//! Candidates in a fixed order, tested one after the other without a correction for multiple tests.

use crate::calibrate::bounds::risk_p_value;

/// Candidates that a guarantee is tested at, from the one that spares nothing to the one that spares most.
const TESTED: usize = 20;

/// A candidate with what it does to the questions that it is looked for on.
#[derive(Debug, Clone, Copy)]
pub(super) struct Candidate<C> {
    pub(super) candidate: C,
    /// What it uses of the evidence.
    pub(super) used: f64,
    /// What it loses.
    pub(super) lost: f64,
}

/// The candidate that spares most among those that are shown to lose at most `max_loss`, by split fixed-sequence
/// testing (Laufer-Goldshtein et al. 2023): those that lose least on some questions, at ever less used, are
/// tested on others, as long as each is shown to keep the promise. `None` where the first does not.
///
/// `all` is the most that can be used. `tested` tells what one loses, summed over how many other questions, and
/// whether each loses 0 or 1.
pub(super) fn guaranteed<C: Copy>(
    candidates: &[Candidate<C>],
    all: f64,
    (max_loss, delta): (f64, f64),
    (lost, questions, exact): (impl Fn(C) -> f64, usize, bool),
) -> Option<C> {
    let sequence = (1..=TESTED).filter_map(|step| {
        let most = all * (TESTED - step) as f64 / TESTED as f64;
        let within = candidates.iter().filter(|one| one.used <= most);
        within.min_by(|one, other| {
            let least = one.lost.total_cmp(&other.lost);
            least.then(one.used.total_cmp(&other.used))
        })
    });
    let holds = |one: &&Candidate<C>| {
        risk_p_value(lost(one.candidate), questions, max_loss, exact) <= delta
    };
    let last = sequence.take_while(holds).last()?;
    Some(last.candidate)
}
