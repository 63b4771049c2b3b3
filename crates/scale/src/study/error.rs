//! Why a study cannot be run, joined or reported, with the remedy beside the message.

use std::path::PathBuf;

use ken_answer::AnswerError;
use ken_eval::dataset::DatasetError;
use ken_eval::part::PartError;
use ken_eval::results::ResultsError;
use ken_eval::run::RunError;
use ken_storage::StorageError;

use super::table::TableError;

/// Why a study cannot be run, joined or reported.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub enum ScalingError {
    #[error(transparent)]
    Run(#[from] RunError),
    #[error(transparent)]
    Results(#[from] ResultsError),
    #[error(transparent)]
    Part(#[from] PartError),
    #[error(transparent)]
    Table(#[from] TableError),
    #[error(transparent)]
    Dataset(#[from] DatasetError),
    #[error(transparent)]
    Storage(#[from] StorageError),
    #[error(transparent)]
    Answer(#[from] AnswerError),
    #[error("{path} is not the folder of a study")]
    #[diagnostic(remedy = "name a folder that <Study> wrote, or a .csv table of scores")]
    NotAStudy { path: PathBuf },
    #[error("{path} cannot be read as a study: {reason}")]
    #[diagnostic(remedy = "delete that file and run the same study again: no answer is lost")]
    BrokenStudy { path: PathBuf, reason: String },
    #[error("two models are called {name}: {one} and {other}")]
    #[diagnostic(remedy = "give each model a name of its own, by <model> NAME=REF")]
    TwoModelsOfOneName {
        name: String,
        one: String,
        other: String,
    },
    #[error("two files of questions would be called {name}")]
    #[diagnostic(remedy = "rename one of the files: a data set is called after its file")]
    TwoDatasetsOfOneName { name: String },
    #[error("the study's questions of {dataset} are others")]
    #[diagnostic(
        remedy = "use the same file of questions, <limit> and <seed> in all of a study, or name a new folder by <out>"
    )]
    OtherQuestions { dataset: String },
    #[error("the corpus {now} holds something else than {was} did when the study was begun")]
    #[diagnostic(
        remedy = "use the same generation of the same corpus in all of a study, or name a new folder by <out>"
    )]
    OtherCorpus { was: String, now: String },
    #[error("the study's setting {name} was {was:?} and is now {now:?}")]
    #[diagnostic(remedy = "use the same settings in all of a study, or name a new folder by <out>")]
    OtherSettings {
        name: String,
        was: String,
        now: String,
    },
    #[error(
        "the models of this study would read different passages: of question {question:?} ({condition}), {reader} reads {read} characters of {found} passages, and {other} {other_read}"
    )]
    #[diagnostic(
        kind = "models_read_differently",
        remedy = "have them all fit: raise <evidence_tokens>, lower <ks>, or leave out models whose context is too small"
    )]
    ReadDifferently {
        question: String,
        condition: String,
        reader: String,
        read: usize,
        other: String,
        other_read: usize,
        found: usize,
    },
    #[error("{one} and {other} were asked with different passages")]
    #[diagnostic(
        kind = "models_read_differently",
        remedy = "cells are comparable only if all models read the same: run one of them again, with the corpus and the settings of the other"
    )]
    CellsReadDifferently { one: String, other: String },
    #[error(
        "passages reranked by likelihood are ranked by each model in its own way, so models would read different ones"
    )]
    #[diagnostic(remedy = "rerank by a cross-encoder or the embedder, or not at all: <rerank>")]
    RerankByStudiedModel,
    #[error("{cell} has answers to other questions than {other}")]
    #[diagnostic(remedy = "delete the file of one of the two cells and run the study again")]
    CellsOfOtherQuestions { cell: String, other: String },
    #[error("the policy `{policy}` cannot be studied: {reason}")]
    #[diagnostic(
        remedy = "name policies by <policy> that decide by one threshold, as certainty@0.5"
    )]
    PolicyNotStudied {
        policy: String,
        reason: &'static str,
    },
    #[error("{path} no longer has the question {id:?} that the study asked")]
    #[diagnostic(
        remedy = "put back the file of questions that the study was run on: what a report is broken down by stands in it"
    )]
    QuestionGone { path: PathBuf, id: String },
    #[error("no cell of {path} is complete")]
    #[diagnostic(kind = "no_cells", remedy = "run the study to its end: <Study>")]
    NoCells { path: PathBuf },
    #[error("{path} is a part of a study: it has some of the questions of each cell")]
    #[diagnostic(
        remedy = "join all parts of that study by <JoinParts>, and then the whole with others"
    )]
    PartOfStudy { path: PathBuf },
    #[error("both {one} and {other} have records of {cell}, and they differ")]
    #[diagnostic(
        remedy = "leave one of the two folders out, or delete the file of that cell in one of them"
    )]
    CellsOverlap {
        cell: String,
        one: PathBuf,
        other: PathBuf,
    },
}
