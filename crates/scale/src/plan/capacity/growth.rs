//! How quantities of a graph on disk grow with its vectors: as a power of their number, fitted in logarithms.

use std::collections::BTreeMap;

use serde::Serialize;

use super::entry::Unit;
use super::error::CapacityError;
use super::estimate::Estimate;
use super::measurements::{LEAST_SIZES, Measurements, Row};
use crate::plan::line::Line;

/// Bytes of a vector's code by dimension: one for four of them.
const CODE_BYTES: f64 = 0.25;

/// How far below the wanted recall a measured one may be: questions that are unlike the passages miss as much more than
/// those by which a segment was measured when it was written.
const TOLERANCE: f64 = 0.005;

/// A quantity that grows.
pub(super) struct Growing {
    name: &'static str,
    unit: Unit,
    /// Whether it depends on the wanted recall.
    by_recall: bool,
    /// Its value in a row if vectors had so many dimensions: times in proportion, and bytes by their layout.
    of: fn(&Row, f64) -> Option<f64>,
}

/// Core seconds of building a graph.
pub(super) const BUILD: Growing = Growing {
    name: "building a graph",
    unit: Unit::CoreS,
    by_recall: false,
    of: |row, dimensions| {
        let core_s = row.build_s? * row.build_threads?;
        Some(core_s * row.proportion(dimensions))
    },
};

/// The most memory while it is built.
pub(super) const BUILD_PEAK: Growing = Growing {
    name: "memory while building a graph",
    unit: Unit::Bytes,
    by_recall: false,
    of: |row, dimensions| Some(row.build_peak_bytes? * row.proportion(dimensions)),
};

/// Bytes of a graph with its codes, on disk.
pub(super) const GRAPH: Growing = Growing {
    name: "graph on disk",
    unit: Unit::Bytes,
    by_recall: false,
    of: |row, dimensions| {
        let vectors = row.vectors as f64 * f64::from(row.dimensions) * size_of::<f32>() as f64;
        Some(row.file_bytes? - vectors + row.added_codes(dimensions))
    },
};

/// Bytes in memory while it is searched.
pub(super) const RESIDENT: Growing = Growing {
    name: "graph in memory",
    unit: Unit::Bytes,
    by_recall: true,
    of: |row, dimensions| Some(row.resident_bytes? + row.added_codes(dimensions)),
};

/// Core seconds of a search.
pub(super) const SEARCH: Growing = Growing {
    name: "a search",
    unit: Unit::CoreS,
    by_recall: true,
    of: |row, dimensions| Some(row.proportion(dimensions) / row.queries_per_s?),
};

/// Milliseconds within which half of the searches end.
pub(super) const P50: Growing = Growing {
    name: "p50 of a search",
    unit: Unit::Ms,
    by_recall: true,
    of: |row, dimensions| Some(row.p50_ms? * row.proportion(dimensions)),
};

/// Milliseconds within which 99 of 100 end.
pub(super) const P99: Growing = Growing {
    name: "p99 of a search",
    unit: Unit::Ms,
    by_recall: true,
    of: |row, dimensions| Some(row.p99_ms? * row.proportion(dimensions)),
};

impl Row {
    fn proportion(&self, dimensions: f64) -> f64 {
        dimensions / f64::from(self.dimensions)
    }

    fn added_codes(&self, dimensions: f64) -> f64 {
        self.vectors as f64 * (dimensions - f64::from(self.dimensions)) * CODE_BYTES
    }
}

/// The growth of a quantity.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Growth {
    /// What grows.
    pub quantity: &'static str,
    /// Its unit.
    pub unit: Unit,
    /// How many sizes were measured.
    pub sizes: usize,
    /// The fewest and the most vectors of them.
    pub vectors: [u64; 2],
    /// The power of the number of vectors.
    pub exponent: f64,
    /// The largest size, predicted from the smaller ones; `None` if these are too few.
    pub check: Option<Check>,
    #[serde(skip)]
    law: PowerLaw,
}

/// A measurement beside its prediction from smaller sizes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Check {
    /// What was measured.
    pub measured: f64,
    /// What was predicted.
    pub predicted: Estimate,
    /// Whether what was measured is in the interval.
    pub is_within: bool,
}

impl Growth {
    /// The growth of a quantity at dimensions and a recall; `None` if fewer than three sizes have it.
    ///
    /// # Errors
    /// A recall that fewer than three sizes reach.
    pub(super) fn of(
        growing: &Growing,
        measurements: &Measurements,
        dimensions: u32,
        recall: f64,
    ) -> Result<Option<Self>, CapacityError> {
        let rows = &measurements.growth.rows;
        let dimensions = f64::from(dimensions);
        let wanted = growing.by_recall.then_some(recall);
        let reached = points(growing, rows, dimensions, wanted);
        if let Some(growth) = Self::through(growing, &reached) {
            return Ok(Some(growth));
        }
        let known = points(growing, rows, dimensions, None);
        match wanted {
            Some(recall) if known.len() >= LEAST_SIZES => Err(CapacityError::RecallNotMeasured {
                recall,
                highest: reached_by_enough(rows),
            }),
            _ => Ok(None),
        }
    }

    fn through(growing: &Growing, points: &BTreeMap<u64, f64>) -> Option<Self> {
        let pairs: Vec<(f64, f64)> = points
            .iter()
            .map(|(&n, &value)| (n as f64, value))
            .collect();
        let law = PowerLaw::through(&pairs)?;
        let (&(largest, measured), smaller) = pairs.split_last()?;
        let check = PowerLaw::through(smaller).map(|law| {
            let predicted = law.at(largest);
            Check {
                measured,
                predicted,
                is_within: (predicted.low..=predicted.high).contains(&measured),
            }
        });
        Some(Self {
            quantity: growing.name,
            unit: growing.unit,
            sizes: pairs.len(),
            vectors: [*points.keys().next()?, *points.keys().next_back()?],
            exponent: law.exponent,
            check,
            law,
        })
    }

    /// The quantity of a graph of this many vectors.
    pub(super) fn at(&self, vectors: f64) -> Estimate {
        self.law.at(vectors)
    }
}

/// The value at each size, of the fastest row that reaches the recall.
fn points(
    growing: &Growing,
    rows: &[Row],
    dimensions: f64,
    recall: Option<f64>,
) -> BTreeMap<u64, f64> {
    let reaches = |row: &&Row| {
        let enough = |wanted: f64| {
            row.recall
                .is_some_and(|recall| recall + TOLERANCE >= wanted)
        };
        recall.is_none_or(enough)
    };
    let mut best: BTreeMap<u64, (&Row, f64)> = BTreeMap::new();
    for row in rows.iter().filter(reaches) {
        let value = (growing.of)(row, dimensions).filter(|value| *value > 0.0);
        let is_better = best
            .get(&row.vectors)
            .is_none_or(|(known, _)| growing.by_recall && row.queries_per_s > known.queries_per_s);
        if let Some(value) = value.filter(|_| is_better) {
            best.insert(row.vectors, (row, value));
        }
    }
    let best = best.into_iter();
    best.map(|(vectors, (_, value))| (vectors, value)).collect()
}

/// The highest recall that enough sizes reach.
fn reached_by_enough(rows: &[Row]) -> f64 {
    let mut highest: BTreeMap<u64, f64> = BTreeMap::new();
    for row in rows {
        let known = highest.entry(row.vectors).or_default();
        *known = known.max(row.recall.unwrap_or_default());
    }
    let mut recalls: Vec<f64> = highest.into_values().collect();
    recalls.sort_by(|a, b| b.total_cmp(a));
    recalls.get(LEAST_SIZES - 1).copied().unwrap_or_default()
}

/// A power of n, with the errors of what it was fitted to.
#[derive(Debug, Clone, PartialEq)]
struct PowerLaw {
    exponent: f64,
    line: Line,
}

impl PowerLaw {
    /// The least squares of logarithms; `None` for fewer than three points.
    fn through(points: &[(f64, f64)]) -> Option<Self> {
        let logarithms: Vec<(f64, f64)> = points.iter().map(|(n, y)| (n.ln(), y.ln())).collect();
        let line = Line::through(&logarithms).filter(|_| points.len() >= LEAST_SIZES)?;
        Some(Self {
            exponent: line.slope,
            line,
        })
    }

    /// The value at n with its 95% prediction interval.
    fn at(&self, n: f64) -> Estimate {
        let value = self.line.at(n.ln());
        let [low, high] = self.line.interval_at(n.ln()).unwrap_or([value, value]);
        Estimate { value, low, high }.rising(f64::exp)
    }
}

#[cfg(test)]
mod tests {
    use ken_testing::{has, says};
    use serde::Deserialize;
    use serde_json::{Value, json};

    use super::*;

    const ALL: [&Growing; 7] = [&BUILD, &BUILD_PEAK, &GRAPH, &RESIDENT, &SEARCH, &P50, &P99];

    #[derive(Deserialize)]
    struct Case {
        points: Vec<(f64, f64)>,
        at: f64,
        exponent: f64,
        low: f64,
        value: f64,
        high: f64,
    }

    #[test]
    fn fits_and_intervals_are_those_of_scipy() {
        let fixture = include_str!("../../../tests/fixtures/prediction_interval.json");
        let mut fixture: Value = serde_json::from_str(fixture).unwrap();
        let cases: Vec<Case> = serde_json::from_value(fixture["cases"].take()).unwrap();
        assert_eq!(cases.len(), 3);
        for case in cases {
            let law = PowerLaw::through(&case.points).unwrap();
            let Estimate { value, low, high } = law.at(case.at);
            let pairs = [
                (law.exponent, case.exponent),
                (value, case.value),
                (low, case.low),
                (high, case.high),
            ];
            for (own, expected) in pairs {
                assert!((own / expected - 1.0).abs() < 1e-9, "{own}, {expected}");
            }
        }
        assert!(PowerLaw::through(&[(1.0, 2.0), (10.0, 3.0)]).is_none());
    }

    /// The embedded measurements with these rows of growth.
    fn with_rows(rows: Value) -> Result<Measurements, CapacityError> {
        let mut all: Value = serde_json::from_str(include_str!("measurements.json")).unwrap();
        all["growth"]["rows"] = rows;
        Measurements::read(&all.to_string())
    }

    fn embedded_rows() -> Vec<Value> {
        let mut all: Value = serde_json::from_str(include_str!("measurements.json")).unwrap();
        serde_json::from_value(all["growth"]["rows"].take()).unwrap()
    }

    /// A row with these seconds of building.
    fn built(vectors: u64, build_s: f64) -> Value {
        json!({"vectors": vectors, "dimensions": 384, "build_s": build_s, "build_threads": 2})
    }

    /// The prediction of the largest size does not know what was measured there, and says so where it is far off.
    fn check_prediction(rows: &[Value]) {
        let largest = rows.iter().filter_map(|row| row["vectors"].as_u64()).max();
        let measurements = with_rows(rows.into()).unwrap();
        let mut changed = measurements.clone();
        let last = changed.growth.rows.iter_mut();
        for row in last.filter(|row| Some(row.vectors) == largest) {
            let fields = [
                &mut row.build_s,
                &mut row.build_peak_bytes,
                &mut row.file_bytes,
                &mut row.resident_bytes,
                &mut row.p50_ms,
                &mut row.p99_ms,
            ];
            for value in fields.into_iter().flatten() {
                *value *= 1e9;
            }
            row.queries_per_s = row.queries_per_s.map(|rate| rate / 1e9);
        }
        for growing in ALL {
            let of = |measurements| Growth::of(growing, measurements, 384, 0.9).unwrap();
            let (Some(growth), Some(other)) = (of(&measurements), of(&changed)) else {
                continue;
            };
            assert_eq!(growth.check.is_some(), growth.sizes > LEAST_SIZES);
            if let (Some(check), Some(changed)) = (growth.check, other.check) {
                let Estimate { low, high, .. } = check.predicted;
                let is_within = low <= check.measured && check.measured <= high;
                has!(check, is_within: is_within, predicted: changed.predicted);
                assert!(!changed.is_within || high > 1e6 * check.predicted.value);
            }
        }
    }

    #[test]
    fn the_largest_size_is_predicted_from_the_smaller_ones() {
        check_prediction(&embedded_rows());
        let rows = [
            built(100_000, 20.0),
            built(300_000, 66.0),
            built(1_000_000, 230.0),
            built(3_000_000, 700.0),
        ];
        check_prediction(&rows);
        let measurements = with_rows(rows.as_slice().into()).unwrap();
        let growth = Growth::of(&BUILD, &measurements, 768, 0.9)
            .unwrap()
            .unwrap();
        let check = growth.check.unwrap();
        assert!(check.is_within, "{check:?}");
        assert_eq!(
            check.measured,
            700.0 * 2.0 * 2.0,
            "two threads, twice the dimensions"
        );
        assert_eq!((growth.sizes, growth.vectors), (4, [100_000, 3_000_000]));
    }

    #[test]
    fn the_fastest_row_that_reaches_the_recall_counts() {
        let searched = |vectors: u64, recall: f64, queries_per_s: f64| json!({"vectors": vectors, "dimensions": 384, "queries_per_s": queries_per_s, "recall": recall});
        let sizes = [100, 1000, 10_000];
        let rows = sizes.iter().flat_map(|&n| {
            [
                searched(n, 0.951, 400.0),
                searched(n, 0.99, 200.0),
                searched(n, 0.999, 100.0),
            ]
        });
        let measurements = with_rows(rows.collect()).unwrap();
        let core_s = |recall| {
            let growth = Growth::of(&SEARCH, &measurements, 384, recall).unwrap();
            growth.unwrap().at(1000.0).value
        };
        for (recall, expected) in [(0.95, 400.0), (0.954, 400.0), (0.97, 200.0), (0.999, 100.0)] {
            assert!((core_s(recall) * expected - 1.0).abs() < 1e-9, "{recall}");
        }
        let mut rows: Vec<Value> = sizes.iter().map(|&n| searched(n, 0.95, 400.0)).collect();
        rows[0]["recall"] = json!(0.999);
        let measurements = with_rows(rows.into()).unwrap();
        let error = Growth::of(&SEARCH, &measurements, 384, 0.99).unwrap_err();
        says!(error.to_string() => "recall of 0.99; 3 reach 0.95");
        // Building has nothing to do with recall, and was not measured here.
        assert_eq!(Growth::of(&BUILD, &measurements, 384, 0.99).unwrap(), None);
    }

    #[test]
    fn bytes_of_codes_follow_the_dimensions() {
        let row = |vectors: u64| json!({"vectors": vectors, "dimensions": 384, "file_bytes": vectors * 1772});
        let measurements = with_rows([1000, 5000, 9000].map(row).as_slice().into()).unwrap();
        let bytes = |dimensions| {
            let growth = Growth::of(&GRAPH, &measurements, dimensions, 0.9).unwrap();
            growth.unwrap().at(2000.0).value
        };
        assert!((bytes(384) - 2000.0 * 236.0).abs() < 1e-3);
        assert!((bytes(1024) - 2000.0 * (236.0 + 160.0)).abs() < 1e-3);
    }

    #[test]
    fn bad_measurements_are_refused() {
        let refused = |rows: Value| with_rows(rows).unwrap_err().to_string();
        let two = json!([built(10, 1.0), built(100, 2.0), built(100, 2.5)]);
        assert!(refused(two).contains("at 3 sizes, and there are 2"));
        let negative = json!([built(10, 1.0), built(100, -2.0), built(1000, 3.0)]);
        assert!(refused(negative).contains("build_s is -2 in the measurements at 100 vectors"));
        assert!(refused(json!([{"vectors": 1}])).contains("cannot be read"));
    }
}
