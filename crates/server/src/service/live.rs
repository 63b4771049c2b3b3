//! What the server serves now, and its replacement while requests go on: a request ends with what it began with.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, RwLock, TryLockError};

use ken_setup::{Chosen, Key, Settings, Setup, SetupError};

use super::corpora::addresses;
use super::resources::Served;
use super::setup::{OpenError, Opening};
use crate::lock::{lock, read, write};
use crate::log::Entry;

/// The settings of a server, and where they come from.
pub struct Configured {
    /// The current settings.
    pub settings: Settings,
    /// Where they are read again.
    pub source: Source,
}

/// Where settings come from, as [`Settings::resolve`] takes it.
pub struct Source {
    /// The file, where one is named.
    pub file: Option<PathBuf>,
    /// What comes before the file.
    pub given: Vec<(Key, OsString)>,
}

impl Source {
    fn read(&self) -> Result<Settings, ReloadError> {
        Ok(Settings::resolve(
            self.file.as_deref(),
            self.given.iter().cloned(),
        )?)
    }

    /// The settings with a policy that is kept in a folder.
    fn choosing(&self, chosen: &Chosen, folder: &Path) -> Result<Settings, ReloadError> {
        if let Some(key) = Chosen::preceded(&self.given) {
            let key = key.setting().key;
            return Err(ReloadError::PolicyGiven { key });
        }
        Ok(chosen.resolve(folder, self.file.as_deref(), self.given.clone())?)
    }
}

/// What is served, and by which settings.
pub(crate) struct Now {
    pub(crate) served: Arc<Served>,
    settings: Option<Settings>,
}

impl Now {
    /// Opens more of what the settings name, silently; `None` if there are no settings.
    pub(crate) fn setup(&self) -> Option<Setup<'_>> {
        let settings = self.settings.as_ref()?;
        Some(Setup::quiet(settings, &self.served.halted))
    }
}

/// What is served at the moment.
pub(crate) struct Live {
    now: RwLock<Arc<Now>>,
    source: Option<Source>,
    reloading: Mutex<()>,
    publishing: Mutex<()>,
}

/// Why a reload changes nothing.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub(crate) enum ReloadError {
    #[error("the settings are being read again already")]
    #[diagnostic(kind = "reload_running")]
    Running,
    #[error("this server has no settings to read again")]
    NotReloadable,
    #[error("the setting `{key}` has changed, which takes a restart")]
    NeedsRestart { key: &'static str },
    #[error(
        "the setting `{key}` comes from a flag or a variable, which goes before the settings file: start the server without"
    )]
    PolicyGiven { key: &'static str },
    #[error(transparent)]
    Settings(#[from] SetupError),
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl Live {
    pub(crate) fn new(served: Arc<Served>, configured: Option<Configured>) -> Self {
        let (settings, source) = match configured {
            Some(Configured { settings, source }) => (Some(settings), Some(source)),
            None => (None, None),
        };
        Self {
            now: RwLock::new(Arc::new(Now { served, settings })),
            source,
            reloading: Mutex::default(),
            publishing: Mutex::default(),
        }
    }

    /// What is served at the moment.
    pub(crate) fn now(&self) -> Arc<Now> {
        Arc::clone(&read(&self.now))
    }

    /// Held while another generation or corpus goes into service: meanwhile a reload cannot replace what is served,
    /// so neither change is lost.
    pub(crate) fn publishing(&self) -> MutexGuard<'_, ()> {
        lock(&self.publishing)
    }

    /// Reads the settings again, opens what they name, and serves that from now on. A model with unchanged settings
    /// stays open.
    ///
    /// # Errors
    /// Settings that cannot be read or used, or that only a restart can change; what was served stays.
    pub(crate) fn reload(&self) -> Result<Arc<Served>, ReloadError> {
        self.exchange(Source::read, |_| Ok(()))
    }

    /// Has a policy that tuning chose, and that is kept in a folder, answer from now on: once what it names is open, it is
    /// written into the settings file.
    ///
    /// # Errors
    /// As [`Live::reload`]; a policy that comes from elsewhere than the file; a file that cannot be written.
    pub(crate) fn choose(&self, folder: &Path) -> Result<Arc<Served>, ReloadError> {
        let chosen = Chosen::read(folder)?;
        self.exchange(
            |source| source.choosing(&chosen, folder),
            |source| {
                chosen.write(source.file.as_deref())?;
                Ok(())
            },
        )
    }

    /// Opens what other settings name, and serves that once it is `noted`.
    fn exchange(
        &self,
        settings: impl FnOnce(&Source) -> Result<Settings, ReloadError>,
        noted: impl FnOnce(&Source) -> Result<(), ReloadError>,
    ) -> Result<Arc<Served>, ReloadError> {
        let _alone = match self.reloading.try_lock() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(alone)) => alone.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(ReloadError::Running),
        };
        let before = self.now();
        let (Some(source), Some(old)) = (&self.source, &before.settings) else {
            return Err(ReloadError::NotReloadable);
        };
        let settings = settings(source)?;
        if let Some(key) = fixed(old, &settings) {
            return Err(ReloadError::NeedsRestart { key });
        }
        let withheld = |error: &SetupError| {
            (before.served.log)(&Entry::Withheld {
                detail: error.to_string(),
            });
        };
        let setup = Setup {
            withheld: &withheld,
            ..Setup::quiet(&settings, &before.served.halted)
        };
        let model = has_same_model(old, &settings).then(|| &before.served.pipeline.model);
        let opening = Opening::of(&setup, model.cloned())?;
        let (names, _): (Vec<String>, Vec<_>) = addresses(&settings).into_iter().unzip();
        let served = Arc::new(before.served.reopened(opening)?);
        let _publishing = self.publishing();
        served.catch_up(&setup, &names)?;
        noted(source)?;
        let now = Now {
            served: Arc::clone(&served),
            settings: Some(settings),
        };
        *write(&self.now) = Arc::new(now);
        Ok(served)
    }
}

/// A setting that has changed and that only a restart can change.
fn fixed(old: &Settings, new: &Settings) -> Option<&'static str> {
    macro_rules! compared {
        ($($key:ident)*) => { [$((stringify!($key), old.$key == new.$key)),*] };
    }
    let same = compared! {
        listen server_keys server_data keep_questions otlp_endpoint otlp_content watch_judge
        parallel queue threads segment max_document_bytes
    };
    let changed = same.into_iter().find(|(_, is_same)| !is_same);
    changed.map(|(key, _)| key)
}

/// Whether the same model answers, opened in the same way.
fn has_same_model(old: &Settings, new: &Settings) -> bool {
    let here = (&old.model, &old.adapter, old.precision, old.device)
        == (&new.model, &new.adapter, new.precision, new.device);
    let asked = (&old.model_name, old.prompt_form, old.allow_plaintext_keys)
        == (&new.model_name, new.prompt_form, new.allow_plaintext_keys);
    here && asked && old.keys == new.keys
}
