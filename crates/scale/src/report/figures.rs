//! The figures of a study.

use std::collections::BTreeMap;

use ken_report::{Axis, Figure, Mark, Point, Series as Line};

use super::{Front, PolicyOutcome, Series, StudyReport};
use crate::plan::Quantity;
use crate::study::{Measure, Order, Retrieval, ScaleMeasures};

/// A measure with its name, its axis and its value.
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

/// The figures of a data set that have data.
pub(super) fn all(study: &StudyReport, dataset: &str) -> Vec<Figure> {
    let by_scale = SHOWN
        .into_iter()
        .filter_map(|shown| by_scale(study, dataset, shown));
    let fronts = study.fronts.iter().filter(|front| front.dataset == dataset);
    by_scale
        .chain(by_share_pruned(study, dataset))
        .chain(known(study, dataset))
        .chain(fronts.map(pareto))
        .collect()
}

fn by_scale(study: &StudyReport, dataset: &str, (name, axis, of): Shown) -> Option<Figure> {
    let series = study.series.iter();
    let series: Vec<&Series> = series.filter(|own| own.dataset == dataset).collect();
    let mut scales = series
        .iter()
        .flat_map(|own| own.scales.iter().map(|at| at.n));
    // A line takes two scales.
    let first = scales.next()?;
    if !scales.any(|n| n != first) {
        return None;
    }
    let has_rings = ["em", "f1"].contains(&name);
    let models = models(&series);
    let lines = series.iter().enumerate().flat_map(|(at, &own)| {
        // Models have colors; of one model, its ways of retrieving.
        let place = models.iter().position(|model| *model == own.model);
        let color = place.filter(|_| models.len() > 1).unwrap_or(at);
        let line = Line::line(label(own, &series), color, points(own, of));
        let mark = match is_reversed(own) {
            true => Mark::Dashed,
            false => Mark::Line,
        };
        let rings = Line {
            mark: Mark::Rings,
            points: rings(study, own, &line.points, name),
            ..line.clone()
        };
        [Some(Line { mark, ..line }), has_rings.then_some(rings)]
    });
    let marks = if has_rings {
        "; a ring is n*, where a smaller model is as good as a larger one with one shard"
    } else {
        ""
    };
    let dashed = if series.iter().any(|own| is_reversed(own)) {
        "; dashed: the shards in reversed order"
    } else {
        ""
    };
    let figure = Figure::new(
        format!("{dataset}-{name}"),
        format!("{axis} by corpus scale on {dataset}{marks}{dashed}"),
        [Axis::whole("corpus scale n, shards"), Axis::around(axis)],
        lines.flatten(),
    );
    (!figure.is_empty()).then_some(figure)
}

/// A measure at each scale, rising.
fn points(series: &Series, of: fn(&ScaleMeasures) -> &Measure) -> Vec<Point> {
    let points = series.scales.iter().filter_map(|at| {
        let Measure { value, interval } = *of(at);
        Some(Point {
            x: at.n.into(),
            y: value?,
            band: interval,
            name: String::new(),
        })
    });
    points.collect()
}

/// Whether the shards came in reversed order.
fn is_reversed(series: &Series) -> bool {
    let retrieval = series.retrieval;
    retrieval.is_some_and(|retrieval| retrieval.order == Order::Reversed)
}

/// Exact match by the share pruned, of each policy at the largest scale; none where nothing was pruned.
fn by_share_pruned(study: &StudyReport, dataset: &str) -> Option<Figure> {
    let of_set = study.policies.iter().filter(|one| one.dataset == dataset);
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
    let mut lines: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for one in &of_set {
        let parts = named.iter().map(|part| part(one));
        let label: Vec<String> = std::iter::once(one.policy.clone()).chain(parts).collect();
        let point = (one.retrieval.pruned.share(), one.em.value?);
        lines.entry(label.join(", ")).or_default().push(point);
    }
    let lines = lines
        .into_iter()
        .zip(0..)
        .map(|((label, mut points), color)| {
            points.sort_by(|one, other| one.0.total_cmp(&other.0));
            Line::line(label, color, points)
        });
    Some(Figure::new(
        format!("{dataset}-pruned"),
        format!("Exact match by the share pruned on {dataset}, at scale {largest}"),
        [
            Axis::around("share of the corpus pruned"),
            Axis::around("exact match"),
        ],
        lines,
    ))
}

/// The points at n\* of a model by a metric.
fn rings(study: &StudyReport, one: &Series, points: &[Point], metric: &str) -> Vec<Point> {
    let of_model = study.compensation.iter().filter(|of_pair| {
        let pair = &of_pair.compensation;
        pair.dataset == one.dataset
            && pair.smaller == one.model
            && of_pair.retrieval == one.retrieval
    });
    let rings = of_model.filter_map(|of_pair| {
        let pair = &of_pair.compensation;
        let by = pair.by_metric;
        let n = f64::from(if metric == "em" { by.em } else { by.f1 }?);
        let point = points.iter().find(|point| point.x == n)?;
        let name = format!(
            "{} is as good as {} with one shard",
            pair.smaller, pair.larger
        );
        Some(Point::named(point.x, point.y, name))
    });
    rings.collect()
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

fn known(study: &StudyReport, dataset: &str) -> Option<Figure> {
    let mut points: Vec<Point> = Vec::new();
    for one in study.series.iter().filter(|one| one.dataset == dataset) {
        if let Some(value) = one.known.value
            && !points.iter().any(|point| point.name == one.model)
        {
            points.push(Point::named(one.parameters as f64 / 1e9, value, &one.model));
        }
    }
    let figure = Figure::new(
        format!("{dataset}-known"),
        format!("Exact match without retrieval on {dataset}"),
        [
            Axis::around("parameters, thousand millions"),
            Axis::around("known rate"),
        ],
        [Line::dots("models", points)],
    );
    (!figure.is_empty()).then_some(figure)
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

fn pareto(front: &Front) -> Figure {
    let (unit, axis) = unit(front.cost);
    let setups = front.on_front.iter().chain(&front.behind);
    let dots = setups.map(|one| Point::named(one.cost / unit, one.accuracy, &one.name));
    let line = front
        .on_front
        .iter()
        .map(|one| (one.cost / unit, one.accuracy));
    Figure::new(
        format!("{}-front-{}", front.dataset, front.cost),
        format!(
            "Exact match against {axis} on {}; dashed: the set-ups that no other beats in both",
            front.dataset
        ),
        [Axis::around(axis), Axis::around("exact match")],
        [Line::reference("front", line), Line::dots("set-ups", dots)],
    )
}
