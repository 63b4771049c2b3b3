//! The server over a real socket, with a model and an embedder whose knowledge is set: what clients of OpenAI's API
//! and of ken's own get, who may do what, uploads and changes, load, and bad input.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod absent;
mod abstaining;
mod access;
mod azure;
mod bad_input;
mod chat;
mod client;
mod console;
mod conversation;
mod corrections;
mod delegated;
mod description;
mod documents;
mod encodings;
mod endpoints;
mod every_route;
mod fixture;
mod for_others;
mod fuzzing;
mod gateway;
mod held;
/// That of `ken serve`.
#[path = "../../../ken/src/commands/serve/intake.rs"]
mod intake;
mod javascript;
mod judge;
mod ken;
mod library;
mod limited;
mod links;
mod load;
/// That of the tests of endpoints.
#[path = "../../../model/tests/remote/loopback.rs"]
#[allow(dead_code)]
mod loopback;
mod mcp;
/// That of `ken serve`.
#[path = "../../../ken/src/commands/serve/measure.rs"]
mod measure;
mod measuring;
/// That of the tests of models.
#[path = "../../../model/tests/loading/mutate.rs"]
mod mutate;
mod odd_servers;
mod places;
mod pruning;
mod random_input;
mod refused_bodies;
mod responses;
mod route_table;
mod several_corpora;
mod slow_model;
#[cfg(feature = "otel")]
mod spans;
mod spent;
mod studies;
mod traces;
mod uploads;
mod vector_stores;
mod watch;
