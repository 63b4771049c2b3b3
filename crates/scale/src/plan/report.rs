//! A plan as a report.

use ken_report::{Cell, Column, Measure as Of, Report, Section, Table, measures};

use super::buys::Buy;
use super::candidate::Candidate;
use super::project::Projection;
use super::promise::{Promise, Step};
use super::quantity::Quantity;
use super::result::{Plan, Promised};
use crate::study::Measure;

/// The report of a plan for a data set, chosen among this many set-ups.
pub fn plan_report(plan: &Plan<'_>, dataset: &str, candidates: usize) -> Report {
    let mut sections = vec![setup(plan, dataset, candidates)];
    sections.extend(remarks(plan).map(|text| Section::Text(text.to_owned())));
    sections.extend(plan.promise.iter().flat_map(promised));
    sections.push(Section::Heading("What no other set-up beats".to_owned()));
    sections.push(front(plan).into());
    if !plan.buys.is_empty() {
        sections.push(Section::Heading("What one step more would buy".to_owned()));
        sections.extend(plan.buys.iter().map(|buy| Section::Text(bought(buy))));
    }
    sections.extend(
        plan.projections
            .iter()
            .map(|projection| Section::Text(projected(projection))),
    );
    Report::new(format!("Plan for {dataset}"), sections)
}

fn shown(measure: &Measure) -> String {
    Cell::from(*measure).shown(Some(3))
}

fn setup(plan: &Plan<'_>, dataset: &str, candidates: usize) -> Section {
    let chosen = plan.chosen;
    let name = format!("{} of {candidates} measured on {dataset}", chosen.name);
    let accuracy = plan
        .reported
        .iter()
        .map(|(name, measure)| (*name, shown(measure)));
    let costs = Quantity::costs()
        .filter_map(|quantity| Some((quantity.name(), quantity.told(chosen.value(quantity)?))));
    let terms = std::iter::once(("set-up", name))
        .chain(accuracy)
        .chain(costs);
    Section::Terms(
        terms
            .map(|(name, value)| (name.to_owned(), value))
            .collect(),
    )
}

fn remarks(plan: &Plan<'_>) -> impl Iterator<Item = &'static str> {
    let halves = (!plan.chosen.answers.is_empty()).then_some(
        "chosen on one half of the questions; the accuracy above is that of the other half, those below are of all",
    );
    let luck = (!plan.keeps_bounds).then_some(
        "on that half it does not keep the bounds of accuracy: it was chosen where luck helped, or there are too few questions",
    );
    halves.into_iter().chain(luck)
}

fn promised(promised: &Promised<'_>) -> [Section; 3] {
    let Promise {
        accuracy,
        cost,
        max_loss,
        confidence,
    } = promised.promise;
    let text = format!(
        "with confidence {confidence} it loses at most {max_loss} of {accuracy} against {}; measured: {}",
        promised.reference,
        shown(&promised.gain)
    );
    let row = |step: &Step| {
        let passes = match (step.passes, step.needed) {
            (true, _) => "yes".to_owned(),
            (false, Some(needed)) => {
                format!("no: about {needed} questions like these would be needed")
            }
            (false, None) => "no, nor with any number of questions like these".to_owned(),
        };
        vec![
            (&step.name).into(),
            cost.told(step.cost).into(),
            format!("{:.3}", step.loss).into(),
            format!("{:.2} of {:.0}", step.evidence, 1.0 / (1.0 - confidence)).into(),
            passes.into(),
        ]
    };
    let names = ["step", "cost", "loss", "evidence", "passes"];
    let table = Table {
        name: "Steps".to_owned(),
        columns: names.map(|name| Column::plain(name, name)).into(),
        rows: promised.walk.steps.iter().map(row).collect(),
    };
    [
        Section::Heading("The promise".to_owned()),
        Section::Text(text),
        table.into(),
    ]
}

/// The set-ups of the front with all known quantities.
fn front(plan: &Plan<'_>) -> Table {
    let setup: &[Of<&Candidate>] = measures![one => plain "setup" "set-up" = &one.name;];
    let quantities = [Quantity::Em, Quantity::F1]
        .into_iter()
        .chain(Quantity::costs());
    let mut table = Table::of("Front", setup, &plan.front);
    for quantity in quantities {
        table
            .columns
            .push(Column::plain(quantity.name(), quantity.name()));
        for (row, one) in table.rows.iter_mut().zip(&plan.front) {
            row.push(one.value(quantity).map(|value| quantity.told(value)).into());
        }
    }
    table
}

fn bought(buy: &Buy) -> String {
    let costs = buy.costs.iter().filter(|(_, value)| *value != 0.0);
    let costs = costs.map(|(quantity, value)| {
        let sign = if *value < 0.0 { "-" } else { "+" };
        format!("{quantity} {sign}{}", quantity.told(value.abs()))
    });
    let costs: Vec<String> = costs.collect();
    format!(
        "{} ({}): {}; {}",
        buy.what,
        buy.name,
        shown(&buy.gain),
        costs.join(", ")
    )
}

fn projected(projection: &Projection) -> String {
    let expected = projection
        .expected
        .iter()
        .map(|(n, value)| format!("{value:.3} at {n}"));
    format!(
        "projection, not measured: {} of {} = {:.3} + {:.3} ln n, off by {:.3} on scales held out: {}",
        projection.quantity,
        projection.name,
        projection.at_one,
        projection.slope,
        projection.held_out_error,
        expected.collect::<Vec<_>>().join(", ")
    )
}
