//! The report of a pruning: the measures at each ratio, by groups of questions, and answers and coverage by ratio.

use ken_report::{Axis, Figure, Measure, Report, Section, Series, Table, measures};

use super::report::{PrunedGroup, PrunedRow};

const ROWS: &[Measure<PrunedRow>] = measures![row =>
    plain "method" "method" = row.method;
    plain "policy" "policy" = &row.policy;
    plain "ratio" "ratio" = row.ratio;
    plain "passages" "passages" = row.passages;
    plain "pruned" "pruned" = row.pruned;
    share "coverage" "coverage" = row.coverage;
    interval "em" "EM" = (row.em, row.em_interval);
    interval "vs_unpruned" "against unpruned" = row.vs_unpruned;
    interval "vs_always_unpruned" "against always, unpruned" = row.vs_always_unpruned;
    share "f1" "F1" = row.f1;
    interval "contains" "contains" = (row.contains, row.contains_interval);
    share "retrieval_ratio" "retrieves" = row.retrieval_ratio;
    megabytes "megabytes" "size" = megabytes(row);
    ms "search_p50_ms" "search p50" = row.search_p50_ms;
    ms "search_p95_ms" "p95" = row.search_p95_ms;
    ms "total_p50_ms" "total p50" = row.total_p50_ms;
    ms "total_p95_ms" "p95" = row.total_p95_ms;
];

fn megabytes(row: &PrunedRow) -> Option<f64> {
    row.bytes.map(|bytes| bytes as f64 / 1e6)
}

type Shown = (&'static str, &'static str, fn(&PrunedRow) -> Option<f64>);

const SHOWN: [Shown; 5] = [
    ("em", "exact match", |row| row.em),
    ("f1", "F1", |row| row.f1),
    ("contains", "contains", |row| row.contains),
    ("coverage", "gold-answer coverage", |row| row.coverage),
    ("size", "size, MB", megabytes),
];

/// The two extremes of pruning: nothing and everything.
#[derive(Debug, Clone, PartialEq)]
pub struct Ends {
    /// Always retrieving from the whole corpus.
    pub whole: PrunedRow,
    /// Never retrieving, as without a corpus.
    pub none: PrunedRow,
}

/// The report.
pub fn pruning_report(title: &str, ends: Option<&Ends>, rows: &[PrunedRow]) -> Report {
    let (whole, none) = ends.map(|ends| (&ends.whole, &ends.none)).unzip();
    let shown = whole.into_iter().chain(rows).chain(none);
    let table = Table::of("Pruned", ROWS, shown);
    let figures = SHOWN.into_iter().map(|shown| by_ratio(rows, shown));
    let figures = figures
        .filter(|figure| !figure.is_empty())
        .map(Section::from);
    let mut sections = vec![table.into()];
    sections.extend(none.map(|none| Section::Text(beside_none(none, rows))));
    sections.extend(broken_down(rows));
    sections.extend(figures);
    Report::new(title, sections)
}

/// Whether answers from the rest of the corpus are better than answers without retrieval.
fn beside_none(none: &PrunedRow, rows: &[PrunedRow]) -> String {
    let is_worse = |row: &&PrunedRow| row.em <= none.em;
    let worse: Vec<String> = rows
        .iter()
        .filter(is_worse)
        .map(|row| format!("{} at {}", row.method, row.ratio))
        .collect();
    match worse.is_empty() {
        true => "What is left of the corpus always answers more than the model does without one."
            .to_owned(),
        false => format!(
            "Without any corpus the model answers as much or more than with what is left by {}.",
            worse.join(", ")
        ),
    }
}

fn broken_down(rows: &[PrunedRow]) -> Vec<Section> {
    let measures: &[Measure<(&PrunedRow, &PrunedGroup)>] = measures![(row, group) =>
        plain "method" "method" = row.method;
        plain "policy" "policy" = &row.policy;
        plain "ratio" "ratio" = row.ratio;
        plain "group" "group" = &group.value;
        plain "n" "questions" = group.n;
        share "coverage" "coverage" = group.coverage;
        interval "em" "EM" = (group.em, group.em_interval);
        interval "vs_unpruned" "against unpruned" = group.vs_unpruned;
        interval "vs_always_unpruned" "against always, unpruned" = group.vs_always_unpruned;
        share "contains" "contains" = group.contains;
        share "retrieval_ratio" "retrieves" = group.retrieval_ratio;
    ];
    let groups = rows
        .iter()
        .flat_map(|row| row.by.iter().map(move |group| (row, group)));
    let table = Table::of("By group", measures, &groups.collect::<Vec<_>>());
    Section::part("By group", [table.into()])
}

fn by_ratio(rows: &[PrunedRow], (name, axis, of): Shown) -> Figure {
    let mut methods: Vec<&str> = rows.iter().map(|row| row.method).collect();
    methods.dedup();
    let lines = methods.into_iter().zip(0..).map(|(method, color)| {
        let of_method = rows.iter().filter(|row| row.method == method);
        Series::line(
            method,
            color,
            of_method.filter_map(|row| Some((row.ratio, of(row)?))),
        )
    });
    Figure::new(
        name,
        format!("{axis} by the share pruned"),
        [Axis::around("share pruned"), Axis::around(axis)],
        lines,
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_eval::compare::Difference;

    #[test]
    fn each_method_is_a_line() {
        let row = |method, ratio, em, bytes| PrunedRow {
            method,
            policy: "always".to_owned(),
            ratio,
            passages: 10,
            pruned: 0,
            coverage: None,
            em: Some(em),
            em_interval: None,
            vs_unpruned: Difference::default(),
            vs_always_unpruned: Difference::default(),
            contains: None,
            contains_interval: None,
            total_p50_ms: None,
            total_p95_ms: None,
            by: Vec::new(),
            f1: Some(em),
            retrieval_ratio: Some(1.0),
            bytes,
            search_p50_ms: None,
            search_p95_ms: None,
        };
        let figures = |bytes| {
            let rows = [
                row("pruner", 0.0, 0.5, bytes),
                row("pruner", 0.5, 0.4, bytes),
                row("random", 0.5, 0.2, bytes),
            ];
            let report = pruning_report("w & v", None, &rows);
            assert!(report.html().contains("<h1>w &amp; v</h1>"));
            let figures = report.sections.iter().filter_map(|section| match section {
                Section::Figure(figure) => Some(figure.series.len()),
                _ => None,
            });
            figures.collect::<Vec<_>>()
        };
        assert_eq!(figures(Some(1000)), [2; 3], "coverage is unknown");
        assert_eq!(figures(None), [2; 2], "so is the size");
    }
}
