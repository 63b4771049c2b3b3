//! Models behind endpoints: servers on the loopback interface that respond with a real model or by a
//! script. No test here needs a network.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod connecting;
mod embeddings;
mod endings;
mod faults;
mod gateways;
mod generating;
mod keys;
mod limits;
/// Tests of other crates use more of it.
#[allow(dead_code)]
mod loopback;
mod model_server;
mod parity;
mod stopping;
