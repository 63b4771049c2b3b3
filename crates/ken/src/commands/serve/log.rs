//! The log on stderr, each entry as one line of JSON. A thread of its own writes the lines, so that no request waits for
//! a terminal that is held, or for a collector that does not read.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, Instant};

use ken_server::{Entry, Log};
use serde::Serialize;
use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::terminal;

/// The most lines that wait to be written; further ones are left out, and counted.
const MOST_WAITING: usize = 4096;

/// How long the program waits at its end for the lines to be written.
const WRITTEN_WITHIN: Duration = Duration::from_secs(1);

/// How often it looks meanwhile.
const LOOK: Duration = Duration::from_millis(5);

/// The lines of the log. Dropping it waits for those that are not written yet, but not for long.
pub(super) struct LogLines {
    send: SyncSender<String>,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    waiting: AtomicUsize,
    left_out: AtomicUsize,
}

impl LogLines {
    /// # Errors
    /// A thread that the system denies.
    pub(super) fn begin() -> std::io::Result<Self> {
        let (send, lines) = sync_channel(MOST_WAITING);
        let counts = Arc::<Counts>::default();
        let own = Arc::clone(&counts);
        let writer = std::thread::Builder::new().name("log".to_owned());
        writer.spawn(move || write(&lines, &own))?;
        Ok(Self { send, counts })
    }

    /// Takes entries without blocking.
    pub(super) fn log(&self) -> Log {
        let (send, counts) = (self.send.clone(), Arc::clone(&self.counts));
        Arc::new(move |entry: &Entry| {
            counts.waiting.fetch_add(1, Ordering::SeqCst);
            if send.try_send(worded(entry)).is_err() {
                counts.waiting.fetch_sub(1, Ordering::SeqCst);
                counts.left_out.fetch_add(1, Ordering::SeqCst);
            }
        })
    }
}

impl Drop for LogLines {
    fn drop(&mut self) {
        let begun = Instant::now();
        while self.counts.waiting.load(Ordering::SeqCst) > 0 && begun.elapsed() < WRITTEN_WITHIN {
            std::thread::sleep(LOOK);
        }
    }
}

fn write(lines: &Receiver<String>, counts: &Counts) {
    // If stderr is gone there is nobody to tell.
    let put = |line: &str| drop(std::io::stderr().lock().write_all(line.as_bytes()));
    for line in lines {
        put(&line);
        let left_out = counts.left_out.swap(0, Ordering::SeqCst);
        if left_out > 0 {
            put(&worded(&Entry::LeftOut { lines: left_out }));
        }
        counts.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The line of an entry.
fn worded(entry: &Entry) -> String {
    #[derive(Serialize)]
    struct Line<'a> {
        time: String,
        #[serde(flatten)]
        entry: &'a Entry,
    }
    let time = OffsetDateTime::now_utc().format(&Rfc3339);
    let time = time.unwrap_or_default();
    // Cannot fail: an entry has neither maps nor parts that fail.
    let line = serde_json::to_string(&Line { time, entry }).unwrap_or_default();
    format!("{}\n", terminal::json(&line))
}
