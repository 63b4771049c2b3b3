//! The effect of a corpus scale on the answers of a model, compared question by question with the answers without
//! retrieval ("Less LLM, More Documents", section 5.2).

use ken_eval::Measure;
use ken_eval::record::Record;
use ken_eval::statistics::{number, share};
use serde::Serialize;

/// The outcome of one question at a scale, without retrieval, and at the scale before.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Outcome {
    /// Whether the answer without retrieval is right.
    pub known: bool,
    /// Whether the answer at the scale before is right.
    pub before: bool,
    /// Whether the answer at this scale is right.
    pub right: bool,
    /// Its F1.
    pub f1: f64,
    /// Whether the answer contains a golden answer.
    pub contains: bool,
    /// Whether a passage that the model reads contains a golden answer.
    pub covered: Option<bool>,
}

impl Outcome {
    /// From a question's records: without retrieval, at the scale before, and at this one.
    pub fn of(memory: &Record, before: &Record, now: &Record) -> Self {
        Self {
            known: memory.em,
            before: before.em,
            right: now.em,
            f1: now.f1,
            contains: now.contains,
            covered: now.gold_covered,
        }
    }
}

/// All measures at one scale.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct ScaleMeasures {
    /// The scale in shards.
    pub n: u32,
    /// Exact match.
    pub em: Measure,
    /// Token F1.
    pub f1: Measure,
    /// The share of answers that contain a golden answer.
    pub contains: Measure,
    /// Gold-answer coverage: the share of questions for which the model reads a passage that contains a golden
    /// answer.
    pub coverage: Measure,
    /// CB@n: of the questions answered wrong without retrieval, the share answered right.
    pub benefited: Measure,
    /// Δn: the gain of that share over the scale before.
    pub gain: Measure,
    /// H@n: of the questions answered right without retrieval, the share answered wrong.
    pub harmed: Measure,
    /// The paper's utilization ratio: CB@n over coverage. It may exceed 1, since the model may answer right without a
    /// passage that contains the answer.
    pub utilization: Measure,
    /// Of the covered questions answered wrong without retrieval, the share answered right.
    pub use_of_covered: Measure,
}

impl ScaleMeasures {
    /// The measures that need no answers without retrieval.
    pub fn alone(n: u32, questions: &[Outcome], seed: u64) -> Self {
        let all = Self::of(n, questions, seed);
        Self {
            n,
            em: all.em,
            f1: all.f1,
            contains: all.contains,
            coverage: all.coverage,
            ..Self::default()
        }
    }

    /// All measures of the questions at a scale.
    pub fn of(n: u32, questions: &[Outcome], seed: u64) -> Self {
        let f1: Vec<f64> = questions.iter().map(|question| question.f1).collect();
        Self {
            n,
            em: Measure::share(questions.iter().map(|question| question.right)),
            f1: Measure::mean(&f1, seed),
            contains: Measure::share(questions.iter().map(|question| question.contains)),
            coverage: Measure::share(covered(questions)),
            benefited: Measure::share(benefited(questions)),
            gain: Measure::difference(&gains(questions), seed),
            harmed: Measure::share(harmed(questions)),
            utilization: Measure::of(questions, seed, utilization),
            use_of_covered: Measure::share(use_of_covered(questions)),
        }
    }
}

fn covered(all: &[Outcome]) -> impl Iterator<Item = bool> {
    all.iter().filter_map(|question| question.covered)
}

fn benefited(all: &[Outcome]) -> impl Iterator<Item = bool> {
    all.iter().filter(|q| !q.known).map(|q| q.right)
}

fn gains(all: &[Outcome]) -> Vec<f64> {
    let unknown = all.iter().filter(|question| !question.known);
    let gains = unknown.map(|question| number(question.right) - number(question.before));
    gains.collect()
}

fn harmed(all: &[Outcome]) -> impl Iterator<Item = bool> {
    all.iter().filter(|q| q.known).map(|q| !q.right)
}

fn utilization(all: &[Outcome]) -> Option<f64> {
    let covered = share(covered(all)).filter(|covered| *covered > 0.0)?;
    Some(share(benefited(all))? / covered)
}

fn use_of_covered(all: &[Outcome]) -> impl Iterator<Item = bool> {
    all.iter()
        .filter(|question| !question.known && question.covered == Some(true))
        .map(|question| question.right)
}

#[cfg(test)]
mod tests {
    use ken_testing::{has, with};

    use super::*;
    use ken_eval::statistics::{mean, wilson_interval};
    use proptest::prelude::*;

    /// The same questions at rising scales: whether each is known, and whether it is answered right and
    /// covered at each scale.
    fn questions() -> impl Strategy<Value = Vec<(bool, Vec<(bool, bool)>)>> {
        (1_usize..6).prop_flat_map(|scales| {
            let at_scales = proptest::collection::vec((any::<bool>(), any::<bool>()), scales);
            proptest::collection::vec((any::<bool>(), at_scales), 1..40)
        })
    }

    fn outcomes(questions: &[(bool, Vec<(bool, bool)>)], scale: usize) -> Vec<Outcome> {
        let each = questions.iter().map(|(known, scales)| Outcome {
            known: *known,
            before: if scale == 0 {
                *known
            } else {
                scales[scale - 1].0
            },
            right: scales[scale].0,
            covered: Some(scales[scale].1),
            ..Outcome::default()
        });
        each.collect()
    }

    proptest! {
        #[test]
        fn exact_match_is_put_together_of_what_is_known_harmed_and_benefited(questions in questions()) {
            for scale in 0..questions[0].1.len() {
                let all = outcomes(&questions, scale);
                let known = share(all.iter().map(|question| question.known)).unwrap();
                let (kept, won) = (1.0 - share(harmed(&all)).unwrap_or(0.0), share(benefited(&all)).unwrap_or(0.0));
                let expected = known * kept + (1.0 - known) * won;
                prop_assert!((share(all.iter().map(|question| question.right)).unwrap() - expected).abs() < 1e-12);
            }
        }

        #[test]
        fn what_each_scale_gains_adds_up_to_what_is_benefited(questions in questions()) {
            let scales = questions[0].1.len();
            let all: Vec<Vec<Outcome>> = (0..scales).map(|scale| outcomes(&questions, scale)).collect();
            let gains: Option<Vec<f64>> = all.iter().map(|at| mean(&gains(at))).collect();
            if let Some(gains) = gains {
                let last = share(benefited(&all[scales - 1])).unwrap();
                prop_assert!((gains.iter().sum::<f64>() - last).abs() < 1e-12);
            }
        }

        #[test]
        fn of_covered_questions_no_more_than_all_are_used(questions in questions()) {
            let all = outcomes(&questions, 0);
            if let Some(used) = share(use_of_covered(&all)) {
                prop_assert!((0.0..=1.0).contains(&used));
            }
        }
    }

    #[test]
    fn the_papers_ratio_can_exceed_one() {
        let answered_anyway = with!(Outcome::default(), right: true, covered: Some(false));
        let covered = with!(Outcome::default(), right: true, covered: Some(true));
        let all = [answered_anyway, covered];
        assert_eq!(utilization(&all), Some(2.0));
        let measures = ScaleMeasures::of(1, &all, 0);
        has!(measures, use_of_covered.value: Some(1.0), harmed.value: None);
        // Two right of two prove little.
        assert_eq!(measures.em.interval, wilson_interval(2, 2));
    }
}
