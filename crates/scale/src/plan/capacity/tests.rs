//! Plans of capacities from the embedded measurements.

use std::num::{NonZeroU32, NonZeroU64};

use ken_index::VectorType;
use ken_testing::{cases, says, with};

use super::*;
use crate::plan::Prices;

/// A recall that three sizes reach.
const RECALL: f64 = 0.9;

fn demand(passages: u64) -> Demand {
    Demand {
        passages: NonZeroU64::new(passages).unwrap(),
        words: 70.0,
        dimensions: NonZeroU32::new(384).unwrap(),
        vectors: VectorType::F32,
        shards: NonZeroU32::MIN,
        recall: RECALL,
        queries_per_s: None,
        embedding: None,
        probed: None,
        probe_core_s: None,
        machine: Machine::default(),
        prices: Prices::default(),
    }
}

fn planned(demand: &Demand) -> Capacity {
    Capacity::of(demand, &Measurements::embedded().unwrap()).unwrap()
}

fn found<'c>(capacity: &'c Capacity, part: Part, name: &str) -> Option<&'c Entry> {
    let mut entries = capacity.entries.iter();
    entries.find(|entry| entry.part == part && entry.name == name)
}

fn value(capacity: &Capacity, part: Part, name: &str) -> f64 {
    let entry = found(capacity, part, name);
    entry.unwrap_or_else(|| panic!("no {name}")).estimate.value
}

#[test]
fn a_disk_is_the_sum_of_its_parts() {
    let capacity = planned(&demand(22_000_000));
    assert_eq!(value(&capacity, Part::Disk, "vectors"), 22e6 * 1536.0);
    assert_eq!(value(&capacity, Part::Disk, "offsets"), 22e6 * 36.0);
    let (parts, total): (Vec<&Entry>, Vec<&Entry>) = capacity
        .entries
        .iter()
        .filter(|entry| entry.part == Part::Disk)
        .partition(|entry| entry.name != "total");
    let sum = parts.iter().map(|entry| entry.estimate.value).sum::<f64>();
    assert_eq!(parts.len(), 5);
    assert!((total[0].estimate.value / sum - 1.0).abs() < 1e-12);
    for entry in &capacity.entries {
        let Estimate { value, low, high } = entry.estimate;
        assert!(0.0 <= low && low <= value && value <= high, "{entry:?}");
    }
    let smaller = with!(demand(22_000_000), vectors: VectorType::Int8);
    assert_eq!(
        value(&planned(&smaller), Part::Disk, "vectors"),
        22e6 * 388.0
    );
}

/// How far a number of a disk is beyond the sizes that were measured.
fn beyond(demand: &Demand, name: &str) -> f64 {
    let capacity = planned(demand);
    let entry = found(&capacity, Part::Disk, name).unwrap();
    let Basis::Fitted { beyond, .. } = entry.basis else {
        panic!("{entry:?}");
    };
    beyond
}

#[test]
fn what_is_beyond_the_words_that_were_measured_is_extrapolated() {
    for name in ["texts, ids and titles", "lexical index"] {
        let of = |words| beyond(&with!(demand(1_000_000), words: words), name);
        assert!(of(50.0) < 1.0);
        // The longest passages that were measured have 77.1 words, the shortest 10.7.
        assert!((of(154.2) - 2.0).abs() < 1e-12);
        assert!((of(5.35) - 2.0).abs() < 1e-12);
    }
}

#[test]
fn what_is_beyond_the_sizes_that_were_measured_is_extrapolated() {
    let beyond = |demand: &Demand| beyond(demand, "graphs and codes");
    let [least, largest] = planned(&demand(10_000)).growth[0].vectors;
    assert!((beyond(&demand(least / 4)) - 4.0).abs() < 1e-12);
    assert!(beyond(&demand(largest / 2)) < 1.0);
    assert!((beyond(&demand(largest * 4)) - 4.0).abs() < 1e-12);
    let four = with!(demand(largest * 4), shards: NonZeroU32::new(4).unwrap());
    assert!((beyond(&four) - 1.0).abs() < 1e-12);
}

#[test]
fn shards_are_built_one_by_one_and_searched_one_after_the_other() {
    let four = with!(demand(4_000_000), shards: NonZeroU32::new(4).unwrap());
    let (one, four) = (planned(&demand(1_000_000)), planned(&four));
    for (part, name) in [
        (Part::Search, "p50"),
        (Part::Search, "one search"),
        (Part::Work, "building graphs"),
        (Part::Work, "embedding"),
        (Part::Disk, "total"),
        (Part::Memory, "total"),
    ] {
        let ratio = value(&four, part, name) / value(&one, part, name);
        assert!((ratio - 4.0).abs() < 1e-9, "{name}: {ratio}");
    }
    let rate = value(&four, Part::Search, "one core serves");
    assert!((rate * value(&four, Part::Search, "one search") - 1.0).abs() < 1e-12);
    // A job holds one graph, however many there are.
    let held = |plan: &Capacity| Some(found(plan, Part::Building, "graph")?.estimate);
    assert_eq!(held(&one), held(&four));
}

#[test]
fn machines_and_money_follow_from_cores_and_prices() {
    let demand = Demand {
        queries_per_s: Some(10_000.0),
        embedding: Some(Embedding::PerGpu(1000.0)),
        probed: NonZeroU64::new(3600),
        probe_core_s: Some(2.0),
        machine: Machine {
            cores: NonZeroU32::new(4),
            memory: Some(64e9),
        },
        prices: "memory_gb=2,disk_gb=0.1,core_hour=0.05,gpu_hour=3"
            .parse()
            .unwrap(),
        ..demand(36_000_000)
    };
    let capacity = planned(&demand);
    let of = |part, name| value(&capacity, part, name);
    assert!(
        (of(Part::Work, "embedding") - 10.0).abs() < 1e-9,
        "GPU hours"
    );
    assert!((of(Part::Work, "probing questions") - 2.0).abs() < 1e-9);
    let hours = of(Part::Work, "total");
    assert!((hours - of(Part::Work, "building graphs") - 2.0).abs() < 1e-9);
    assert!((of(Part::Work, "on all cores of one machine") * 4.0 - hours).abs() < 1e-9);
    let busy = of(Part::Search, "cores that search");
    assert!((busy - 1e4 * of(Part::Search, "one search")).abs() < 1e-9);
    let machines = of(Part::Search, "machines that search");
    assert_eq!(machines, (busy / 4.0).ceil());
    let once = of(Part::Money, "work, once");
    assert!((once - (hours * 0.05 + 10.0 * 3.0)).abs() < 1e-6);
    let disk = of(Part::Disk, "total") * 1e-9;
    let machine = 64.0 * 2.0 + disk * 0.1 + 4.0 * 730.0 * 0.05;
    let month = of(Part::Money, "serving, a month");
    assert!((month / (machines * machine) - 1.0).abs() < 1e-9, "{month}");
    let memory = found(&capacity, Part::Memory, "total").unwrap();
    assert_eq!(capacity.search_fits, Some(memory.estimate.high <= 64e9));
}

#[test]
fn what_is_not_wanted_costs_nothing() {
    let demand =
        with!(demand(1_000_000), prices: "core_hour=0.05,gpu_hour=3,disk_gb=1".parse().unwrap());
    let capacity = planned(&demand);
    let once = value(&capacity, Part::Work, "total") * 0.05;
    assert!((value(&capacity, Part::Money, "work, once") - once).abs() < 1e-9);
    let month = value(&capacity, Part::Disk, "total") * 1e-9;
    assert!((value(&capacity, Part::Money, "serving, a month") - month).abs() < 1e-9);
    assert_eq!(capacity.search_fits, None);
}

#[test]
fn a_number_out_of_its_range_is_named() {
    let plain = || demand(1_000_000);
    let bad = cases![
        Demand { recall: 1.5, ..plain() } => "recall is 1.5, and must be between 0 and 1";
        Demand { recall: f64::NAN, ..plain() } => "recall is NaN";
        Demand { words: -3.0, ..plain() } => "words is -3, and must be above 0";
        Demand { queries_per_s: Some(0.0), ..plain() } => "queries_per_s is 0";
        Demand { shards: NonZeroU32::new(9).unwrap(), ..demand(8) } => "at most the passages";
    ];
    for (demand, expected) in bad {
        let error = Capacity::of(&demand, &Measurements::embedded().unwrap()).unwrap_err();
        assert!(error.to_string().contains(expected), "{error}");
    }
}

#[test]
fn a_report_tells_every_number() {
    let measurements = Measurements::embedded().unwrap();
    let capacity = planned(&demand(22_000_000));
    let report = capacity_report(&capacity, &measurements);
    let text = report.text(str::to_owned, usize::MAX);
    for entry in &capacity.entries {
        assert!(
            text.contains(entry.name),
            "{} is not in\n{text}",
            entry.name
        );
    }
    for part in [
        "passages",
        "22.0 M",
        "extrapolated",
        "power of n",
        "Not counted",
        "results/",
    ] {
        assert!(text.contains(part), "{part} is not in\n{text}");
    }
    assert!(!text.contains("Money"), "no prices are given");
    says!(report.html() => "<h2>Memory of a machine that searches</h2>");
}
