//! The worlds: files, and the steps that change them.

mod corpus;
mod datastore;
mod pulls;
mod results;
mod training;

pub use corpus::{CorpusWorld, Script};
pub(crate) use corpus::{Round, answers, read, searched};
pub use datastore::DatastoreWorld;
pub use pulls::PullsWorld;
pub use results::ResultsWorld;
pub use training::TrainingWorld;

use crate::world::World;

/// All of them.
#[must_use]
pub fn all() -> Vec<Box<dyn World>> {
    vec![
        Box::new(CorpusWorld(Script::Verbs)),
        Box::new(CorpusWorld(Script::Merge)),
        Box::new(CorpusWorld(Script::Join)),
        Box::new(CorpusWorld(Script::Backup)),
        Box::new(DatastoreWorld),
        Box::new(ResultsWorld),
        Box::new(TrainingWorld),
        Box::new(PullsWorld),
    ]
}

/// The world of a name.
///
/// # Panics
/// If no world has that name.
#[must_use]
pub fn named(name: &str) -> Box<dyn World> {
    let found = all().into_iter().find(|world| world.name() == name);
    found.unwrap_or_else(|| {
        let names: Vec<&str> = all().iter().map(|world| world.name()).collect();
        panic!("there is no world {name:?}; there are {}", names.join(", "))
    })
}
