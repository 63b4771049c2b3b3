//! Any bytes as a file of the journal of traces, of questions or of corrections of a server: opening its folder
//! must end in a server or a typed error. The first byte selects the file.

#![no_main]
// Each target uses a part of what its modules hold.
#![allow(dead_code, unused_imports)]

include!("../server.rs.in");

use std::cell::RefCell;

use fuzzing::kept::JournalPlace;
use libfuzzer_sys::fuzz_target;

thread_local! {
    static PLACE: RefCell<JournalPlace> = RefCell::new(JournalPlace::new());
}

fuzz_target!(|bytes: &[u8]| {
    PLACE.with(|place| {
        place.borrow_mut().open(bytes);
    });
});
