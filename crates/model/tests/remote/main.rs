//! Models behind endpoints: against servers on the loopback interface that answer with a real model
//! or by a script. No test here needs a network.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bounds;
mod embeddings;
mod faults;
mod finding;
mod keys;
mod loopback;
mod model_server;
mod same;
mod stopping;
mod writing;
