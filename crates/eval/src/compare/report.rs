//! A comparison as a report: the accuracy and cost of each policy, accuracy against retrieval ratio and time,
//! reliability diagrams, and the distributions of KBM's figure 3 if questions were probed.

use std::collections::BTreeSet;

use ken_answer::Style;
use ken_report::{
    Axis, Cell, Column, Figure, Measure, Point, Report, Section, Series, Table, measures, number,
};

use super::breakdown::{Breakdown, Group, GroupResult};
use super::changed::Changed;
use super::comparison::{self, Comparison, Difference, PolicyResult};
use super::yardstick::LOSS;
use crate::correctness::{column, measure, right_if};
use crate::probe::{ProbeRecord, distributions};

const POLICY: &[Measure<PolicyResult>] = measures![one =>
    plain "policy" "policy" = &one.summary.policy;
];

/// The measures of a policy in the first table.
const POLICIES: &[Measure<PolicyResult>] = measures![one =>
    interval "em" "EM" = (one.summary.em, one.summary.em_interval);
    share "f1" "F1" = one.summary.f1;
    share "contains" "contains" = one.summary.contains;
    share "retrieval_ratio" "retrieves" = one.summary.retrieval_ratio;
    share "evidence_ratio" "with evidence" = one.summary.evidence_ratio;
    mean "search_results" "results" = one.summary.search_results.mean;
    mean "model_calls" "calls" = one.summary.model_calls.mean;
    mean "tokens" "tokens" = one.summary.tokens.mean();
    mean "tokens_per_right" "tokens/right" = one.summary.tokens_per_right;
    ms "latency_p50_ms" "p50" = one.summary.latency_ms.p50;
    ms "latency_p95_ms" "p95" = one.summary.latency_ms.p95;
    share "auroc" "AUROC" = one.auroc;
    share "auprc" "AUPRC" = one.auprc;
    share "ece" "ECE" = one.ece;
    share "not_harming" "not harming" = one.not_harming;
    share "strict_preference" "strict" = one.strict_preference;
    share "trusted_right" "trusted, right" = one.trusted_right;
    share "doubted_right" "doubted, right" = one.doubted_right;
    share "needless_searches" "needless searches" = one.needless_searches;
    interval "random_em" "by chance" = one.random;
    interval "vs_better" "against the better" = one.vs_better;
    interval "vs_always" "against always" = one.vs_always;
    interval "of_oracle_lead" "of oracle's lead" = (one.of_oracle_lead, one.of_oracle_lead_interval);
    interval "vs_random" "against chance" = one.vs_random;
];

/// The measures of withheld answers.
const WITHHELD: &[Measure<PolicyResult>] = measures![PolicyResult { summary, .. } =>
    share "answered" "answered" = summary.answered;
    interval "answered_wrong" "wrong among answered" = (summary.answered_wrong, summary.answered_wrong_interval);
    share "right_abstentions" "withheld and wrong" = summary.right_abstentions;
];

/// What policies save with hardly any loss, and while missing hardly any beneficial retrieval.
const SPARED: &[Measure<PolicyResult>] = measures![PolicyResult { yardstick: net, strict_yardstick: strict, .. } =>
    interval "needless_skipped" "skipped" = (net.needless_skipped, net.needless_skipped_interval);
    share "needless_rejected" "read, rejected" = net.needless_rejected;
    interval "loss" "loss" = (net.loss, net.loss_interval);
    share "spared_evidence_ratio" "with evidence" = net.evidence_ratio;
    mean "spared_results" "results" = net.search_results;
    interval "strict_needless_skipped" "skipped, strictly" = (strict.needless_skipped, strict.needless_skipped_interval);
    interval "strict_beneficial_missed" "missed" = (strict.beneficial_missed, strict.beneficial_missed_interval);
    share "strict_evidence_ratio" "with evidence" = strict.evidence_ratio;
    mean "strict_results" "results" = strict.search_results;
];

/// Measures only for the CSV.
const COUNTS: &[Measure<PolicyResult>] = measures![PolicyResult { summary, .. } =>
    plain "n" "questions" = summary.n;
    plain "failed" "failed" = summary.failed;
    plain "cannot_tell" "cannot tell" = summary.cannot_tell;
    mean "retriever_calls" "retriever calls" = summary.retriever_calls.mean;
    mean "prompt_tokens" "tokens read" = summary.tokens.prompt.mean;
    mean "completion_tokens" "tokens written" = summary.tokens.completion.mean;
    ms "latency_mean_ms" "mean" = summary.latency_ms.mean;
];

impl From<Difference> for Cell {
    fn from(difference: Difference) -> Self {
        (difference.em, difference.interval).into()
    }
}

/// The report.
pub fn report(title: &str, comparison: &Comparison, probed: &[ProbeRecord]) -> Report {
    let sections = [
        policies(comparison),
        spared(comparison),
        withheld(comparison),
        comparison
            .by
            .iter()
            .flat_map(|by| broken_down(by, comparison))
            .collect(),
        changed(comparison),
        stages(comparison),
        accuracy(comparison),
        latency(comparison),
        reliability(comparison),
        distributions(probed),
    ];
    Report::new(title, sections.concat())
}

/// One row per policy, in the order of the comparison, with all of its measures.
pub fn to_csv(comparison: &Comparison) -> String {
    let measures = [COUNTS, POLICIES, WITHHELD, SPARED];
    table("Policies", measures.into_iter().flatten(), comparison).csv()
}

fn table<'m>(
    name: &str,
    measures: impl IntoIterator<Item = &'m Measure<PolicyResult>>,
    comparison: &Comparison,
) -> Table {
    let table = Table::of(name, POLICY.iter().chain(measures), &comparison.policies);
    with_right(table, comparison)
}

/// Renames the column of right answers by the style of the answers.
fn with_right(mut table: Table, comparison: &Comparison) -> Table {
    for right in table.columns.iter_mut().filter(|column| column.key == "em") {
        column(comparison.style).clone_into(&mut right.name);
    }
    table
}

fn share(value: Option<f64>) -> String {
    number(value, 3)
}

/// The questions, when an answer is right, and the gain from retrieval.
fn outline(comparison: &Comparison) -> String {
    let misled: Cell = (comparison.misled, comparison.misled_interval).into();
    let measured = match comparison.style {
        Style::Short => ". Exact match".to_owned(),
        style => format!(
            ", answered in style {style}; an answer is {}. Right",
            right_if(style)
        ),
    };
    format!(
        "{} questions{measured} without retrieval {}, with retrieval for all {}: {} is better. Retrieval turns {} of the questions \
         from wrong to right and {} from right to wrong: {} of those that memory answers right. Seed {}.",
        comparison.n,
        share(comparison.never_em),
        share(comparison.always_em),
        comparison.better,
        share(comparison.beneficial),
        share(comparison.harmful),
        misled.shown(Some(3)),
        comparison.seed,
    )
}

fn policies(comparison: &Comparison) -> Vec<Section> {
    let untold = comparison.policies.iter().map(|policy| &policy.summary);
    let untold = untold
        .filter(|summary| summary.cannot_tell > 0)
        .map(|summary| {
            format!(
                "`{}` cannot tell of {} questions, and takes the careful side",
                summary.policy, summary.cannot_tell
            )
        });
    let unscored = comparison.policies.iter().filter(|p| p.unscored > 0);
    let unscored = unscored.map(|policy| {
        format!(
            "{}: {} questions have no score, since the model does not tell what it takes; they retrieve",
            policy.summary.policy, policy.unscored
        )
    });
    let said = untimed(comparison)
        .into_iter()
        .chain(untold)
        .chain(unscored);
    let note = format!(
        "Calls and tokens are means over the questions. A score is a sign that retrieval is not needed (AUROC, \
                AUPRC, ECE) where retrieval would turn no wrong answer into a right one. Trusted is what is answered from \
                memory, doubted what is answered with evidence; of both, the share that memory answers right. Needless are \
                the searches for questions that memory answers right. Differences \
                are of {}, with 95% intervals, paired by question; which of never and always is better is seen in \
                hindsight, and the oracle's lead is that over it. A policy without a threshold was cut on each half of \
                the questions where the other half was answered best.",
        measure(comparison.style)
    );
    let mut sections = vec![
        Section::Text(outline(comparison)),
        table("Policies", POLICIES, comparison).into(),
    ];
    sections.extend(said.map(Section::Text));
    sections.push(Section::Note(note));
    sections
}

/// The section about savings with hardly any loss.
fn spared(comparison: &Comparison) -> Vec<Section> {
    let name = "Needless retrievals skipped at hardly any loss";
    let note = format!(
        "Of the questions that the model answers right from memory, the share that it answers from memory without reading \
         evidence (evidence that is read and rejected stands beside it: that saves nothing): first at a loss of {} of at most {LOSS}, which says nothing where evidence misleads so often that what is won by \
         skipping it pays for all that is lost; then where at most {LOSS} of the beneficial retrievals are missed, those \
         without which the answer is wrong. Thresholds are those that spare most on the other half of the questions; given \
         ones do not count.",
        measure(comparison.style)
    );
    Section::part(
        name,
        [table(name, SPARED, comparison).into(), Section::Note(note)],
    )
}

/// The section about withheld answers.
fn withheld(comparison: &Comparison) -> Vec<Section> {
    let Some(abstain) = comparison.abstain else {
        return Vec::new();
    };
    let name = format!("Abstaining by {abstain}");
    let note = "The share of questions that are answered, of wrong answers among those given, and of wrong ones among \
                those withheld. Elsewhere in this report a withheld answer counts as wrong.";
    let table = table(&name, WITHHELD, comparison);
    Section::part(name, [table.into(), Section::Note(note.to_owned())])
}

/// The policies by a metadata field.
fn broken_down(by: &Breakdown, comparison: &Comparison) -> Vec<Section> {
    let withholds = comparison.abstain.is_some();
    let measures: &[Measure<(&Group, &GroupResult, bool)>] = measures![(group, one, withholds) =>
        plain "value" "" = &group.value;
        plain "n" "questions" = group.n;
        share "never_em" "never" = group.never_em;
        share "always_em" "always" = group.always_em;
        share "misled" "misled" = group.misled;
        plain "policy" "policy" = &one.policy;
        share "em" "EM" = one.em;
        share "answered" "answered" = one.answered.filter(|_| *withholds);
        share "answered_wrong" "wrong among answered" = one.answered_wrong.filter(|_| *withholds);
        share "right_abstentions" "withheld and wrong" = one.right_abstentions;
        share "retrieval_ratio" "retrieves" = one.retrieval_ratio;
        share "evidence_ratio" "with evidence" = one.evidence_ratio;
        share "needless_skipped" "needless skipped" = one.needless_skipped;
    ];
    let rows = by.groups.iter().flat_map(|group| {
        let policies = group.policies.iter();
        policies.map(move |policy| (group, policy, withholds))
    });
    let name = format!("By {}", by.field);
    let table = Table::of(&name, measures, &rows.collect::<Vec<_>>());
    let mut table = with_right(table, comparison);
    table.columns[0].name.clone_from(&by.field);
    Section::part(name, [table.into()])
}

/// The questions that evidence harms and helps.
fn changed(comparison: &Comparison) -> Vec<Section> {
    /// How many questions of each kind are shown; the JSON has all.
    const MOST: usize = 50;
    let measures: &[Measure<&Changed>] = measures![one =>
        plain "id" "question" = &one.id;
        plain "question" "" = &one.question;
        plain "never" "from memory" = &one.never;
        plain "always" "with evidence" = &one.always;
        plain "right" "right under" = one.right.join(", ");
    ];
    let part = |name: &str, is_helped: bool| {
        let all = comparison.changed.iter();
        let of: Vec<&Changed> = all.filter(|q| q.is_helped == is_helped).collect();
        let shown = &of[..of.len().min(MOST)];
        let name = format!("{name}: {} of {}", shown.len(), of.len());
        Section::Details(Table::of(&name, measures, shown))
    };
    let parts = [
        part("Harmed by evidence", false),
        part("Helped by evidence", true),
    ];
    Section::part("Questions that evidence changes", parts)
}

/// Names the policies with unknown times, and why.
pub fn untimed(comparison: &Comparison) -> Option<String> {
    let policies = comparison.policies.iter().map(|policy| &policy.summary);
    let untimed: Vec<&str> = policies
        .filter(|summary| summary.failed < summary.n && summary.latency_ms.p50.is_none())
        .map(|summary| summary.policy.as_str())
        .collect();
    (!untimed.is_empty()).then(|| {
        format!(
            "The time of {} is not known: what was probed or taken before was kept without times. \
             Probe again, or leave --records out, to have them.",
            untimed.join(", ")
        )
    })
}

/// The time by stage.
fn stages(comparison: &Comparison) -> Vec<Section> {
    let stages = comparison
        .policies
        .iter()
        .flat_map(|policy| policy.summary.latency_ms.stages.keys());
    let stages: BTreeSet<&String> = stages.collect();
    let rows = comparison.policies.iter().map(|policy| {
        let cells = stages.iter().map(|name| {
            let stage = policy.summary.latency_ms.stages.get(*name);
            let both = stage.and_then(|stage| stage.p50.zip(stage.p95));
            Cell::from(both.map(|(p50, p95)| format!("{p50:.1} / {p95:.1}")))
        });
        std::iter::once(Cell::from(&policy.summary.policy))
            .chain(cells)
            .collect()
    });
    let names = stages.iter().map(|name| name.as_str());
    let name = "Milliseconds by stage";
    let table = Table {
        name: name.to_owned(),
        columns: std::iter::once("policy")
            .chain(names)
            .map(|name| Column::plain(name, name))
            .collect(),
        rows: rows.filter(|_| !stages.is_empty()).collect(),
    };
    let note = "Median and 95th percentile, each over the questions that went through the stage.";
    Section::part(name, [table.into(), Section::Note(note.to_owned())])
}

/// The policies that have a curve, each with its color.
fn colored(comparison: &Comparison) -> impl Iterator<Item = (&PolicyResult, usize)> {
    let policies = comparison.policies.iter();
    policies.filter(|policy| !policy.curve.is_empty()).zip(0..)
}

/// The lines of the policies that have a curve; points without coordinates are left out.
fn curves(
    comparison: &Comparison,
    place: fn(&comparison::Point) -> Option<(f64, f64)>,
) -> impl Iterator<Item = Series> {
    colored(comparison).map(move |(policy, color)| {
        Series::line(
            &policy.summary.policy,
            color,
            policy.curve.iter().filter_map(place),
        )
    })
}

/// The dots of the policies as compared; policies without coordinates are left out.
fn compared(comparison: &Comparison, place: fn(&PolicyResult) -> Option<(f64, f64)>) -> Series {
    let dots = comparison.policies.iter().filter_map(|policy| {
        let (x, y) = place(policy)?;
        Some(Point::named(x, y, &policy.summary.policy))
    });
    Series::dots("as compared", dots)
}

fn accuracy(comparison: &Comparison) -> Vec<Section> {
    let name = "Accuracy against retrieval ratio";
    let chance = comparison.never_em.zip(comparison.always_em);
    let chance =
        chance.map(|(never, always)| Series::reference("chance", [(0.0, never), (1.0, always)]));
    let policies = compared(comparison, |policy| {
        policy.summary.retrieval_ratio.zip(policy.summary.em)
    });
    let curves = curves(comparison, |point| Some((point.retrieval_ratio, point.em)));
    let figure = Figure::new(
        "accuracy-by-retrieval-ratio",
        "Lines: every threshold of a score. Dots: the policies as compared. Dashed: choosing by chance.",
        [
            Axis::share("retrieval ratio"),
            Axis::around(measure(comparison.style)),
        ],
        chance.into_iter().chain(curves).chain([policies]),
    );
    Section::part(name, [figure.into()])
}

/// The share of right answers against time (SR-RAG, Fig. 4).
fn latency(comparison: &Comparison) -> Vec<Section> {
    let name = "Accuracy against time";
    let curves: Vec<Series> = curves(comparison, |point| Some((point.ms?, point.em))).collect();
    let policies = compared(comparison, |policy| {
        policy.summary.latency_ms.mean.zip(policy.summary.em)
    });
    let all = curves
        .iter()
        .chain([&policies])
        .flat_map(|series| &series.points);
    let frontier = frontier(all.map(|point| (point.x, point.y)).collect());
    let frontier = Series::reference("frontier", frontier);
    let figure = Figure::new(
        "accuracy-by-time",
        "Lines: every threshold of a score, with the time that measuring it takes. Dots: the policies as compared. \
         Dashed: nothing that was measured is both faster and more accurate. Times are shares of a batch's; with \
         --batch 1 they are those of single questions.",
        [
            Axis::around("mean milliseconds per question"),
            Axis::around(measure(comparison.style)),
        ],
        std::iter::once(frontier).chain(curves).chain([policies]),
    );
    Section::part(name, [figure.into()])
}

/// The Pareto front of points by time and accuracy, as steps by ascending time.
fn frontier(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|a, b| {
        let faster = a.0.total_cmp(&b.0);
        faster.then(b.1.total_cmp(&a.1))
    });
    let mut steps: Vec<(f64, f64)> = Vec::new();
    for point in points {
        match steps.last() {
            Some(before) if point.1 <= before.1 => {}
            Some(before) => {
                let corner = (point.0, before.1);
                steps.extend([corner, point]);
            }
            None => steps.push(point),
        }
    }
    steps
}

fn reliability(comparison: &Comparison) -> Vec<Section> {
    let figures = colored(comparison).filter_map(|(policy, color)| {
        let name = &policy.summary.policy;
        let bins = policy.reliability.as_ref()?;
        let filled = bins.iter().filter(|bin| bin.questions > 0);
        let dots = filled.clone().map(|bin| {
            let name = format!("{} questions", bin.questions);
            Point::named(bin.probability, bin.share, name)
        });
        let series = [
            Series::reference("calibrated", [(0.0, 0.0), (1.0, 1.0)]),
            Series::line(name, color, filled.map(|bin| (bin.probability, bin.share))),
            Series::dots("bins", dots),
        ];
        let figure = Figure::new(
            format!("reliability {name}"),
            format!("{name}, ECE {}", share(policy.ece)),
            [
                Axis::share("1 less the score"),
                Axis::share("retrieval not needed"),
            ],
            series,
        );
        Some(Section::from(figure))
    });
    Section::part("Reliability", figures)
}

#[cfg(test)]
mod tests {
    use ken_testing::says;

    use super::*;

    #[test]
    fn nothing_is_beyond_the_frontier() {
        let points = [(3.0, 0.5), (1.0, 0.2), (2.0, 0.2), (2.0, 0.4), (4.0, 0.45)];
        let steps = [(1.0, 0.2), (2.0, 0.2), (2.0, 0.4), (3.0, 0.4), (3.0, 0.5)];
        assert_eq!(frontier(points.to_vec()), steps);
        assert!(frontier(Vec::new()).is_empty());
    }

    #[test]
    fn nothing_compared_is_a_report_too() {
        let comparison = super::super::compare(&[], None, &[], 0);
        let page = report("a<b>&\"c\"", &comparison, &[]).html();
        says!(page => "<h1>a&lt;b&gt;&amp;&quot;c&quot;</h1>");
        assert!(!page.contains("NaN"));
    }
}
