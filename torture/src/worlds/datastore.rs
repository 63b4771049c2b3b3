//! A policy datastore: made, corrected, added to and cut back.

use std::collections::BTreeMap;
use std::path::Path;

use ken_answer::datastore::{By, Datastore, DatastoreError, Entry, KeyedBy, NEIGHBORS};

use crate::world::{Contents, KEPT, Refusal, World};

/// A datastore that is changed.
#[derive(Debug, Clone, Copy)]
pub struct DatastoreWorld;

/// Additions; the last ones make parts enough to be written into one.
const ADDITIONS: usize = 9;

fn entry(id: &str, source: &str) -> Entry {
    Entry::new(id, &format!("who is {id}?"), source, By::Measured)
}

fn state(number: usize) -> Vec<f32> {
    vec![1.0 + number as f32, (number % 3) as f32, 2.0]
}

fn change(folder: &Path, step: usize) -> Result<(), DatastoreError> {
    let exists = folder.join("datastore.json").exists();
    if step == 0 {
        if exists {
            return Ok(());
        }
        let keyed_by = KeyedBy {
            model: "m".to_owned(),
            prompt: "p".to_owned(),
            layer: 2,
            center: vec![1.0, 0.0, 0.0],
        };
        let entries = (0..6).map(|n| entry(&format!("q{n}"), ["self", "notes"][n % 2]));
        let states: Vec<Vec<f32>> = (0..6).map(state).collect();
        let made = Datastore::create(
            folder,
            keyed_by,
            NEIGHBORS,
            &["notes"],
            entries.collect(),
            &states,
        );
        return made.map(|_| ());
    }
    let mut store = Datastore::open(folder)?;
    let has = |id: &str| store.entries().iter().any(|entry| entry.id == id);
    match step {
        1 => store.change(
            &BTreeMap::from([("q0", "notes"), ("q1", "self")]),
            Vec::new(),
            &[],
        ),
        2 if has("q3") => store.remove(&["q3"]),
        2 => Ok(()),
        _ => {
            let id = format!("new{step}");
            store.change(&BTreeMap::new(), vec![entry(&id, "self")], &[state(step)])
        }
    }
}

fn read(folder: &Path) -> Result<Contents, DatastoreError> {
    let store = Datastore::open(folder)?;
    let mut all: Contents = store
        .entries()
        .iter()
        .map(|entry| (entry.id.clone(), format!("{} {}", entry.source, entry.by)))
        .collect();
    all.insert(
        "shares".to_owned(),
        format!("{:?}", store.shares(&state(1))?),
    );
    Ok(all)
}

impl World for DatastoreWorld {
    fn name(&self) -> &'static str {
        "datastore"
    }

    fn steps(&self) -> usize {
        3 + ADDITIONS
    }

    fn take(&self, dir: &Path, step: usize) -> Result<(), Refusal> {
        let changed = change(&dir.join(KEPT).join("store"), step);
        changed.map_err(|error| Refusal::new(error.kind(), &error))
    }

    fn contents(&self, dir: &Path) -> Result<Contents, String> {
        let folder = dir.join(KEPT).join("store");
        match folder.join("datastore.json").exists() {
            true => read(&folder).map_err(|error| error.to_string()),
            false => Ok(Contents::new()),
        }
    }
}
