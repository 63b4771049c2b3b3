//! The report of a retrieval evaluation: the measures of each system, and their differences to the first one.

use ken_report::{Cell, Column, Measure, Report, Section, Table, measures};

use super::evaluation::{AgainstFirst, MeasureValue, RetrievalEvaluation, SystemResult};

/// Decimals of a measure.
const DIGITS: usize = 3;

/// The report.
pub fn retrieval_report(title: &str, evaluation: &RetrievalEvaluation) -> Report {
    let RetrievalEvaluation { n, k, seed, .. } = evaluation;
    let all = format!(
        "{n} judged queries, of each ranking the first {k} documents. A document has the score of its best passage. Seed {seed}."
    );
    let note = "Measures are defined as by trec_eval. What has a relevance above 0 is relevant; queries without results count \
                as 0; equal scores are ordered by document id. Intervals are of resampled queries, at 95%.";
    let sections = [
        vec![
            Section::Text(all),
            systems(evaluation).into(),
            Section::Note(note.to_owned()),
        ],
        against_first(evaluation),
        evaluation
            .notices
            .iter()
            .cloned()
            .map(Section::Text)
            .collect(),
    ];
    Report::new(title, sections.concat())
}

/// One row per system, with all of its measures.
pub fn retrieval_csv(evaluation: &RetrievalEvaluation) -> String {
    systems(evaluation).csv()
}

/// One row per query and system, with the values of all measures.
pub fn per_query_csv(evaluation: &RetrievalEvaluation) -> String {
    let rows = evaluation.systems.iter().flat_map(|system| {
        let queries = evaluation.queries.iter().enumerate();
        queries.map(move |(index, query)| {
            let values = system.measures.iter();
            let values = values.map(|measure| measure.each.get(index).copied().into());
            let names = [Cell::from(&system.system), query.into()];
            names.into_iter().chain(values).collect()
        })
    });
    let names = ["system", "query"].map(|name| Column::plain(name, name));
    let table = Table {
        name: "Queries".to_owned(),
        columns: names
            .into_iter()
            .chain(columns(evaluation, false))
            .collect(),
        rows: rows.collect(),
    };
    table.csv()
}

/// A column for each measure.
fn columns(evaluation: &RetrievalEvaluation, has_interval: bool) -> Vec<Column> {
    let measures = evaluation.systems.first().map(|first| &first.measures);
    let named = measures.into_iter().flatten().map(|measure| Column {
        digits: Some(DIGITS),
        has_interval,
        ..Column::plain(&measure.measure, &measure.measure)
    });
    named.collect()
}

fn systems(evaluation: &RetrievalEvaluation) -> Table {
    let row = |SystemResult { system, measures }: &SystemResult| {
        let cells = measures.iter().map(|m| (m.mean, m.interval).into());
        std::iter::once(Cell::from(system)).chain(cells).collect()
    };
    let name = std::iter::once(Column::plain("system", "system"));
    Table {
        name: "Retrieval".to_owned(),
        columns: name.chain(columns(evaluation, true)).collect(),
        rows: evaluation.systems.iter().map(row).collect(),
    }
}

/// The differences of systems to the first one.
fn against_first(evaluation: &RetrievalEvaluation) -> Vec<Section> {
    let differences: &[Measure<(&SystemResult, &MeasureValue, &AgainstFirst)>] = measures![(system, measured, against) =>
        plain "system" "system" = &system.system;
        plain "measure" "measure" = &measured.measure;
        interval "difference" "difference" = (against.difference, against.interval);
        p_value "p" "p" = against.p;
        plain "better" "better for" = against.better;
        plain "worse" "worse for" = against.worse;
    ];
    let Some(first) = evaluation.systems.first() else {
        return Vec::new();
    };
    let rows = evaluation.systems.iter().flat_map(|system| {
        let against = system.measures.iter();
        against.filter_map(move |measure| Some((system, measure, measure.against_first.as_ref()?)))
    });
    let name = format!("Against {}", first.system);
    let rows: Vec<_> = rows.collect();
    let note = "Differences are paired by query, with 95% intervals; p is that of a randomization test on both sides, and of one \
                comparison: of many, some are small by chance.";
    let table = Table::of(&name, differences, &rows);
    Section::part(name, [table.into(), Section::Note(note.to_owned())])
}
