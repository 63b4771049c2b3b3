//! The figures of a study.

use super::{Front, PolicyOutcome, Series, StudyReport};
use crate::page::{Axis, COLORS, Diagram, PLAIN};
use crate::plan::Quantity;
use crate::scaling::{Measure, Order, Retrieval, ScaleMeasures};

/// A figure.
pub(super) struct Figure<'r> {
    /// The data set that it is of.
    pub(super) dataset: &'r str,
    /// Its name, as of files.
    pub(super) name: String,
    /// What it shows.
    pub(super) caption: String,
    /// The drawing.
    pub(super) diagram: Diagram<'r>,
}

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 320.0;

/// A measure with its name, its axis and what is said of it.
type Shown = (&'static str, &'static str, fn(&ScaleMeasures) -> &Measure);

const SHOWN: [Shown; 8] = [
    ("f1", "F1", |at| &at.f1),
    ("em", "exact match", |at| &at.em),
    ("coverage", "gold-answer coverage", |at| &at.coverage),
    ("cb", "CB@n: right of those wrong from memory", |at| {
        &at.benefited
    }),
    ("gain", "Δn: gain over the scale before", |at| &at.gain),
    ("harmed", "H@n: wrong of those right from memory", |at| {
        &at.harmed
    }),
    ("utilization", "CB@n over coverage", |at| &at.utilization),
    (
        "use-of-covered",
        "right of those wrong from memory and covered",
        |at| &at.use_of_covered,
    ),
];

/// All figures that have data.
pub(super) fn all(report: &StudyReport) -> Vec<Figure<'_>> {
    let mut figures = Vec::new();
    for dataset in report.datasets() {
        for shown in SHOWN {
            figures.extend(by_scale(report, dataset, shown));
        }
        figures.extend(by_share_pruned(report, dataset));
        figures.extend(known(report, dataset));
        let fronts = report
            .fronts
            .iter()
            .filter(|front| front.dataset == dataset);
        figures.extend(fronts.map(pareto));
    }
    figures
}

fn by_scale<'r>(report: &'r StudyReport, dataset: &'r str, shown: Shown) -> Option<Figure<'r>> {
    let (name, axis, of) = shown;
    let of_set: Vec<&Series> = report
        .series
        .iter()
        .filter(|one| one.dataset == dataset)
        .collect();
    let points = |one: &Series| -> Vec<(f64, f64)> {
        let each = one.scales.iter();
        each.filter_map(|at| Some((f64::from(at.n), of(at).value?)))
            .collect()
    };
    let heights: Vec<f64> = of_set
        .iter()
        .flat_map(|one| points(one))
        .map(|point| point.1)
        .collect();
    let scales: Vec<u32> = of_set
        .iter()
        .flat_map(|one| one.scales.iter().map(|at| at.n))
        .collect();
    // A line takes two scales.
    let is_line = scales.iter().any(|n| *n != scales[0]);
    if heights.is_empty() || !is_line {
        return None;
    }
    let (across, up) = (
        Axis::scales("corpus scale n, shards", &scales),
        Axis::around(axis, &heights),
    );
    let mut diagram = Diagram::new(WIDTH, HEIGHT, across, up);
    let models = models(&of_set);
    for (at, one) in of_set.iter().enumerate() {
        // Models have colors; of one model, its ways of retrieving.
        let place = match models.len() {
            1 => at,
            _ => models
                .iter()
                .position(|model| *model == one.model)
                .unwrap_or_default(),
        };
        let color = COLORS[place % COLORS.len()];
        let is_reversed = one
            .retrieval
            .is_some_and(|retrieval| retrieval.order == Order::Reversed);
        let label = label(one, &of_set);
        diagram.line(&label, &points(one), color, is_reversed);
        diagram.legend(&label, color);
        if ["em", "f1"].contains(&name) {
            rings(report, one, &points(one), name, color, &mut diagram);
        }
    }
    let marks = match name {
        "em" | "f1" => {
            "; a ring is n*, where a smaller model is as good as a larger one with one shard"
        }
        _ => "",
    };
    let dashed = match of_set
        .iter()
        .any(|one| one.retrieval.is_some_and(|r| r.order == Order::Reversed))
    {
        true => "; dashed: the shards in reversed order",
        false => "",
    };
    Some(Figure {
        dataset,
        name: format!("{dataset}-{name}"),
        caption: format!("{axis} by corpus scale on {dataset}{marks}{dashed}"),
        diagram,
    })
}

/// Exact match by the share pruned, of each policy at the largest scale; none where nothing was pruned.
fn by_share_pruned<'r>(report: &'r StudyReport, dataset: &'r str) -> Option<Figure<'r>> {
    let of_set = report.policies.iter().filter(|one| one.dataset == dataset);
    let largest = of_set.clone().map(|one| one.n).max()?;
    let of_set: Vec<&PolicyOutcome> = of_set.filter(|one| one.n == largest).collect();
    let differs =
        |of: &dyn Fn(&PolicyOutcome) -> String| of_set.iter().any(|one| of(one) != of(of_set[0]));
    if !differs(&|one| one.retrieval.pruned.to_string()) {
        return None;
    }
    let parts: [&dyn Fn(&PolicyOutcome) -> String; 3] = [
        &|one| one.model.clone(),
        &|one| one.retrieval.order.to_string(),
        &|one| format!("k {}", one.retrieval.k),
    ];
    let named: Vec<_> = parts.iter().filter(|part| differs(*part)).collect();
    let label = |one: &PolicyOutcome| {
        let parts = named.iter().map(|part| part(one));
        let all: Vec<String> = std::iter::once(one.policy.clone()).chain(parts).collect();
        all.join(", ")
    };
    let mut lines: Vec<(String, Vec<(f64, f64)>)> = Vec::new();
    for one in &of_set {
        let point = (one.retrieval.pruned.share(), one.em.value?);
        let label = label(one);
        match lines.iter_mut().find(|(name, _)| *name == label) {
            Some((_, points)) => points.push(point),
            None => lines.push((label, vec![point])),
        }
    }
    let values = |of: fn(&(f64, f64)) -> f64| -> Vec<f64> {
        lines
            .iter()
            .flat_map(|(_, points)| points)
            .map(of)
            .collect()
    };
    let (across, up) = (
        Axis::around("share of the corpus pruned", &values(|point| point.0)),
        Axis::around("exact match", &values(|point| point.1)),
    );
    let mut diagram = Diagram::new(WIDTH, HEIGHT, across, up);
    for (place, (label, points)) in lines.iter_mut().enumerate() {
        points.sort_by(|one, other| one.0.total_cmp(&other.0));
        let color = COLORS[place % COLORS.len()];
        diagram.line(label, points, color, false);
        diagram.legend(label, color);
    }
    Some(Figure {
        dataset,
        name: format!("{dataset}-pruned"),
        caption: format!("Exact match by the share pruned on {dataset}, at scale {largest}"),
        diagram,
    })
}

/// Marks n\* of a model by a metric.
fn rings(
    report: &StudyReport,
    one: &Series,
    points: &[(f64, f64)],
    metric: &str,
    color: &str,
    diagram: &mut Diagram<'_>,
) {
    for of_pair in &report.compensation {
        let pair = &of_pair.compensation;
        let is_it = pair.dataset == one.dataset && pair.smaller == one.model;
        let n = match metric {
            "em" => pair.by_metric.em,
            _ => pair.by_metric.f1,
        };
        let Some(n) = n.filter(|_| is_it && of_pair.retrieval == one.retrieval) else {
            continue;
        };
        if let Some(point) = points.iter().find(|point| point.0 == f64::from(n)) {
            let name = format!(
                "{} is as good as {} with one shard",
                pair.smaller, pair.larger
            );
            diagram.ring(*point, &name, color);
        }
    }
}

/// The names of models, from small to large.
fn models<'r>(series: &[&'r Series]) -> Vec<&'r str> {
    let mut models: Vec<&Series> = series.to_vec();
    models.sort_by_key(|one| one.parameters);
    let mut models: Vec<&str> = models.into_iter().map(|one| one.model.as_str()).collect();
    models.dedup();
    models
}

/// What a line is called: the model, and of how it retrieves what differs.
fn label(one: &Series, all: &[&Series]) -> String {
    let Some(retrieval) = one.retrieval else {
        return one.model.clone();
    };
    let differs = |of: &dyn Fn(Retrieval) -> String| {
        let mut others = all.iter().filter_map(|other| other.retrieval);
        others.any(|other| of(other) != of(retrieval))
    };
    let mut label = one.model.clone();
    let parts: [&dyn Fn(Retrieval) -> String; 3] = [
        &|retrieval| retrieval.order.to_string(),
        &|retrieval| format!("k {}", retrieval.k),
        &|retrieval| format!("pruned {}", retrieval.pruned),
    ];
    for part in parts {
        if differs(part) {
            label += &format!(", {}", part(retrieval));
        }
    }
    label
}

fn known<'r>(report: &'r StudyReport, dataset: &'r str) -> Option<Figure<'r>> {
    let mut points: Vec<(&str, f64, f64)> = Vec::new();
    for one in report.series.iter().filter(|one| one.dataset == dataset) {
        if let Some(value) = one.known.value
            && !points.iter().any(|point| point.0 == one.model)
        {
            points.push((&one.model, one.parameters as f64 / 1e9, value));
        }
    }
    if points.is_empty() {
        return None;
    }
    let values = |of: fn(&(&str, f64, f64)) -> f64| points.iter().map(of).collect::<Vec<_>>();
    let across = Axis::around("parameters, thousand millions", &values(|point| point.1));
    let up = Axis::around("known rate", &values(|point| point.2));
    let mut diagram = Diagram::new(WIDTH, HEIGHT, across, up);
    for (model, parameters, value) in &points {
        diagram.dot((*parameters, *value), model);
    }
    Some(Figure {
        dataset,
        name: format!("{dataset}-known"),
        caption: format!("Exact match without retrieval on {dataset}"),
        diagram,
    })
}

/// The unit in which a cost stands on an axis, and its name.
fn unit(cost: Quantity) -> (f64, &'static str) {
    match cost {
        Quantity::Memory => (1e6, "memory, MB"),
        Quantity::Parameters => (1e6, "parameters, millions"),
        Quantity::P50 => (1.0, "milliseconds, median"),
        Quantity::Tokens => (1.0, "tokens a question"),
        Quantity::Shards => (1.0, "shards"),
        _ => (1.0, cost.name()),
    }
}

fn pareto(front: &Front) -> Figure<'_> {
    let (unit, axis) = unit(front.cost);
    let point = |one: &super::Placed| (one.cost / unit, one.accuracy);
    let all: Vec<(f64, f64)> = front
        .on_front
        .iter()
        .chain(&front.behind)
        .map(point)
        .collect();
    let values = |of: fn(&(f64, f64)) -> f64| all.iter().map(of).collect::<Vec<_>>();
    let across = Axis::around(axis, &values(|point| point.0));
    let up = Axis::around("exact match", &values(|point| point.1));
    let mut diagram = Diagram::new(WIDTH, HEIGHT, across, up);
    let on_front: Vec<(f64, f64)> = front.on_front.iter().map(point).collect();
    diagram.line("front", &on_front, PLAIN, true);
    for one in front.on_front.iter().chain(&front.behind) {
        diagram.dot(point(one), &one.name);
    }
    Figure {
        dataset: &front.dataset,
        name: format!("{}-front-{}", front.dataset, front.cost),
        caption: format!(
            "Exact match against {axis} on {}; dashed: the set-ups that no other beats in both",
            front.dataset
        ),
        diagram,
    }
}
