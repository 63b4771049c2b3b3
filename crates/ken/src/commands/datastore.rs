//! `ken datastore`: makes, reads and corrects the policy datastore of a model that chooses its source.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::Path;

use ken_answer::Datastore;
use ken_answer::datastore::Entry;
use ken_eval::read_results;
use ken_lab::heads::datastore::{EntryChanges, GivenEntry, MakeError, read_entries};
use ken_lab::heads::taught;
use ken_lab::{MakeOptions, SourceRecord, make_datastore};
use ken_storage::AtomicFile;
use serde_json::json;

use crate::arguments::datastore::{DatastoreListArguments, DatastoreMakeArguments, DatastoreVerb};
use crate::failure::{Context, Failure, Result};
use crate::output;
use crate::progress::counting;
use crate::session::Session;

/// Runs a verb of `ken datastore`.
pub(crate) fn run(verb: &DatastoreVerb, session: &Session<'_>) -> Result<()> {
    match verb {
        DatastoreVerb::Make(arguments) => make(arguments, session),
        DatastoreVerb::List(arguments) => list(arguments, session.json),
        DatastoreVerb::Add {
            datastore,
            question,
            source,
            id,
        } => {
            let datastore = Datastore::open(datastore)?;
            let given = GivenEntry {
                id: id.clone(),
                question: question.trim().to_owned(),
                source: source.clone(),
            };
            apply(EntryChanges::add(&datastore, &given)?, datastore, session)
        }
        DatastoreVerb::Edit {
            datastore,
            ids,
            source,
        } => {
            let mut datastore = Datastore::open(datastore)?;
            let sources = ids.iter().map(|id| (id.as_str(), source.as_str()));
            let sources: BTreeMap<&str, &str> = sources.collect();
            datastore.change(&sources, Vec::new(), &[])?;
            changed(&datastore, 0, sources.len(), 0, session.json)
        }
        DatastoreVerb::Remove { datastore, ids } => {
            let mut datastore = Datastore::open(datastore)?;
            let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
            let before = datastore.entries().len();
            datastore.remove(&ids)?;
            let removed = before - datastore.entries().len();
            changed(&datastore, 0, 0, removed, session.json)
        }
        DatastoreVerb::Import { datastore, entries } => {
            let datastore = Datastore::open(datastore)?;
            let changes = EntryChanges::import(&datastore, &read_entries(entries)?);
            apply(changes, datastore, session)
        }
        DatastoreVerb::Export { datastore, out } => export(datastore, out.as_deref()),
    }
}

fn make(arguments: &DatastoreMakeArguments, session: &Session<'_>) -> Result<()> {
    let records: Vec<SourceRecord> = read_results(&arguments.labels)?;
    let model = session.setup().language_model()?;
    let taught = taught(&session.setup().trained_folder()?)?;
    let made = {
        let mut draw = counting("keys");
        make_datastore(
            &arguments.out,
            &records,
            model.as_ref(),
            MakeOptions {
                rule: arguments.rule,
                soft: arguments.soft,
                layers: &arguments.layer.for_keys(model.as_ref()),
                neighbors: &arguments.neighbors.0,
                held_out: arguments.held_out.unwrap_or(taught.held_out / 2.0),
                taught: &taught.questions,
            },
            &mut |done, total| {
                draw(done, total);
                !session.is_stopped()
            },
        )?
    };
    let made = made.ok_or(MakeError::Stopped)?;
    if session.json {
        return output::json(&json!({ "datastore": arguments.out, "made": made }));
    }
    let left_out = made.left_out;
    let left_out = format!("{left_out} that the model was taught or that are held out");
    let mut rows = vec![
        ("entries".to_owned(), made.entries.to_string()),
        ("left out".to_owned(), left_out),
    ];
    for (source, count) in &made.sources {
        rows.push((format!("answered by {source}"), count.to_string()));
    }
    for tried in &made.tried {
        let is_taken = tried.layer == made.layer && tried.neighbors == made.neighbors;
        let taken = if is_taken { ", taken" } else { "" };
        let auroc = output::number(tried.auroc, 3);
        let name = format!("layer {}, {} neighbors", tried.layer, tried.neighbors);
        rows.push((name, format!("AUROC {auroc}{taken}")));
    }
    rows.push(("written to".to_owned(), arguments.out.display().to_string()));
    output::pairs(rows)
}

fn list(arguments: &DatastoreListArguments, json: bool) -> Result<()> {
    let datastore = Datastore::open(&arguments.datastore)?;
    let text = arguments.contains.as_ref().map(|text| text.to_lowercase());
    let source = arguments.source.as_ref();
    let fits = |entry: &&Entry| {
        let question = entry.question.to_lowercase();
        source.is_none_or(|source| *source == entry.source)
            && text.as_ref().is_none_or(|text| question.contains(text))
    };
    let most = arguments.limit.map_or(usize::MAX, Into::into);
    let mut entries = datastore.entries().iter().filter(fits).take(most);
    if json {
        return entries.try_for_each(output::json);
    }
    let row = |entry: &Entry| {
        vec![
            entry.id.clone(),
            entry.source.clone(),
            entry.by.to_string(),
            output::shortened(&entry.question, 80),
        ]
    };
    output::table(entries.map(row))
}

fn apply(changes: EntryChanges, mut datastore: Datastore, session: &Session<'_>) -> Result<()> {
    let (added, edited) = (changes.new.len(), changes.edited.len());
    let model = || Ok::<_, Failure>(session.setup().language_model()?);
    changes.apply(&mut datastore, model, &mut counting("keys"), session.stop)?;
    changed(&datastore, added, edited, 0, session.json)
}

fn export(datastore: &Path, out: Option<&Path>) -> Result<()> {
    let datastore = Datastore::open(datastore)?;
    let Some(path) = out else {
        return datastore.entries().iter().try_for_each(output::json);
    };
    let write = || -> std::io::Result<()> {
        let mut file = AtomicFile::output(path)?;
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
