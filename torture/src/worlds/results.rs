//! A file of per-question results: started, resumed, some records replaced.

use std::path::Path;

use ken_diagnostic::Action;
use ken_eval::results::Line;
use ken_eval::{ResultsError, ResultsFile, RunSettings};
use serde::{Deserialize, Serialize};

use crate::world::{Contents, KEPT, Refusal, World};

/// A file of results that grows. A step is a run that ends with a sync.
#[derive(Debug, Clone, Copy)]
pub struct ResultsWorld;

const STEPS: usize = 6;
const RECORDS: usize = 4;

#[derive(Debug, Clone, Serialize, Deserialize)]
struct Answered {
    id: String,
    answer: String,
}

impl Line for Answered {
    const WRITTEN_BY: Action = Action::Probe;

    fn id(&self) -> &str {
        &self.id
    }
}

fn settings() -> RunSettings {
    RunSettings::from([("model".to_owned(), "m".to_owned())])
}

/// Each run replaces one record of the one before.
fn records(step: usize) -> impl Iterator<Item = Answered> {
    let first = step * (RECORDS - 1);
    (first..first + RECORDS).map(move |n| Answered {
        id: format!("q{n}"),
        answer: format!("{step}.{n} ").repeat(n * 37 % 90 + 1),
    })
}

fn append(path: &Path, step: usize) -> Result<(), ResultsError> {
    let mut file = ResultsFile::open(path, settings())?;
    for record in records(step) {
        file.append(record)?;
    }
    file.sync()
}

impl World for ResultsWorld {
    fn name(&self) -> &'static str {
        "results"
    }

    fn steps(&self) -> usize {
        STEPS
    }

    fn take(&self, dir: &Path, step: usize) -> Result<(), Refusal> {
        let appended = append(&dir.join(KEPT).join("results.jsonl"), step);
        appended.map_err(|error| Refusal::new(error.kind(), &error))
    }

    fn contents(&self, dir: &Path) -> Result<Contents, String> {
        let path = dir.join(KEPT).join("results.jsonl");
        if !path.exists() {
            return Ok(Contents::new());
        }
        let file = ResultsFile::<Answered>::open(&path, settings());
        let file = file.map_err(|error| error.to_string())?;
        let ids = (0..STEPS * RECORDS).map(|n| format!("q{n}"));
        let records = ids.filter_map(|id| Some((id.clone(), file.get(&id)?.answer.clone())));
        Ok(records.collect())
    }

    /// Of the step that was started, any records may be there; never half of one.
    fn allows(&self, before: &Contents, after: Option<&Contents>, found: &Contents) -> bool {
        let after = after.unwrap_or(before);
        let is_of = |id: &String, answer: &String| {
            before.get(id) == Some(answer) || after.get(id) == Some(answer)
        };
        found.iter().all(|(id, answer)| is_of(id, answer))
            && before.keys().all(|id| found.contains_key(id))
    }
}
