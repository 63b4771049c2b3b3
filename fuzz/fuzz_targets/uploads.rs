//! Any bytes as the `multipart/form-data` of an upload: the response must have the form that clients expect.

#![no_main]
// Each target uses a part of what its modules hold.
#![allow(dead_code, unused_imports)]

include!("../server.rs.in");

use std::cell::RefCell;

use fuzzing::requests::{Asked, Tried};
use libfuzzer_sys::fuzz_target;

thread_local! {
    static ASKED: RefCell<Asked> = RefCell::new(Asked::new(Tried::Files));
}

fuzz_target!(|bytes: &[u8]| {
    ASKED.with(|asked| {
        asked.borrow_mut().ask(bytes);
    });
});
