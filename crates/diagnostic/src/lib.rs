//! What an error carries besides its message: a stable kind for machines, and a remedy as data. A remedy names
//! settings and actions, never commands or flags: the command line, or another front end, words them.
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
//! assert!(error.remedy().unwrap().mentions("PullModel(\"hf:org/model\")"));
//! assert_eq!(error.remedy().unwrap().plain(), None);
//! ```
//!
//! Attributes are set on a variant, or on the type for all variants without their own: `kind = "…"`
//! or an expression; `remedy = "…"` or an expression of a [`Remedy`] or an `Option<Remedy>`;
//! `forward` takes both from the field `source`, or the only field. Expressions and formats can use
//! the fields by their names, or as `_0`.

use std::borrow::Cow;
use std::error::Error;
use std::fmt;
use std::io;

pub use ken_diagnostic_derive::{Diagnostic, remedy};

/// An error with a kind and a remedy.
pub trait Diagnostic: Error {
    /// The stable name of the kind of error, in snake case, for machines.
    fn kind(&self) -> &'static str;

    /// What would fix it, if known.
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

/// An error and what caused it, one after the other.
pub fn chain<'e>(
    error: &'e (dyn Error + 'static),
) -> impl Iterator<Item = &'e (dyn Error + 'static)> {
    std::iter::successors(Some(error), |&cause| cause.source())
}

/// Drops repeated parts of a message: many errors already quote their cause.
pub fn said_once(parts: impl IntoIterator<Item = String>) -> String {
    let parts = parts.into_iter();
    parts.fold(String::new(), |message, part| match message.as_str() {
        "" => part,
        earlier if earlier.contains(&part) => message,
        earlier => format!("{earlier}: {part}"),
    })
}

/// System errors about which nothing more is known.
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
                "check the path: a file to read has to exist, and the folder of one to write",
            ),
            io::ErrorKind::PermissionDenied => {
                Remedy::from("check who owns the file or folder, and its permissions")
            }
            _ => return None,
        })
    }
}

/// What would fix an error: advice that names settings and actions without wording them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remedy(Vec<Part>);

/// A part of a remedy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    /// Plain words.
    Text(Cow<'static, str>),
    /// A setting, by its name in snake case.
    Setting(&'static str),
    /// Something to do with ken.
    Action(Action),
}

/// Something that a person can do with ken; a text is the folder, address, model or policy to do it
/// with.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(missing_docs)] // the names say it
pub enum Action {
    Ingest(String),
    IngestShard,
    VerifyCorpus,
    /// Resume from what is undamaged in the corpus of this folder.
    RepairCorpus(String),
    ListDocuments,
    PushCorpus(String),
    Search,
    PullModel(String),
    RemoveModel(String),
    VerifyModel,
    ListModels,
    ChooseModel,
    ExportModel,
    /// Merge this adapter into its model.
    MergeAdapter(String),
    BuildForCuda,
    BuildWithMilvus,
    BuildWithPostgres,
    Evaluate,
    Probe,
    ProbeWithCorpus,
    Calibrate(String),
    /// Choosing both thresholds of abstaining by a signal.
    CalibrateAbstention(String),
    LabelSources,
    LabelMastery,
    Train,
    TrainRouter,
    TrainEmbeddingRouter,
    TrainPruner,
    /// Train a gate, which weighs evidence.
    TrainGate,
    /// Train a model to say what another one knows.
    TrainKbm,
    TrainSelfRoute,
    MakeDatastore,
    EditDatastore,
    ListDatastore,
    MakeWorld,
    /// Make a key for a server.
    MakeServerKey,
    ListServerKeys,
    /// Choose a policy on questions, and write it into the settings.
    Tune,
    /// Run a study of models and corpus scales.
    Study,
    /// Join the parts of a run.
    JoinParts,
}

impl Remedy {
    /// A remedy of these parts, in their order.
    pub fn of(parts: Vec<Part>) -> Self {
        Self(parts)
    }

    /// The remedy as text, with settings and actions worded by the caller.
    pub fn worded(
        &self,
        setting: impl Fn(&str) -> String,
        action: impl Fn(&Action) -> String,
    ) -> String {
        let parts = self.0.iter().map(|part| match part {
            Part::Text(text) => text.to_string(),
            Part::Setting(name) => setting(name),
            Part::Action(named) => action(named),
        });
        parts.collect()
    }

    /// The remedy as text; `None` if it names a setting or an action.
    pub fn plain(&self) -> Option<String> {
        let texts = self.0.iter().map(|part| match part {
            Part::Text(text) => Some(text.to_string()),
            Part::Setting(_) | Part::Action(_) => None,
        });
        texts.collect()
    }

    /// Whether its text, or the names of its settings and actions, contain this.
    pub fn mentions(&self, words: &str) -> bool {
        self.to_string().contains(words)
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
