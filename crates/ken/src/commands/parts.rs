//! What the verbs that measure in parts share: where a part goes, and what `ken join` needs to know about it.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fmt::Display;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use ken_answer::{Abstention, Policy};
use ken_eval::part::{PartFolder, PartedRun};
use ken_eval::run::RunRecord;
use ken_eval::{Part, RunSettings};
use ken_scale::study::Retrieval;
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::json;

use crate::commands::provenance;
use crate::commands::training_questions::Taught;
use crate::failure::{Failure, Result};
use crate::output;
use crate::session::Session;

/// The file of records in the folder of a part, if the whole is one file.
pub(crate) const RECORDS: &str = "records.jsonl";

/// A measurement, with what the report of the whole needs besides its records.
#[derive(Serialize, Deserialize)]
#[serde(tag = "verb", rename_all = "snake_case")]
pub(crate) enum PartedWork {
    Probe {
        by: Option<String>,
    },
    LabelMastery,
    LabelSources,
    Eval {
        policy: String,
        by: Option<String>,
        taught: Vec<Taught>,
    },
    Compare(ComparisonOptions),
    Card(CardOptions),
    Study(StudyOptions),
}

/// What the report of a comparison needs besides the answers.
#[derive(Clone, Serialize, Deserialize)]
pub(crate) struct ComparisonOptions {
    pub(crate) title: String,
    pub(crate) by: Option<String>,
    pub(crate) policies: Vec<InWords<Policy>>,
    /// Those that have answers of their own.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) own: Vec<InWords<Policy>>,
    pub(crate) abstain: Option<InWords<Abstention>>,
    pub(crate) k: usize,
    pub(crate) seed: u64,
    /// Whether a gate is trained for each half of the questions.
    pub(crate) cross_fits: bool,
    pub(crate) taught: Vec<Taught>,
}

/// What the report of a card needs besides the answers.
#[derive(Serialize, Deserialize)]
pub(crate) struct CardOptions {
    pub(crate) title: String,
    pub(crate) by: Vec<String>,
    pub(crate) policies: Vec<InWords<Policy>>,
    pub(crate) k: usize,
    pub(crate) seed: u64,
}

/// What identifies a study besides its questions and settings.
#[derive(Serialize, Deserialize)]
pub(crate) struct StudyOptions {
    /// A fingerprint of the corpus.
    pub(crate) corpus: String,
    pub(crate) models: Vec<String>,
    /// Those that are declared.
    pub(crate) parameters: BTreeMap<String, u64>,
    pub(crate) scales: Vec<u32>,
    pub(crate) retrievals: Vec<Retrieval>,
    pub(crate) policies: Vec<InWords<Policy>>,
    pub(crate) timed: usize,
    pub(crate) seed: u64,
}

/// A value that is stored as people write it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct InWords<T>(pub(crate) T);

impl<T: Display> Serialize for InWords<T> {
    fn serialize<To: Serializer>(&self, to: To) -> Result<To::Ok, To::Error> {
        to.collect_str(&self.0)
    }
}

impl<'de, T: FromStr<Err: Display>> Deserialize<'de> for InWords<T> {
    fn deserialize<From: Deserializer<'de>>(from: From) -> Result<Self, From::Error> {
        let parsed = String::deserialize(from)?.parse();
        parsed.map(Self).map_err(Error::custom)
    }
}

/// The items of a run and the place of its records: all items, or those of a part in its folder.
pub(crate) struct Place<I> {
    pub(crate) items: Vec<I>,
    /// Where the run writes to; for a part, its folder.
    pub(crate) out: PathBuf,
    part: Option<Part>,
}

/// The place of a run that would write to `out`, or of the requested part of it, which is begun or resumed.
///
/// # Errors
/// A folder with another part, or a part of another run.
pub(crate) fn place<I: Serialize + Clone>(
    part: Option<Part>,
    out: PathBuf,
    items: Vec<I>,
    settings: &RunSettings,
    work: &PartedWork,
    session: &Session<'_>,
) -> Result<Place<I>> {
    let Some(number) = part else {
        return Ok(Place { items, out, part });
    };
    let run = PartedRun {
        settings: settings.clone(),
        work: serde_json::to_value(work).map_err(Failure::other)?,
        command: command_of_whole(session.given),
    };
    let begun = PartFolder::begin(number.folder(&out), number, &items, run)?;
    Ok(Place {
        items: begun.items,
        out: begun.path,
        part,
    })
}

impl<I> Place<I> {
    /// The file of records, if the whole is one file.
    pub(crate) fn file(&self) -> PathBuf {
        match self.part {
            Some(_) => self.out.join(RECORDS),
            None => self.out.clone(),
        }
    }

    /// Says where the measured part is, if it is one; returns whether it is.
    pub(crate) fn is_told_as_part<L: RunRecord<Item = I>>(
        &self,
        session: &Session<'_>,
    ) -> Result<bool> {
        let Some(part) = self.part else {
            return Ok(false);
        };
        let (count, items) = (self.items.len(), L::TASK.items());
        tell(part, count, items, &self.out, session)?;
        Ok(true)
    }
}

/// Says where a measured part is, and how many `items` it has.
pub(crate) fn tell(
    part: Part,
    count: usize,
    items: &str,
    out: &Path,
    session: &Session<'_>,
) -> Result<()> {
    match session.json {
        true => output::json(&json!({"part": part, "items": count, "out": out})),
        false => output::line(format!(
            "part {part}: {count} {items} in {}; `ken join` joins all parts",
            out.display()
        )),
    }
}

/// The command without its part.
fn command_of_whole(given: &[OsString]) -> String {
    let mut words = given.iter();
    let mut kept = Vec::new();
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--part") => drop(words.next()),
            Some(text) if text.starts_with("--part=") => {}
            _ => kept.push(word.clone()),
        }
    }
    provenance::command(&kept)
}
