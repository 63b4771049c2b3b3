//! What a model was found to know as one page of HTML: the averages, and how confidence and certainty are
//! distributed.

use crate::compare::distributions;
use crate::page::{page, table};
use crate::probe::{Conditions, EffectShares, ProbeRecord, ProbeSummary, summarize_probe};

/// The page; `groups` are summaries of some of the questions each, with what these have in common.
#[must_use]
pub fn probe_to_html(
    title: &str,
    records: &[ProbeRecord],
    groups: &[(String, ProbeSummary)],
) -> String {
    let summary = summarize_probe(records);
    let ProbeSummary { n, failed, .. } = summary;
    let mut body = format!(
        "<p>{n} questions, {failed} of them failed. At least half of the answers from memory are right for \
         {} of them.</p>\n",
        share(summary.known_rate)
    );
    let indicators = [
        (
            "confidence",
            summary.confidence,
            summary.effect_on_confidence,
        ),
        ("certainty", summary.certainty, summary.effect_on_certainty),
    ];
    let names = "indicator|from memory|with evidence|masked|beneficial|neutral|harmful";
    let rows = indicators.into_iter().map(|(name, means, effects)| {
        let Conditions {
            from_self,
            corpus,
            masked,
        } = means;
        let EffectShares {
            beneficial,
            neutral,
            harmful,
        } = effects;
        let values = [from_self, corpus, masked, beneficial, neutral, harmful].map(share);
        std::iter::once(name.to_owned()).chain(values).collect()
    });
    body += &table(names.split('|'), rows);
    body += "<p>Means over the questions, and the shares of questions for which evidence raises, keeps or \
             lowers the indicator.</p>\n";
    body += &grouped(groups);
    body += &distributions::section(records);
    page(title, &body)
}

/// A row for each group.
fn grouped(groups: &[(String, ProbeSummary)]) -> String {
    if groups.is_empty() {
        return String::new();
    }
    let names = "group|questions|known rate|confidence from memory|with evidence|masked|beneficial|harmful|mask copied";
    let rows = groups.iter().map(|(value, summary)| {
        let (means, effect) = (summary.confidence, summary.effect_on_confidence);
        let values = [
            summary.known_rate,
            means.from_self,
            means.corpus,
            means.masked,
            effect.beneficial,
            effect.harmful,
            summary.mask_copied,
        ];
        let first = [value.clone(), summary.n.to_string()];
        first.into_iter().chain(values.map(share)).collect()
    });
    table(names.split('|'), rows)
}

fn share(value: Option<f64>) -> String {
    value.map_or_else(|| "–".to_owned(), |value| format!("{value:.3}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_probed_is_a_page_too() {
        let groups = [("plain".to_owned(), summarize_probe(&[]))];
        let page = probe_to_html("q", &[], &groups);
        assert!(page.contains("plain") && !probe_to_html("q", &[], &[]).contains("mask copied"));
        assert!(page.contains("0 questions, 0 of them failed"), "{page}");
        assert!(!page.contains("NaN"));
    }
}
