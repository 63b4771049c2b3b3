//! A plan of a capacity as a report.

use ken_report::{Measure, Report, Section, Table, measures};

use super::demand::{Demand, Embedding};
use super::entry::{Entry, Part, Unit};
use super::estimate::Estimate;
use super::growth::Growth;
use super::measurements::Measurements;
use super::needs::Capacity;
use crate::plan::quantity::in_units;

/// The numbers of a part.
const NUMBERS: &[Measure<Entry>] = measures![entry =>
    plain "name" "what" = entry.name;
    plain "value" "value" = entry.unit.shown(entry.estimate.value);
    plain "interval" "interval" = interval(entry.unit, entry.estimate);
    plain "basis" "from" = entry.basis.shown();
];

/// The growth that they are from, with the largest size as it was predicted from the smaller ones.
const GROWTH: &[Measure<Growth>] = measures![growth =>
    plain "quantity" "growth of" = growth.quantity;
    plain "sizes" "sizes" = growth.sizes;
    plain "vectors" "vectors" = growth.vectors.map(counted).join(" to ");
    share "exponent" "power of n" = growth.exponent;
    plain "measured" "largest size" = growth.check.map(|check| growth.unit.shown(check.measured));
    plain "predicted" "predicted from the smaller" = growth.check.map(|check| {
        let ends = interval(growth.unit, check.predicted).unwrap_or_default();
        format!("{} {ends}", growth.unit.shown(check.predicted.value))
    });
    plain "is_within" "in the interval" = growth.check.map(|check| if check.is_within { "yes" } else { "no" });
];

/// What the numbers leave out.
const LEFT_OUT: &str = "Not counted: reading documents, merging segments and the hours of the lexical index; embedding \
    questions, the lexical part of a search and writing answers. Shards are searched one after the other, and cores are busy \
    all the time: leave room for peaks. Times at other dimensions than those measured are taken in proportion.";

/// The report of what a corpus takes.
pub fn capacity_report(capacity: &Capacity, measurements: &Measurements) -> Report {
    let mut sections = vec![Section::Terms(terms(&capacity.demand))];
    for part in Part::ALL {
        let entries = capacity.entries.iter().filter(|entry| entry.part == part);
        let table = Table::of(part.title(), NUMBERS, entries);
        let fits = match part {
            Part::Memory => capacity.search_fits,
            Part::Building => capacity.building_fits,
            Part::Disk | Part::Work | Part::Search | Part::Money => None,
        };
        let fits = fits.map(|fits| Section::Text(fitting(fits).to_owned()));
        sections.extend(Section::part(part.title(), [Section::from(table)]));
        sections.extend(fits);
    }
    let growth = Table::of("Growth", GROWTH, &capacity.growth);
    let mut measured = vec![Section::from(growth), Section::Text(intervals(capacity))];
    measured.extend(conditions(measurements).map(Section::Text));
    measured.push(Section::Text(LEFT_OUT.to_owned()));
    sections.extend(Section::part("What was measured", measured));
    Report::new("What a corpus takes", sections)
}

fn terms(demand: &Demand) -> Vec<(String, String)> {
    let machine = demand.machine;
    let terms = [
        ("passages", Some(counted(demand.passages.get()))),
        ("words of a passage", Some(demand.words.to_string())),
        (
            "vectors",
            Some(format!("{} × {}", demand.dimensions, demand.vectors)),
        ),
        ("shards", Some(demand.shards.to_string())),
        ("recall", Some(demand.recall.to_string())),
        (
            "searches/s",
            demand.queries_per_s.map(|rate| rate.to_string()),
        ),
        ("embedded passages/s", demand.embedding.map(rate)),
        (
            "questions to be probed",
            demand.probed.map(|count| counted(count.get())),
        ),
        (
            "cores of a machine",
            machine.cores.map(|cores| cores.to_string()),
        ),
        (
            "memory of a machine",
            machine.memory.map(|bytes| Unit::Bytes.shown(bytes)),
        ),
    ];
    terms
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value?)))
        .collect()
}

fn rate(embedding: Embedding) -> String {
    match embedding {
        Embedding::PerCore(rate) => format!("{rate} by a core"),
        Embedding::PerGpu(rate) => format!("{rate} by a GPU"),
    }
}

fn fitting(fits: bool) -> &'static str {
    if fits {
        "It fits into the machine, at the upper end of the interval too."
    } else {
        "It does not surely fit into the machine: take more memory, more shards, or fewer passages."
    }
}

fn intervals(capacity: &Capacity) -> String {
    let largest = capacity.growth.iter().map(|growth| growth.vectors[1]).max();
    let shards = f64::from(capacity.demand.shards.get());
    let vectors = capacity.demand.passages.get() as f64 / shards;
    let measured = largest.map_or_else(String::new, |largest| {
        let (most, here) = (counted(largest), counted(vectors.round() as u64));
        format!("At most {most} vectors were measured, and a shard has {here}. ")
    });
    measured
        + "Intervals of what grows, and of bytes by words, are 95% prediction intervals; those of other measured numbers are \
        the smallest and the largest one measured. A sum has the sums of the ends."
}

/// How each kind of number was measured.
fn conditions(measurements: &Measurements) -> impl Iterator<Item = String> {
    let kinds = [
        ("graphs", &measurements.growth.conditions),
        ("texts", &measurements.texts.conditions),
        ("lexical index", &measurements.lexical_writer.conditions),
        ("embedding", &measurements.embedding.conditions),
        ("probing", &measurements.probing.conditions),
    ];
    let kinds = kinds.map(|(name, conditions)| format!("{name}: {conditions}"));
    kinds.into_iter()
}

/// The interval of a number; `None` if it is exact.
fn interval(unit: Unit, Estimate { value, low, high }: Estimate) -> Option<String> {
    let is_exact = low == value && high == value;
    (!is_exact).then(|| format!("[{}, {}]", unit.shown(low), unit.shown(high)))
}

fn counted(count: u64) -> String {
    in_units(count as f64, "", &["", "k", "M", "B", "T"])
}
