//! Any bytes as the server-sent events of an endpoint: reading must end in an answer or a typed error.

#![no_main]

// The target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/model/tests/fuzzing/server_sent_events.rs"]
mod server_sent_events;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    server_sent_events::read(bytes);
});
