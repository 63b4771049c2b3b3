//! The behavior under damage that each kind of store promises.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ken_corpus::{Corpus, CorpusInfo, Writer, history, verify};
use ken_index::Index;
use ken_policy::{Head, Input, Layer, MeasuredOn, Network, Purpose};

use super::{CaseResult, Damaged};
use crate::world::{Contents, KEPT, World, without_panic};
use crate::worlds::{CorpusWorld, DatastoreWorld, ResultsWorld, Script, answers, searched};

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// A corpus with a history, several segments, and marks.
    Corpus,
    /// A policy datastore.
    Datastore,
    /// A file of results.
    Results,
    /// A learned head.
    Head,
}

/// Steps of [`Script::Verbs`] that make the corpus: the last one left behind a rollback and marks.
const STEPS: usize = 6;

impl Store {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Corpus, Self::Datastore, Self::Results, Self::Head];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Corpus => "corpus",
            Self::Datastore => "datastore",
            Self::Results => "results",
            Self::Head => "head",
        }
    }

    pub(super) fn named(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|store| store.name() == name);
        found.expect("a store's name")
    }

    fn world(self) -> Option<Box<dyn World>> {
        match self {
            Self::Corpus => Some(Box::new(CorpusWorld(Script::Verbs))),
            Self::Datastore => Some(Box::new(DatastoreWorld)),
            Self::Results => Some(Box::new(ResultsWorld)),
            Self::Head => None,
        }
    }

    /// Makes one.
    pub(super) fn make(self, dir: &Path) {
        let Some(world) = self.world() else {
            head()
                .write(&dir.join(KEPT).join("head.json"))
                .expect("a head");
            return;
        };
        for step in 0..STEPS {
            world.take(dir, step).expect("a step");
        }
    }

    /// Its readable contents.
    pub(super) fn read(self, dir: &Path) -> Result<Contents, String> {
        match self.world() {
            Some(world) => world.contents(dir),
            None => {
                let head = Head::read(&dir.join(KEPT).join("head.json"), Purpose::Router);
                let head = head.map_err(|error| error.to_string())?;
                let said = format!("{:?} {:?}", head, head.apply(&[1.5, 0.5]));
                Ok(Contents::from([("head".to_owned(), said)]))
            }
        }
    }

    /// Its search results, if it can be searched.
    pub(super) fn found(self, dir: &Path) -> Vec<String> {
        match self {
            Self::Corpus => answers(&corpus_in(dir)).expect("the whole corpus").1,
            Self::Datastore | Self::Results | Self::Head => Vec::new(),
        }
    }

    /// Opens a damaged store, reads it, changes it and repairs it.
    pub(super) fn try_out(self, damaged: &Damaged<'_>, expected: &Contents) -> CaseResult {
        match self {
            Self::Corpus => corpus(damaged, expected),
            Self::Datastore | Self::Results | Self::Head => self.plain(damaged, expected),
        }
    }

    /// Stores that have no verb to check them, and no hashes.
    fn plain(self, damaged: &Damaged<'_>, expected: &Contents) -> CaseResult {
        let mut result = CaseResult::default();
        let dir = damaged.fresh();
        let before = damaged.held();
        match without_panic(|| Ok(self.read(dir))) {
            Err(panicked) => result.violations.push(panicked),
            Ok(Err(message)) => {
                // The folder, or the file itself, is named.
                result.named = message.contains(&*dir.join(KEPT).to_string_lossy());
                if !result.named {
                    result.violations.push(format!("names no file: {message}"));
                }
                if damaged.held() != before {
                    result
                        .violations
                        .push(format!("reading changed files: {message}"));
                }
            }
            Ok(Ok(found)) if found == *expected => result.harmless = true,
            Ok(Ok(_)) => result.unnoticed = true,
        }
        let Some(world) = self.world() else {
            return result;
        };
        let dir = damaged.fresh();
        let before = damaged.held();
        match without_panic(|| Ok(world.take(dir, STEPS))) {
            Err(panicked) => result.violations.push(panicked),
            Ok(Err(refusal)) if damaged.held() != before => {
                let message = refusal.message;
                result
                    .violations
                    .push(format!("a change was refused and changed files: {message}"));
            }
            Ok(_) => {}
        }
        result
    }
}

fn head() -> Head {
    let layer = Layer {
        weights: vec![1.0, -1.0],
        bias: vec![0.25],
    };
    let network = Network::new(vec![0.5, 0.0], vec![2.0, 1.0], vec![layer]);
    let measured_on = MeasuredOn {
        model: "m".to_owned(),
        embedder: Some("e".to_owned()),
        ..MeasuredOn::default()
    };
    Head::new(
        Purpose::Router,
        Input::QuestionEmbedding,
        measured_on,
        vec![1, 2, 3],
        network.expect("a network"),
    )
}

/// The findings of `verify` on a corpus, or its error.
fn verified(corpus: &Path) -> Result<Vec<String>, String> {
    match verify(corpus, &mut |_| {}) {
        Ok(damages) => Ok(damages
            .into_iter()
            .map(|damage| format!("{}: {}", damage.file.display(), damage.reason))
            .collect()),
        Err(error) => Ok(vec![error.to_string()]),
    }
}

fn corpus_in(dir: &Path) -> PathBuf {
    dir.join(KEPT).join("corpus")
}

fn corpus(damaged: &Damaged<'_>, expected: &Contents) -> CaseResult {
    let mut result = CaseResult::default();
    let path = corpus_in(damaged.run);

    // Reading changes nothing, and names what is wrong.
    damaged.fresh();
    let before = damaged.held();
    let mut said = Vec::new();
    let mut note = |what: &str, outcome: Result<Result<(), String>, String>| match outcome {
        Err(panicked) => result.violations.push(format!("{what}: {panicked}")),
        Ok(Err(message)) => said.push(message),
        Ok(Ok(())) => {}
    };
    note("open", without_panic(|| Ok(opened(&path))));
    let mut found = None;
    note(
        "search",
        without_panic(|| Ok(answers(&path).map(|answers| found = Some(answers.1)))),
    );
    note(
        "info",
        without_panic(|| Ok(CorpusInfo::read(&path).map(|_| ()).map_err(text))),
    );
    note(
        "history",
        without_panic(|| Ok(history(&path).map(|_| ()).map_err(text))),
    );
    // No search returns wrong results, whether or not the corpus was verified.
    if found.is_some_and(|found| found != damaged.found) {
        result
            .violations
            .push("a search finds something else".to_owned());
    }
    let verified_as = without_panic(|| verified(&path)).unwrap_or_else(|panicked| {
        result.violations.push(format!("verify: {panicked}"));
        Vec::new()
    });
    if damaged.held() != before {
        result.violations.push("reading changed files".to_owned());
    }
    let all_said = [&said[..], &verified_as[..]].concat();
    result.named = all_said.iter().any(|message| damaged.is_named(message));
    // What no generation that is read needs may go unnamed, if all is read as it was.
    if all_said.is_empty() {
        match Store::Corpus.read(damaged.run) {
            Ok(found) if found == *expected => result.harmless = true,
            other => result
                .violations
                .push(format!("nobody names it, and there is {other:?}")),
        }
    } else if !result.named {
        let message = format!("another file is named: {}", all_said[0]);
        // A changed number in CURRENT leads elsewhere.
        match damaged.case.file.ends_with("CURRENT") {
            true => result.named = true,
            false => result.violations.push(message),
        }
    }
    let is_damaged = !result.harmless;

    // A change that is refused leaves all as it was; one that is not hides nothing.
    for (verb, change) in CHANGES {
        let dir = damaged.fresh();
        let before = damaged.held();
        match without_panic(|| Ok(change(dir))) {
            Err(panicked) => result.violations.push(format!("{verb}: {panicked}")),
            Ok(Err(message)) => {
                if damaged.held() != before {
                    let gone: Vec<_> = before
                        .keys()
                        .filter(|file| !damaged.held().contains_key(*file))
                        .cloned()
                        .collect();
                    result.violations.push(format!(
                        "{verb} was refused ({message}) and changed files; gone: {gone:?}"
                    ));
                }
            }
            Ok(Ok(())) if is_damaged => {
                let clean = verified(&path).is_ok_and(|said| said.is_empty());
                let whole = searched(&path).is_ok_and(|found| {
                    expected.iter().all(|(id, text)| {
                        let id = id.strip_prefix("corpus/").unwrap_or(id);
                        found.get(id) == Some(text) || id.starts_with("d9#")
                    })
                });
                if clean && !whole {
                    result.violations.push(format!("{verb} hid the damage"));
                }
            }
            Ok(Ok(())) => {}
        }
    }

    // It can be repaired.
    if is_damaged {
        damaged.fresh();
        if let Err(message) = without_panic(|| repair(&path)) {
            result.violations.push(format!("no way out: {message}"));
        } else {
            let found = without_panic(|| crate::worlds::read(&path));
            if let Err(message) = found {
                result
                    .violations
                    .push(format!("repaired, it cannot be read: {message}"));
            }
        }
    }
    result
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

/// Opens a corpus with its index, and reads all passages.
pub(crate) fn opened(corpus: &Path) -> Result<(), String> {
    let corpus = Arc::new(Corpus::open(corpus).map_err(text)?);
    Index::open(Arc::clone(&corpus)).map_err(text)?;
    corpus
        .passages()
        .try_for_each(|passage| passage.map(|_| ()).map_err(text))
}

type Change = fn(&Path) -> Result<(), String>;

/// Verbs that change a corpus without losing any readable contents.
const CHANGES: [(&str, Change); 3] = [
    ("ingest", |dir| CorpusWorld::add_one(dir).map_err(text)),
    ("compact", |dir| CorpusWorld::compact(dir).map_err(text)),
    ("delete", |dir| {
        CorpusWorld::delete_missing(dir).map_err(text)
    }),
];

/// The repair by the manual: `verify --repair`, or else `rollback`.
fn repair(corpus: &Path) -> Result<(), String> {
    let damages = verify(corpus, &mut |_| {});
    let repaired = damages
        .map_err(text)
        .and_then(|damages| Writer::repair(corpus, &damages).map_err(text));
    let Err(unrepaired) = repaired else {
        return Ok(());
    };
    let rolled_back = (1..=STEPS as u64)
        .rev()
        .any(|generation| Writer::rollback(corpus, generation).is_ok());
    match rolled_back {
        true => Ok(()),
        false => Err(unrepaired),
    }
}
