//! Bytes of every kind for the readers of what comes from elsewhere: whatever they are, reading ends
//! soon, in something understood or in a typed error. The targets in `fuzz/` look further.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod endpoint_json;
#[path = "../loading/mutate.rs"]
mod mutate;
mod server_sent_events;
