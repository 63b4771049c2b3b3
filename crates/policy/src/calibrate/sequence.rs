//! Candidates in a fixed order, tested one after the other without a correction for multiple tests.

use super::candidates::Candidate;

/// The number of candidates that a guarantee is tested at, from one that spares nothing to one that spares most.
const TESTED: usize = 20;

/// The candidates that lose least at ever fewer search results, to be tested on other questions in this order (split
/// fixed-sequence testing, Laufer-Goldshtein et al. 2023). `all`: the most search results that can be used.
pub(super) fn ever_less(candidates: &[Candidate], all: f64) -> Vec<Candidate> {
    let steps = (1..=TESTED).filter_map(|step| {
        let most = all * (TESTED - step) as f64 / TESTED as f64;
        let within = candidates.iter().filter(|a| a.tally.results <= most);
        within.min_by(|a, b| {
            let (a, b) = (&a.tally, &b.tally);
            let least = a.lost.total_cmp(&b.lost);
            least.then(a.results.total_cmp(&b.results))
        })
    });
    steps.copied().collect()
}

/// The candidates that no other beats both in the number of questions it answers and in how surely it keeps the promise
/// (its p-value), the surest first; the numbers of answers then rise as well (Pareto testing, Laufer-Goldshtein et al.
/// 2023). Of equals, the one that answers more from memory.
pub(super) fn surest_first(
    candidates: Vec<Candidate>,
    p_value: impl Fn(&Candidate) -> f64,
) -> Vec<Candidate> {
    let tried = candidates.into_iter().map(|tried| (p_value(&tried), tried));
    let mut tried: Vec<(f64, Candidate)> = tried.collect();
    tried.sort_by(|(a_p, a), (b_p, b)| {
        let (a, b) = (&a.tally, &b.tally);
        let more = b.given.total_cmp(&a.given);
        let more = more.then(a.retrieved.total_cmp(&b.retrieved));
        a_p.total_cmp(b_p).then(more)
    });
    let mut most = 0.0;
    tried.retain(|(_, candidate)| {
        let is_more = candidate.tally.given > most;
        most = f64::max(most, candidate.tally.given);
        is_more
    });
    tried.into_iter().map(|(_, candidate)| candidate).collect()
}

/// The last candidate before the first that does not hold.
pub(super) fn last_that_holds(
    sequence: &[Candidate],
    holds: impl Fn(&Candidate) -> bool,
) -> Option<Candidate> {
    sequence.iter().copied().take_while(holds).last()
}
