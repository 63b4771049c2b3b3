//! Ctrl-C: the first asks the running work to stop where nothing is lost, the
//! second ends the program at once.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};

/// What shells report for a program that ended by Ctrl-C.
const ENDED_BY_INTERRUPT: i32 = 130;

/// Starts to listen. The flag rises at the first Ctrl-C; long work looks at it.
pub(crate) fn listen() -> Result<Arc<AtomicBool>> {
    let raised = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&raised);
    ctrlc::set_handler(move || {
        if flag.swap(true, Ordering::SeqCst) {
            std::process::exit(ENDED_BY_INTERRUPT);
        }
        // If stderr is gone there is nobody to tell.
        let _ = writeln!(std::io::stderr(), "\nstopping (Ctrl-C again ends at once)");
    })
    .context("cannot listen for Ctrl-C")?;
    Ok(raised)
}
