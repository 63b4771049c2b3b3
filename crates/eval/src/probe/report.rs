//! The report of a probing: the averages, and the distributions of confidence and certainty.

use ken_probe::Effect;
use ken_report::{Axis, Figure, Measure, Report, Section, Series, Table, measures, number};

use super::record::{Conditions, ProbeRecord};
use super::summary::{EffectShares, ProbeSummary, summarize_probe};

/// A summary of some of the questions, with what these have in common.
type Group = (String, ProbeSummary);

const GROUPS: &[Measure<Group>] = measures![(value, of) =>
    plain "group" "group" = value;
    plain "n" "questions" = of.n;
    share "known_rate" "known rate" = of.known_rate;
    share "confidence_self" "confidence from memory" = of.confidence.from_self;
    share "confidence_corpus" "with evidence" = of.confidence.corpus;
    share "confidence_masked" "masked" = of.confidence.masked;
    share "certainty_self" "certainty from memory" = of.certainty.from_self;
    share "certainty_corpus" "with evidence" = of.certainty.corpus;
    share "certainty_masked" "masked" = of.certainty.masked;
    share "beneficial" "beneficial" = of.effect_on_confidence.beneficial;
    share "harmful" "harmful" = of.effect_on_confidence.harmful;
    share "mask_copied" "mask copied" = of.mask_copied;
];

/// An indicator with its means and the effects of evidence on it.
type Indicator = (&'static str, Conditions<Option<f64>>, EffectShares);

const INDICATORS: &[Measure<Indicator>] = measures![(name, means, effects) =>
    plain "indicator" "indicator" = *name;
    share "self" "from memory" = means.from_self;
    share "corpus" "with evidence" = means.corpus;
    share "masked" "masked" = means.masked;
    share "beneficial" "beneficial" = effects.beneficial;
    share "neutral" "neutral" = effects.neutral;
    share "harmful" "harmful" = effects.harmful;
];

/// The report; each group is a summary of some questions, with what they have in common.
pub fn probe_report(
    title: &str,
    records: &[ProbeRecord],
    groups: &[(String, ProbeSummary)],
) -> Report {
    let summary = summarize_probe(records);
    let indicators = [
        (
            "confidence",
            summary.confidence,
            summary.effect_on_confidence,
        ),
        ("certainty", summary.certainty, summary.effect_on_certainty),
    ];
    let note = "Means over the questions, and the shares of questions for which evidence raises, keeps or lowers the \
                indicator. The known rate is the share of questions of which at least half of the answers from memory are \
                right.";
    let mut sections = vec![
        terms(&summary),
        Table::of("Indicators", INDICATORS, &indicators).into(),
        Section::Note(note.to_owned()),
    ];
    let groups = Table::of("By group", GROUPS, groups);
    sections.extend(Section::part("By group", [groups.into()]));
    sections.extend(distributions(records));
    Report::new(title, sections)
}

fn terms(summary: &ProbeSummary) -> Section {
    let always = [("questions", summary.n), ("failed", summary.failed)];
    let seldom = [
        ("without golden answers", summary.unjudged),
        ("without log probabilities", summary.without_logprobs),
        ("cannot tell", summary.cannot_tell),
    ];
    let counts = always
        .into_iter()
        .chain(seldom.into_iter().filter(|(_, count)| *count > 0));
    let counts = counts.map(|(name, count)| (name, count.to_string()));
    let shares = [
        ("known rate", summary.known_rate),
        ("correlation", summary.correlation),
        ("mask copied", summary.mask_copied),
    ];
    let shares = shares.map(|(name, value)| (name, number(value, 3)));
    let terms = counts
        .chain(shares)
        .map(|(name, value)| (name.to_owned(), value));
    Section::Terms(terms.collect())
}

/// Bins of a distribution.
const BINS: usize = 10;

const EFFECTS: [(Effect, &str); 3] = [
    (Effect::Beneficial, "beneficial"),
    (Effect::Neutral, "neutral"),
    (Effect::Harmful, "harmful"),
];

/// An indicator of a question under each condition, and the effect of evidence on it.
type Indication = (Conditions<Option<f64>>, Option<Effect>);

type Condition = (&'static str, fn(&Conditions<Option<f64>>) -> Option<f64>);

const CONDITIONS: [Condition; 3] = [
    ("from memory", |all| all.from_self),
    ("with evidence", |all| all.corpus),
    ("with masked evidence", |all| all.masked),
];

/// KBM's figure 3: the distributions of confidence and certainty under each condition, for questions that evidence
/// helps, leaves or harms; empty without records.
pub(crate) fn distributions(probed: &[ProbeRecord]) -> Vec<Section> {
    let all = |name, of: fn(&ProbeRecord) -> Indication| {
        let values: Vec<_> = probed.iter().map(of).collect();
        CONDITIONS.map(|(condition, value)| {
            let known = values
                .iter()
                .filter_map(|(all, effect)| Some((value(all)?, (*effect)?)));
            distribution(name, condition, &known.collect::<Vec<_>>())
        })
    };
    let figures = [
        all("confidence", |record| {
            (record.confidence, record.effect.confidence)
        }),
        all("certainty", |record| {
            (record.certainty, record.effect.certainty)
        }),
    ];
    let figures = figures
        .into_iter()
        .flatten()
        .filter(|figure| !figure.is_empty());
    let text = format!(
        "{} probed questions; each line is the distribution over the questions of one effect.",
        probed.len()
    );
    let figures = figures.map(Section::from);
    Section::part(
        "What evidence does",
        std::iter::once(Section::Note(text)).chain(figures),
    )
}

fn distribution(name: &str, condition: &str, known: &[(f64, Effect)]) -> Figure {
    let series = EFFECTS
        .into_iter()
        .enumerate()
        .map(|(color, (effect, label))| {
            let of_effect = known.iter().filter(|(_, other)| *other == effect);
            let values: Vec<f64> = of_effect.map(|(value, _)| *value).collect();
            let points = shares(&values).into_iter().enumerate();
            let points = points.map(|(bin, share)| ((bin as f64 + 0.5) / BINS as f64, share));
            let points = points.filter(|_| !values.is_empty());
            Series::line(format!("{label} ({})", values.len()), color, points)
        });
    let caption = format!("{name} {condition}");
    Figure::new(
        &caption,
        &caption,
        [Axis::share(name), Axis::share("share")],
        series,
    )
}

/// The share of the values in each bin from 0 to 1.
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
    use ken_testing::says;

    use super::*;

    #[test]
    fn both_ends_have_a_bar() {
        let bars = shares(&[0.0, 0.05, 1.0, 0.95]);
        assert_eq!((bars[0], bars[9]), (0.5, 0.5));
        assert!(distributions(&[]).is_empty());
    }

    #[test]
    fn nothing_probed_is_a_report_too() {
        let groups = [("plain".to_owned(), summarize_probe(&[]))];
        let page = probe_report("q", &[], &groups).html();
        assert!(page.contains("plain") && !probe_report("q", &[], &[]).html().contains("By group"));
        says!(page => "<dt>questions</dt><dd>0</dd><dt>failed</dt><dd>0</dd>");
        assert!(!page.contains("NaN"));
    }
}
