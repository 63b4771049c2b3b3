//! Any bytes as a server's file of keys: reading must end in keys or a typed error.

#![no_main]
// Each target uses a part of what its modules hold.
#![allow(dead_code, unused_imports)]

include!("../server.rs.in");

use std::cell::RefCell;

use fuzzing::kept::KeysPlace;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static PLACE: RefCell<KeysPlace> = RefCell::new(KeysPlace::new());
}

fuzz_target!(|bytes: &[u8]| {
    PLACE.with(|place| {
        place.borrow_mut().read(bytes);
    });
});
