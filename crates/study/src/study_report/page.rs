//! The page of a study.

use super::figures::Figure;
use super::{PolicyOutcome, Series, StudyReport};
use crate::page::{escaped, figure, page, table};
use crate::scaling::{Measure, ScaleMeasures};

/// The page.
pub(super) fn to_html(title: &str, report: &StudyReport, figures: &[Figure<'_>]) -> String {
    let mut body = String::new();
    if !report.missing.is_empty() {
        let cells: Vec<String> = report
            .missing
            .iter()
            .map(|cell| escaped(&cell.to_string()))
            .collect();
        body += &format!(
            "<p>{} cells are missing: {}. Where n* needs one of them, it is a bound.</p>\n",
            cells.len(),
            cells.join("; ")
        );
    }
    body += &compensation(report);
    for dataset in report.datasets() {
        body += &format!("<h2>{}</h2>\n<div class=\"row\">", escaped(dataset));
        for one in figures.iter().filter(|one| one.dataset == dataset) {
            body += &figure(&one.name, &one.diagram, &escaped(&one.caption));
        }
        body += "</div>\n";
        let of_set = report.series.iter().filter(|one| one.dataset == dataset);
        body += &measures(&of_set.collect::<Vec<_>>());
        body += MEASURES;
        let of_set = report.policies.iter().filter(|one| one.dataset == dataset);
        let of_set: Vec<&PolicyOutcome> = of_set.collect();
        if !of_set.is_empty() {
            body += &format!("<h3>Policies</h3>\n{}{POLICIES}", policies(&of_set));
        }
    }
    body += &breakdown(report);
    body += &fronts(report);
    body += &time(report);
    page(title, &body)
}

fn compensation(report: &StudyReport) -> String {
    if report.compensation.is_empty() {
        return String::new();
    }
    let names = "data set|smaller|larger|shards|k|pruned|n*|by EM|by F1|missing";
    let one = |n: Option<u32>| n.map_or_else(|| "never".to_owned(), |n| n.to_string());
    let rows = report.compensation.iter().map(|of_pair| {
        let (pair, retrieval) = (&of_pair.compensation, of_pair.retrieval);
        let missing = pair
            .missing
            .iter()
            .map(|cell| format!("{}@{}", cell.model, cell.n));
        let missing = escaped(&missing.collect::<Vec<_>>().join(", "));
        let of = |told: Option<String>| told.unwrap_or_else(|| "–".to_owned());
        vec![
            escaped(&pair.dataset),
            escaped(&pair.smaller),
            escaped(&pair.larger),
            of(retrieval.map(|retrieval| retrieval.order.to_string())),
            of(retrieval.map(|retrieval| retrieval.k.to_string())),
            of(retrieval.map(|retrieval| retrieval.pruned.to_string())),
            pair.told(),
            one(pair.by_metric.em),
            one(pair.by_metric.f1),
            missing,
        ]
    });
    format!(
        "<h2>n*: how much corpus makes up for a larger model</h2>\n{}<p>The least corpus scale at which the \
         smaller model is at least as good as the larger one with one shard, over exact match and F1.</p>\n",
        table(names.split('|'), rows)
    )
}

fn with_interval(measure: &Measure) -> String {
    match (measure.value, measure.interval) {
        (Some(value), Some([low, high])) => format!("{value:.3} [{low:.3}, {high:.3}]"),
        (Some(value), None) => format!("{value:.3}"),
        (None, _) => "–".to_owned(),
    }
}

/// What the columns of `measures` say.
const MEASURES: &str = "<p>In brackets: 95% intervals of a bootstrap over questions, paired where answers are compared. \
                        CB: of the questions answered wrong without retrieval, the share answered right; Δ: its gain over the \
                        scale before; H: of those answered right without retrieval, the share answered wrong. Utilization is \
                        CB over coverage; use of covered is CB of the covered questions alone.</p>\n";

/// What the columns of `policies` say.
const POLICIES: &str = "<p>The last two columns: what exact match gains over always retrieving from the whole \
                        corpus, and over the same policy there.</p>\n";

type Column = (&'static str, fn(&ScaleMeasures) -> &Measure);

const COLUMNS: [Column; 9] = [
    ("EM", |at| &at.em),
    ("F1", |at| &at.f1),
    ("contains", |at| &at.contains),
    ("coverage", |at| &at.coverage),
    ("CB", |at| &at.benefited),
    ("Δ", |at| &at.gain),
    ("H", |at| &at.harmed),
    ("utilization", |at| &at.utilization),
    ("use of covered", |at| &at.use_of_covered),
];

fn measures(series: &[&Series]) -> String {
    let names = ["model", "parameters", "shards", "k", "pruned", "n", "known"];
    let names = names.into_iter().chain(COLUMNS.map(|(name, _)| name));
    let rows = series.iter().flat_map(|one| {
        one.scales.iter().map(|at| {
            let of = |told: Option<String>| told.unwrap_or_else(|| "–".to_owned());
            let retrieval = one.retrieval;
            let first = [
                escaped(&one.model),
                one.parameters.to_string(),
                of(retrieval.map(|retrieval| retrieval.order.to_string())),
                of(retrieval.map(|retrieval| retrieval.k.to_string())),
                of(retrieval.map(|retrieval| retrieval.pruned.to_string())),
                at.n.to_string(),
                with_interval(&one.known),
            ];
            let measured = COLUMNS.map(|(_, of)| with_interval(of(at)));
            first.into_iter().chain(measured).collect()
        })
    });
    table(names, rows)
}

fn policies(outcomes: &[&PolicyOutcome]) -> String {
    let names = "model|shards|k|pruned|n|policy|EM|F1|contains|retrieves|tokens|against always, whole|against \
                 the same, whole";
    let rows = outcomes.iter().map(|one| {
        vec![
            escaped(&one.model),
            one.retrieval.order.to_string(),
            one.retrieval.k.to_string(),
            one.retrieval.pruned.to_string(),
            one.n.to_string(),
            escaped(&one.policy),
            with_interval(&one.em),
            with_interval(&one.f1),
            with_interval(&one.contains),
            with_interval(&one.retrieves),
            one.tokens
                .value
                .map_or_else(|| "–".to_owned(), |tokens| format!("{tokens:.1}")),
            with_interval(&one.against_always),
            with_interval(&one.against_whole),
        ]
    });
    table(names.split('|'), rows)
}

fn breakdown(report: &StudyReport) -> String {
    let Some(breakdown) = &report.by else {
        return String::new();
    };
    let mut section = format!("<h2>By {}</h2>\n", escaped(&breakdown.field));
    for group in &breakdown.groups {
        section += &format!(
            "<h3>{}: {}, {} questions</h3>\n{}",
            escaped(&group.dataset),
            escaped(&group.value),
            group.n,
            measures(&group.series.iter().collect::<Vec<_>>()),
        );
        if !group.policies.is_empty() {
            section += &policies(&group.policies.iter().collect::<Vec<_>>());
        }
    }
    section
}

fn fronts(report: &StudyReport) -> String {
    let names = "data set|by|set-up|cost|exact match";
    let rows = report.fronts.iter().flat_map(|front| {
        front.on_front.iter().map(|one| {
            vec![
                escaped(&front.dataset),
                front.cost.name().to_owned(),
                escaped(&one.name),
                front.cost.told(one.cost),
                format!("{:.3}", one.accuracy),
            ]
        })
    });
    format!(
        "<h2>What no other set-up beats</h2>\n{}",
        table(names.split('|'), rows)
    )
}

fn time(report: &StudyReport) -> String {
    let Some(time) = report.time else {
        return String::new();
    };
    let all = (time.retrieval_s + time.answering_s).max(1e-9);
    format!(
        "<h2>Cost of the study</h2>\n<p>{} answers in {:.0} s, {:.1} a second; {:.1} % of the time went to \
         retrieval. {} answers were copied, since the same passages were found in another cell of the model. \
         Evaluations of the single cells would have taken {:.0} s.</p>\n",
        time.answers,
        all,
        time.answers as f64 / all,
        100.0 * time.retrieval_s / all,
        time.copied,
        time.as_evaluations_s,
    )
}
