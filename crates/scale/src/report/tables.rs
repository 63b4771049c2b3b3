//! A study as a report: n\*; for each data set the figures, the measures at each scale and the policies; the fronts;
//! and where the time went.

use ken_report::{Cell, Measure as Column, Report, Section, Table, measures};

use super::{Front, Placed, PolicyOutcome, Series, StudyReport, figures};
use crate::study::{Compensation, Retrieval, ScaleMeasures, StudyTime};

/// The report.
pub(super) fn report(title: &str, study: &StudyReport) -> Report {
    let mut sections = missing(study);
    sections.extend(compensation(study));
    for dataset in study.datasets() {
        sections.push(Section::Heading(dataset.to_owned()));
        sections.extend(figures::all(study, dataset).into_iter().map(Section::from));
        let series = study.series.iter().filter(|s| s.dataset == dataset);
        sections.push(measures(series));
        sections.push(Section::Note(MEASURES.to_owned()));
        let outcomes = study.policies.iter().filter(|o| o.dataset == dataset);
        let outcomes: Vec<&PolicyOutcome> = outcomes.collect();
        if !outcomes.is_empty() {
            sections.push(Section::Subheading("Policies".to_owned()));
            sections.push(policies(outcomes));
            sections.push(Section::Note(POLICIES.to_owned()));
        }
    }
    sections.extend(broken_down(study));
    sections.extend(fronts(study));
    sections.extend(study.time.iter().flat_map(time));
    Report::new(title, sections)
}

fn missing(study: &StudyReport) -> Vec<Section> {
    if study.missing.is_empty() {
        return Vec::new();
    }
    let cells: Vec<String> = study.missing.iter().map(ToString::to_string).collect();
    vec![Section::Text(format!(
        "{} cells are missing: {}. Where n* needs one of them, it is a bound.",
        cells.len(),
        cells.join("; ")
    ))]
}

fn order(retrieval: Option<Retrieval>) -> Cell {
    retrieval
        .map(|retrieval| retrieval.order.to_string())
        .into()
}

fn k(retrieval: Option<Retrieval>) -> Cell {
    retrieval.map(|retrieval| retrieval.k).into()
}

fn pruned(retrieval: Option<Retrieval>) -> Cell {
    retrieval.map(|retrieval| retrieval.pruned.share()).into()
}

fn compensation(study: &StudyReport) -> Vec<Section> {
    let name = "n*: how much corpus makes up for a larger model";
    let measures: &[Column<Compensation>] = measures![pair =>
        plain "dataset" "data set" = &pair.dataset;
        plain "smaller" "smaller" = &pair.smaller;
        plain "larger" "larger" = &pair.larger;
        plain "shards" "shards" = order(pair.retrieval);
        plain "k" "k" = k(pair.retrieval);
        plain "pruned" "pruned" = pruned(pair.retrieval);
        plain "n_star" "n*" = pair.told();
        plain "n_star_interval" "95% interval" = pair.interval_told();
        plain "n_em" "by EM" = reached(pair.by_metric.em);
        plain "n_f1" "by F1" = reached(pair.by_metric.f1);
        plain "missing" "missing" = lacking(pair);
    ];
    let note = "The least corpus scale at which the smaller model is at least as good as the larger one with one shard, over \
                exact match and F1; tied where it is just as good. The interval is of resampled questions.";
    Section::part(
        name,
        [
            Table::of("n*", measures, &study.compensation).into(),
            Section::Note(note.to_owned()),
        ],
    )
}

fn lacking(pair: &Compensation) -> String {
    let cells = pair.missing.iter();
    let cells = cells.map(|cell| format!("{}@{}", cell.model, cell.n));
    cells.collect::<Vec<_>>().join(" ")
}

/// The least scale, by one metric, at which a smaller model makes up for a larger one.
fn reached(n: Option<u32>) -> Cell {
    n.map_or_else(|| "never".into(), Cell::from)
}

/// Explains the columns of `measures`.
const MEASURES: &str = "In brackets: 95% intervals, of shares by Wilson, of differences paired by question, of other numbers by a bootstrap. \
                        CB: of the questions answered wrong without retrieval, the share answered right; Δ: its gain over the \
                        scale before; H: of those answered right without retrieval, the share answered wrong. Utilization is \
                        CB over coverage; use of covered is CB of the covered questions alone.";

/// Explains the columns of `policies`.
const POLICIES: &str = "The last two columns: what exact match gains over always retrieving from the whole corpus, and over \
                        the same policy there.";

fn measures<'a>(series: impl Iterator<Item = &'a Series>) -> Section {
    let measures: &[Column<(&Series, &ScaleMeasures)>] = measures![(one, at) =>
        plain "model" "model" = &one.model;
        plain "parameters" "parameters" = one.parameters;
        plain "shards" "shards" = order(one.retrieval);
        plain "k" "k" = k(one.retrieval);
        plain "pruned" "pruned" = pruned(one.retrieval);
        plain "n" "n" = at.n;
        interval "known" "known" = one.known;
        interval "em" "EM" = at.em;
        interval "f1" "F1" = at.f1;
        interval "contains" "contains" = at.contains;
        interval "coverage" "coverage" = at.coverage;
        interval "benefited" "CB" = at.benefited;
        interval "gain" "Δ" = at.gain;
        interval "harmed" "H" = at.harmed;
        interval "utilization" "utilization" = at.utilization;
        interval "use_of_covered" "use of covered" = at.use_of_covered;
    ];
    let rows = series.flat_map(|series| series.scales.iter().map(move |at| (series, at)));
    Table::of("Measures by scale", measures, &rows.collect::<Vec<_>>()).into()
}

fn policies<'a>(outcomes: impl IntoIterator<Item = &'a PolicyOutcome>) -> Section {
    let measures: &[Column<PolicyOutcome>] = measures![one =>
        plain "model" "model" = &one.model;
        plain "shards" "shards" = order(Some(one.retrieval));
        plain "k" "k" = k(Some(one.retrieval));
        plain "pruned" "pruned" = pruned(Some(one.retrieval));
        plain "n" "n" = one.n;
        plain "policy" "policy" = &one.policy;
        interval "em" "EM" = one.em;
        interval "f1" "F1" = one.f1;
        interval "contains" "contains" = one.contains;
        interval "retrieves" "retrieves" = one.retrieves;
        mean "tokens" "tokens" = one.tokens.value;
        interval "against_better" "against the better arm" = one.against_better;
        interval "against_always" "against always, whole" = one.against_always;
        interval "against_whole" "against the same, whole" = one.against_whole;
    ];
    Table::of("Policies", measures, outcomes).into()
}

fn broken_down(study: &StudyReport) -> Vec<Section> {
    let Some(breakdown) = &study.by else {
        return Vec::new();
    };
    let groups = breakdown.groups.iter().flat_map(|group| {
        let named = format!("{}: {}, {} questions", group.dataset, group.value, group.n);
        let mut sections = vec![Section::Subheading(named), measures(group.series.iter())];
        if !group.policies.is_empty() {
            sections.push(policies(&group.policies));
        }
        sections
    });
    let heading = Section::Heading(format!("By {}", breakdown.field));
    std::iter::once(heading).chain(groups).collect()
}

fn fronts(study: &StudyReport) -> Vec<Section> {
    let name = "What no other set-up beats";
    let rows = study
        .fronts
        .iter()
        .flat_map(|front| front.on_front.iter().map(move |setup| (front, setup)));
    let measures: &[Column<(&Front, &Placed)>] = measures![(front, one) =>
        plain "dataset" "data set" = &front.dataset;
        plain "by" "by" = front.cost.name();
        plain "setup" "set-up" = &one.name;
        plain "cost" "cost" = front.cost.told(one.cost);
        share "em" "exact match" = one.accuracy;
    ];
    let rows: Vec<(&Front, &Placed)> = rows.collect();
    Section::part(name, [Table::of(name, measures, &rows).into()])
}

fn time(time: &StudyTime) -> [Section; 2] {
    let all = (time.retrieval_s + time.answering_s).max(1e-9);
    let text = format!(
        "{} answers in {:.0} s, {:.1} a second; {:.1}% of the time went to retrieval. {} answers were copied, since the same \
         passages were found in another cell of the model. Evaluations of the single cells would have taken {:.0} s.",
        time.answers,
        all,
        time.answers as f64 / all,
        100.0 * time.retrieval_s / all,
        time.copied,
        time.as_evaluations_s,
    );
    [
        Section::Heading("Cost of the study".to_owned()),
        Section::Text(text),
    ]
}
