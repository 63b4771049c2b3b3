//! A comparison as one self-contained page of HTML: the table, accuracy against retrieval
//! ratio, reliability diagrams, and the distributions of KBM's figure 3 where questions were probed.

pub(crate) mod distributions;

use std::fmt::Write;

use super::comparison::{Comparison, Difference, Point, PolicyResult};
use super::yardstick::LOSS;
use crate::page::{Axis, COLORS, Diagram, PLAIN, escaped, figure, page, table};
use crate::probe::ProbeRecord;

/// The page.
pub fn to_html(title: &str, comparison: &Comparison, probed: &[ProbeRecord]) -> String {
    let mut body = format!(
        "<p>{} questions. Exact match without \
         retrieval {}, with retrieval for all {}; retrieval turns {} of the questions from wrong to \
         right and {} from right to wrong: {} of those that memory answers right. Seed {}.</p>\n",
        comparison.n,
        share(comparison.never_em),
        share(comparison.always_em),
        share(comparison.beneficial),
        share(comparison.harmful),
        share(comparison.misled),
        comparison.seed,
    );
    body += &policies(comparison);
    body += &spared(comparison);
    body += &withheld(comparison);
    body += &broken_down(comparison);
    body += &stages(comparison);
    body += &accuracy(comparison);
    body += &latency(comparison);
    body += &reliability(comparison);
    body += &distributions::section(probed);
    page(title, &body)
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"))
}

fn with_interval(difference: &Difference) -> String {
    match difference.interval {
        Some([low, high]) => format!("{} [{low:.3}, {high:.3}]", share(difference.em)),
        None => share(difference.em),
    }
}

fn policies(comparison: &Comparison) -> String {
    let names = "policy|EM|F1|contains|retrieval ratio|with evidence|search results|model calls|tokens|p50 ms|p95 ms|AUROC|AUPRC|ECE|\
                 not harming|strict|trusted, right|doubted, right|chance at this ratio|against always|of oracle's lead|against chance";
    let one = |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |v| format!("{v:.1}"));
    let rows = comparison.policies.iter().map(|policy| {
        let summary = &policy.summary;
        let tokens = &summary.tokens;
        let tokens = tokens.prompt.mean.zip(tokens.completion.mean);
        vec![
            escaped(&summary.policy),
            share(summary.em),
            share(summary.f1),
            share(summary.contains),
            share(summary.retrieval_ratio),
            share(summary.evidence_ratio),
            one(summary.search_results.mean),
            one(summary.model_calls.mean),
            one(tokens.map(|(read, written)| read + written)),
            one(summary.latency_ms.p50),
            one(summary.latency_ms.p95),
            share(policy.auroc),
            share(policy.auprc),
            share(policy.ece),
            share(policy.not_harming),
            share(policy.strict_preference),
            share(policy.trusted_right),
            share(policy.doubted_right),
            with_interval(&policy.random),
            with_interval(&policy.vs_always),
            share(policy.of_oracle_lead),
            with_interval(&policy.vs_random),
        ]
    });
    let mut text = table(names.split('|'), rows);
    let untold = comparison.policies.iter().map(|policy| &policy.summary);
    let untold = untold.filter(|summary| summary.cannot_tell > 0);
    let untold = untold.map(|summary| format!("{} of {}", summary.policy, summary.cannot_tell));
    let untold: Vec<String> = untold.collect();
    if !untold.is_empty() {
        let untold = escaped(&untold.join(", "));
        let _ = writeln!(
            text,
            "<p>Signals cannot tell of some questions, which are then answered on the careful side: {untold}.</p>"
        );
    }
    text.push_str(
        "<p>Calls and tokens are means over the questions. A score is a sign that retrieval \
         is not needed (AUROC, AUPRC, ECE) where retrieval would turn no wrong answer into a right \
         one. Trusted is what is answered from memory, doubted what is answered with evidence; of both, the \
         share that memory answers right. Differences are of exact match, with 95% intervals of a paired bootstrap. A policy \
         without a threshold was cut on each half of the questions where the other half was answered \
         best.</p>\n",
    );
    text
}

/// What the policies spare at hardly any loss.
fn spared(comparison: &Comparison) -> String {
    let interval = |value: Option<f64>, interval: Option<[f64; 2]>| {
        with_interval(&Difference {
            em: value,
            interval,
        })
    };
    let rows = comparison.policies.iter().map(|policy| {
        let (net, strict) = (&policy.yardstick, &policy.strict_yardstick);
        vec![
            escaped(&policy.summary.policy),
            interval(net.needless_skipped, net.needless_skipped_interval),
            interval(net.loss, net.loss_interval),
            share(net.evidence_ratio),
            net.search_results
                .map_or_else(|| "–".to_owned(), |mean| format!("{mean:.1}")),
            interval(strict.needless_skipped, strict.needless_skipped_interval),
            interval(strict.beneficial_missed, strict.beneficial_missed_interval),
            share(strict.evidence_ratio),
        ]
    });
    format!(
        "<h2>Needless retrievals skipped at hardly any loss</h2>\n{}<p>Of the questions that the model \
         answers right from memory, the share that it answers from memory: first at a loss of exact match of \
         at most {LOSS}, which says nothing where evidence misleads so often that what is won by skipping it \
         pays for all that is lost; then where at most {LOSS} of the beneficial retrievals are missed, those \
         without which the answer is wrong. Thresholds are those that spare most on the other half of the \
         questions; given ones do not count.</p>\n",
        table(
            "policy|skipped|loss|with evidence|search results|skipped, strictly|missed|with evidence"
                .split('|'),
            rows
        )
    )
}

/// What is answered where answers may be withheld.
fn withheld(comparison: &Comparison) -> String {
    let Some(abstain) = comparison.abstain else {
        return String::new();
    };
    let rows = comparison.policies.iter().map(|policy| {
        let summary = &policy.summary;
        let error = Difference {
            em: summary.answered_wrong,
            interval: summary.answered_wrong_interval,
        };
        vec![
            escaped(&summary.policy),
            share(summary.answered),
            with_interval(&error),
            share(summary.right_abstentions),
        ]
    });
    format!(
        "<h2>Abstaining by {}</h2>\n{}<p>The share of questions that are answered, of wrong answers among \
         those given, and of wrong ones among those withheld. Elsewhere on this page a withheld answer \
         counts as wrong.</p>\n",
        escaped(&abstain.to_string()),
        table(
            "policy|answered|wrong among answered|withheld and wrong".split('|'),
            rows
        )
    )
}

/// The policies by a field of the questions' metadata, where one was asked for.
fn broken_down(comparison: &Comparison) -> String {
    let Some(by) = &comparison.by else {
        return String::new();
    };
    let withholds = comparison.abstain.is_some();
    let names = match withholds {
        false => {
            "questions|never|always|misled|policy|EM|retrieval ratio|with evidence|needless skipped"
        }
        true => {
            "questions|never|always|misled|policy|EM|answered|wrong among answered|withheld and wrong|\
             retrieval ratio|with evidence|needless skipped"
        }
    };
    let field = escaped(&by.field);
    let rows = by.groups.iter().flat_map(|group| {
        group.policies.iter().map(move |policy| {
            let mut row = vec![
                escaped(&group.value),
                group.n.to_string(),
                share(group.never_em),
                share(group.always_em),
                share(group.misled),
                escaped(&policy.policy),
                share(policy.em),
            ];
            if withholds {
                row.extend(
                    [
                        policy.answered,
                        policy.answered_wrong,
                        policy.right_abstentions,
                    ]
                    .map(share),
                );
            }
            let last = [
                policy.retrieval_ratio,
                policy.evidence_ratio,
                policy.needless_skipped,
            ];
            row.extend(last.map(share));
            row
        })
    });
    let header = std::iter::once(field.as_str()).chain(names.split('|'));
    format!("<h2>By {field}</h2>\n{}", table(header, rows))
}

/// Where the time goes.
fn stages(comparison: &Comparison) -> String {
    let mut names: Vec<&String> = Vec::new();
    for policy in &comparison.policies {
        names.extend(policy.summary.latency_ms.stages.keys());
    }
    names.sort();
    names.dedup();
    let rows = comparison.policies.iter().map(|policy| {
        let stages = names.iter().map(|name| {
            let stage = policy.summary.latency_ms.stages.get(*name);
            let both = stage.and_then(|stage| stage.p50.zip(stage.p95));
            both.map_or_else(
                || "–".to_owned(),
                |(p50, p95)| format!("{p50:.1} / {p95:.1}"),
            )
        });
        std::iter::once(escaped(&policy.summary.policy))
            .chain(stages)
            .collect()
    });
    let header = std::iter::once("policy").chain(names.iter().map(|name| name.as_str()));
    format!(
        "<h2>Milliseconds by stage</h2>\n{}<p>Median and 95th percentile, each over the questions \
         that went through the stage.</p>\n",
        table(header, rows)
    )
}

/// The policies that have a curve, each with its color.
fn colored(comparison: &Comparison) -> impl Iterator<Item = (&PolicyResult, &'static str)> {
    let curved = comparison
        .policies
        .iter()
        .filter(|one| !one.curve.is_empty());
    curved.zip(COLORS.into_iter().cycle())
}

fn accuracy(comparison: &Comparison) -> String {
    let all = comparison.policies.iter();
    let curves = all
        .clone()
        .flat_map(|one| one.curve.iter().map(|point| point.em));
    let ems = all.filter_map(|one| one.summary.em);
    let ends = [comparison.never_em, comparison.always_em];
    let heights: Vec<f64> = curves
        .chain(ems)
        .chain(ends.into_iter().flatten())
        .collect();
    let mut diagram = Diagram::new(
        640.0,
        400.0,
        Axis::share("retrieval ratio"),
        Axis::around("exact match", &heights),
    );
    if let (Some(never), Some(always)) = (comparison.never_em, comparison.always_em) {
        diagram.line("chance", &[(0.0, never), (1.0, always)], PLAIN, true);
        diagram.legend("chance", PLAIN);
    }
    for (policy, color) in colored(comparison) {
        let points = policy.curve.iter();
        let points: Vec<(f64, f64)> = points.map(|p| (p.retrieval_ratio, p.em)).collect();
        diagram.line(&policy.summary.policy, &points, color, false);
        diagram.legend(&policy.summary.policy, color);
    }
    for policy in &comparison.policies {
        if let Some(point) = policy.summary.retrieval_ratio.zip(policy.summary.em) {
            diagram.dot(point, &policy.summary.policy);
        }
    }
    format!(
        "<h2>Accuracy against retrieval ratio</h2>\n{}\n",
        figure(
            "accuracy-by-retrieval-ratio",
            &diagram,
            "Lines: every threshold of a score. Dots: the policies as compared. Dashed: choosing by chance."
        )
    )
}

/// Exact match against the time that it takes (SR-RAG, Fig. 4).
fn latency(comparison: &Comparison) -> String {
    let timed = |points: &[Point]| -> Vec<(f64, f64)> {
        let timed = points.iter().filter_map(|one| Some((one.ms?, one.em)));
        timed.collect()
    };
    let dots: Vec<((f64, f64), &str)> = comparison
        .policies
        .iter()
        .filter_map(|one| {
            let summary = &one.summary;
            Some((
                (summary.latency_ms.mean?, summary.em?),
                summary.policy.as_str(),
            ))
        })
        .collect();
    let on_lines = colored(comparison).flat_map(|(policy, _)| timed(&policy.curve));
    let all: Vec<(f64, f64)> = on_lines.chain(dots.iter().map(|one| one.0)).collect();
    if all.is_empty() {
        return String::new();
    }
    let of = |value: fn(&(f64, f64)) -> f64| all.iter().map(value).collect::<Vec<f64>>();
    let mut diagram = Diagram::new(
        640.0,
        400.0,
        Axis::around("mean milliseconds per question", &of(|point| point.0)),
        Axis::around("exact match", &of(|point| point.1)),
    );
    diagram.line("frontier", &frontier(all.clone()), PLAIN, true);
    diagram.legend("frontier", PLAIN);
    for (policy, color) in colored(comparison) {
        diagram.line(&policy.summary.policy, &timed(&policy.curve), color, false);
        diagram.legend(&policy.summary.policy, color);
    }
    for (point, name) in dots {
        diagram.dot(point, name);
    }
    format!(
        "<h2>Accuracy against time</h2>\n{}\n",
        figure(
            "accuracy-by-time",
            &diagram,
            "Lines: every threshold of a score, with the time that measuring it takes. Dots: the policies as compared. \
             Dashed: nothing that was measured is both faster and more accurate. Times are shares of a batch's; with \
             --batch 1 they are those of single questions."
        )
    )
}

/// Of some points those than which no other is at least as fast and as accurate, as steps by rising time.
fn frontier(mut points: Vec<(f64, f64)>) -> Vec<(f64, f64)> {
    points.sort_by(|one, other| {
        let faster = one.0.total_cmp(&other.0);
        faster.then(other.1.total_cmp(&one.1))
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

fn reliability(comparison: &Comparison) -> String {
    let mut figures = String::new();
    for (policy, color) in colored(comparison) {
        let Some(bins) = &policy.reliability else {
            continue;
        };
        let mut diagram = Diagram::new(
            300.0,
            260.0,
            Axis::share("1 less the score"),
            Axis::share("retrieval not needed"),
        );
        diagram.line("calibrated", &[(0.0, 0.0), (1.0, 1.0)], PLAIN, true);
        let filled = bins.iter().filter(|bin| bin.questions > 0);
        let points: Vec<(f64, f64)> = filled.clone().map(|b| (b.probability, b.share)).collect();
        diagram.line(&policy.summary.policy, &points, color, false);
        for bin in filled {
            let name = format!("{} questions", bin.questions);
            diagram.dot((bin.probability, bin.share), &name);
        }
        let policy_name = escaped(&policy.summary.policy);
        figures += &figure(
            &format!("reliability {}", policy.summary.policy),
            &diagram,
            &format!("{policy_name}, ECE {}", share(policy.ece)),
        );
    }
    if figures.is_empty() {
        return figures;
    }
    format!("<h2>Reliability</h2>\n<div class=\"row\">{figures}</div>\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_beyond_the_frontier() {
        let points = [(3.0, 0.5), (1.0, 0.2), (2.0, 0.2), (2.0, 0.4), (4.0, 0.45)];
        let steps = [(1.0, 0.2), (2.0, 0.2), (2.0, 0.4), (3.0, 0.4), (3.0, 0.5)];
        assert_eq!(frontier(points.to_vec()), steps);
        assert!(frontier(Vec::new()).is_empty());
    }

    #[test]
    fn titles_cannot_break_the_page() {
        let comparison = super::super::compare(&[], None, &[], 0);
        let page = to_html("a<b>&\"c\"", &comparison, &[]);
        assert!(
            page.contains("<h1>a&lt;b&gt;&amp;&quot;c&quot;</h1>"),
            "{page}"
        );
        assert!(!page.contains("NaN"));
    }
}
