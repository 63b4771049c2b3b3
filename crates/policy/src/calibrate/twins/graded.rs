//! The thresholds between several values of k, chosen together on the probability that memory is right.

use super::grades::Grades;
use super::sequence::{self, Candidate};
use crate::calibrate::bounds::risk_bound;
use crate::calibrate::isotonic::{Block, falling};
use crate::calibrate::{CONFIDENCE, Goal};

/// Borders that thresholds are chosen among at most.
const BORDERS: usize = 50;

/// A question with known correctness at each k.
#[derive(Debug, Clone, PartialEq)]
pub struct GradedObservation {
    /// The signal, the larger the more it needs retrieval. What is no number gets the largest k.
    pub score: f64,
    /// The correctness of the answer from memory, in `[0, 1]`.
    pub memory: f64,
    /// The correctness of the answer at each k, in `[0, 1]`: `[ks]`.
    pub right: Vec<f64>,
    /// The correctness of the answer of always retrieving, in `[0, 1]`.
    pub always: f64,
    /// Which of two random halves the question belongs to. A guarantee is looked for on the first and proved
    /// on the second.
    pub second_half: bool,
}

impl GradedObservation {
    /// What always retrieving wins over memory; a loss by it counts as 0.
    fn beneficial(&self) -> f64 {
        (self.always - self.memory).max(0.0)
    }
}

/// The thresholds and their effect on the questions that they are proved on: those of the second half for a
/// guarantee, else all.
#[derive(Debug, Clone, PartialEq)]
pub struct GradedCalibration {
    /// The grades with their thresholds; `None` if no thresholds keep the guarantee, so that every question
    /// always retrieves.
    pub grades: Option<Grades>,
    /// What each k is for, from the least.
    pub each: Vec<Graded>,
    /// The mean number of search results.
    pub mean_k: f64,
    /// The share of questions that retrieve.
    pub retrieval_ratio: f64,
    /// The mean loss compared with always retrieving; gains do not offset losses.
    pub loss: f64,
    /// The upper bound of the mean loss, with the confidence of the goal or 0.95.
    pub loss_bound: f64,
    /// The accuracy.
    pub accuracy: f64,
    /// The accuracy of always retrieving.
    pub always: f64,
    /// The number of questions.
    pub questions: usize,
}

/// The questions that get one k.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Graded {
    /// Search results.
    pub k: usize,
    /// The least probability that memory is right with which a question gets this k: the calibrated one at its
    /// threshold; `None` of the largest k, and of one that no question gets.
    pub least_probability: Option<f64>,
    /// The share of all questions.
    pub share: f64,
    /// How often memory is right for them.
    pub memory: Option<f64>,
    /// The accuracy with this k.
    pub accuracy: Option<f64>,
    /// The accuracy of always retrieving.
    pub always: Option<f64>,
}

/// What thresholds do to some questions.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
struct Outcome {
    results: f64,
    right: f64,
    lost: f64,
    /// Of what is lost, that for which evidence was needed.
    missed: f64,
}

impl Outcome {
    fn and(self, other: Self, sign: f64) -> Self {
        Self {
            results: self.results + sign * other.results,
            right: self.right + sign * other.right,
            lost: self.lost + sign * other.lost,
            missed: self.missed + sign * other.missed,
        }
    }
}

/// Chooses the thresholds for a goal.
///
/// The signal is turned into the probability that memory is right by isotonic regression, and thresholds are
/// borders between its values, so they rise in the signal as they fall in the probability. What counts as
/// retrieval for the goal is the mean k as a share of `always_k`, the search results of always retrieving;
/// of equals, the fewest. A guarantee is looked for on one half of the questions, probabilities included, and
/// proved on the other.
///
/// # Shapes
/// [`GradedObservation::right`] has as many entries as there are grades.
#[must_use]
pub fn calibrate_graded(
    observations: &[GradedObservation],
    grades: Grades,
    always_k: usize,
    goal: Goal,
) -> GradedCalibration {
    let (second, first): (Vec<_>, Vec<_>) = observations
        .iter()
        .cloned()
        .partition(|one| matches!(goal, Goal::Guarantee { .. }) && one.second_half);
    let blocks = blocks(&first);
    let candidates = candidates(&first, &borders(&blocks), grades);
    let at = |thresholds: &[f64]| grades.at(thresholds).unwrap_or(grades);
    let (chosen, proved, confidence) = match goal {
        Goal::Guarantee {
            max_loss,
            confidence,
        } => {
            let indices: Vec<Candidate<usize>> = candidates
                .iter()
                .enumerate()
                .map(|(candidate, (_, outcome))| Candidate {
                    candidate,
                    used: outcome.results,
                    lost: outcome.lost,
                })
                .collect();
            let lost = |index: usize| outcome(&second, at(&candidates[index].0)).lost;
            let tested = (lost, second.len(), is_exact(&second));
            let all = (first.len() * always_k) as f64;
            let found = sequence::guaranteed(&indices, all, (max_loss, 1.0 - confidence), tested);
            (
                found.map(|index| at(&candidates[index].0)),
                second,
                confidence,
            )
        }
        goal => {
            let best = best(&first, &candidates, always_k, goal);
            (best.map(at), first, CONFIDENCE)
        }
    };
    summed(chosen, &proved, &blocks, (always_k, confidence))
}

/// The probability that memory is right by the signal.
fn blocks(observations: &[GradedObservation]) -> Vec<Block> {
    let scored = observations.iter().filter(|one| one.score.is_finite());
    falling(scored.map(|one| (one.score, one.memory)).collect())
}

/// The thresholds to choose among: below everything, and behind each block.
fn borders(blocks: &[Block]) -> Vec<f64> {
    let count = blocks.len().min(BORDERS);
    // Of many, those at even distances, the last included.
    let kept = (1..=count).map(|at| blocks[at * blocks.len() / count - 1].up_to);
    std::iter::once(f64::NEG_INFINITY).chain(kept).collect()
}

/// All thresholds in ascending order out of the borders, with what they do.
fn candidates(
    observations: &[GradedObservation],
    borders: &[f64],
    grades: Grades,
) -> Vec<(Vec<f64>, Outcome)> {
    let ks = grades.ks();
    // Up to each border and over all, what each grade would do: `[grades, borders + 1]`.
    let up_to = |grade: usize, border: f64| {
        let within = observations
            .iter()
            .filter(|one| one.score <= border || border == f64::INFINITY);
        within.fold(Outcome::default(), |sum, one| {
            sum.and(of_one(one, ks, grade), 1.0)
        })
    };
    let ends = borders.iter().copied().chain([f64::INFINITY]);
    let sums: Vec<Vec<Outcome>> = (0..ks.len())
        .map(|grade| ends.clone().map(|end| up_to(grade, end)).collect())
        .collect();
    let mut all = vec![(Vec::new(), Outcome::default())];
    for grade in &sums[..sums.len() - 1] {
        let longer = all
            .iter()
            .flat_map(|(places, outcome): &(Vec<usize>, Outcome)| {
                let from = places.last().copied();
                (from.unwrap_or(0)..borders.len()).map(move |to| {
                    let before = from.map(|from| grade[from]).unwrap_or_default();
                    let outcome = outcome.and(grade[to], 1.0).and(before, -1.0);
                    ([&places[..], &[to]].concat(), outcome)
                })
            });
        all = longer.collect();
    }
    let last = &sums[sums.len() - 1];
    let whole = last[borders.len()];
    let each = all.into_iter().map(|(places, outcome)| {
        let from = places.last().copied().unwrap_or_default();
        let outcome = outcome.and(whole, 1.0).and(last[from], -1.0);
        (places.iter().map(|&at| borders[at]).collect(), outcome)
    });
    each.collect()
}

/// What a grade does to a question.
fn of_one(one: &GradedObservation, ks: &[usize], grade: usize) -> Outcome {
    let right = one.right[grade];
    let lost = (one.always - right).max(0.0);
    Outcome {
        results: ks[grade] as f64,
        right,
        lost,
        missed: lost.min(one.beneficial()),
    }
}

/// The best thresholds for a goal without a guarantee.
fn best<'c>(
    observations: &[GradedObservation],
    candidates: &'c [(Vec<f64>, Outcome)],
    always_k: usize,
    goal: Goal,
) -> Option<&'c [f64]> {
    const ROUNDED: f64 = 1e-9;
    let n = observations.len() as f64;
    let always: f64 = observations.iter().map(|one| one.always).sum();
    let beneficial: f64 = observations.iter().map(GradedObservation::beneficial).sum();
    let meets = |outcome: &Outcome| match goal {
        Goal::RetrievalRatio(ratio) => outcome.results <= ratio * n * always_k as f64 + ROUNDED,
        Goal::AtMostLost(most) => outcome.right + ROUNDED >= always - most * n,
        Goal::AtMostMissed(most) => outcome.missed <= most * beneficial + ROUNDED,
        Goal::BestAccuracy | Goal::Guarantee { .. } | Goal::Errors { .. } => true,
    };
    let is_better = |one: &Outcome, than: &Outcome| {
        let fewer = one.results < than.results;
        let righter = one.right > than.right + ROUNDED;
        let as_right = one.right + ROUNDED >= than.right;
        match goal {
            Goal::AtMostLost(_) | Goal::AtMostMissed(_) => {
                fewer || one.results == than.results && righter
            }
            _ => righter || as_right && fewer,
        }
    };
    let met = candidates.iter().filter(|(_, outcome)| meets(outcome));
    let best = met.reduce(|best, next| match is_better(&next.1, &best.1) {
        true => next,
        false => best,
    });
    best.map(|(thresholds, _)| thresholds.as_slice())
}

/// The grade of a question; the largest k before there are thresholds.
fn outcome(observations: &[GradedObservation], grades: Grades) -> Outcome {
    observations.iter().fold(Outcome::default(), |sum, one| {
        let grade = grades.grade_of(Some(one.score));
        sum.and(of_one(one, grades.ks(), grade), 1.0)
    })
}

fn is_exact(observations: &[GradedObservation]) -> bool {
    let mut each = observations
        .iter()
        .flat_map(|one| one.right.iter().chain([&one.always]));
    each.all(|right| [0.0, 1.0].contains(right))
}

/// What the chosen thresholds do; without any, what always retrieving does.
fn summed(
    grades: Option<Grades>,
    observations: &[GradedObservation],
    blocks: &[Block],
    (always_k, confidence): (usize, f64),
) -> GradedCalibration {
    let n = observations.len();
    let share = |sum: f64| sum / n.max(1) as f64;
    let always = observations.iter().map(|one| one.always).sum();
    let Some(grades) = grades else {
        return GradedCalibration {
            grades: None,
            each: Vec::new(),
            mean_k: always_k as f64,
            retrieval_ratio: 1.0,
            loss: 0.0,
            loss_bound: 0.0,
            accuracy: share(always),
            always: share(always),
            questions: n,
        };
    };
    let total = outcome(observations, grades);
    let each: Vec<Graded> = grades
        .ks()
        .iter()
        .enumerate()
        .map(|(grade, &k)| {
            let own = observations
                .iter()
                .filter(|one| grades.grade_of(Some(one.score)) == grade);
            let own: Vec<&GradedObservation> = own.collect();
            let mean = |of: &dyn Fn(&GradedObservation) -> f64| {
                let sum: f64 = own.iter().map(|one| of(one)).sum();
                (!own.is_empty()).then(|| sum / own.len() as f64)
            };
            let threshold = grades.thresholds().and_then(|all| all.get(grade));
            let up_to =
                |block: &&Block| threshold.is_some_and(|threshold| block.up_to <= *threshold);
            let last = blocks.iter().rfind(up_to);
            Graded {
                k,
                least_probability: last.map(|block| block.probability),
                share: share(own.len() as f64),
                memory: mean(&|one| one.memory),
                accuracy: mean(&|one| one.right[grade]),
                always: mean(&|one| one.always),
            }
        })
        .collect();
    let spared = each.iter().filter(|one| one.k == 0);
    GradedCalibration {
        mean_k: share(total.results),
        retrieval_ratio: 1.0 - spared.map(|one| one.share).sum::<f64>(),
        loss: share(total.lost),
        loss_bound: risk_bound(total.lost, n, 1.0 - confidence, is_exact(observations)),
        accuracy: share(total.right),
        always: share(always),
        questions: n,
        grades: Some(grades),
        each,
    }
}
