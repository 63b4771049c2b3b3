//! Making a policy datastore from labeled questions (SR-RAG, section 3.4): a tuned model's states
//! at the end of the questions as keys, and the layer whose keys separate the sources best.

use std::collections::BTreeMap;
use std::path::Path;

use ken_answer::datastore::{By, Entry, KeyedBy, NEIGHBORS, SELF, mean_of};
use ken_answer::prompt::{self, QuestionPrompt};
use ken_answer::{AnswerError, Datastore, DatastoreError};
use ken_diagnostic::Action;
use ken_language::{LanguageModel, Prompt};
use rayon::prelude::*;
use serde::Serialize;

use crate::discrimination::auroc;
use crate::label::SourceRecord;
use crate::training_examples::{ExamplesError, LabelRule};

/// Questions whose states are taken together.
const BATCH: usize = 64;

/// Questions that a layer is judged by at most.
const JUDGED: usize = 2000;

/// How well the nearest other entries separate the sources, by the layer of the keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct JudgedLayer {
    /// After this many layers.
    pub layer: usize,
    /// The area under the curve of the corpora's share among the neighbors, as a sign that a corpus
    /// answers best; each question leaves itself out. `None` where all have one source.
    pub auroc: Option<f64>,
}

/// What came of making a datastore.
#[derive(Debug, Serialize)]
pub struct MadeDatastore {
    /// Entries.
    pub entries: usize,
    /// Entries by source.
    pub sources: BTreeMap<String, usize>,
    /// The layer of its keys.
    pub layer: usize,
    /// The layers that were tried.
    pub tried: Vec<JudgedLayer>,
}

/// Why no datastore can be made.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
pub enum MakeError {
    /// No record has a label.
    #[error(transparent)]
    Labels(#[from] ExamplesError),
    /// The model failed.
    #[error(transparent)]
    Model(#[from] AnswerError),
    /// It could not be written.
    #[error(transparent)]
    Datastore(#[from] DatastoreError),
}

/// Makes a datastore in a folder from labeled questions; those without a label are left out. Of
/// `layers` the one is chosen whose keys separate the sources best. `progress` is given the number of
/// questions done and in all, over all layers; it returns whether to continue.
///
/// # Errors
/// No labels, a model that was not trained to choose, a layer that it does not have, a folder that
/// holds something. `None` where it was told to stop.
pub fn make_datastore(
    folder: &Path,
    records: &[SourceRecord],
    rule: LabelRule,
    model: &dyn LanguageModel,
    layers: &[usize],
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Result<Option<MadeDatastore>, MakeError> {
    let labeled: Vec<(&SourceRecord, &str)> = records
        .iter()
        .filter_map(|record| Some((record, record.preferred_by(rule)?)))
        .collect();
    if labeled.is_empty() {
        return Err(MakeError::Labels(ExamplesError::NoLabels {
            records: records.len(),
            labeled_by: Action::LabelSources,
        }));
    }
    let chooser = model.source_chooser().map_err(AnswerError::from)?;
    let corpora = chooser.corpora();
    let prompts: Vec<Prompt> = labeled
        .iter()
        .map(|(record, _)| {
            prompt::choose_source(QuestionPrompt {
                question: &record.question,
                choices: &record.choices,
            })
        })
        .collect();
    let is_outside: Vec<bool> = labeled.iter().map(|(_, source)| *source != SELF).collect();
    let mut best: Option<(JudgedLayer, KeyedBy, Vec<Vec<f32>>)> = None;
    let mut tried = Vec::new();
    let total = layers.len() * prompts.len();
    for (number, &layer) in layers.iter().enumerate() {
        let mut states = Vec::with_capacity(prompts.len());
        for batch in prompts.chunks(BATCH) {
            if !progress(number * prompts.len() + states.len(), total) {
                return Ok(None);
            }
            let batch: Vec<&Prompt> = batch.iter().collect();
            let choices = chooser
                .choose_sources(&batch, layer)
                .map_err(AnswerError::from)?;
            states.extend(choices.into_iter().map(|choice| choice.state));
        }
        let keyed_by = KeyedBy {
            model: model.fingerprint().to_owned(),
            prompt: prompt::fingerprint(),
            layer,
            center: mean_of(&states),
        };
        let judged = JudgedLayer {
            layer,
            auroc: judge(&keyed_by, &states, &is_outside),
        };
        tried.push(judged.clone());
        if best
            .as_ref()
            .is_none_or(|(other, ..)| judged.auroc > other.auroc)
        {
            best = Some((judged, keyed_by, states));
        }
    }
    let Some((judged, keyed_by, states)) = best else {
        return Ok(None);
    };
    let entries: Vec<Entry> = labeled
        .iter()
        .map(|(record, source)| Entry {
            id: record.id.clone(),
            question: record.question.clone(),
            source: (*source).to_owned(),
            by: By::Measured,
        })
        .collect();
    let mut sources = BTreeMap::new();
    for entry in &entries {
        *sources.entry(entry.source.clone()).or_insert(0) += 1;
    }
    let count = entries.len();
    Datastore::create(folder, keyed_by, &corpora, entries, &states)?;
    Ok(Some(MadeDatastore {
        entries: count,
        sources,
        layer: judged.layer,
        tried,
    }))
}

/// How well the nearest neighbors predict which questions a corpus answers best.
fn judge(keyed_by: &KeyedBy, states: &[Vec<f32>], is_outside: &[bool]) -> Option<f64> {
    let keys: Vec<Vec<f32>> = states.iter().map(|state| keyed_by.key(state)).collect();
    let every = keys.len().div_ceil(JUDGED).max(1);
    let judged: Vec<usize> = (0..keys.len()).step_by(every).collect();
    let predictions: Vec<(f64, bool)> = judged
        .into_par_iter()
        .map(|place| {
            let mut near: Vec<(f32, usize)> = keys
                .iter()
                .enumerate()
                .filter(|(other, _)| *other != place)
                .map(|(other, key)| {
                    let product: f32 = key.iter().zip(&keys[place]).map(|(x, y)| x * y).sum();
                    (product, other)
                })
                .collect();
            let wanted = NEIGHBORS.min(near.len());
            if wanted < near.len() {
                near.select_nth_unstable_by(wanted, |one, other| other.0.total_cmp(&one.0));
            }
            let outside = near[..wanted]
                .iter()
                .filter(|(_, other)| is_outside[*other]);
            let share = outside.count() as f64 / wanted.max(1) as f64;
            (share, is_outside[place])
        })
        .collect();
    auroc(&predictions)
}
