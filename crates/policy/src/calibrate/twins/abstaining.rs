//! Two thresholds chosen together where a question may stay without an answer: up to one it is answered from
//! memory, and of the others those are answered with evidence whose answer another signal vouches for.

use super::jointly::quantiles;
use crate::calibrate::bounds::{risk_bound, risk_p_value};

/// A question with known correctness and both signals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AbstentionObservation {
    /// The signal of the question: up to its threshold it is answered from memory. What is no number is
    /// not.
    pub question: f64,
    /// The signal of the answer with evidence. What is no number vouches for nothing.
    pub answer: f64,
    /// The correctness of the answer from memory, in `[0, 1]`.
    pub without: f64,
    /// The correctness of the answer with evidence, in `[0, 1]`.
    pub with: f64,
    /// Which of two random halves the question belongs to. Thresholds are looked for on the first and proved
    /// on the second.
    pub second_half: bool,
}

/// What is promised.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ErrorGoal {
    /// The most that may be wrong of the answers given, in `(0, 1)`.
    pub max_error: f64,
    /// The probability that the promise holds, in `(0, 1)`.
    pub confidence: f64,
    /// Whether the signal of the answer has to be above its threshold; else it has to be at most that.
    pub above: bool,
}

/// Both thresholds and their effect on the questions that they are proved on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct AbstentionCalibration {
    /// Signals of questions up to it are answered from memory; `None` if none is.
    pub question: Option<f64>,
    /// The threshold of the signal of answers with evidence; `None` if all of these are given.
    pub answer: Option<f64>,
    /// The share of questions that are answered.
    pub coverage: f64,
    /// The share of questions that are answered from memory.
    pub from_memory: f64,
    /// The share of wrong answers among those given.
    pub error: f64,
    /// The upper bound of that share, with the confidence of the goal.
    pub error_bound: f64,
    /// Of the withheld answers, the share that is wrong; `None` where none is withheld.
    pub right_abstentions: Option<f64>,
    /// The number of questions.
    pub questions: usize,
}

type Pair = (Option<f64>, Option<f64>);

/// What a pair of thresholds does to some questions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Outcome {
    given: usize,
    from_memory: usize,
    wrong: f64,
    withheld_wrong: f64,
}

/// Chooses both thresholds so that as many questions as possible are answered while, with the confidence of the
/// goal, at most `max_error` of the answers to new questions of the same kind are wrong; `None` where no pair
/// keeps that.
///
/// Candidates are quantiles of both signals. On the first half of the questions those remain that no other pair
/// beats both in how many questions it answers and in how surely it keeps the promise (its p-value). These are
/// tested on the second half, the surest first, as long as each keeps the promise (Pareto testing,
/// Laufer-Goldshtein et al. 2023; with a threshold of memory and one of retrieval as in BalanceRAG). Given how
/// many questions a pair answers, its wrong answers are binomial if each is right or wrong, so each p-value is
/// valid, and the fixed order needs no correction for multiple tests.
#[must_use]
pub fn calibrate_abstention(
    observations: &[AbstentionObservation],
    goal: ErrorGoal,
) -> Option<AbstentionCalibration> {
    let candidates = |number: fn(&AbstentionObservation) -> f64| {
        quantiles(observations.iter().map(number).collect())
    };
    let of_answers = candidates(|one| one.answer);
    let pairs = candidates(|one| one.question)
        .into_iter()
        .flat_map(|question| of_answers.iter().map(move |answer| (question, *answer)));
    let (second, first): (Vec<_>, Vec<_>) = observations
        .iter()
        .copied()
        .partition(|one| one.second_half);
    let (delta, exact) = (1.0 - goal.confidence, is_exact(observations));
    let p_value =
        |outcome: Outcome| risk_p_value(outcome.wrong, outcome.given, goal.max_error, exact);
    let tried = pairs.map(|pair| {
        let outcome = outcome(&first, pair, goal.above);
        Tried {
            pair,
            given: outcome.given,
            from_memory: outcome.from_memory,
            p_value: p_value(outcome),
        }
    });
    let sequence = surest_first(tried.collect());
    let holds = |pair: &Pair| p_value(outcome(&second, *pair, goal.above)) <= delta;
    let chosen = sequence.into_iter().take_while(holds).last()?;
    let outcome = outcome(&second, chosen, goal.above);
    let n = second.len();
    let withheld = n - outcome.given;
    Some(AbstentionCalibration {
        question: chosen.0,
        answer: chosen.1,
        coverage: outcome.given as f64 / n.max(1) as f64,
        from_memory: outcome.from_memory as f64 / n.max(1) as f64,
        error: outcome.wrong / outcome.given.max(1) as f64,
        error_bound: risk_bound(outcome.wrong, outcome.given, delta, exact),
        right_abstentions: (withheld > 0).then(|| outcome.withheld_wrong / withheld as f64),
        questions: n,
    })
}

/// What a pair does to the questions that it is looked for on.
#[derive(Debug, Clone, Copy)]
struct Tried {
    pair: Pair,
    given: usize,
    from_memory: usize,
    p_value: f64,
}

/// The pairs that none beats in both the number of answers and the p-value, by p-value; the numbers of answers
/// then rise as well. Of equals, the one that answers more from memory.
fn surest_first(mut tried: Vec<Tried>) -> Vec<Pair> {
    tried.sort_by(|one, other| {
        let surer = one.p_value.total_cmp(&other.p_value);
        let more = (other.given, other.from_memory).cmp(&(one.given, one.from_memory));
        surer.then(more)
    });
    let mut most = 0;
    tried.retain(|one| {
        let more = one.given > most;
        most = most.max(one.given);
        more
    });
    tried.into_iter().map(|one| one.pair).collect()
}

fn outcome(
    observations: &[AbstentionObservation],
    (question, answer): Pair,
    above: bool,
) -> Outcome {
    let mut sum = Outcome::default();
    for one in observations {
        let from_memory = question.is_some_and(|threshold| one.question <= threshold);
        let vouched = answer.is_none_or(|threshold| match above {
            true => one.answer > threshold,
            false => one.answer <= threshold,
        });
        let wrong = 1.0 - if from_memory { one.without } else { one.with };
        match from_memory || vouched {
            true => {
                sum.given += 1;
                sum.wrong += wrong;
            }
            false => sum.withheld_wrong += wrong,
        }
        sum.from_memory += usize::from(from_memory);
    }
    sum
}

fn is_exact(observations: &[AbstentionObservation]) -> bool {
    let mut each = observations.iter().flat_map(|one| [one.without, one.with]);
    each.all(|right| [0.0, 1.0].contains(&right))
}
