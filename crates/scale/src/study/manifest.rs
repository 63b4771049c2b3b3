//! The description of a study: the file `study.json` of its folder. To join grids of one study from several machines,
//! join their manifests.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use ken_eval::dataset::Question;
use ken_eval::results::RunSettings;
use ken_language::fingerprint_of_texts;
use ken_storage::{StorageError, create_dir_all, replace};
use serde::{Deserialize, Serialize};

use super::condition::{Cell, Condition};
use super::error::ScalingError;

/// The file's name.
const FILE: &str = "study.json";
/// The subfolders of a study, which hold all other records.
const FOLDERS: [&str; 3] = ["cells", "evidence", "signals"];

/// A study.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Manifest {
    /// The corpus, as the caller named it.
    pub corpus: String,
    /// A fingerprint of its contents over all shards.
    pub corpus_fingerprint: String,
    /// The settings common to all cells.
    pub settings: RunSettings,
    /// In each data set, how many of the first questions are answered one at a time, to measure the time of single
    /// questions.
    pub timed: usize,
    /// The seed of all random draws.
    pub seed: u64,
    /// The data sets, by name.
    pub datasets: BTreeMap<String, Dataset>,
    /// The models, by name.
    pub models: BTreeMap<String, StudiedModel>,
    /// The conditions.
    pub conditions: Vec<StudiedCondition>,
    /// Policies besides always and never.
    pub policies: BTreeSet<String>,
}

/// The questions of a data set.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dataset {
    /// The file.
    pub file: PathBuf,
    /// The number of questions.
    pub questions: usize,
    /// A fingerprint of the questions.
    pub fingerprint: String,
    /// The ids of the questions that are answered one at a time.
    pub timed: Vec<String>,
}

impl Dataset {
    /// Describes the questions of a file, the first `timed` of which are answered one at a time.
    pub fn of(file: &Path, questions: &[Question], timed: usize) -> Self {
        let mut texts: Vec<&str> = Vec::new();
        for question in questions {
            texts.extend([question.id.as_str(), &question.question]);
            texts.extend(question.golden_answers.iter().map(String::as_str));
            texts.push("");
        }
        Self {
            file: file.to_owned(),
            questions: questions.len(),
            fingerprint: fingerprint_of_texts(&texts),
            timed: questions
                .iter()
                .take(timed)
                .map(|question| question.id.clone())
                .collect(),
        }
    }
}

/// A model and its size.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudiedModel {
    /// Its reference.
    pub reference: String,
    /// Its adapter, if it has one.
    pub adapter: Option<PathBuf>,
    /// A fingerprint of its files.
    pub fingerprint: String,
    /// The number of its parameters; tied embeddings count once.
    pub parameters: u64,
    /// Bytes of memory that its weights take; `None` behind an endpoint.
    pub weight_bytes: Option<u64>,
    /// Bytes of memory that the keys and values of a token take; `None` behind an endpoint.
    pub bytes_per_token: Option<u64>,
}

/// A condition and the size of what it searches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StudiedCondition {
    /// The condition.
    #[serde(flatten)]
    pub condition: Condition,
    /// Passages searched.
    pub passages: u64,
    /// Bytes of the index, which stay in memory if there is enough; `None` in Milvus, which tells no sizes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub index_bytes: Option<u64>,
    /// Bytes on disk; `None` in Milvus.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub disk_bytes: Option<u64>,
}

impl Manifest {
    /// Reads the manifest of a folder; `None` if it has none.
    ///
    /// # Errors
    /// A file that is unreadable or broken; a link or special file among the study's files.
    pub fn read_any(folder: &Path) -> Result<Option<Self>, ScalingError> {
        for name in FOLDERS {
            ken_storage::check_tree(&folder.join(name))?;
        }
        let path = folder.join(FILE);
        match ken_storage::read(&path) {
            Ok(bytes) => match serde_json::from_slice(&bytes) {
                Ok(manifest) => Ok(Some(manifest)),
                Err(cause) => Err(ScalingError::BrokenStudy {
                    path,
                    reason: cause.to_string(),
                }),
            },
            Err(cause) if cause.source.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(cause) => Err(cause.into()),
        }
    }

    /// Reads the manifest of a study's folder.
    ///
    /// # Errors
    /// A folder of something else; a file that is unreadable or broken.
    pub fn read(folder: &Path) -> Result<Self, ScalingError> {
        let folder_of_other = || ScalingError::NotAStudy {
            path: folder.to_owned(),
        };
        Self::read_any(folder)?.ok_or_else(folder_of_other)
    }

    /// Writes the manifest into a folder, creating it if necessary.
    ///
    /// # Errors
    /// A folder or file that cannot be written.
    pub fn write(&self, folder: &Path) -> Result<(), ScalingError> {
        create_dir_all(folder)?;
        let path = folder.join(FILE);
        let text = serde_json::to_string_pretty(self)
            .map_err(std::io::Error::from)
            .map_err(StorageError::new("write", &path))?;
        Ok(replace(&path, text.as_bytes())?)
    }

    /// Joins this study to that of a folder, if it has one.
    ///
    /// # Errors
    /// Those of [`Manifest::read_any`] and of [`Manifest::joined`].
    pub fn added_to(self, folder: &Path) -> Result<Self, ScalingError> {
        match Self::read_any(folder)? {
            Some(before) => before.joined(self),
            None => Ok(self),
        }
    }

    /// Joins two studies into one with all data sets, models and conditions of both.
    ///
    /// # Errors
    /// Different settings, questions or models under the same name.
    pub fn joined(mut self, other: Self) -> Result<Self, ScalingError> {
        if self.corpus_fingerprint != other.corpus_fingerprint {
            let (was, now) = (self.corpus, other.corpus);
            return Err(ScalingError::OtherCorpus { was, now });
        }
        let timed = |manifest: &Self| format!("{} of seed {}", manifest.timed, manifest.seed);
        if timed(&self) != timed(&other) {
            let (was, now) = (timed(&self), timed(&other));
            return Err(ScalingError::OtherSettings {
                name: "timed".to_owned(),
                was,
                now,
            });
        }
        for name in self.settings.keys().chain(other.settings.keys()) {
            let value = |settings: &RunSettings| settings.get(name).cloned().unwrap_or_default();
            let (was, now) = (value(&self.settings), value(&other.settings));
            if was != now {
                return Err(ScalingError::OtherSettings {
                    name: name.clone(),
                    was,
                    now,
                });
            }
        }
        for (name, dataset) in other.datasets {
            let known = self
                .datasets
                .entry(name.clone())
                .or_insert_with(|| dataset.clone());
            if known.fingerprint != dataset.fingerprint {
                return Err(ScalingError::OtherQuestions { dataset: name });
            }
        }
        for (name, model) in other.models {
            let known = self
                .models
                .entry(name.clone())
                .or_insert_with(|| model.clone());
            if known.fingerprint != model.fingerprint || known.parameters != model.parameters {
                let (one, other) = (known.reference.clone(), model.reference);
                return Err(ScalingError::TwoModelsOfOneName { name, one, other });
            }
        }
        for condition in other.conditions {
            let is_it = |known: &&mut StudiedCondition| known.condition == condition.condition;
            match self.conditions.iter_mut().find(is_it) {
                Some(known) => *known = condition,
                None => self.conditions.push(condition),
            }
        }
        self.conditions.sort_by_key(|studied| studied.condition);
        self.policies.extend(other.policies);
        Ok(self)
    }

    /// All cells of the grid.
    pub fn cells(&self) -> Vec<Cell> {
        let mut cells = Vec::new();
        for dataset in self.datasets.keys() {
            for model in self.models.keys() {
                let conditions = self.conditions.iter().map(|studied| studied.condition);
                cells.extend(conditions.map(|condition| Cell::new(dataset, model, condition)));
            }
        }
        cells
    }

    /// The names of the models, from small to large.
    pub(crate) fn models_by_size(&self) -> Vec<&str> {
        let mut models: Vec<(&String, &StudiedModel)> = self.models.iter().collect();
        models.sort_by_key(|(_, model)| model.parameters);
        models.into_iter().map(|(name, _)| name.as_str()).collect()
    }
}
