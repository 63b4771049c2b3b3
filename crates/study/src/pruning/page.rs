//! What pruning does as one page of HTML: the table, and answers and coverage by ratio.

use super::report::PrunedRow;
use crate::page::{Axis, COLORS, Diagram, figure, page, table};

type Shown = (&'static str, &'static str, fn(&PrunedRow) -> Option<f64>);

const SHOWN: [Shown; 4] = [
    ("em", "exact match", |row| row.em),
    ("f1", "F1", |row| row.f1),
    ("coverage", "gold-answer coverage", |row| row.coverage),
    ("size", "size, MB", |row| Some(row.bytes as f64 / 1e6)),
];

/// The page.
#[must_use]
pub fn pruned_to_html(title: &str, rows: &[PrunedRow]) -> String {
    let names = "method|ratio|passages|pruned|coverage|EM|F1|retrieves|MB|search p50 ms|p95";
    let number =
        |value: Option<f64>| value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"));
    let cells = rows.iter().map(|row| {
        vec![
            row.method.to_owned(),
            row.ratio.to_string(),
            row.passages.to_string(),
            row.pruned.to_string(),
            number(row.coverage),
            number(row.em),
            number(row.f1),
            number(row.retrieval_ratio),
            format!("{:.2}", row.bytes as f64 / 1e6),
            number(row.search_p50_ms),
            number(row.search_p95_ms),
        ]
    });
    let figures = SHOWN.into_iter().filter_map(|shown| by_ratio(rows, shown));
    let body = format!(
        "{}<div class=\"row\">{}</div>\n",
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
            ratio,
            passages: 10,
            pruned: 0,
            coverage: None,
            em: Some(em),
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
        let page = pruned_to_html("w & v", &rows);
        assert!(page.contains("<h1>w &amp; v</h1>"));
        assert_eq!(page.matches("<figure").count(), 3, "coverage is not known");
        assert_eq!(page.matches("<polyline").count(), 3 * 2);
    }
}
