//! `ken ingest --watch`: a corpus in step with folders for as long as the program runs.
//!
//! It looks at the folders again and again instead of being told by the system: that works on network drives and in
//! containers too, and costs little beside reading.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use ken_documents::{Documents, ReadError, SeenFiles};

use super::report::warn;
use super::{Destination, read};
use crate::failure::Result;
use crate::terminal::remark;

/// The least time between two looks.
const PAUSE: Duration = Duration::from_secs(1);

/// A look takes at most this part of the time.
const LOOKING_SHARE: u32 = 20;

/// The longest time between two tries where one fails after the other.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// How often a pause looks whether to end.
const NAP: Duration = Duration::from_millis(100);

/// Ingests `documents`, and then whatever is new, changed or gone of the paths that were given, until it is to stop.
/// What cannot be read later on is skipped, and tried again when it changes.
///
/// # Errors
/// Of the first ingest. Later failures are told and tried again, ever more seldom.
pub(super) fn follow(
    destination: &Destination<'_>,
    documents: Documents,
    on_broken: Option<&(dyn Fn(&ReadError) + Sync)>,
) -> Result<()> {
    let Destination {
        arguments, session, ..
    } = *destination;
    let mut seen = SeenFiles::of(&documents);
    destination.take(documents, on_broken)?;
    remark("watching for changes; Ctrl-C ends it");
    let (mut pause, mut told) = (PAUSE, String::new());
    while rest(destination, pause) {
        let begun = Instant::now();
        let outcome = read(arguments, session).and_then(|mut documents| {
            let looked = begun.elapsed();
            if seen.leave_changed(&mut documents) {
                destination.take(documents, Some(&warn))?;
            }
            Ok(looked)
        });
        match outcome {
            Ok(looked) => {
                pause = PAUSE.max(looked * LOOKING_SHARE);
                told.clear();
            }
            Err(failure) if session.is_stopped() => return Err(failure),
            Err(failure) => {
                // What of the changes was published is not known.
                seen = SeenFiles::default();
                pause = (pause * 2).min(LONGEST_PAUSE);
                let message = failure.to_string();
                if message != told {
                    remark(format_args!("{message}; trying again"));
                    told = message;
                }
            }
        }
    }
    Ok(())
}

/// Waits; `false` once it is to stop.
fn rest(destination: &Destination<'_>, pause: Duration) -> bool {
    let end = Instant::now() + pause;
    while Instant::now() < end {
        if destination.session.stop.load(Ordering::Relaxed) {
            return false;
        }
        thread::sleep(NAP);
    }
    true
}
