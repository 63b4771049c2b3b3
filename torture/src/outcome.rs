//! The outcome of a campaign, in numbers, for people and for programs.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;

/// Violations that are reported one by one; the others are only counted.
const REPORTED: usize = 200;

/// A violation of a promise of ken.
#[derive(Debug, Clone, Serialize)]
pub struct Violation {
    /// The call, fault or file that it followed.
    pub at: String,
    /// What went wrong.
    pub what: String,
}

/// The outcome of one campaign on one world.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The campaign.
    pub campaign: String,
    /// The world or the store.
    pub world: String,
    /// Counts by name.
    pub numbers: BTreeMap<String, usize>,
    /// The violations, up to a limit.
    pub violations: Vec<Violation>,
    /// The number of violations, including those not reported.
    pub violation_count: usize,
    /// The duration.
    pub seconds: f64,
    #[serde(skip)]
    started: Option<Instant>,
}

impl Outcome {
    /// Starts the clock, with all counts at 0.
    #[must_use]
    pub fn begin(campaign: &str, world: &str) -> Self {
        Self {
            campaign: campaign.to_owned(),
            world: world.to_owned(),
            numbers: BTreeMap::new(),
            violations: Vec::new(),
            violation_count: 0,
            seconds: 0.0,
            started: Some(Instant::now()),
        }
    }

    /// Sets a count.
    pub fn number(&mut self, name: &str, value: usize) {
        self.numbers.insert(name.to_owned(), value);
    }

    /// Adds to a count.
    pub fn add(&mut self, name: &str, value: usize) {
        *self.numbers.entry(name.to_owned()).or_default() += value;
    }

    /// Records a violation.
    pub fn violation(&mut self, at: impl Into<String>, what: impl Into<String>) {
        self.violations.push(Violation {
            at: at.into(),
            what: what.into(),
        });
    }

    /// Stops the clock.
    #[must_use]
    pub fn end(mut self) -> Self {
        self.seconds = self
            .started
            .map_or(0.0, |started| started.elapsed().as_secs_f64());
        self.violation_count = self.violations.len();
        self.violations.truncate(REPORTED);
        self
    }

    /// A line of numbers, and the first violations.
    #[must_use]
    pub fn summary(&self) -> String {
        let numbers: Vec<String> = self
            .numbers
            .iter()
            .map(|(name, value)| format!("{value} {name}"))
            .collect();
        let mut text = format!(
            "{} {}: {}, {} violations, {:.1} s",
            self.campaign,
            self.world,
            numbers.join(", "),
            self.violation_count,
            self.seconds
        );
        for violation in self.violations.iter().take(5) {
            text.push_str(&format!("\n    {}: {}", violation.at, violation.what));
        }
        text
    }
}
