//! The report of tuning: what was chosen and why, and each tested policy with its cost.

use ken_answer::Policy;
use ken_report::{Measure, Report, Section, Table, measures};

use super::candidates::LeftOut;
use super::choice::most_accurate;
use super::findings::{Findings, named};
use super::row::Row;
use super::words::{measured, more_accurate, promised, why};

/// The measures of a policy.
const ROW: &[Measure<Row>] = measures![row =>
    plain "policy" "policy" = named(row);
    interval "accuracy" "right" = (row.accuracy, row.accuracy_interval);
    interval "vs_better" "against the better" = (row.vs_better.difference, row.vs_better.interval);
    mean "searches" "searches" = row.searches;
    mean "tokens" "tokens" = row.tokens;
    ms "ms" "time" = row.ms;
];

/// The report.
pub fn report(title: &str, findings: &Findings) -> Report {
    let (tuned, chosen) = (&findings.tuned, findings.chosen());
    let better = most_accurate(&tuned.rows).filter(|row| *row != chosen);
    let is_arm = [Policy::NEVER, Policy::ALWAYS].contains(&chosen.policy);
    let unproven = || "No guarantee: it was chosen on these questions.".to_owned();
    let promise = promised(findings).or_else(|| (!is_arm).then(unproven));
    let terms = [
        ("chosen", chosen.policy.to_string()),
        ("the better of never and always", tuned.better.to_string()),
    ];
    let terms = terms.map(|(name, value)| (name.to_owned(), value));
    let left_out = findings.candidates.left_out.iter();
    let left_out = left_out.map(|LeftOut { policy, why }| format!("{policy} is left out: {why}."));
    let begin = [Section::Terms(terms.into()), Section::Text(why(findings))];
    let more = better.map(|row| Section::Text(more_accurate(row, chosen)));
    let rest = [
        Table::of("Policies", ROW, &tuned.rows).into(),
        Section::Note(measured(findings) + "."),
    ];
    let sections = begin.into_iter().chain(more);
    let sections = sections.chain(promise.map(Section::Text)).chain(rest);
    Report::new(title, sections.chain(left_out.map(Section::Note)))
}
