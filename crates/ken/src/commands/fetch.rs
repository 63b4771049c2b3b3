//! The files of a model, fetched where they are not yet.

use std::path::PathBuf;
use std::sync::atomic::AtomicBool;

use crate::failure::Result;
use ken_hub::{ModelCache, ModelReference};

use crate::progress::Display;

/// The folder or file of a model, fetched first where it is not cached.
pub(crate) fn fetched(reference: &ModelReference, stop: &AtomicBool) -> Result<PathBuf> {
    let cache = ModelCache::of_user()?;
    if !matches!(reference, ModelReference::Local { .. }) {
        let mut display = Display::new();
        cache.pull(reference, &mut |step| display.show_hub(&step), stop)?;
    }
    Ok(cache.resolve(reference)?)
}
