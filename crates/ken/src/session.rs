//! What every verb gets: the settings, how it shows its outcome, and what stops it.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use ken_setup::{FetchProgress, Settings, Setup, SetupError};

use crate::failure;
use crate::progress::{Display, Unit, begun};

/// One call of a verb.
#[derive(Clone, Copy)]
pub(crate) struct Session<'a> {
    pub(crate) settings: &'a Settings,
    /// The arguments of the program, its name first.
    pub(crate) given: &'a [OsString],
    /// Whether to show the outcome as JSON.
    pub(crate) json: bool,
    /// Whether to show nothing but the outcome.
    pub(crate) quiet: bool,
    /// Raised by Ctrl-C.
    pub(crate) stop: &'a Arc<AtomicBool>,
}

impl<'a> Session<'a> {
    /// Opens what the settings name, and shows models being fetched.
    pub(crate) fn setup(&self) -> Setup<'a> {
        Setup {
            settings: self.settings,
            stop: self.stop,
            watch: &fetch_progress,
            withheld: &warn_once,
        }
    }

    /// As [`Session::setup`], with other settings.
    pub(crate) fn setup_with(&self, settings: &'a Settings) -> Setup<'a> {
        Setup {
            settings,
            ..self.setup()
        }
    }

    /// Opens something by `open`, and shows on a terminal that this takes time.
    pub(crate) fn opening<T>(
        &self,
        open: impl FnOnce(Setup<'a>) -> Result<T, SetupError>,
    ) -> Result<T, SetupError> {
        let _display = begun("opening models and corpora");
        open(self.setup())
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// For callbacks that may stop their caller.
    pub(crate) fn unless_stopped(&self) -> ControlFlow<()> {
        ken_language::break_if(self.is_stopped())
    }
}

/// Reports a withheld key, the first time.
fn warn_once(withheld: &SetupError) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut warned = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if warned.insert(withheld.to_string()) {
        failure::warn(withheld);
    }
}

/// Draws the progress of fetching a model.
pub(crate) fn fetch_progress() -> FetchProgress {
    let mut display = Display::new();
    Box::new(move |step| {
        let (done, all) = (step.bytes_done, step.bytes_total);
        display.show(&step.label(), Unit::Bytes, done, all);
    })
}
