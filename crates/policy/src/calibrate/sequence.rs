//! Candidates in a fixed order, tested one after the other without a correction for multiple tests.

use super::candidates::Candidate;

/// Candidates that a guarantee is tested at, from the one that spares nothing to the one that spares most.
const TESTED: usize = 20;

/// Those that lose least at ever less used, to be tested on other questions in this order (split fixed-sequence testing,
/// Laufer-Goldshtein et al. 2023). `all` is the most that can be used.
pub(super) fn ever_less(candidates: &[Candidate], all: f64) -> Vec<Candidate> {
    let steps = (1..=TESTED).filter_map(|step| {
        let most = all * (TESTED - step) as f64 / TESTED as f64;
        let within = candidates.iter().filter(|one| one.tally.results <= most);
        within.min_by(|one, other| {
            let (one, other) = (&one.tally, &other.tally);
            let least = one.lost.total_cmp(&other.lost);
            least.then(one.results.total_cmp(&other.results))
        })
    });
    steps.copied().collect()
}

/// Those that no other beats both in how many questions it answers and in how surely it keeps the promise (its p-value),
/// the surest first; the numbers of answers then rise as well (Pareto testing, Laufer-Goldshtein et al. 2023). Of equals,
/// the one that answers more from memory.
pub(super) fn surest_first(
    candidates: Vec<Candidate>,
    p_value: impl Fn(&Candidate) -> f64,
) -> Vec<Candidate> {
    let tried = candidates.into_iter().map(|one| (p_value(&one), one));
    let mut tried: Vec<(f64, Candidate)> = tried.collect();
    tried.sort_by(|(surer, one), (other_p, other)| {
        let (one, other) = (&one.tally, &other.tally);
        let more = other.given.total_cmp(&one.given);
        let more = more.then(one.retrieved.total_cmp(&other.retrieved));
        surer.total_cmp(other_p).then(more)
    });
    let mut most = 0.0;
    tried.retain(|(_, one)| {
        let is_more = one.tally.given > most;
        most = f64::max(most, one.tally.given);
        is_more
    });
    tried.into_iter().map(|(_, one)| one).collect()
}

/// The last of those that hold, all before it included.
pub(super) fn last_that_holds(
    sequence: &[Candidate],
    holds: impl Fn(&Candidate) -> bool,
) -> Option<Candidate> {
    sequence.iter().take_while(|one| holds(one)).last().copied()
}
