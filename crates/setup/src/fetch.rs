//! [`Setup`], which opens what settings name, and the fetching of models that are not cached.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_hub::{ModelCache, ModelReference};

use crate::error::SetupError;
use crate::settings::Settings;

/// Watches one model being fetched; dropped when the fetch ends.
pub type FetchProgress = Box<dyn FnMut(ken_hub::Progress)>;

/// Opens what settings name.
#[derive(Clone, Copy)]
pub struct Setup<'a> {
    /// The settings.
    pub settings: &'a Settings,
    /// Raised to stop fetching and waiting for endpoints; models that are already open heed it too.
    pub stop: &'a Arc<AtomicBool>,
    /// Called before a model is fetched.
    pub watch: &'a dyn Fn() -> FetchProgress,
    /// Receives each key that a server does not get ([`SetupError::KeyWithheld`]); requests to that server go without
    /// one.
    pub withheld: &'a dyn Fn(&SetupError),
}

impl<'a> Setup<'a> {
    /// Opens quietly: fetches go unwatched, and keys are withheld silently.
    pub fn quiet(settings: &'a Settings, stop: &'a Arc<AtomicBool>) -> Self {
        Self {
            settings,
            stop,
            watch: &|| Box::new(|_| {}),
            withheld: &|_| {},
        }
    }
}

impl Setup<'_> {
    /// The folder or file of a model, fetched first if it is not cached.
    ///
    /// # Errors
    /// Those of the cache.
    pub fn fetched(&self, reference: &ModelReference) -> Result<PathBuf, SetupError> {
        fetched(reference, self.watch, self.stop)
    }
}

/// The folder or file of a model, fetched first if it is not cached; needs no settings.
///
/// # Errors
/// Those of the cache.
pub fn fetched(
    reference: &ModelReference,
    watch: &dyn Fn() -> FetchProgress,
    stop: &AtomicBool,
) -> Result<PathBuf, SetupError> {
    let cache = ModelCache::of_user()?;
    if !matches!(reference, ModelReference::Local { .. }) {
        cache.pull(reference, &mut watch(), stop)?;
    }
    Ok(cache.resolve(reference)?)
}
