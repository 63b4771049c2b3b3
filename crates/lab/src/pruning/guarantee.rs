//! The largest ratio that keeps answers findable: with the given confidence, at most the given share of the questions
//! lose the golden answer that they find in the whole corpus.
//!
//! Ratios are tested in ascending order, and the search ends at the first for which the data do not show that the
//! guarantee holds (fixed-sequence testing, as for thresholds in `ken_policy`). A question is lost from the first
//! ratio on at which its search finds no golden answer.

use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::Selection;
use ken_eval::statistics::{number, share};
use ken_index::{Hit, Index, IndexError, Mode, Query};
use ken_policy::{Calibration, Goal, Observation, Policy, Signal, calibrate};
use ken_probe::covers;
use rayon::prelude::*;
use serde::Serialize;

use super::error::PruningError;
use super::order::{Scored, count};

/// Ratios are multiples of one hundredth.
const STEPS: u32 = 100;

/// The smallest ratio to test.
pub(crate) const MIN_RATIO: f64 = 0.01;

/// A question with the answers that its search should find.
#[derive(Debug, Clone, PartialEq)]
pub struct CoverageQuestion {
    /// The question.
    pub text: String,
    /// Its embedding: `[dimensions]`; `None` for lexical search.
    pub vector: Option<Vec<f32>>,
    /// Its golden answers.
    pub golden_answers: Vec<String>,
}

impl CoverageQuestion {
    pub(super) fn query(&self) -> Query<'_> {
        Query::new(&self.text, self.vector.as_deref())
    }

    /// Whether one of the passages contains a golden answer.
    pub(super) fn is_covered_by(&self, hits: &[Hit]) -> bool {
        let mut covered = hits
            .iter()
            .map(|hit| covers(&hit.passage.text, &self.golden_answers));
        covered.any(|covered| covered == Some(true))
    }
}

/// The guarantee, and the search that it is about.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Guarantee {
    /// The share of questions that may lose their answer, in `(0, 1)`.
    pub max_loss: f64,
    /// The confidence of the guarantee, in `(0, 1)`.
    pub confidence: f64,
    /// The search mode.
    pub mode: Mode,
    /// How many passages a search returns.
    pub k: usize,
    /// The most passages that may be pruned.
    pub most: usize,
}

/// The ratio that the questions support.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct GuaranteedRatio {
    /// The largest ratio that keeps the guarantee; `None` if no ratio does.
    pub ratio: Option<f64>,
    /// The share of questions that find a golden answer in the whole corpus.
    pub coverage: f64,
    /// The share that loses it at that ratio.
    pub loss: f64,
    /// The upper bound of that share, at the confidence of the guarantee.
    pub loss_bound: f64,
    /// Questions.
    pub questions: usize,
    /// Questions without golden answers, which are ignored.
    pub left_out: usize,
    /// If no ratio keeps the guarantee: about how many questions like these it would take in total; `None` if no
    /// number would do.
    pub needed: Option<usize>,
}

/// Whether the searches of some questions find golden answers once so many passages have gone, in the order of pruning.
/// It is asked of ever more passages.
pub(super) type Coverage<'a> =
    dyn FnMut(usize, &[&CoverageQuestion]) -> Result<Vec<bool>, PruningError> + 'a;

/// Finds the largest ratio in a corpus on disk. `progress` receives the hundredths that were tested. Returns `None` if
/// `cancel` was set.
///
/// # Shapes
/// `order`: the candidates in the order of pruning.
///
/// # Errors
/// No question with golden answers, or a corpus that cannot be searched.
pub fn largest_ratio(
    index: &Index,
    candidates: &Selection,
    order: &[Scored],
    asked: &[CoverageQuestion],
    guarantee: Guarantee,
    progress: &mut dyn FnMut(u32),
    cancel: &AtomicBool,
) -> Result<Option<GuaranteedRatio>, PruningError> {
    let (mut left, mut gone) = (candidates.clone(), 0);
    let mut coverage =
        |goes: usize, open: &[&CoverageQuestion]| -> Result<Vec<bool>, PruningError> {
            for passage in &order[gone..goes] {
                left.remove(passage.segment as usize, passage.ordinal as usize);
            }
            gone = goes;
            let open = open.par_iter();
            let covered = open.map(|&asked| covered(index, &left, asked, guarantee));
            Ok(covered.collect::<Result<Vec<bool>, IndexError>>()?)
        };
    largest(
        order.len(),
        &mut coverage,
        asked,
        guarantee,
        progress,
        cancel,
    )
}

/// As [`largest_ratio`], of so many passages, by their coverage.
pub(super) fn largest(
    passages: usize,
    coverage: &mut Coverage<'_>,
    asked: &[CoverageQuestion],
    guarantee: Guarantee,
    progress: &mut dyn FnMut(u32),
    cancel: &AtomicBool,
) -> Result<Option<GuaranteedRatio>, PruningError> {
    let scorable = scorable(asked)?;
    let at_first = coverage(0, &scorable)?;
    let mut lost_at: Vec<Option<u32>> = vec![None; scorable.len()];
    let (mut gone, mut tried) = (0, 0);
    let mut chosen = calibrated(&at_first, &lost_at, guarantee);
    for step in 1..STEPS {
        progress(step);
        if cancel.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let goes = count(f64::from(step) / f64::from(STEPS), passages);
        if goes > guarantee.most {
            break;
        }
        if goes > gone {
            let open = still_covered(&at_first, &lost_at);
            let asked: Vec<&CoverageQuestion> = open.iter().map(|&q| scorable[q]).collect();
            for (question, is_covered) in open.into_iter().zip(coverage(goes, &asked)?) {
                if !is_covered {
                    lost_at[question] = Some(step);
                }
            }
        }
        gone = goes;
        let now = calibrated(&at_first, &lost_at, guarantee);
        if !accepts(&now, &lost_at) {
            if tried == 0 {
                chosen = now;
            }
            break;
        }
        (chosen, tried) = (now, step);
    }
    Ok(Some(GuaranteedRatio {
        ratio: (tried > 0).then(|| f64::from(tried) / f64::from(STEPS)),
        coverage: share(at_first.iter().copied()).unwrap_or_default(),
        loss: chosen.loss(),
        loss_bound: chosen.bound,
        questions: scorable.len(),
        left_out: asked.len() - scorable.len(),
        needed: chosen.needed,
    }))
}

/// The ratio that keeps the guarantee.
///
/// # Errors
/// [`PruningError::Stopped`] without an outcome, [`PruningError::NotGuaranteed`] if no ratio does.
pub(super) fn kept(
    outcome: Option<GuaranteedRatio>,
    guarantee: Guarantee,
) -> Result<GuaranteedRatio, PruningError> {
    let kept = outcome.ok_or(PruningError::Stopped)?;
    match kept.ratio {
        Some(_) => Ok(kept),
        None => Err(PruningError::NotGuaranteed {
            questions: kept.questions,
            max_loss: guarantee.max_loss,
            confidence: guarantee.confidence,
            needed: kept.needed,
        }),
    }
}

/// The questions with golden answers.
fn scorable(asked: &[CoverageQuestion]) -> Result<Vec<&CoverageQuestion>, PruningError> {
    let scorable = asked.iter();
    let scorable = scorable.filter(|asked| covers("", &asked.golden_answers).is_some());
    let scorable: Vec<&CoverageQuestion> = scorable.collect();
    let questions = asked.len();
    match scorable.is_empty() {
        true => Err(PruningError::NoGoldenAnswers { questions }),
        false => Ok(scorable),
    }
}

/// The indices of the questions whose answer was found and is not lost yet.
fn still_covered(at_first: &[bool], lost_at: &[Option<u32>]) -> Vec<usize> {
    let places = 0..at_first.len();
    let open = places.filter(|&place| at_first[place] && lost_at[place].is_none());
    open.collect()
}

/// Whether a calibration shows that the guarantee holds at every step so far.
fn accepts(calibration: &Calibration, lost_at: &[Option<u32>]) -> bool {
    let mut lost = lost_at.iter().flatten().map(|&step| f64::from(step));
    let threshold = calibration.policy.threshold();
    threshold.is_some_and(|threshold| lost.all(|lost| lost <= threshold))
}

/// The calibration over the steps so far. A question that is not lost is an observation at every step, so it counts
/// at the first one.
fn calibrated(at_first: &[bool], lost_at: &[Option<u32>], guarantee: Guarantee) -> Calibration {
    let observations: Vec<Observation> = at_first
        .iter()
        .zip(lost_at)
        .map(|(&covered, lost)| {
            let with = number(covered);
            let without = if lost.is_some() { 0.0 } else { with };
            Observation::of(f64::from(lost.unwrap_or(1)), without, with)
        })
        .collect();
    let goal = Goal::Guarantee {
        max_loss: guarantee.max_loss,
        confidence: guarantee.confidence,
    };
    // The step takes the place of a signal; any signal would do.
    let policy = Policy::above(Signal::CERTAINTY, None);
    calibrate(&policy, None, 0, &observations, goal)
}

/// Whether the search finds a passage that contains a golden answer.
fn covered(
    index: &Index,
    selection: &Selection,
    asked: &CoverageQuestion,
    guarantee: Guarantee,
) -> Result<bool, IndexError> {
    let hits = index.search(&asked.query(), guarantee.mode, guarantee.k, Some(selection))?;
    Ok(asked.is_covered_by(&hits))
}
