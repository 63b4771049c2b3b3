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
    #[diagnostic(
        kind = "broken_study",
        remedy = "delete that file and run the same study again: no answer is lost"
    )]
    BrokenManifest { path: PathBuf, reason: String },
    #[error("two models are called {name}: {one} and {other}")]
    #[diagnostic(
        kind = "two_models_of_one_name",
        remedy = "give each model a name of its own, by <model> NAME=REF"
    )]
    SameModel {
        name: String,
        one: String,
        other: String,
    },
    #[error("two files of questions would be called {name}")]
    #[diagnostic(
        kind = "two_datasets_of_one_name",
        remedy = "rename one of the files: a data set is called after its file"
    )]
    SameDataset { name: String },
    #[error("the study's questions of {dataset} are others")]
    #[diagnostic(
        kind = "other_questions",
        remedy = "use the same file of questions, <limit> and <seed> in all of a study, or name a new folder by <out>"
    )]
    OtherQuestions { dataset: String },
    #[error("the corpus {now} holds something else than {was} did when the study was begun")]
    #[diagnostic(
        kind = "other_corpus",
        remedy = "use the same generation of the same corpus in all of a study, or name a new folder by <out>"
    )]
    OtherCorpus { was: String, now: String },
    #[error("the study's setting {name} was {was:?} and is now {now:?}")]
    #[diagnostic(
        kind = "other_settings",
        remedy = "use the same settings in all of a study, or name a new folder by <out>"
    )]
    OtherSetting {
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
    #[diagnostic(
        kind = "rerank_by_studied_model",
        remedy = "rerank by a cross-encoder or the embedder, or not at all: <rerank>"
    )]
    RerankedByLikelihood,
    #[error("{cell} has answers to other questions than {other}")]
    #[diagnostic(
        kind = "cells_of_other_questions",
        remedy = "delete the file of one of the two cells and run the study again"
    )]
    CellsDiffer { cell: String, other: String },
    #[error("the policy `{policy}` cannot be studied: {reason}")]
    #[diagnostic(
        kind = "policy_not_studied",
        remedy = "name policies by <policy> that decide by one threshold, as certainty@0.5"
    )]
    Policy {
        policy: String,
        reason: &'static str,
    },
    #[error("{path} no longer has the question {id:?} that the study asked")]
    #[diagnostic(
        kind = "question_gone",
        remedy = "put back the file of questions that the study was run on: what a report is broken down by stands in it"
    )]
    QuestionGone { path: PathBuf, id: String },
    #[error("no cell of {path} is complete")]
    #[diagnostic(kind = "no_cells", remedy = "run the study to its end: <Study>")]
    NoCells { path: PathBuf },
    #[error("{path} is a part of a study: it has some of the questions of each cell")]
    #[diagnostic(
        kind = "part_of_study",
        remedy = "join all parts of that study by <JoinParts>, and then the whole with others"
    )]
    PartOfStudy { path: PathBuf },
    #[error("both {one} and {other} have records of {cell}, and they differ")]
    #[diagnostic(
        kind = "cells_overlap",
        remedy = "leave one of the two folders out, or delete the file of that cell in one of them"
    )]
    CellTwice {
        cell: String,
        one: PathBuf,
        other: PathBuf,
    },
}
