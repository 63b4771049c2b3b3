//! What a study varies, checked before anything is computed.

use std::path::Path;
use std::sync::Arc;

use ken_answer::{Policy, Rerank};
use ken_eval::{Question, RunSettings, default_file};
use ken_language::LanguageModel;
use ken_policy::Rule;
use ken_scale::study::{Dataset, Order, Retrieval, ScalingError, StudiedModel};
use ken_setup::Settings;

use crate::arguments::study::{NamedModel, StudyRunArguments};
use crate::commands::records;
use crate::failure::{Failure, Result};
use crate::session::Session;

/// The questions of one file.
pub(super) struct QuestionSet {
    pub(super) name: String,
    pub(super) questions: Vec<Question>,
    /// How many of the first are answered one at a time.
    pub(super) timed: usize,
    /// All questions of the study, of which a part has some.
    pub(super) kept: Dataset,
}

/// Reads the files of questions.
pub(super) fn question_sets(
    arguments: &StudyRunArguments,
    session: &Session<'_>,
) -> Result<Vec<QuestionSet>> {
    let mut sets: Vec<QuestionSet> = Vec::new();
    for path in &arguments.questions {
        let name = name_of(path);
        if sets.iter().any(|set| set.name == name) {
            return Err(ScalingError::TwoDatasetsOfOneName { name }.into());
        }
        let questions = records::questions(path, arguments.limit, session.settings)?;
        let kept = Dataset::of(path, &questions, arguments.timed);
        sets.push(QuestionSet {
            name,
            questions,
            timed: kept.timed.len(),
            kept,
        });
    }
    Ok(sets)
}

/// The name of a file of questions: without its ending, and with only what file names may have.
fn name_of(path: &Path) -> String {
    let name = default_file(path, "").display().to_string();
    let is_kept = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    name.trim_end_matches('.').replace(|c| !is_kept(c), "_")
}

/// Refuses what a study cannot compare.
pub(super) fn check(arguments: &StudyRunArguments, settings: &Settings) -> Result<()> {
    if settings.rerank == Rerank::Likelihood {
        return Err(ScalingError::RerankByStudiedModel.into());
    }
    for (place, model) in arguments.model.iter().enumerate() {
        let before = &arguments.model[..place];
        if let Some(other) = before.iter().find(|other| other.name == model.name) {
            return Err(ScalingError::TwoModelsOfOneName {
                name: model.name.clone(),
                one: other.reference.to_string(),
                other: model.reference.to_string(),
            }
            .into());
        }
    }
    for policy in &arguments.policy {
        let reason = match policy {
            policy if policy.retrieve == Rule::Oracle => "it knows the right answers",
            policy if policy.reviews_by().is_some() => {
                "it reviews the evidence, and signals are measured once for all scales"
            }
            policy if policy.most_k().is_some() => {
                "it chooses k, which a condition of the study sets"
            }
            policy if policy.check().is_err() => "it has no threshold",
            _ => continue,
        };
        let policy = policy.to_string();
        return Err(ScalingError::PolicyNotStudied { policy, reason }.into());
    }
    Ok(())
}

/// The ways of retrieving.
pub(super) fn retrievals(arguments: &StudyRunArguments, settings: &Settings) -> Vec<Retrieval> {
    let ks: Vec<usize> = match arguments.ks.as_slice() {
        [] => vec![settings.answering().k],
        ks => ks.iter().map(|k| k.get()).collect(),
    };
    let orders: &[Order] = match arguments.reverse {
        true => &[Order::Forward, Order::Reversed],
        false => &[Order::Forward],
    };
    let mut all = Vec::new();
    for &pruned in &arguments.prune {
        for &order in orders {
            all.extend(ks.iter().map(|&k| Retrieval { order, pruned, k }));
        }
    }
    all.sort();
    all.dedup();
    all
}

/// The settings under which one model answers.
pub(super) fn settings_of(model: &NamedModel, session: &Session<'_>) -> Settings {
    Settings {
        model: model.reference.clone(),
        adapter: model.adapter.clone(),
        policy: Policy::ALWAYS.into(),
        abstain: None,
        ..session.settings.clone()
    }
}

/// Opens a model, and tells how large it is.
pub(super) fn opened(
    model: &NamedModel,
    arguments: &StudyRunArguments,
    session: &Session<'_>,
) -> Result<(Arc<dyn LanguageModel>, StudiedModel)> {
    let settings = settings_of(model, session);
    let setup = session.setup_with(&settings);
    let mut sizes = arguments.parameters.iter();
    let declared = sizes.find(|(name, _)| *name == model.name);
    let footprint = match model.reference {
        ken_hub::ModelReference::Remote { .. } => None,
        _ => Some(setup.footprint()?),
    };
    let footprint = footprint.as_ref();
    let parameters = declared.map(|(_, parameters)| *parameters);
    let parameters = parameters.or(footprint.map(|footprint| footprint.parameters));
    let Some(parameters) = parameters else {
        let name = &model.name;
        return Err(Failure::refused(
            "parameters_not_declared",
            format!("the endpoint of {name} does not tell how many parameters its model has"),
            format!("add --parameters {name}=N"),
        ));
    };
    let opened = setup.language_model()?;
    let studied = StudiedModel {
        reference: model.reference.to_string(),
        adapter: model.adapter.clone(),
        fingerprint: opened.fingerprint().to_owned(),
        parameters,
        weight_bytes: footprint.map(|footprint| footprint.weight_bytes),
        bytes_per_token: footprint.map(|footprint| footprint.bytes_per_token),
    };
    Ok((opened, studied))
}

/// What all cells have in common, as the keys of `ken.toml`.
pub(super) fn common(settings: &Settings) -> Result<RunSettings> {
    const KEYS: &str = "mode recall rerank rerank_depth rerank_chunk evidence_tokens neighbors \
        prompt_form precision device max_tokens temperature samples";
    let all = serde_json::to_value(settings).map_err(Failure::other)?;
    let text = |value: &serde_json::Value| match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    };
    let keys = KEYS.split(' ');
    let known = keys.filter_map(|key| Some((key.to_owned(), all.get(key)?)));
    let set = known.filter(|(_, value)| !value.is_null());
    let mut common: RunSettings = set.map(|(key, value)| (key, text(value))).collect();
    common.insert("filters".to_owned(), settings.filters_in_words());
    Ok(common)
}
