//! What a policy was tuned for: one model, one style of answers and one way to find evidence. With others its
//! threshold says nothing, so ken refuses it there.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use ken_answer::{Pipeline, Policy};
use serde::{Deserialize, Serialize};

use crate::error::SetupError;
use crate::settings::Settings;

/// What may change under a tuned policy. Corpora grow, and how a model computes changes its answers little.
const MAY_CHANGE: [&str; 5] = ["corpus", "device", "policy", "precision", "seed"];

/// Policies that tuning may choose but that have no threshold: a person may name them with anything.
const UNTUNED: [Policy; 3] = [Policy::NEVER, Policy::ALWAYS, Policy::DOCUMENTS];

/// The file that `ken tune --write` leaves beside the settings.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tuned {
    /// The policy.
    pub policy: String,
    /// What its answers depended on, by name.
    pub measured_with: BTreeMap<String, String>,
}

impl Tuned {
    /// Records the policy of a pipeline, and what its answers depended on.
    pub fn of(settings: &Settings, pipeline: &Pipeline) -> Self {
        Self {
            policy: pipeline.settings.policy.to_string(),
            measured_with: measured_with(settings, pipeline),
        }
    }

    /// Writes the file, replacing an existing one.
    ///
    /// # Errors
    /// A file that cannot be written.
    pub fn write(&self, path: &Path) -> Result<(), SetupError> {
        let text = toml::to_string(self).map_err(|reason| SetupError::NotTuned {
            path: path.to_owned(),
            reason: reason.to_string(),
        })?;
        Ok(ken_storage::output(path, text.as_bytes())?)
    }

    /// Reads the file.
    ///
    /// # Errors
    /// [`SetupError::NotTuned`].
    pub fn read(path: &Path) -> Result<Self, SetupError> {
        let not_tuned = |reason: String| SetupError::NotTuned {
            path: path.to_owned(),
            reason,
        };
        let text = std::fs::read_to_string(path).map_err(|cause| not_tuned(cause.to_string()))?;
        toml::from_str(&text).map_err(|cause| not_tuned(cause.message().to_owned()))
    }
}

impl Settings {
    /// Makes a pipeline answer in the style for people.
    ///
    /// # Errors
    /// As [`Settings::check_tuned`].
    pub fn answer_people(&self, pipeline: &mut Pipeline) -> Result<(), SetupError> {
        pipeline.settings.style = self.style(pipeline.model.as_ref());
        self.check_tuned(pipeline)
    }

    /// Checks that a tuned policy was tuned for a pipeline like this one.
    ///
    /// # Errors
    /// [`SetupError::TunedOtherwise`]; a file that does not hold a [`Tuned`].
    pub fn check_tuned(&self, pipeline: &Pipeline) -> Result<(), SetupError> {
        let Some(path) = &self.tuned else {
            return Ok(());
        };
        let Tuned {
            policy,
            measured_with: then,
        } = Tuned::read(path)?;
        let now = pipeline.settings.policy;
        if policy != now.to_string() || UNTUNED.contains(&now) {
            return Ok(());
        }
        let now = measured_with(self, pipeline);
        let names: BTreeSet<&str> = then.keys().chain(now.keys()).map(String::as_str).collect();
        // Names these first: other differences follow from them.
        let mut names = ["model", "style"].into_iter().chain(names);
        // Corpora that are opened later are reranked as the settings say.
        let is_known = |name: &str| name != "rerank" || pipeline.retriever().is_some();
        let setting = |of: &BTreeMap<String, String>, name: &str| match of.get(name) {
            Some(value) => format!("{name} {value}"),
            None => format!("no {name}"),
        };
        let other = names.find(|name| then.get(*name) != now.get(*name) && is_known(name));
        match other {
            None => Ok(()),
            Some(name) => Err(SetupError::TunedOtherwise {
                policy,
                then: setting(&then, name),
                now: setting(&now, name),
            }),
        }
    }
}

/// What a tuned policy depends on.
fn measured_with(settings: &Settings, pipeline: &Pipeline) -> BTreeMap<String, String> {
    let mut with = settings.identity(pipeline);
    with.retain(|name, _| !MAY_CHANGE.contains(&name.as_str()) && !name.starts_with("source "));
    with.insert("style".to_owned(), pipeline.settings.style.to_string());
    with
}
