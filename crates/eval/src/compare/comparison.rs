//! The statistics of policies compared on the same questions. Callers format them.

use ken_answer::{Abstention, Policy, Style};
use ken_policy::{Decision, Goal};
use serde::Serialize;

use super::breakdown::Breakdown;
use super::changed::{Changed, changed};
use super::compose::{Answered, compose, gain};
use super::threshold::{Cut, cut, decisions, halves};
use super::yardstick::{LOSS, Yardstick, yardstick};
use crate::bootstrap::{DRAWS, interval};
use crate::correctness::style_of;
use crate::discrimination::{
    Bin, Prediction, auroc, average_precision, expected_calibration_error, reliability,
};
use crate::paired_interval;
use crate::record::Record;
use crate::statistics::{mean, number, percentile, share, wilson_interval};
use crate::summary::{Summary, summarize};
use ken_random::shuffle;

/// Bins of a reliability diagram.
const BINS: usize = 10;

/// Most points of a curve.
const POINTS: usize = 101;

/// The result of a comparison.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Comparison {
    /// The number of questions.
    pub n: usize,
    /// The style of the answers, which says when one is right.
    pub style: Style,
    /// The share of right answers without any retrieval.
    pub never_em: Option<f64>,
    /// The share of right answers with retrieval for every question.
    pub always_em: Option<f64>,
    /// The better of the two over all questions, in hindsight; if equal, always retrieving.
    pub better: Arm,
    /// The share of questions that retrieval turns from wrong to right.
    pub beneficial: Option<f64>,
    /// The share of questions that retrieval turns from right to wrong. This is the lead of choosing the better
    /// source for each question over always retrieving.
    pub harmful: Option<f64>,
    /// Of the questions that memory answers right, the share that retrieval turns wrong (Zero-RAG, Fig. 1b).
    pub misled: Option<f64>,
    /// Its 95 % Wilson interval, low and high.
    pub misled_interval: Option<[f64; 2]>,
    /// The seed of all random draws.
    pub seed: u64,
    /// The abstention that applies to every policy, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abstain: Option<Abstention>,
    /// The policies, in the given order.
    pub policies: Vec<PolicyResult>,
    /// The comparison by the values of a metadata field, if requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub by: Option<Breakdown>,
    /// The questions that evidence harms, then those that it helps.
    pub changed: Vec<Changed>,
}

/// An arm to compare policies with: retrieving for no question, or for every one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Arm {
    /// No question retrieves.
    Never,
    /// Every question retrieves.
    Always,
}

impl std::fmt::Display for Arm {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.serialize(f)
    }
}

impl Arm {
    /// The better arm on these questions.
    pub(crate) fn better(answered: &[Answered<'_>]) -> Self {
        match answered.iter().map(gain).sum::<f64>() < 0.0 {
            true => Self::Never,
            false => Self::Always,
        }
    }

    /// The policy of the arm.
    pub fn policy(self) -> Policy {
        match self {
            Self::Never => Policy::NEVER,
            Self::Always => Policy::ALWAYS,
        }
    }

    /// Its answer to a question.
    pub(crate) fn answer<'a>(self, question: &Answered<'a>) -> &'a Record {
        match self {
            Self::Never => question.never,
            Self::Always => question.always,
        }
    }

    /// Whether its answer to a question is right: 1 or 0.
    fn right(self, question: &Answered<'_>) -> f64 {
        number(self.answer(question).is_right())
    }
}

/// The result of one policy. Values are `None` if no question counts for them.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PolicyResult {
    /// The averages over its answers.
    #[serde(flatten)]
    pub summary: Summary,
    /// The thresholds.
    #[serde(flatten)]
    pub cut: Cut,
    /// Questions without a score, which retrieve: the signal cannot tell, or the model does not report it.
    pub unscored: usize,
    /// How well the negative score predicts that retrieval is not needed, that is, does not turn a wrong answer
    /// right.
    pub auroc: Option<f64>,
    /// The area under the precision-recall curve of the same prediction.
    pub auprc: Option<f64>,
    /// The calibration error of 1 - score as the probability of the same; only for scores in `[0, 1]`.
    pub ece: Option<f64>,
    /// The bars of its reliability diagram.
    pub reliability: Option<Vec<Bin>>,
    /// The share of questions whose chosen source answers no worse than the other (SR-RAG, Table 2:
    /// not harming).
    pub not_harming: Option<f64>,
    /// The share of questions that retrieve exactly where that answers strictly better (SR-RAG,
    /// Table 2: strict preference).
    pub strict_preference: Option<f64>,
    /// Of the questions that it answers from memory, the share that memory answers right (KBM, Fig. 5).
    pub trusted_right: Option<f64>,
    /// Of the questions that it answers with evidence, the share that memory answers right.
    pub doubted_right: Option<f64>,
    /// Of the questions that it searches for, the share that memory answers right.
    pub needless_searches: Option<f64>,
    /// Choosing randomly with evidence for equally many questions: the mean share of right answers, and the interval
    /// with 95% of the draws.
    pub random: Difference,
    /// Compared with the better of never and always retrieving.
    pub vs_better: Difference,
    /// Compared with always retrieving.
    pub vs_always: Difference,
    /// The lead over the better arm as a share of the lead of choosing the better source for each question.
    pub of_oracle_lead: Option<f64>,
    /// Its 95 % bootstrap interval, low and high.
    pub of_oracle_lead_interval: Option<[f64; 2]>,
    /// Compared with choosing randomly with evidence for equally many questions.
    pub vs_random: Difference,
    /// What it saves with hardly any loss of accuracy.
    pub yardstick: Yardstick,
    /// What it saves while missing hardly any beneficial retrieval.
    pub strict_yardstick: Yardstick,
    /// The share of right answers by the share of questions with evidence, for each threshold of its first signal, from
    /// none to all.
    pub curve: Vec<Point>,
}

/// A difference of shares of right answers, or such a share.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct Difference {
    /// The mean over questions.
    #[serde(rename = "em_difference")]
    pub em: Option<f64>,
    /// Its 95 % bootstrap interval, low and high.
    pub interval: Option<[f64; 2]>,
}

/// A point of a curve.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Point {
    /// The share of questions that retrieve.
    pub retrieval_ratio: f64,
    /// The share of right answers.
    pub em: f64,
    /// The mean time of a question in milliseconds, including the signal; `None` if none was answered.
    pub ms: Option<f64>,
    /// The threshold of the point, the largest score that does not retrieve; `None` if all questions retrieve.
    pub threshold: Option<f64>,
}

/// Compares policies on questions. Open thresholds are those that answer best on one half of the questions, used on
/// the other half. `abstain` withholds answers under each policy; withheld answers count as wrong.
pub fn compare(
    policies: &[Policy],
    abstain: Option<Abstention>,
    answered: &[Answered<'_>],
    seed: u64,
) -> Comparison {
    let gains: Vec<f64> = answered.iter().map(gain).collect();
    let with_gain = |sign: f64| share(gains.iter().map(|&gain| gain == sign));
    let known = answered.iter().filter(|question| question.never.is_right());
    let misled: Vec<bool> = known.map(|question| !question.always.is_right()).collect();
    let (policies, right): (Vec<PolicyResult>, Vec<_>) = policies
        .iter()
        .map(|&policy| result(policy, abstain, answered, seed))
        .map(|(result, right)| {
            let name = result.summary.policy.clone();
            (result, (name, right))
        })
        .unzip();
    Comparison {
        n: answered.len(),
        style: style_of(answered.iter().flat_map(|q| [q.never, q.always])),
        never_em: share(answered.iter().map(|q| q.never.is_right())),
        always_em: share(answered.iter().map(|q| q.always.is_right())),
        better: Arm::better(answered),
        beneficial: with_gain(1.0),
        harmful: with_gain(-1.0),
        misled: share(misled.iter().copied()),
        misled_interval: wilson_interval(misled.iter().filter(|m| **m).count(), misled.len()),
        seed,
        abstain,
        by: None,
        changed: changed(answered, &right),
        policies,
    }
}

/// The records that a policy would have produced, at the thresholds that answer best.
pub fn composed(policy: Policy, answered: &[Answered<'_>], seed: u64) -> Vec<Record> {
    composed_for(policy, Goal::BestAccuracy, answered, seed)
}

/// The records that a policy would have produced. Open thresholds are chosen for a goal on one half of the questions,
/// and used on the other.
pub(crate) fn composed_for(
    policy: Policy,
    goal: Goal,
    answered: &[Answered<'_>],
    seed: u64,
) -> Vec<Record> {
    let cut = cut(policy, answered, &halves(answered, seed), goal);
    let decided = decisions(policy, cut, answered, seed);
    let pairs = answered.iter().zip(decided);
    pairs
        .map(|(question, decision)| compose(policy, None, decision, question))
        .collect()
}

/// The result of a policy, and which questions it answers right: `[questions]`.
fn result(
    policy: Policy,
    abstain: Option<Abstention>,
    answered: &[Answered<'_>],
    seed: u64,
) -> (PolicyResult, Vec<bool>) {
    let halves = halves(answered, seed);
    let cut = cut(policy, answered, &halves, Goal::BestAccuracy);
    let decisions = decisions(policy, cut, answered, seed);
    let decided = answered.iter().zip(&decisions);
    let records: Vec<Record> = decided
        .map(|(question, &decision)| compose(policy, abstain, decision, question))
        .collect();
    let summary = summarize(&policy.to_string(), &records);
    let ratio = summary.evidence_ratio.unwrap_or_default();
    let [not_harming, strict_preference] = preferences(answered, &decisions);
    let against = |other: &dyn Fn(&Answered<'_>) -> f64| ahead(&records, answered, other, seed);
    let against_arm = |arm: Arm| match arm.policy() == policy {
        true => Difference {
            em: Some(0.0),
            interval: Some([0.0, 0.0]),
        },
        false => against(&|question| arm.right(question)),
    };
    let better = Arm::better(answered);
    let leads = leads(&records, answered, better);
    let predictions = predictions(policy, answered);
    let probable = probabilities(policy, &predictions);
    let probable = probable.as_deref();
    let unscored = answered.len() - predictions.len();
    let result = PolicyResult {
        cut,
        unscored: policy.signal().map_or(0, |_| unscored),
        auroc: auroc(&predictions),
        auprc: average_precision(&predictions),
        ece: probable.and_then(|probable| expected_calibration_error(probable, BINS)),
        reliability: probable.map(|probable| reliability(probable, BINS)),
        not_harming,
        strict_preference,
        trusted_right: memory_right(answered, |index| !decisions[index].is_kept()),
        doubted_right: memory_right(answered, |index| decisions[index].is_kept()),
        needless_searches: memory_right(answered, |index| records[index].searched()),
        random: by_chance(answered, ratio, seed),
        vs_better: against_arm(better),
        vs_always: against_arm(Arm::Always),
        of_oracle_lead: of_oracle_lead(&leads),
        of_oracle_lead_interval: interval(&leads, DRAWS, seed, of_oracle_lead),
        // The expected share of right answers of choosing randomly at this ratio.
        vs_random: against(&|question| number(question.never.is_right()) + ratio * gain(question)),
        yardstick: yardstick(policy, Goal::AtMostLost(LOSS), answered, seed),
        strict_yardstick: yardstick(policy, Goal::AtMostMissed(LOSS), answered, seed),
        curve: curve(policy, answered),
        summary,
    };
    (result, records.iter().map(Record::is_right).collect())
}

/// The shares of questions whose chosen source answers no worse than the other, and that retrieve exactly if evidence
/// answers strictly better.
fn preferences(answered: &[Answered<'_>], decisions: &[Decision]) -> [Option<f64>; 2] {
    let decided = answered.iter().zip(decisions);
    // The gain of the corpus, with as many search results as are read, over memory.
    let added = decided.map(|(question, &decision)| match decision.is_kept() {
        true => (
            true,
            number(question.after(decision).is_right()) - number(question.never.is_right()),
        ),
        false => (false, gain(question)),
    });
    let harmless = added
        .clone()
        .map(|(kept, gain)| if kept { gain >= 0.0 } else { gain <= 0.0 });
    let strict = added.map(|(kept, gain)| kept == (gain > 0.0));
    [share(harmless), share(strict)]
}

/// Of the questions whose index `is_counted`, the share that memory answers right.
fn memory_right(answered: &[Answered<'_>], is_counted: impl Fn(usize) -> bool) -> Option<f64> {
    let counted = (0..answered.len()).filter(|&index| is_counted(index));
    share(counted.map(|index| answered[index].never.is_right()))
}

/// The lead of the records over the right answers that `other` returns.
fn ahead(
    records: &[Record],
    answered: &[Answered<'_>],
    other: &dyn Fn(&Answered<'_>) -> f64,
    seed: u64,
) -> Difference {
    let pairs = records.iter().zip(answered);
    let differences: Vec<f64> = pairs
        .map(|(record, question)| number(record.is_right()) - other(question))
        .collect();
    Difference {
        em: mean(&differences),
        interval: paired_interval(&differences, seed),
    }
}

/// The leads of each record, and of the better of both sources for its question, over an arm: `[questions]`.
fn leads(records: &[Record], answered: &[Answered<'_>], arm: Arm) -> Vec<[f64; 2]> {
    let leads = records.iter().zip(answered).map(|(record, question)| {
        let oracle = number(question.never.is_right() || question.always.is_right());
        [number(record.is_right()), oracle].map(|right| right - arm.right(question))
    });
    leads.collect()
}

/// The sum of the first leads as a share of the second; `None` if choosing the better source has no lead.
fn of_oracle_lead(leads: &[[f64; 2]]) -> Option<f64> {
    let sum = |place: usize| leads.iter().map(|pair| pair[place]).sum::<f64>();
    (sum(1) > 0.0).then(|| sum(0) / sum(1))
}

/// The predictions with the probability that retrieval is not needed, if the score is the complement of a
/// probability.
fn probabilities(policy: Policy, predictions: &[Prediction]) -> Option<Vec<Prediction>> {
    let is_share = policy.signal().is_some_and(|signal| signal.is_share);
    let complements = predictions
        .iter()
        .map(|&(score, unneeded)| (1.0 + score, unneeded));
    is_share.then(|| complements.collect())
}

/// For each scored question the negative score, and whether retrieval is not needed.
fn predictions(policy: Policy, answered: &[Answered<'_>]) -> Vec<Prediction> {
    let scored = answered.iter();
    scored
        .filter_map(|question| Some((-question.score(policy)?, gain(question) <= 0.0)))
        .collect()
}

/// Draws the questions that retrieve at a ratio repeatedly.
fn by_chance(answered: &[Answered<'_>], ratio: f64, seed: u64) -> Difference {
    /// More draws would only change the last digit.
    const TIMES: usize = 1000;
    let n = answered.len();
    let retrieved = (ratio * n as f64).round() as usize;
    let right = answered.iter().filter(|q| q.never.is_right()).count() as f64;
    let gains: Vec<f64> = answered.iter().map(gain).collect();
    let mut state = seed;
    let mut order: Vec<usize> = (0..n).collect();
    let shares: Vec<f64> = (0..TIMES)
        .map(|_| {
            shuffle(&mut order, retrieved, &mut state);
            let won: f64 = order.iter().take(retrieved).map(|&q| gains[q]).sum();
            (right + won) / n.max(1) as f64
        })
        .collect();
    let known = n > 0;
    Difference {
        em: mean(&shares).filter(|_| known),
        interval: percentile(&shares, 2.5)
            .zip(percentile(&shares, 97.5))
            .map(|(low, high)| [low, high])
            .filter(|_| known),
    }
}

/// The curve of retrieving in descending order of score; equal scores retrieve together, and questions without a
/// score always retrieve.
fn curve(policy: Policy, answered: &[Answered<'_>]) -> Vec<Point> {
    let n = answered.len();
    if policy.signal().is_none() || n == 0 {
        return Vec::new();
    }
    // The decisions of the first signal alone.
    let plain = first_alone(policy);
    let spared = match plain.searches_by() {
        Some(_) => Decision::Spared,
        None => Decision::Dropped,
    };
    let time =
        |decision: Decision, question: &Answered<'_>| compose(plain, None, decision, question).ms();
    let mut scored: Vec<(f64, [f64; 2])> = Vec::new();
    let (mut sums, mut retrieved) = ([0.0; 2], 0_usize);
    let plus = |sums: [f64; 2], more: [f64; 2]| [sums[0] + more[0], sums[1] + more[1]];
    for question in answered {
        let without = time(spared, question);
        let with = time(Decision::Kept(None), question);
        let added = [gain(question), with - without];
        sums = plus(sums, [number(question.never.is_right()), without]);
        match question.score(policy).filter(|score| !score.is_nan()) {
            Some(score) => scored.push((score, added)),
            None => {
                retrieved += 1;
                sums = plus(sums, added);
            }
        }
    }
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    let mut points = Vec::new();
    let mut point = |retrieved: usize, [right, ms]: [f64; 2], threshold| {
        points.push(Point {
            retrieval_ratio: retrieved as f64 / n as f64,
            em: right / n as f64,
            ms: Some(ms / n as f64).filter(|ms| ms.is_finite()),
            threshold,
        });
    };
    for same in scored.chunk_by(|a, b| a.0 == b.0) {
        point(retrieved, sums, same.first().map(|s| s.0));
        retrieved += same.len();
        sums = same.iter().fold(sums, |sums, s| plus(sums, s.1));
    }
    point(retrieved, sums, None);
    thinned(points)
}

/// The policy of its first signal, without a review and values of k.
fn first_alone(policy: Policy) -> Policy {
    let signal = policy.signal();
    signal.map_or(policy, |signal| Policy::above(signal, None))
}

/// At most [`POINTS`] points, evenly spaced, including the ends.
fn thinned(points: Vec<Point>) -> Vec<Point> {
    let last = points.len().saturating_sub(1);
    if last < POINTS {
        return points;
    }
    (0..POINTS)
        .map(|index| points[index * last / (POINTS - 1)])
        .collect()
}
