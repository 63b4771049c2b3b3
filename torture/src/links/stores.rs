//! The stores, the files that they keep or are about to write, and their verbs.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use ken_corpus::{Corpus, CorpusInfo, PassageId, PruneMark, Writer, history, join, verify};

use crate::damage::opened;
use crate::world::{KEPT, World};
use crate::worlds::{
    CorpusWorld, DatastoreWorld, PullsWorld, ResultsWorld, Script, TrainingWorld, searched,
};

/// A kind of store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Store {
    /// A corpus with a history, several segments, and marks.
    Corpus,
    /// A policy datastore.
    Datastore,
    /// A file of results.
    Results,
    /// The folder of a training that was interrupted.
    Training,
    /// The cache of models.
    Pulls,
}

/// A verb of a store, by its name.
pub(super) type Verb = (&'static str, fn(&Path) -> Result<(), String>);

const CORPUS: &[Verb] = &[
    ("open", |dir| opened(&corpus(dir))),
    ("search", |dir| searched(&corpus(dir)).map(|_| ())),
    ("info", |dir| said(CorpusInfo::read(&corpus(dir)))),
    ("history", |dir| said(history(&corpus(dir)))),
    ("verify", |dir| {
        let damages = verify(&corpus(dir), &mut |_| {}).map_err(text)?;
        match damages.first() {
            Some(damage) => Err(format!("{}: {}", damage.file.display(), damage.reason)),
            None => Ok(()),
        }
    }),
    ("ingest", |dir| said(CorpusWorld::add_one(dir))),
    ("compact", |dir| said(CorpusWorld::compact(dir))),
    ("delete", |dir| {
        said(Writer::open(&corpus(dir)).and_then(|mut writer| writer.delete(&["d5".to_owned()])))
    }),
    ("prune", |dir| {
        let mark = PruneMark::new(PassageId::new("d5", 0), 1.0, "known");
        said(Writer::open(&corpus(dir)).and_then(|mut writer| writer.prune(vec![mark])))
    }),
    ("rollback", |dir| said(Writer::rollback(&corpus(dir), 2))),
    ("repair", |dir| said(Writer::repair(&corpus(dir), &[]))),
    ("join", |dir| {
        let joined = dir.join("joined");
        said(join(&joined, &[corpus(dir)], false, &mut |_| {}))
    }),
];

const DATASTORE: &[Verb] = &[
    ("open", |dir| read(&DatastoreWorld, dir)),
    ("correct", |dir| step(&DatastoreWorld, dir, 1)),
    ("trim", |dir| step(&DatastoreWorld, dir, 2)),
    ("extend", |dir| step(&DatastoreWorld, dir, 4)),
];

const RESULTS: &[Verb] = &[
    ("open", |dir| read(&ResultsWorld, dir)),
    ("append", |dir| step(&ResultsWorld, dir, 3)),
];

const TRAINING: &[Verb] = &[
    ("resume", |dir| step(&TrainingWorld, dir, 1)),
    ("finish", |dir| step(&TrainingWorld, dir, 2)),
];

const PULLS: &[Verb] = &[
    ("verify", |dir| read(&PullsWorld, dir)),
    ("pull", |dir| step(&PullsWorld, dir, 0)),
    ("pull again", |dir| {
        // Only where that removes nothing outside itself.
        let place = model(dir);
        let is_own = |path: &Path| path.symlink_metadata().is_ok_and(|found| found.is_dir());
        if place.parent().is_some_and(is_own) && is_own(&place) {
            fs::remove_dir_all(place).expect("a model");
        }
        step(&PullsWorld, dir, 0)
    }),
    ("remove", |dir| PullsWorld::remove(dir, 0)),
];

impl Store {
    /// All of them.
    pub const ALL: [Self; 5] = [
        Self::Corpus,
        Self::Datastore,
        Self::Results,
        Self::Training,
        Self::Pulls,
    ];

    fn world(self) -> (Box<dyn World>, usize) {
        match self {
            Self::Corpus => (Box::new(CorpusWorld(Script::Verbs)), 6),
            Self::Datastore => (Box::new(DatastoreWorld), 4),
            Self::Results => (Box::new(ResultsWorld), 3),
            Self::Training => (Box::new(TrainingWorld), 1),
            Self::Pulls => (Box::new(PullsWorld), 1),
        }
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.world().0.name()
    }

    /// Makes one.
    pub(super) fn make(self, dir: &Path) {
        let (world, steps) = self.world();
        for step in 0..steps {
            world.take(dir, step).expect("a step");
        }
    }

    /// Its verbs.
    pub(super) fn verbs(self) -> &'static [Verb] {
        match self {
            Self::Corpus => CORPUS,
            Self::Datastore => DATASTORE,
            Self::Results => RESULTS,
            Self::Training => TRAINING,
            Self::Pulls => PULLS,
        }
    }

    /// All that it keeps, below the folder that a person names, and all that it is about to write.
    pub(super) fn places(self, kept: &Path) -> Vec<PathBuf> {
        let mut all: BTreeSet<PathBuf> = super::held(kept).into_keys().collect();
        let files = all.iter().filter(|path| kept.join(path).is_file());
        let temporary: Vec<PathBuf> = files
            .map(|path| PathBuf::from(format!("{}.tmp", path.display())))
            .collect();
        all.extend(temporary);
        let next = |number: u64| format!("{number:08}");
        let to_come: Vec<String> = match self {
            Self::Corpus => {
                let corpus = Corpus::open(&kept.join("corpus")).expect("the corpus");
                let next = next(corpus.generation() + 1);
                let live = corpus.segments().first().expect("a segment").id();
                vec![
                    "staging".to_owned(),
                    "staging/00000001".to_owned(),
                    format!("segments/{next}-000"),
                    format!("segments/{next}-001"),
                    format!("marks/{next}.{live}.json"),
                    format!("generations/{next}.json"),
                    format!("generations/{next}.json.tmp"),
                ]
            }
            Self::Datastore => [5, 6]
                .into_iter()
                .flat_map(|number| {
                    [
                        format!("keys-{number}"),
                        format!("entries-{number}.jsonl"),
                        format!("entries-{number}.jsonl.tmp"),
                    ]
                })
                .chain(["LOCK".to_owned()])
                .collect(),
            Self::Results => Vec::new(),
            Self::Training => [
                "adapter_config.json",
                "adapter_model.safetensors",
                "ken.json",
            ]
            .into_iter()
            .flat_map(|name| [name.to_owned(), format!("{name}.tmp")])
            .collect(),
            Self::Pulls => {
                let slug = model(kept.parent().expect("the run's folder"));
                let slug = slug.file_name().expect("a model's name").to_string_lossy();
                let commit = PullsWorld::COMMIT;
                let mut names = vec!["partial".to_owned(), "discarded".to_owned()];
                for name in [
                    "",
                    "/landing",
                    &format!("/{commit}"),
                    &format!("/{commit}/config.json"),
                    &format!("/{commit}/config.json.part"),
                    &format!("/{commit}/1_Pooling"),
                    &format!("/{commit}/model.safetensors"),
                    &format!("/{commit}/model.safetensors.part"),
                ] {
                    names.push(format!("partial/{slug}{name}"));
                }
                names
            }
        };
        let named = match self {
            Self::Corpus => "corpus",
            Self::Datastore => "store",
            Self::Results => "",
            Self::Training => "out",
            Self::Pulls => "home",
        };
        all.extend(to_come.iter().map(|name| Path::new(named).join(name)));
        all.remove(Path::new(named));
        all.into_iter().collect()
    }
}

fn corpus(dir: &Path) -> PathBuf {
    dir.join(KEPT).join("corpus")
}

/// The first folder of a model in the cache.
fn model(dir: &Path) -> PathBuf {
    let models = dir.join(KEPT).join("home/models");
    let names = ken_storage::names(&models).unwrap_or_default();
    models.join(names.first().map_or("none", String::as_str))
}

fn said<T, E: std::fmt::Display>(result: Result<T, E>) -> Result<(), String> {
    result.map(|_| ()).map_err(text)
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn read(world: &dyn World, dir: &Path) -> Result<(), String> {
    world.contents(dir).map(|_| ())
}

fn step(world: &dyn World, dir: &Path, step: usize) -> Result<(), String> {
    world.take(dir, step).map_err(|refusal| refusal.message)
}
