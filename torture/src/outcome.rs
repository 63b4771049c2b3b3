//! What came of a campaign, in numbers, for people and for programs.

use std::collections::BTreeMap;
use std::time::Instant;

use serde::Serialize;

/// Violations that are told one by one; of the others only the number.
const TOLD: usize = 200;

/// Something that must not happen and did.
#[derive(Debug, Clone, Serialize)]
pub struct Violation {
    /// Where: which call, which fault, which file.
    pub at: String,
    /// What.
    pub what: String,
}

/// What came of one campaign on one world.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// The campaign.
    pub campaign: String,
    /// What was tortured.
    pub world: String,
    /// Counts by name.
    pub numbers: BTreeMap<String, usize>,
    /// What must not happen and did.
    pub violations: Vec<Violation>,
    /// How many of these there are, if not all are told.
    pub violation_count: usize,
    /// How long it took.
    pub seconds: f64,
    #[serde(skip)]
    begun: Option<Instant>,
}

impl Outcome {
    /// Begins to count and to take the time.
    #[must_use]
    pub fn begin(campaign: &str, world: &str) -> Self {
        Self {
            campaign: campaign.to_owned(),
            world: world.to_owned(),
            numbers: BTreeMap::new(),
            violations: Vec::new(),
            violation_count: 0,
            seconds: 0.0,
            begun: Some(Instant::now()),
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

    /// Notes something that must not happen.
    pub fn violation(&mut self, at: impl Into<String>, what: impl Into<String>) {
        self.violations.push(Violation {
            at: at.into(),
            what: what.into(),
        });
    }

    /// Ends it.
    #[must_use]
    pub fn end(mut self) -> Self {
        self.seconds = self
            .begun
            .map_or(0.0, |begun| begun.elapsed().as_secs_f64());
        self.violation_count = self.violations.len();
        self.violations.truncate(TOLD);
        self
    }

    /// A line, and the first violations.
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
