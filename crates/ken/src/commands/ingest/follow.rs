//! `ken ingest --watch`: keeps a corpus in step with folders for as long as the program runs.
//!
//! It scans the folders again and again instead of waiting for notifications of the system: that works on network
//! drives and in containers, too, and costs little compared with reading.

use std::sync::atomic::Ordering;
use std::thread;
use std::time::{Duration, Instant};

use ken_documents::{Documents, ReadError, SeenFiles};

use super::report::warn;
use super::{Destination, read};
use crate::failure::Result;
use crate::terminal::remark;

/// The shortest pause between two scans.
const PAUSE: Duration = Duration::from_secs(1);

/// A scan takes at most this part of the time.
const LOOKING_SHARE: u32 = 20;

/// The longest pause after repeated failures.
const LONGEST_PAUSE: Duration = Duration::from_secs(300);

/// How often a pause checks whether to end.
const NAP: Duration = Duration::from_millis(100);

/// Ingests `documents`, and then whatever is new, changed or gone in the given paths, until it is to stop. Documents
/// that cannot be read later on are skipped, and tried again when they change.
///
/// # Errors
/// Those of the first ingest. Later failures are reported and tried again, at growing intervals.
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
    let (mut pause, mut reported) = (PAUSE, String::new());
    while rest(destination, pause) {
        let begun = Instant::now();
        let outcome = read(arguments, session).and_then(|mut documents| {
            let scanned = begun.elapsed();
            if seen.leave_changed(&mut documents) {
                destination.take(documents, Some(&warn))?;
            }
            Ok(scanned)
        });
        match outcome {
            Ok(scanned) => {
                pause = PAUSE.max(scanned * LOOKING_SHARE);
                reported.clear();
            }
            Err(failure) if session.is_stopped() => return Err(failure),
            Err(failure) => {
                // Which changes were published is unknown.
                seen = SeenFiles::default();
                pause = (pause * 2).min(LONGEST_PAUSE);
                let message = failure.to_string();
                if message != reported {
                    remark(format_args!("{message}; trying again"));
                    reported = message;
                }
            }
        }
    }
    Ok(())
}

/// Waits; `false` if it is to stop.
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
