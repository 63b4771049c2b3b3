//! A world as a folder: its corpus, its questions, and the settings that recreate it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use ken_storage::{StorageError, create_dir_all, replace};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::document::{Document, documents};
use crate::error::WorldError;
use crate::questions::{WorldQuestion, world_questions};
use crate::settings::WorldSettings;
use crate::source_accuracy::{SourceAccuracy, accuracy_of_world};
use crate::training_text::training_text_of;
use crate::world::World;

/// The documents, as `ken ingest` reads them.
pub const CORPUS_FILE: &str = "corpus.jsonl";
/// The questions, as `ken eval` and `ken probe` read them.
pub const QUESTIONS_FILE: &str = "questions.jsonl";
/// The description of the world, with its settings.
pub const WORLD_FILE: &str = "world.json";

/// The shares of questions that the members of the family should know.
const KNOWN: [f64; 3] = [0.2, 0.5, 0.8];

/// Training texts that the fingerprint of a world covers.
const TEXTS_IN_FINGERPRINT: u64 = 200;

/// The description of a world.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct WorldSummary {
    /// The settings.
    pub settings: WorldSettings,
    /// Number of documents in the corpus.
    pub documents: usize,
    /// Number of questions.
    pub questions: usize,
    /// Questions by kind.
    pub by_kind: BTreeMap<String, usize>,
    /// The accuracies by source of models that know these shares of the questions about trained subjects and copy
    /// what the corpus says.
    pub sources: Vec<SourceAccuracy>,
    /// A fingerprint of corpus, questions and training texts.
    pub fingerprint: String,
}

/// Describes a world.
pub fn summarize_world(world: &World) -> WorldSummary {
    summary(world, &documents(world), &world_questions(world))
}

fn summary(world: &World, documents: &[Document<'_>], questions: &[WorldQuestion]) -> WorldSummary {
    let mut by_kind = BTreeMap::new();
    for question in questions {
        let name = question.metadata.kind.name().to_owned();
        *by_kind.entry(name).or_default() += 1;
    }
    let texts = (0..TEXTS_IN_FINGERPRINT).map(|number| training_text_of(world, number).text());
    let texts: Vec<String> = texts.collect();
    let documented = documents.iter().map(|document| document.text.as_str());
    let asked = questions.iter().flat_map(|question| {
        let answers = question.golden_answers.iter().chain(&question.choices);
        std::iter::once(question.question.as_str()).chain(answers.map(String::as_str))
    });
    let parts: Vec<&str> = documented
        .chain(asked)
        .chain(texts.iter().map(String::as_str))
        .collect();
    WorldSummary {
        settings: world.settings,
        documents: documents.len(),
        questions: questions.len(),
        by_kind,
        sources: KNOWN
            .map(|known| accuracy_of_world(questions, known))
            .to_vec(),
        fingerprint: ken_language::fingerprint_of_texts(&parts),
    }
}

/// Writes a world into a new or empty folder. The description comes last, so a folder with one is complete.
///
/// # Errors
/// A folder that is not empty or not writable.
pub fn write_world(world: &World, folder: &Path) -> Result<WorldSummary, WorldError> {
    create_dir_all(folder)?;
    let mut entries = fs::read_dir(folder).map_err(StorageError::new("read", folder))?;
    if entries.next().is_some() {
        return Err(WorldError::NotEmpty {
            path: folder.to_owned(),
        });
    }
    let documents = documents(world);
    let questions = world_questions(world);
    let summary = summary(world, &documents, &questions);
    let lines: String = questions.iter().map(|q| line(&json!(q))).collect();
    replace(&folder.join(QUESTIONS_FILE), lines.as_bytes())?;
    let corpus = documents.iter().map(|document| {
        let of = document.of;
        line(&json!({
            "id": document.id,
            "title": document.title,
            "text": document.text,
            "kind": of.kind,
            "group": of.group,
            "corpus_holds": of.holding,
        }))
    });
    replace(
        &folder.join(CORPUS_FILE),
        corpus.collect::<String>().as_bytes(),
    )?;
    let described = format!("{:#}\n", json!(summary));
    replace(&folder.join(WORLD_FILE), described.as_bytes())?;
    Ok(summary)
}

fn line(value: &Value) -> String {
    format!("{value}\n")
}

/// Recreates the world that a folder describes.
///
/// # Errors
/// A folder without a description, or with one of a world that this version makes differently.
pub fn read_world(folder: &Path) -> Result<World, WorldError> {
    let path = folder.join(WORLD_FILE);
    let text = fs::read_to_string(&path).map_err(StorageError::new("read", &path))?;
    let summary: WorldSummary =
        serde_json::from_str(&text).map_err(|error| WorldError::NotAWorld {
            path: path.clone(),
            reason: error.to_string(),
        })?;
    let world = World::new(summary.settings)?;
    if summarize_world(&world).fingerprint != summary.fingerprint {
        return Err(WorldError::OtherVersion { path });
    }
    Ok(world)
}
