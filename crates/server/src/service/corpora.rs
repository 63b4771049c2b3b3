//! The corpora that are served, by name. A new generation that somebody publishes is opened beside the
//! old one and takes its place; who works with the old one keeps it.

use std::sync::{Arc, Mutex, PoisonError, RwLock, RwLockWriteGuard};

use ken_answer::Retriever;
use ken_setup::{CorpusAddress, Settings, Setup, SetupError};

use crate::wire::ken::CorpusState;
use crate::wire::refusal::Refusal;

/// A corpus at one generation.
#[derive(Clone)]
pub struct Opened {
    /// Its name.
    pub name: String,
    /// What is searched, and how.
    pub retriever: Retriever,
    /// Where it is; `None` where no new generations of it can be opened.
    pub address: Option<CorpusAddress>,
}

impl Opened {
    pub(crate) fn state(&self) -> CorpusState {
        CorpusState {
            name: self.name.clone(),
            generation: self.retriever.back_end().generation(),
        }
    }
}

/// All corpora.
pub(crate) struct Corpora {
    /// The first is the one where none is named.
    opened: RwLock<Vec<Arc<Opened>>>,
    /// Held while one is renewed, so that no older generation takes the place of a newer one.
    renewing: Mutex<()>,
}

impl Corpora {
    pub(crate) fn new(opened: Vec<Opened>) -> Self {
        let opened = opened.into_iter().map(Arc::new).collect();
        Self {
            opened: RwLock::new(opened),
            renewing: Mutex::default(),
        }
    }

    /// All of them as they are now.
    pub(crate) fn all(&self) -> Vec<Arc<Opened>> {
        let opened = self.opened.read();
        opened.unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The corpus of a name, or the first; `None` where there is no corpus at all and none is named.
    ///
    /// # Errors
    /// A name that no corpus has; a generation that is not the one that is served.
    pub(crate) fn find(
        &self,
        name: Option<&str>,
        generation: Option<u64>,
    ) -> Result<Option<Arc<Opened>>, Refusal> {
        let all = self.all();
        let found = match name {
            Some(name) => {
                let found = all.iter().find(|opened| opened.name == name);
                Some(found.ok_or_else(|| unknown(name))?)
            }
            None => all.first(),
        };
        if let Some(pinned) = generation {
            let served = found.map(|opened| opened.state());
            if served.as_ref().map(|served| served.generation) != Some(pinned) {
                return Err(elsewhere(pinned, served.as_ref()));
            }
        }
        Ok(found.cloned())
    }

    /// Opens generations that are newer than those that are served. Returns the states that are new, and
    /// what could not be opened, by name; that stays as it is.
    pub(crate) fn refresh(
        &self,
        setup: &Setup<'_>,
    ) -> (Vec<CorpusState>, Vec<(String, SetupError)>) {
        let (mut renewed, mut failed) = (Vec::new(), Vec::new());
        for opened in self.all() {
            match self.renew(setup, &opened.name) {
                Ok(state) => renewed.extend(state),
                Err(error) => failed.push((opened.name.clone(), error)),
            }
        }
        (renewed, failed)
    }

    /// Opens the newest generation of a corpus; `None` where that is served already.
    ///
    /// # Errors
    /// A generation that cannot be opened; what was served stays.
    pub(crate) fn renew(
        &self,
        setup: &Setup<'_>,
        name: &str,
    ) -> Result<Option<CorpusState>, SetupError> {
        let _alone = self.renewing.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = self.all().into_iter().find(|opened| opened.name == name);
        let Some((opened, address)) = opened.and_then(|opened| {
            let address = opened.address.clone()?;
            Some((opened, address))
        }) else {
            return Ok(None);
        };
        let Some(retriever) = setup.renewed(&opened.retriever, &address)? else {
            return Ok(None);
        };
        Ok(Some(self.insert(Opened {
            name: name.to_owned(),
            retriever,
            address: Some(address),
        })))
    }

    /// Serves a corpus, in the place of the one of this name or behind all others.
    pub(crate) fn insert(&self, opened: Opened) -> CorpusState {
        let opened = Arc::new(opened);
        let state = opened.state();
        let mut all = self.write();
        // What was there is dropped behind the lock, when its last reader is done.
        let _old = match all.iter_mut().find(|one| one.name == opened.name) {
            Some(place) => Some(std::mem::replace(place, opened)),
            None => {
                all.push(opened);
                None
            }
        };
        drop(all);
        state
    }

    /// Serves a corpus no more.
    pub(crate) fn remove(&self, name: &str) {
        let mut all = self.write();
        let gone = all.iter().position(|opened| opened.name == name);
        let _gone = gone.map(|place| all.remove(place));
        drop(all);
    }

    fn write(&self) -> RwLockWriteGuard<'_, Vec<Arc<Opened>>> {
        self.opened.write().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A name that no corpus has.
pub(crate) fn unknown(name: &str) -> Refusal {
    let message = format!("there is no corpus {name:?}");
    Refusal::not_found("unknown_corpus", message).of("corpus")
}

fn elsewhere(pinned: u64, served: Option<&CorpusState>) -> Refusal {
    let message = match served {
        Some(CorpusState { name, generation }) => {
            format!("the corpus {name:?} is at generation {generation}, not {pinned}")
        }
        None => "there is no corpus".to_owned(),
    };
    Refusal::conflict("other_generation", message).of("generation")
}

/// The corpora of some settings: their names and where they are.
pub(crate) fn addresses(settings: &Settings) -> Vec<(String, CorpusAddress)> {
    let sources = settings.corpora().into_iter();
    sources
        .map(|source| (source.name, source.address))
        .collect()
}
