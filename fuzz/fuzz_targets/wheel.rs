//! Any bytes as a wheel: unpacking must end in a model or a typed error.

#![no_main]

// Each target uses a part of it.
#[allow(dead_code)]
#[path = "../../crates/hub/tests/fuzzing/wheels.rs"]
mod wheels;

use std::cell::LazyCell;

use libfuzzer_sys::fuzz_target;
use wheels::Place;

thread_local! {
    static PLACE: LazyCell<Place> = LazyCell::new(Place::new);
}

fuzz_target!(|bytes: &[u8]| {
    PLACE.with(|place| place.unpack(bytes));
});
