//! What is served at the moment, and its exchange while requests go on: who began with what was served
//! before ends with that.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock, TryLockError};

use ken_setup::{FetchProgress, Settings, Setup, SetupError};

use super::corpora::addresses;
use super::resources::Served;
use super::setup::{OpenError, Opening};
use crate::log::Entry;

/// How the settings are read again.
pub type Read = Box<dyn Fn() -> Result<Settings, SetupError> + Send + Sync>;

/// The settings of a server, and how they are read again.
pub struct Configured {
    /// As they are now.
    pub settings: Settings,
    /// How they are read again.
    pub read: Read,
}

/// What is served, and by which settings.
pub(crate) struct Now {
    pub(crate) served: Arc<Served>,
    settings: Option<Settings>,
}

impl Now {
    /// What opens more of what the settings name, silently; `None` where there are no settings.
    pub(crate) fn setup(&self) -> Option<Setup<'_>> {
        let settings = self.settings.as_ref()?;
        Some(Setup {
            settings,
            stop: &self.served.halted,
            watch: &silent,
            withheld: &|_| {},
        })
    }
}

fn silent() -> FetchProgress {
    Box::new(|_| {})
}

/// What is served at the moment.
pub(crate) struct Live {
    now: RwLock<Arc<Now>>,
    read: Option<Read>,
    reloading: Mutex<()>,
    publishing: Mutex<()>,
}

/// Why what is served stays as it is.
#[derive(Debug, thiserror::Error, ken_diagnostic::Diagnostic)]
#[allow(missing_docs, reason = "the messages say what the fields are")]
pub(crate) enum ReloadError {
    #[error("the settings are being read again already")]
    #[diagnostic(kind = "reload_running")]
    Running,
    #[error("this server has no settings to read again")]
    #[diagnostic(kind = "not_reloadable")]
    NoSettings,
    #[error("the setting `{key}` has changed, which takes a restart")]
    #[diagnostic(kind = "needs_restart")]
    Fixed { key: &'static str },
    #[error(transparent)]
    Settings(#[from] SetupError),
    #[error(transparent)]
    Open(#[from] OpenError),
}

impl Live {
    pub(crate) fn new(served: Arc<Served>, configured: Option<Configured>) -> Self {
        let (settings, read) = match configured {
            Some(Configured { settings, read }) => (Some(settings), Some(read)),
            None => (None, None),
        };
        Self {
            now: RwLock::new(Arc::new(Now { served, settings })),
            read,
            reloading: Mutex::default(),
            publishing: Mutex::default(),
        }
    }

    /// What is served at the moment.
    pub(crate) fn now(&self) -> Arc<Now> {
        Arc::clone(&self.now.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// Held by whoever has another generation or another corpus searched: what is served is not exchanged
    /// meanwhile, so that neither is forgotten.
    pub(crate) fn publishing(&self) -> MutexGuard<'_, ()> {
        self.publishing
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the settings again, opens what they name, and serves that from now on. A model whose settings
    /// are the same stays open.
    ///
    /// # Errors
    /// Settings that cannot be read or used, or that only a restart can change; what was served stays.
    pub(crate) fn reload(&self) -> Result<Arc<Served>, ReloadError> {
        let _alone = match self.reloading.try_lock() {
            Ok(alone) => alone,
            Err(TryLockError::Poisoned(alone)) => alone.into_inner(),
            Err(TryLockError::WouldBlock) => return Err(ReloadError::Running),
        };
        let before = self.now();
        let (Some(read), Some(old)) = (&self.read, &before.settings) else {
            return Err(ReloadError::NoSettings);
        };
        let settings = read()?;
        if let Some(key) = fixed(old, &settings) {
            return Err(ReloadError::Fixed { key });
        }
        let withheld = |error: &SetupError| {
            (before.served.log)(&Entry::Withheld {
                detail: error.to_string(),
            });
        };
        let setup = Setup {
            settings: &settings,
            stop: &before.served.halted,
            watch: &silent,
            withheld: &withheld,
        };
        let model = has_same_model(old, &settings).then(|| &before.served.pipeline.model);
        let opening = Opening::of(&setup, model.cloned())?;
        let names: Vec<String> = addresses(&settings).into_iter().map(|one| one.0).collect();
        let served = Arc::new(before.served.reopened(opening)?);
        let _publishing = self.publishing();
        served.catch_up(&setup, &names)?;
        let now = Now {
            served: Arc::clone(&served),
            settings: Some(settings),
        };
        *self.now.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(now);
        Ok(served)
    }
}

/// A setting that has changed and that only a restart can change.
fn fixed(old: &Settings, new: &Settings) -> Option<&'static str> {
    let same = [
        ("listen", old.listen == new.listen),
        ("server_keys", old.server_keys == new.server_keys),
        ("server_data", old.server_data == new.server_data),
        ("keep_questions", old.keep_questions == new.keep_questions),
        ("otlp_endpoint", old.otlp_endpoint == new.otlp_endpoint),
        ("otlp_content", old.otlp_content == new.otlp_content),
        ("watch_judge", old.watch_judge == new.watch_judge),
        ("parallel", old.parallel == new.parallel),
        ("queue", old.queue == new.queue),
        ("threads", old.threads == new.threads),
        ("segment", old.segment == new.segment),
        (
            "max_document_bytes",
            old.max_document_bytes == new.max_document_bytes,
        ),
    ];
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
