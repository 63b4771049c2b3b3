//! Ctrl-C: the first asks the running work to stop where nothing is lost, the
//! second ends the program at once. Where the program only waits for input there
//! is nothing to lose, and the first ends it.

use std::io::{self, BufRead, Write};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use crate::failure::{Context, Failure, Result};

/// What shells report for a program that ended by Ctrl-C.
const ENDED_BY_INTERRUPT: i32 = 130;

/// Whether Ctrl-C was pressed.
static RAISED: LazyLock<Arc<AtomicBool>> = LazyLock::new(Arc::default);

/// Whether the program waits for input.
static WAITING: AtomicBool = AtomicBool::new(false);

/// Starts to listen. The flag rises at the first Ctrl-C; long work looks at it.
pub(crate) fn listen() -> Result<&'static Arc<AtomicBool>> {
    ctrlc::set_handler(|| {
        if RAISED.swap(true, Ordering::SeqCst) || WAITING.load(Ordering::SeqCst) {
            leave();
        }
        // If stderr is gone there is nobody to tell.
        let _ = writeln!(io::stderr(), "\nstopping (Ctrl-C again ends at once)");
    })
    .map_err(Failure::other)
    .context(|| "cannot listen for Ctrl-C")?;
    Ok(&RAISED)
}

/// The next line of standard input, without its end; `None` where the input ends.
/// Ctrl-C ends the program while it waits.
pub(crate) fn next_line() -> io::Result<Option<String>> {
    WAITING.store(true, Ordering::SeqCst);
    if RAISED.load(Ordering::SeqCst) {
        leave();
    }
    let line = io::stdin().lock().lines().next().transpose();
    WAITING.store(false, Ordering::SeqCst);
    line
}

/// Ends the program, with the prompt's line ended.
fn leave() -> ! {
    let _ = writeln!(io::stderr());
    std::process::exit(ENDED_BY_INTERRUPT)
}
