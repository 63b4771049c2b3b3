//! The figures of a study.

use std::collections::BTreeMap;

use ken_report::{Axis, Figure, Mark, Point, Series as Line};

use super::{Front, PolicyOutcome, Series, StudyReport};
use crate::plan::Quantity;
use crate::study::{Measure, Order, Retrieval, ScaleMeasures};

/// A measure with its name, its axis and its value.
type Shown = (&'static str, &'static str, fn(&ScaleMeasures) -> &Measure);

const SHOWN: [Shown; 8] = [
    ("f1", "F1", |s| &s.f1),
    ("em", "exact match", |s| &s.em),
    ("coverage", "gold-answer coverage", |s| &s.coverage),
    ("cb", "CB@n: right of those wrong from memory", |s| {
        &s.benefited
    }),
    ("gain", "Δn: gain over the scale before", |s| &s.gain),
    ("harmed", "H@n: wrong of those right from memory", |s| {
        &s.harmed
    }),
    ("utilization", "CB@n over coverage", |s| &s.utilization),
    (
        "use-of-covered",
        "right of those wrong from memory and covered",
        |s| &s.use_of_covered,
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
        .flat_map(|own| own.scales.iter().map(|scale| scale.n));
    // A line needs two scales.
    let first = scales.next()?;
    if !scales.any(|n| n != first) {
        return None;
    }
    let has_rings = ["em", "f1"].contains(&name);
    let models = models(&series);
    let lines = series.iter().enumerate().flat_map(|(index, &own)| {
        // Colors tell models apart or, if there is only one, its ways of retrieving.
        let place = models.iter().position(|model| *model == own.model);
        let color = place.filter(|_| models.len() > 1).unwrap_or(index);
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

/// A measure at each scale, ascending.
fn points(series: &Series, of: fn(&ScaleMeasures) -> &Measure) -> Vec<Point> {
    let points = series.scales.iter().filter_map(|scale| {
        let Measure { value, interval } = *of(scale);
        Some(Point {
            x: scale.n.into(),
            y: value?,
            band: interval,
            name: String::new(),
        })
    });
    points.collect()
}

/// Whether the shards are activated in reversed order.
fn is_reversed(series: &Series) -> bool {
    let retrieval = series.retrieval;
    retrieval.is_some_and(|retrieval| retrieval.order == Order::Reversed)
}

/// Exact match by the share pruned, for each policy at the largest scale; `None` unless that share varies.
fn by_share_pruned(study: &StudyReport, dataset: &str) -> Option<Figure> {
    let of_set = study.policies.iter().filter(|o| o.dataset == dataset);
    let largest = of_set.clone().map(|o| o.n).max()?;
    let of_set: Vec<&PolicyOutcome> = of_set.filter(|o| o.n == largest).collect();
    let differs =
        |of: &dyn Fn(&PolicyOutcome) -> String| of_set.iter().any(|o| of(o) != of(of_set[0]));
    if !differs(&|o| o.retrieval.pruned.to_string()) {
        return None;
    }
    let parts: [&dyn Fn(&PolicyOutcome) -> String; 3] = [
        &|o| o.model.clone(),
        &|o| o.retrieval.order.to_string(),
        &|o| format!("k {}", o.retrieval.k),
    ];
    let named: Vec<_> = parts.iter().filter(|part| differs(*part)).collect();
    let mut lines: BTreeMap<String, Vec<(f64, f64)>> = BTreeMap::new();
    for outcome in &of_set {
        let mut label = vec![outcome.policy.clone()];
        label.extend(named.iter().map(|part| part(outcome)));
        let point = (outcome.retrieval.pruned.share(), outcome.em.value?);
        lines.entry(label.join(", ")).or_default().push(point);
    }
    let lines = lines
        .into_iter()
        .zip(0..)
        .map(|((label, mut points), color)| {
            points.sort_by(|a, b| a.0.total_cmp(&b.0));
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

/// A model's points at n\*, by a metric.
fn rings(study: &StudyReport, series: &Series, points: &[Point], metric: &str) -> Vec<Point> {
    let of_model = study.compensation.iter().filter(|pair| {
        pair.dataset == series.dataset
            && pair.smaller == series.model
            && pair.retrieval == series.retrieval
    });
    let rings = of_model.filter_map(|pair| {
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
    models.sort_by_key(|s| s.parameters);
    let mut models: Vec<&str> = models.into_iter().map(|s| s.model.as_str()).collect();
    models.dedup();
    models
}

/// The label of a line: the model, and the retrieval settings that differ between lines.
fn label(series: &Series, all: &[&Series]) -> String {
    let Some(retrieval) = series.retrieval else {
        return series.model.clone();
    };
    let differs = |of: &dyn Fn(Retrieval) -> String| {
        let mut others = all.iter().filter_map(|other| other.retrieval);
        others.any(|other| of(other) != of(retrieval))
    };
    let mut label = series.model.clone();
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
    for series in study.series.iter().filter(|s| s.dataset == dataset) {
        if let Some(value) = series.known.value
            && !points.iter().any(|point| point.name == series.model)
        {
            points.push(Point::named(
                series.parameters as f64 / 1e9,
                value,
                &series.model,
            ));
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

/// The divisor of a cost on an axis, and the axis's name.
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
    let dots = setups.map(|setup| Point::named(setup.cost / unit, setup.accuracy, &setup.name));
    let line = front
        .on_front
        .iter()
        .map(|setup| (setup.cost / unit, setup.accuracy));
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
