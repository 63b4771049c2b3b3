//! The report of a card.

use ken_report::{
    Axis, Cell, Figure, Measure as Column, Point, Report, Section, Series, Table, measures, number,
};

use super::knowledge::{Card, Knowledge, KnowledgeBy, PARTS, SelfKnowledge};
use crate::measure::Measure;

const SIGNALS: &[Column<SelfKnowledge>] = measures![one =>
    plain "signal" "signal" = one.signal;
    plain "n" "questions" = one.n;
    interval "auroc" "AUROC" = (one.auroc, one.auroc_interval);
    interval "surest" "surest tenth" = tenth(one.tenths.first());
    interval "least_sure" "least sure tenth" = tenth(one.tenths.last());
];

fn tenth(share: Option<&Measure>) -> Cell {
    share.map_or(Cell::Missing, |share| (*share).into())
}

/// The report.
pub fn card_report(title: &str, card: &Card) -> Report {
    let sections = [known(card), self_knowledge(card), worth(card)];
    Report::new(title, sections.concat())
}

fn known(card: &Card) -> Vec<Section> {
    let mut sections: Vec<Section> = vec![table("All questions", &[("all", &card.all)]).into()];
    for KnowledgeBy { field, groups } in &card.by {
        let groups = groups.iter();
        let rows: Vec<_> = groups
            .map(|(value, known)| (value.as_str(), known))
            .collect();
        sections.push(Section::Subheading(format!("By {field}")));
        sections.push(table(field, &rows).into());
    }
    sections.push(Section::Note(
        "Shares of exact matches, with 95% Wilson intervals. Helped: wrong from memory and right with evidence; harmed: the \
         reverse; misled: the harmed among those that memory answers right."
            .to_owned(),
    ));
    Section::part("What it knows", sections)
}

/// One row per group of questions.
fn table(name: &str, rows: &[(&str, &Knowledge)]) -> Table {
    let columns: &[Column<(&str, &Knowledge)>] = measures![(value, known) =>
        plain "value" "questions about" = *value;
        plain "n" "questions" = known.n;
        interval "memory" "from memory" = known.memory;
        interval "evidence" "with evidence" = known.evidence;
        interval "helped" "helped" = known.helped;
        interval "harmed" "harmed" = known.harmed;
        interval "misled" "misled, of known" = known.misled;
    ];
    Table::of(name, columns, rows)
}

fn self_knowledge(card: &Card) -> Vec<Section> {
    let width = |signal: &SelfKnowledge| signal.tenths.len().max(1) as f64;
    let series = card.signals.iter().enumerate().map(|(color, signal)| {
        let points = signal
            .tenths
            .iter()
            .enumerate()
            .filter_map(|(part, share)| {
                Some(Point {
                    x: (part as f64 + 0.5) / width(signal),
                    y: share.value?,
                    band: share.interval,
                    ..Point::default()
                })
            });
        Series::line(signal.signal, color, points)
    });
    let figure = Figure::new(
        "knows that it knows",
        format!("Right from memory in each of {PARTS} parts of the questions, the surest first."),
        [
            Axis::share("questions, the surest first"),
            Axis::share("right from memory"),
        ],
        series,
    );
    let note = "AUROC: the chance that the signal is surer of a question that memory answers right than of one that it answers wrong; \
                .5 is chance. Signals are of the model's own answer and take no training.";
    Section::part(
        "Whether it knows that it knows",
        [
            Table::of("Signals", SIGNALS, &card.signals).into(),
            figure.into(),
            Section::Note(note.to_owned()),
        ],
    )
}

fn worth(card: &Card) -> Vec<Section> {
    let search = &card.search;
    let gain: Cell = (search.gain, search.gain_interval).into();
    let term = |name: &str, value: String| (name.to_owned(), value);
    let terms = Section::Terms(vec![
        term("searching for every question gains", gain.shown(Some(3))),
        term("a search costs in tokens", number(search.tokens, 0)),
        term("a search costs in milliseconds", number(search.ms, 0)),
        term("seed", card.seed.to_string()),
    ]);
    Section::part("What a search is worth", [terms])
}
