//! `ken study report`: a study, or a table of scores, as text, JSON and a page.

use std::path::{Path, PathBuf};

use ken_study::scaling::{Measure, Measured, read_table};
use ken_study::study_report::{CompensationOf, PolicyOutcome, Series, StudyBreakdown, StudyReport};

use crate::arguments::studying::StudyReportArguments;
use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;

pub(super) fn run(arguments: &StudyReportArguments, session: &Session<'_>) -> Result<()> {
    let by = arguments.by.as_deref();
    told(&arguments.study, arguments.out.as_ref(), by, session)
}

/// Whether this is a table rather than the folder of a study.
pub(crate) fn is_table(study: &Path) -> bool {
    study.is_file()
}

/// Writes the report of a study or table, and shows it.
pub(super) fn told(
    study: &Path,
    out: Option<&PathBuf>,
    by: Option<&str>,
    session: &Session<'_>,
) -> Result<()> {
    let (report, by_default) = match (is_table(study), by) {
        (true, Some(_)) => {
            return Err(Failure::refused(
                "table_without_questions",
                "a table of scores has no questions to break the report down by",
                "name the folder of a study, or leave --by out",
            ));
        }
        (true, None) => {
            let curves = read_table(study)?;
            let name = study.file_stem().unwrap_or_default().to_string_lossy();
            (
                StudyReport::of_table(&curves),
                PathBuf::from(format!("{name}.report")),
            )
        }
        (false, by) => {
            let measured = Measured::read(study)?;
            let by = by.map(|field| StudyBreakdown::of(&measured, field));
            let report = StudyReport {
                by: by.transpose()?,
                ..StudyReport::of_study(&measured)
            };
            (report, study.to_owned())
        }
    };
    let out = out.unwrap_or(&by_default);
    let name = study.file_name().unwrap_or_default().to_string_lossy();
    report.write(&format!("Models and corpus scales: {name}"), out)?;
    match session.json {
        true => output::json(&report),
        false => show(&report, out),
    }
}

fn show(report: &StudyReport, out: &Path) -> Result<()> {
    let mut rows = vec![output::head(
        "data set|smaller|larger|retrieval|n*|by EM|by F1|missing",
    )];
    let one = |n: Option<u32>| n.map_or_else(|| "never".to_owned(), |n| n.to_string());
    for of_pair in &report.compensation {
        let pair = &of_pair.compensation;
        let missing = pair
            .missing
            .iter()
            .map(|cell| format!("{}@{}", cell.model, cell.n));
        rows.push(vec![
            pair.dataset.clone(),
            pair.smaller.clone(),
            pair.larger.clone(),
            retrieval(of_pair),
            pair.told(),
            one(pair.by_metric.em),
            one(pair.by_metric.f1),
            missing.collect::<Vec<_>>().join(" "),
        ]);
    }
    if rows.len() > 1 {
        output::table(&output::without_empty_columns(&rows))?;
        output::line("")?;
    }
    let mut rows = vec![output::head(SERIES)];
    rows.extend(series_rows(&report.series));
    output::table(&output::without_empty_columns(&rows))?;
    if !report.policies.is_empty() {
        let mut rows = vec![output::head(&format!("\n{POLICIES}"))];
        rows.extend(policy_rows(&report.policies));
        output::table(&output::without_empty_columns(&rows))?;
    }
    if let Some(breakdown) = &report.by {
        show_breakdown(breakdown)?;
    }
    if !report.missing.is_empty() {
        output::line(format!("{} cells are missing:", report.missing.len()))?;
        report.missing.iter().try_for_each(output::line)?;
    }
    if let Some(time) = report.time {
        let all = (time.retrieval_s + time.answering_s).max(1e-9);
        output::line(format!(
            "{} answers, {} of them copied, in {all:.0} s: {:.1} a second, {:.1}% of the time for retrieval; as evaluations of the single cells {:.0} s",
            time.answers,
            time.copied,
            time.answers as f64 / all,
            100.0 * time.retrieval_s / all,
            time.as_evaluations_s
        ))?;
    }
    output::line(format!("report: {}", out.join("report.html").display()))
}

fn show_breakdown(breakdown: &StudyBreakdown) -> Result<()> {
    let head = |columns: &str| output::head(&format!("\n{}|questions|{columns}", breakdown.field));
    let (mut series, mut policies) = (vec![head(SERIES)], vec![head(POLICIES)]);
    for group in &breakdown.groups {
        let of_group =
            |row: Vec<String>| [vec![group.value.clone(), group.n.to_string()], row].concat();
        series.extend(series_rows(&group.series).map(of_group));
        policies.extend(policy_rows(&group.policies).map(of_group));
    }
    output::table(&output::without_empty_columns(&series))?;
    match policies.len() {
        1 => Ok(()),
        _ => output::table(&output::without_empty_columns(&policies)),
    }
}

const SERIES: &str = "data set|model|retrieval|n|EM|F1|coverage|known|CB|gain|harmed|utilization";

fn series_rows(series: &[Series]) -> impl Iterator<Item = Vec<String>> {
    let number = |measure: &Measure| output::share(measure.value);
    series.iter().flat_map(move |one| {
        one.scales.iter().map(move |at| {
            vec![
                one.dataset.clone(),
                one.model.clone(),
                one.retrieval.map_or_else(|| "-".to_owned(), told_retrieval),
                at.n.to_string(),
                number(&at.em),
                number(&at.f1),
                number(&at.coverage),
                number(&one.known),
                number(&at.benefited),
                number(&at.gain),
                number(&at.harmed),
                number(&at.utilization),
            ]
        })
    })
}

const POLICIES: &str = "data set|model|retrieval|n|policy|EM|F1|retrieves|tokens|against always, whole|against the same, whole";

fn policy_rows(policies: &[PolicyOutcome]) -> impl Iterator<Item = Vec<String>> {
    let gain =
        |measure: &Measure| output::share(measure.value) + &output::interval(measure.interval);
    policies.iter().map(move |one| {
        vec![
            one.dataset.clone(),
            one.model.clone(),
            told_retrieval(one.retrieval),
            one.n.to_string(),
            one.policy.clone(),
            output::share(one.em.value),
            output::share(one.f1.value),
            output::share(one.retrieves.value),
            output::number(one.tokens.value, 1),
            gain(&one.against_always),
            gain(&one.against_whole),
        ]
    })
}

fn retrieval(of_pair: &CompensationOf) -> String {
    of_pair
        .retrieval
        .map_or_else(|| "-".to_owned(), told_retrieval)
}

fn told_retrieval(retrieval: ken_study::scaling::Retrieval) -> String {
    let pruned = match retrieval.pruned {
        ken_study::scaling::PruneRatio::NONE => String::new(),
        ratio => format!(", pruned {ratio}"),
    };
    format!("{}, k {}{pruned}", retrieval.order, retrieval.k)
}
