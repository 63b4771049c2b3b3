//! `ken datastore`: the policy datastore of a model that chooses its source, made, read and corrected.

use std::collections::{BTreeMap, HashMap};
use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use ken_answer::Datastore;
use ken_answer::datastore::{By, Entry};
use ken_answer::prompt::{self, QuestionPrompt};
use ken_language::{Prompt, fingerprint_of_texts};
use ken_storage::AtomicFile;
use ken_study::{SourceRecord, make_datastore, place_in_split, read_results};
use serde::Deserialize;
use serde_json::json;

use crate::arguments::{
    DatastoreAddArguments, DatastoreExportArguments, DatastoreImportArguments,
    DatastoreListArguments, DatastoreMakeArguments, DatastoreVerb, LayerChoice,
};
use crate::commands::batches::{in_batches, stopped};
use crate::failure::{Context, Refusal, Result};
use crate::output;
use crate::progress::Display;
use crate::session::Session;

/// Questions that are keyed together.
const BATCH: usize = 64;

/// Layers that `auto` tries at most.
const LAYERS: usize = 6;

/// Runs a verb of `ken datastore`.
pub(crate) fn run(verb: &DatastoreVerb, session: &Session<'_>) -> Result<()> {
    match verb {
        DatastoreVerb::Make(arguments) => make(arguments, session),
        DatastoreVerb::List(arguments) => list(arguments, session.json),
        DatastoreVerb::Add(arguments) => add(arguments, session),
        DatastoreVerb::Edit(arguments) => {
            let mut datastore = Datastore::open(&arguments.datastore)?;
            let source = arguments.source.as_str();
            let sources = arguments.ids.iter().map(|id| (id.as_str(), source));
            let sources: BTreeMap<&str, &str> = sources.collect();
            datastore.change(&sources, Vec::new(), &[])?;
            changed(&datastore, 0, sources.len(), 0, session.json)
        }
        DatastoreVerb::Remove(arguments) => {
            let mut datastore = Datastore::open(&arguments.datastore)?;
            let ids: Vec<&str> = arguments.ids.iter().map(String::as_str).collect();
            let before = datastore.entries().len();
            datastore.remove(&ids)?;
            changed(
                &datastore,
                0,
                0,
                before - datastore.entries().len(),
                session.json,
            )
        }
        DatastoreVerb::Import(arguments) => import(arguments, session),
        DatastoreVerb::Export(arguments) => export(arguments),
    }
}

fn make(arguments: &DatastoreMakeArguments, session: &Session<'_>) -> Result<()> {
    let mut records: Vec<SourceRecord> = read_results(&arguments.labels)?;
    records.retain(|record| place_in_split(&record.question) >= arguments.held_out);
    let model = session.setup().language_model()?;
    let blocks = model.capabilities().hidden_layers.unwrap_or_default();
    let layers = match arguments.layer {
        LayerChoice::Middle => vec![blocks / 2],
        LayerChoice::After(layer) => vec![layer],
        LayerChoice::Auto => middle_layers(blocks),
    };
    let mut display = Display::new();
    let made = make_datastore(
        &arguments.out,
        &records,
        arguments.rule,
        model.as_ref(),
        &layers,
        &mut |done, total| {
            display.show_items("keys", done, total);
            !session.is_stopped()
        },
    )?;
    drop(display);
    let made = made.ok_or_else(stopped)?;
    if session.json {
        return output::json(&json!({ "datastore": arguments.out, "made": made }));
    }
    let mut rows = vec![vec!["entries".to_owned(), made.entries.to_string()]];
    for (source, count) in &made.sources {
        rows.push(vec![format!("answered by {source}"), count.to_string()]);
    }
    for tried in &made.tried {
        let taken = if tried.layer == made.layer {
            ", taken"
        } else {
            ""
        };
        let auroc = tried
            .auroc
            .map_or("-".to_owned(), |area| format!("{area:.3}"));
        rows.push(vec![
            format!("layer {}", tried.layer),
            format!("AUROC {auroc}{taken}"),
        ]);
    }
    rows.push(vec![
        "written to".to_owned(),
        arguments.out.display().to_string(),
    ]);
    output::table(&rows)
}

/// Some layers of the middle half and the last one.
fn middle_layers(blocks: usize) -> Vec<usize> {
    let (first, last) = (blocks.div_ceil(4).max(1), (3 * blocks / 4).max(1));
    let step = (last.saturating_sub(first) + 1).div_ceil(LAYERS - 1).max(1);
    let mut layers: Vec<usize> = (first..=last).step_by(step).collect();
    layers.push(blocks);
    layers.dedup();
    layers
}

fn list(arguments: &DatastoreListArguments, json: bool) -> Result<()> {
    let datastore = Datastore::open(&arguments.datastore)?;
    let text = arguments.contains.as_ref().map(|text| text.to_lowercase());
    let fits = |entry: &&Entry| {
        let of_source = arguments
            .source
            .as_ref()
            .is_none_or(|one| *one == entry.source);
        let question = entry.question.to_lowercase();
        of_source && text.as_ref().is_none_or(|text| question.contains(text))
    };
    let most = arguments
        .limit
        .map_or(usize::MAX, std::num::NonZeroUsize::get);
    let mut found = datastore.entries().iter().filter(fits).take(most);
    if json {
        return found.try_for_each(output::json);
    }
    let row = |entry: &Entry| {
        vec![
            entry.id.clone(),
            entry.source.clone(),
            entry.by.to_string(),
            output::shortened(&entry.question, 80),
        ]
    };
    output::table(&found.map(row).collect::<Vec<_>>())
}

fn add(arguments: &DatastoreAddArguments, session: &Session<'_>) -> Result<()> {
    let mut datastore = Datastore::open(&arguments.datastore)?;
    let question = arguments.question.trim();
    if question.is_empty() {
        return Err(ken_answer::AnswerError::EmptyQuestion.into());
    }
    let entry = Entry {
        id: arguments.id.clone().unwrap_or_else(|| id_of(question)),
        question: question.to_owned(),
        source: arguments.source.clone(),
        by: By::Person,
    };
    let id = entry.id.clone();
    if datastore.entries().iter().any(|other| other.id == id) {
        return Err(
            Refusal::new("same_id", format!("there is an entry {id:?} already"))
                .hinting("give it another source with `ken datastore edit`, or name another --id")
                .into(),
        );
    }
    let states = states(&datastore, &[question], session)?;
    datastore.change(&BTreeMap::new(), vec![entry], &states)?;
    changed(&datastore, 1, 0, 0, session.json)
}

/// A line of a file that is imported.
#[derive(Deserialize)]
struct Line {
    #[serde(default)]
    id: Option<String>,
    question: String,
    source: String,
}

fn import(arguments: &DatastoreImportArguments, session: &Session<'_>) -> Result<()> {
    let mut datastore = Datastore::open(&arguments.datastore)?;
    let lines = read(&arguments.entries)?;
    let known: HashMap<&str, &Entry> = datastore
        .entries()
        .iter()
        .map(|entry| (entry.id.as_str(), entry))
        .collect();
    let mut sources = BTreeMap::new();
    let mut new = Vec::new();
    for line in &lines {
        let id = line.id.clone().unwrap_or_else(|| id_of(&line.question));
        match known.get(id.as_str()) {
            Some(entry) if entry.question == line.question => {
                if entry.source != line.source {
                    sources.insert(entry.id.clone(), line.source.as_str());
                }
            }
            _ => new.push(Entry {
                id,
                question: line.question.clone(),
                source: line.source.clone(),
                by: By::Person,
            }),
        }
    }
    let questions: Vec<&str> = new.iter().map(|entry| entry.question.as_str()).collect();
    let states = match questions.as_slice() {
        [] => Vec::new(),
        questions => states(&datastore, questions, session)?,
    };
    let edited: BTreeMap<&str, &str> = sources
        .iter()
        .map(|(id, source)| (id.as_str(), *source))
        .collect();
    let (added, edits) = (new.len(), edited.len());
    datastore.change(&edited, new, &states)?;
    changed(&datastore, added, edits, 0, session.json)
}

fn read(path: &Path) -> Result<Vec<Line>> {
    let file = std::fs::File::open(path)
        .context(|| format!("cannot read the entries in {}", path.display()))?;
    let mut lines = Vec::new();
    for (number, line) in BufReader::new(file).lines().enumerate() {
        let line = line.context(|| format!("cannot read {}", path.display()))?;
        if line.trim().is_empty() {
            continue;
        }
        let line: Line = serde_json::from_str(&line).map_err(|_| {
            let message = format!("{}, line {}: not an entry", path.display(), number + 1);
            Refusal::new("not_an_entry", message)
                .hinting("each line is {\"question\", \"source\"}, and may have an \"id\"")
        })?;
        lines.push(line);
    }
    Ok(lines)
}

/// The id of an entry that nobody gave one.
fn id_of(question: &str) -> String {
    fingerprint_of_texts(&[question]).chars().take(12).collect()
}

/// What the model makes of questions, as the keys of a datastore are taken.
fn states(
    datastore: &Datastore,
    questions: &[&str],
    session: &Session<'_>,
) -> Result<Vec<Vec<f32>>> {
    let model = session.setup().language_model()?;
    datastore.check(model.fingerprint())?;
    let layer = datastore.keyed_by().layer;
    in_batches(questions, BATCH, "keys", session.stop, |batch| {
        let prompts: Vec<Prompt> = batch
            .iter()
            .map(|question| prompt::choose_source(QuestionPrompt::open(question)))
            .collect();
        let choices = model
            .source_chooser()?
            .choose_sources(&prompts.iter().collect::<Vec<_>>(), layer)?;
        Ok(choices.into_iter().map(|choice| choice.state).collect())
    })
}

fn export(arguments: &DatastoreExportArguments) -> Result<()> {
    let datastore = Datastore::open(&arguments.datastore)?;
    let Some(path) = &arguments.out else {
        return datastore.entries().iter().try_for_each(output::json);
    };
    let write = || -> std::io::Result<()> {
        let mut file = AtomicFile::create(path)?;
        for entry in datastore.entries() {
            serde_json::to_writer(&mut file, entry)?;
            file.write_all(b"\n")?;
        }
        Ok(file.commit()?)
    };
    write().context(|| format!("cannot write {}", path.display()))
}

fn changed(
    datastore: &Datastore,
    added: usize,
    edited: usize,
    removed: usize,
    json: bool,
) -> Result<()> {
    let entries = datastore.entries().len();
    if json {
        return output::json(&json!({
            "added": added, "edited": edited, "removed": removed, "entries": entries,
        }));
    }
    output::line(format!(
        "{added} added, {edited} edited, {removed} removed; {entries} entries"
    ))
}
