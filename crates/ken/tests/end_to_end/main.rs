//! All of ken on real models: the binary ingests documents, searches, answers, measures, and refuses what it must.
//! Anything that needs no model is tested in `command_line`.
//!
//! The models come from `KEN_TEST_MODELS`, and the Milvus server from `KEN_TEST_MILVUS`, both of
//! which `cargo xtask test` sets up.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod abstain;
mod ask;
mod bad_input;
mod bad_models;
mod boundary_models;
mod calibrate;
mod card;
mod chat_completions;
mod choose;
mod completions;
mod corpus;
mod demo;
#[cfg(unix)]
mod documented;
mod documents;
mod earlier_versions;
mod eval;
mod folders;
#[cfg(target_os = "linux")]
mod foul_weather;
#[cfg(unix)]
mod full_disk;
mod gate;
mod graded;
mod harness;
mod held_out;
mod ingest;
mod keys;
#[cfg(target_os = "linux")]
mod killed;
mod label;
mod mastery;
mod milvus;
mod models;
mod parts;
mod policies;
mod probe;
mod prune;
mod prune_by_reading;
mod prune_in_milvus;
mod prune_plan;
mod prune_scores;
mod records;
mod remote;
#[cfg(unix)]
mod remote_stopped;
mod rerank;
mod retrieval;
mod search;
mod search_services;
mod self_routing;
#[cfg(unix)]
mod serve;
mod serve_evals;
mod serve_log;
mod serve_reload;
mod serve_tuned;
#[cfg(target_os = "linux")]
mod server_killed;
#[cfg(target_os = "linux")]
mod slow_clients;
#[cfg(target_os = "linux")]
mod soak;
#[cfg(target_os = "linux")]
mod steady_memory;
mod stopped;
mod structured_output;
mod study;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod terminal;
#[allow(dead_code)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code))]
mod traffic;
mod train;
mod tune;
mod tuning;
mod world;

// The test servers for models behind endpoints; not everything that they can do is needed here.
#[allow(dead_code)]
#[path = "../../../model/tests/remote/loopback.rs"]
mod loopback;
#[allow(dead_code)]
#[path = "../../../model/tests/remote/model_server.rs"]
mod model_server;
// So is the Milvus server.
#[allow(dead_code)]
#[path = "../../../milvus/tests/support/milvus_lite.rs"]
mod milvus_lite;
