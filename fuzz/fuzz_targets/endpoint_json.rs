//! Any bytes as the JSON response of an endpoint: reading must end in an answer or a typed error.

#![no_main]

// The target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/model/tests/fuzzing/endpoint_json.rs"]
mod endpoint_json;

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    endpoint_json::read(bytes);
});
