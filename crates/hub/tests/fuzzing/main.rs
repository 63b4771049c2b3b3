//! Broken wheels: whatever the bytes, unpacking ends soon, in a model or a typed error. The target in
//! `fuzz/` shares this body.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../model/tests/loading/mutate.rs"]
mod mutate;
#[path = "../../../model/tests/fuzzing/survives.rs"]
mod survives;
mod wheels;

#[test]
fn archives() {
    let place = wheels::Place::new();
    let unpack = |bytes: &[u8]| place.unpack(bytes);
    survives::survives("wheel", 300, &wheels::valid(), unpack);
}
