//! What pruning does as one page of HTML: the table, and answers and coverage by ratio.

use super::report::PrunedRow;
use crate::compare::Difference;
use crate::page::{Axis, COLORS, Diagram, figure, page, table};

type Shown = (&'static str, &'static str, fn(&PrunedRow) -> Option<f64>);

const SHOWN: [Shown; 5] = [
    ("em", "exact match", |row| row.em),
    ("f1", "F1", |row| row.f1),
    ("contains", "contains", |row| row.contains),
    ("coverage", "gold-answer coverage", |row| row.coverage),
    ("size", "size, MB", |row| Some(row.bytes as f64 / 1e6)),
];

/// The page; `always` is what always retrieving from the whole corpus does.
#[must_use]
pub fn pruned_to_html(title: &str, always: Option<&PrunedRow>, rows: &[PrunedRow]) -> String {
    let names = "method|policy|ratio|passages|pruned|coverage|EM|against unpruned|against always, unpruned|F1|contains|retrieves|MB|search p50 ms|p95|total p50 ms|p95";
    let number =
        |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
    let with = |value: Option<f64>, interval: Option<[f64; 2]>| match interval {
        Some([low, high]) => format!("{} [{low:.3}, {high:.3}]", number(value)),
        None => number(value),
    };
    let difference = |one: &Difference| with(one.em, one.interval);
    let cells = always.into_iter().chain(rows).map(|row| {
        vec![
            row.method.to_owned(),
            row.policy.clone(),
            row.ratio.to_string(),
            row.passages.to_string(),
            row.pruned.to_string(),
            number(row.coverage),
            with(row.em, row.em_interval),
            difference(&row.vs_unpruned),
            difference(&row.vs_always_unpruned),
            number(row.f1),
            with(row.contains, row.contains_interval),
            number(row.retrieval_ratio),
            format!("{:.2}", row.bytes as f64 / 1e6),
            number(row.search_p50_ms),
            number(row.search_p95_ms),
            number(row.total_p50_ms),
            number(row.total_p95_ms),
        ]
    });
    let groups = rows.iter().flat_map(|row| {
        row.by.iter().map(move |group| {
            vec![
                row.method.to_owned(),
                row.policy.clone(),
                row.ratio.to_string(),
                group.value.clone(),
                group.n.to_string(),
                number(group.coverage),
                with(group.em, group.em_interval),
                difference(&group.vs_unpruned),
                difference(&group.vs_always_unpruned),
                number(group.contains),
                number(group.retrieval_ratio),
            ]
        })
    });
    let groups: Vec<Vec<String>> = groups.collect();
    let by = match groups.is_empty() {
        true => String::new(),
        false => {
            let names = "method|policy|ratio|group|questions|coverage|EM|against unpruned|against always, unpruned|contains|retrieves";
            table(names.split('|'), groups.into_iter())
        }
    };
    let figures = SHOWN.into_iter().filter_map(|shown| by_ratio(rows, shown));
    let body = format!(
        "{}{by}<div class=\"row\">{}</div>\n",
        table(names.split('|'), cells),
        figures.collect::<String>()
    );
    page(title, &body)
}

fn by_ratio(rows: &[PrunedRow], (name, axis, of): Shown) -> Option<String> {
    let point = |row: &PrunedRow| Some((row.ratio, of(row)?));
    let points: Vec<(f64, f64)> = rows.iter().filter_map(point).collect();
    if points.is_empty() {
        return None;
    }
    let values = |place: fn(&(f64, f64)) -> f64| points.iter().map(place).collect::<Vec<_>>();
    let across = Axis::around("share pruned", &values(|point| point.0));
    let up = Axis::around(axis, &values(|point| point.1));
    let mut diagram = Diagram::new(460.0, 300.0, across, up);
    let mut methods: Vec<&str> = rows.iter().map(|row| row.method).collect();
    methods.dedup();
    for (method, color) in methods.into_iter().zip(COLORS.into_iter().cycle()) {
        let of_it = rows.iter().filter(|row| row.method == method);
        diagram.line(
            method,
            &of_it.filter_map(point).collect::<Vec<_>>(),
            color,
            false,
        );
        diagram.legend(method, color);
    }
    Some(figure(
        name,
        &diagram,
        &format!("{axis} by the share pruned"),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_method_is_a_line() {
        let row = |method, ratio, em| PrunedRow {
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
            bytes: 1000,
            search_p50_ms: None,
            search_p95_ms: None,
        };
        let rows = [
            row("pruner", 0.0, 0.5),
            row("pruner", 0.5, 0.4),
            row("random", 0.5, 0.2),
        ];
        let page = pruned_to_html("w & v", None, &rows);
        assert!(page.contains("<h1>w &amp; v</h1>"));
        assert_eq!(page.matches("<figure").count(), 3, "coverage is not known");
        assert_eq!(page.matches("<polyline").count(), 3 * 2);
    }
}
