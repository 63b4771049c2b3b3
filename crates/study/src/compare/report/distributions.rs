//! KBM's figure 3: how confidence and certainty are distributed under each condition, for questions
//! that evidence helps, leaves or harms.

use ken_probe::Effect;

use crate::page::{Axis, COLORS, Diagram, figure};
use crate::probe::{Conditions, ProbeRecord};

/// Bars of a distribution.
const BINS: usize = 10;

const EFFECTS: [(Effect, &str); 3] = [
    (Effect::Beneficial, "beneficial"),
    (Effect::Neutral, "neutral"),
    (Effect::Harmful, "harmful"),
];

type Indicator = fn(&ProbeRecord) -> (Conditions<Option<f64>>, Option<Effect>);

/// The diagrams under a heading; nothing where nothing was probed.
pub(crate) fn section(probed: &[ProbeRecord]) -> String {
    let indicators: [(&str, Indicator); 2] = [
        ("confidence", |r| (r.confidence, r.effect.confidence)),
        ("certainty", |r| (r.certainty, r.effect.certainty)),
    ];
    let mut figures = String::new();
    for (name, indicator) in indicators {
        let values: Vec<_> = probed.iter().map(indicator).collect();
        let rows: [(&str, Vec<(f64, Effect)>); 3] = [
            ("from memory", known(&values, |all| all.from_self)),
            ("with evidence", known(&values, |all| all.corpus)),
            ("with masked evidence", known(&values, |all| all.masked)),
        ];
        for (condition, known) in rows {
            if known.is_empty() {
                continue;
            }
            let caption = format!("{name} {condition}");
            figures += &figure(&caption, &distribution(name, &known), &caption);
        }
    }
    if figures.is_empty() {
        return figures;
    }
    format!(
        "<h2>What evidence does</h2>\n<p>{} probed questions; each line is the distribution over the \
         questions of one effect.</p>\n<div class=\"row\">{figures}</div>\n",
        probed.len()
    )
}

/// The values under a condition of the questions whose effect is known.
fn known(
    values: &[(Conditions<Option<f64>>, Option<Effect>)],
    condition: fn(&Conditions<Option<f64>>) -> Option<f64>,
) -> Vec<(f64, Effect)> {
    let each = values.iter();
    each.filter_map(|(all, effect)| Some((condition(all)?, (*effect)?)))
        .collect()
}

fn distribution<'n>(name: &'n str, known: &[(f64, Effect)]) -> Diagram<'n> {
    let mut diagram = Diagram::new(300.0, 240.0, Axis::share(name), Axis::share("share"));
    for ((effect, label), color) in EFFECTS.into_iter().zip(COLORS) {
        let of_it = known.iter().filter(|(_, other)| *other == effect);
        let values: Vec<f64> = of_it.map(|(value, _)| *value).collect();
        if values.is_empty() {
            continue;
        }
        let points: Vec<(f64, f64)> = shares(&values)
            .into_iter()
            .enumerate()
            .map(|(bin, share)| ((bin as f64 + 0.5) / BINS as f64, share))
            .collect();
        diagram.line(label, &points, color, false);
        diagram.legend(&format!("{label} ({})", values.len()), color);
    }
    diagram
}

/// The share of the values in each bar from 0 to 1.
fn shares(values: &[f64]) -> [f64; BINS] {
    let mut bars = [0.0; BINS];
    for value in values {
        let place = ((value * BINS as f64) as usize).min(BINS - 1);
        bars[place] += 1.0 / values.len() as f64;
    }
    bars
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_have_a_bar() {
        let bars = shares(&[0.0, 0.05, 1.0, 0.95]);
        assert_eq!((bars[0], bars[9]), (0.5, 0.5));
        assert_eq!(section(&[]), "");
    }
}
