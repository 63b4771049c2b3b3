//! The online path: a question to a route, evidence, an answer with citations, and a trace of it
//! all. Takes no documents in.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::print_stdout,
        clippy::print_stderr
    )
)]

mod abstaining;
mod answer;
mod assessor;
mod attribute;
mod back_end;
mod cite;
mod conversation;
pub mod datastore;
mod draft;
mod error;
mod evidence;
mod found;
mod gate;
mod marks;
mod measure;
mod mismatch;
mod passage_features;
mod pipeline;
pub mod prompt;
mod question_states;
mod rerank;
mod retrieve;
mod router;
mod routing;
mod routing_head;
mod routing_models;
mod score;
mod search_result;
mod style;
mod truncate;
mod verbalize;
mod written;

pub use abstaining::signals_of_abstention;
pub use answer::{Answer, Citation, Retrieved, Verbalized};
pub use assessor::{AssessedModel, Assessor};
pub use back_end::BackEnd;
pub use conversation::{Exchange, Standalone, is_small_talk};
pub use datastore::{Datastore, DatastoreError};
pub use error::AnswerError;
pub use gate::{evidence_vector, gate_fits};
pub use ken_policy::{
    Abstention, Calls, ChosenSource, Cost, Definition, Gated, Measurements, Policy, Rating, Routed,
    RoutingModel, Signal, Step, Tokens, UnknownSignal, Verdicts, share,
};
pub use measure::{draw_answers, inspect_answers, judge, rate};
pub use mismatch::Mismatch;
pub use passage_features::{PassageFeatures, passage_features};
pub use pipeline::{AnswerSettings, Event, Pipeline};
pub use prompt::QuestionPrompt;
pub use question_states::question_states;
pub use rerank::{Rerank, Reranker, Reranking, UnknownRerank};
pub use retrieve::{Found, RerankCost, Retriever};
pub use router::{Representation, all_words, fits, represent};
pub use routing::{SAMPLES, chance};
pub use routing_head::RoutingHead;
pub use routing_models::RoutingModels;
pub use search_result::SearchResult;
pub use style::{Style, UnknownStyle};
pub use truncate::SPARE_TOKENS;
pub use verbalize::VERBALIZED_TOKENS;
