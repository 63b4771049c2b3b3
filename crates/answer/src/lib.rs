//! The online path: from a question to a route, evidence, an answer with citations, and a trace of each step. It
//! ingests no documents.
//!
//! ```
//! use std::ops::ControlFlow;
//! use std::sync::Arc;
//!
//! use ken_answer::{AnswerSettings, Pipeline, Policy};
//! use ken_testing::{Fact, TableModel};
//!
//! let model = TableModel::new(vec![Fact {
//!     question: "Who keeps the keys?".to_owned(),
//!     answer: "Ilse Marrow".to_owned(),
//!     known: 1.0,
//!     ..Fact::default()
//! }])?;
//! let settings = AnswerSettings { policy: Policy::NEVER, ..AnswerSettings::default() };
//! let pipeline = Pipeline::new(Arc::new(model), None, settings);
//! let answer = pipeline.answer("Who keeps the keys?", &mut |_| ControlFlow::Continue(()))?;
//! assert_eq!(answer.answer, "Ilse Marrow");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod answer;
mod brought;
mod cite;
mod conversation;
mod decision;
mod draft;
mod error;
mod knows;
mod measure;
mod memory;
mod pipeline;
pub mod prompt;
mod retrieve;
mod steps;
mod style;

pub use answer::{Answer, Citation, Retrieved, Verbalized};
pub use brought::{Brought, Conversation, EvidenceForm, EvidencePlace};
pub use cite::{is_han, placed_words};
pub use conversation::{Exchange, Standalone, is_small_talk};
pub use decision::{Decision, Written};
pub use error::AnswerError;
pub use ken_policy::{
    Abstention, Calls, ChosenSource, Cost, Definition, Gated, Measurements, Policy, Rating, Routed,
    RoutingModel, Signal, Step, Tokens, UnknownSignal, Verdicts, share,
};
pub use knows::Known;
pub use measure::assessor::{AssessedModel, Assessor};
pub use measure::datastore::{self, Datastore, DatastoreError};
pub use measure::gate::{evidence_vector, gate_fits};
pub use measure::mismatch::Mismatch;
pub use measure::passage_features::{PassageFeatures, passage_features};
pub use measure::question_states::question_states;
pub use measure::router::{Representation, all_words, fits, represent};
pub use measure::routing_head::RoutingHead;
pub use measure::routing_models::RoutingModels;
pub use measure::{draw_answers, inspect_answers, judge, rate};
pub use memory::Memory;
pub use pipeline::{AnswerSettings, Event, Pipeline, SAMPLES};
pub use prompt::QuestionPrompt;
pub use prompt::truncate::SPARE_TOKENS;
pub use retrieve::back_end::BackEnd;
pub use retrieve::rerank::{Rerank, Reranker, Reranking, UnknownRerank};
pub use retrieve::search_result::SearchResult;
pub use retrieve::{RerankCost, Retriever, SearchOutcome};
pub use steps::list::asks_for_list;
pub use steps::route::chance;
pub use steps::verbalize::VERBALIZED_TOKENS;
pub use steps::vouch::signals_of_abstention;
pub use style::{Style, UnknownStyle};
