//! What an error says beside its message: a stable kind for machines, and a remedy as data. It
//! words no command and no flag: a remedy names settings and actions, and whoever shows it, as the
//! command line does, puts its own words in their place.
//!
//! ```
//! # extern crate ken_diagnostic;
//! #[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
//! enum ModelError {
//!     /// Its kind is `not_pulled`, after its name.
//!     #[error("the model `{reference}` is not in the cache")]
//!     #[diagnostic(remedy = "run <PullModel {reference}>")]
//!     NotPulled { reference: String },
//!     #[error("the context is full")]
//!     #[diagnostic(kind = "context_exceeded", remedy = "ask for fewer passages by <k>")]
//!     Full,
//!     /// Kind and remedy are those of the cause.
//!     #[error(transparent)]
//!     Io(#[from] std::io::Error),
//! }
//!
//! let error = ModelError::NotPulled { reference: "hf:org/model".to_owned() };
//! assert_eq!(error.kind(), "not_pulled");
//! let remedy = error.remedy().unwrap();
//! assert_eq!(remedy.actions().next(), Some(&ken_diagnostic::Action::PullModel("hf:org/model".to_owned())));
//! ```
//!
//! Attributes stand at a variant, or at the type for all variants that have none of their own:
//! `kind = "…"` or an expression; `remedy = "…"` or an expression of a [`Remedy`] or an
//! `Option<Remedy>`; `forward` passes on what the field `source`, or the only one, says. In
//! expressions and formats the fields are at hand under their names, or `_0`.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;

pub use ken_diagnostic_derive::{Diagnostic, remedy};

/// An error that says what kind it is of and what would mend it.
pub trait Diagnostic: Error {
    /// The stable name of the kind of error, in snake case, for machines.
    fn kind(&self) -> &'static str;

    /// What would mend it, where that is known.
    fn remedy(&self) -> Option<Remedy>;
}

impl<T: Diagnostic> Diagnostic for Box<T> {
    fn kind(&self) -> &'static str {
        T::kind(self)
    }

    fn remedy(&self) -> Option<Remedy> {
        T::remedy(self)
    }
}

/// What the system refuses, where nobody knows more about it.
impl Diagnostic for io::Error {
    fn kind(&self) -> &'static str {
        match self.kind() {
            io::ErrorKind::StorageFull => "disk_full",
            _ => "io",
        }
    }

    fn remedy(&self) -> Option<Remedy> {
        Some(match self.kind() {
            io::ErrorKind::StorageFull => Remedy::from("free some space"),
            io::ErrorKind::NotFound => Remedy::from(
                "check the path: a file to read has to be there, and of one to write the folder",
            ),
            io::ErrorKind::PermissionDenied => {
                Remedy::from("check who owns the file or folder, and its permissions")
            }
            _ => return None,
        })
    }
}

/// What would mend an error: advice in which settings and actions are named, not worded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy(Vec<Part>);

/// A part of a remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Plain words.
    Text(Cow<'static, str>),
    /// A setting, by its name in snake case.
    Setting(&'static str),
    /// Something to be done with ken.
    Action(Action),
}

/// Something that a person can do with ken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Take documents into the corpus of this folder.
    Ingest(String),
    /// Take in one shard of the documents.
    IngestShard,
    /// Check a corpus.
    VerifyCorpus,
    /// Go on from what is whole in the corpus of this folder.
    RepairCorpus(String),
    /// List what a corpus holds.
    ExportCorpus,
    /// Bring a corpus to this address in Milvus.
    PushCorpus(String),
    /// Search a corpus.
    Search,
    /// Fetch this model.
    PullModel(String),
    /// Remove this model from the cache.
    RemoveModel(String),
    /// Check the files of a model.
    VerifyModel,
    /// List the models in the cache.
    ListModels,
    /// Write a model with its adapter merged in.
    ExportModel,
    /// Merge this adapter into its model.
    MergeAdapter(String),
    /// Build ken with CUDA.
    BuildForCuda,
    /// Answer questions under several policies.
    Evaluate,
    /// Probe what a model knows of questions.
    Probe,
    /// Probe with and without evidence from a corpus.
    ProbeWithCorpus,
    /// Choose the threshold of this policy.
    Calibrate(String),
    /// Label which source answers questions best.
    LabelSources,
    /// Label which sentences of a corpus a model has mastered.
    LabelMastery,
    /// Train a model.
    Train,
    /// Train a router.
    TrainRouter,
    /// Train a router of embeddings.
    TrainEmbeddingRouter,
    /// Train a pruner.
    TrainPruner,
    /// Train a model on what another one knows.
    TrainKbm,
    /// Train a model to choose its source.
    TrainSelfRoute,
    /// Make a datastore of labels.
    MakeDatastore,
    /// Change entries of a datastore.
    EditDatastore,
    /// List the entries of a datastore.
    ListDatastore,
    /// Invent a world.
    MakeWorld,
}

impl Remedy {
    /// A remedy of these parts, in their order.
    #[must_use]
    pub fn of(parts: Vec<Part>) -> Self {
        Self(parts)
    }

    /// The whole as one text, in which settings and actions are worded by whoever shows it.
    #[must_use]
    pub fn worded(
        &self,
        setting: impl Fn(&str) -> String,
        action: impl Fn(&Action) -> String,
    ) -> String {
        let each = self.0.iter().map(|part| match part {
            Part::Text(text) => text.to_string(),
            Part::Setting(name) => setting(name),
            Part::Action(named) => action(named),
        });
        each.collect()
    }

    /// Whether its words, or the names of its settings and actions, contain this.
    #[must_use]
    pub fn mentions(&self, words: &str) -> bool {
        self.to_string().contains(words)
    }

    /// The actions that it names.
    pub fn actions(&self) -> impl Iterator<Item = &Action> {
        self.0.iter().filter_map(|part| match part {
            Part::Action(action) => Some(action),
            _ => None,
        })
    }
}

/// Settings and actions by their names in the program, for logs.
impl fmt::Display for Remedy {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.worded(str::to_owned, |action| format!("{action:?}")))
    }
}

/// Advice that names neither settings nor actions.
impl<T: Into<Cow<'static, str>>> From<T> for Remedy {
    fn from(advice: T) -> Self {
        Self(vec![Part::Text(advice.into())])
    }
}

impl From<Action> for Part {
    fn from(action: Action) -> Self {
        Self::Action(action)
    }
}

impl From<&Action> for Part {
    fn from(action: &Action) -> Self {
        Self::Action(action.clone())
    }
}
