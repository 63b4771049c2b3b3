//! What is served, and the work for one request: opened models and corpora, how much work runs at once, and how it
//! ends when no client waits for it. It knows of no routes.

pub(crate) mod answers;
pub(crate) mod cancel;
pub(crate) mod clock;
pub(crate) mod collection;
pub(crate) mod corpora;
pub(crate) mod corrections;
pub(crate) mod data_folder;
pub(crate) mod evals;
pub(crate) mod feedback;
pub(crate) mod gate;
pub(crate) mod gateway;
pub(crate) mod judge;
pub(crate) mod library;
pub(crate) mod live;
pub(crate) mod options;
pub(crate) mod policies;
pub(crate) mod readable;
pub(crate) mod record;
pub(crate) mod resources;
pub(crate) mod responses;
#[cfg(test)]
#[path = "tests/schedules.rs"]
mod schedules;
pub(crate) mod search_options;
pub(crate) mod setup;
pub(crate) mod shadow;
pub(crate) mod studies;
pub(crate) mod traces;
pub(crate) mod upstream;
pub(crate) mod votes;
pub(crate) mod watch;
pub(crate) mod work;
