//! The served corpora, by name. A newly published generation is opened beside the old one and takes its place; work
//! on the old one keeps it.

use std::sync::{Arc, Mutex, RwLock};

use ken_answer::Retriever;
use ken_setup::{CorpusAddress, Settings, Setup, SetupError};

use crate::lock::{lock, read, write};
use crate::wire::ken::CorpusState;
use crate::wire::refusal::Refusal;

/// A corpus at one generation.
#[derive(Clone)]
pub struct Opened {
    /// Its name.
    pub name: String,
    /// What is searched, and how.
    pub retriever: Retriever,
    /// Where it is; `None` if no new generations of it can be opened.
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
    /// The first is meant if none is named.
    opened: RwLock<Vec<Arc<Opened>>>,
    /// Held during a renewal, so that no older generation replaces a newer one.
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

    /// All corpora as they are now.
    pub(crate) fn all(&self) -> Vec<Arc<Opened>> {
        read(&self.opened).clone()
    }

    /// The corpus of a name, or the first; `None` if there is no corpus at all and none is named.
    ///
    /// # Errors
    /// A name that no corpus has; a generation that is not served.
    pub(crate) fn find(
        &self,
        name: Option<&str>,
        generation: Option<u64>,
    ) -> Result<Option<Arc<Opened>>, Refusal> {
        let all = self.all();
        let corpus = match name {
            Some(name) => {
                let corpus = all.iter().find(|opened| opened.name == name);
                Some(corpus.ok_or_else(|| unknown(name))?)
            }
            None => all.first(),
        };
        if let Some(pinned) = generation {
            let served = corpus.map(|opened| opened.state());
            if served.as_ref().map(|served| served.generation) != Some(pinned) {
                return Err(elsewhere(pinned, served.as_ref()));
            }
        }
        Ok(corpus.cloned())
    }

    /// Opens generations that are newer than the served ones. Returns the new states and, by name, what could not be
    /// opened; that stays as it is.
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

    /// Opens the newest generation of a corpus; `None` if that is served already.
    ///
    /// # Errors
    /// A generation that cannot be opened; what was served stays.
    pub(crate) fn renew(
        &self,
        setup: &Setup<'_>,
        name: &str,
    ) -> Result<Option<CorpusState>, SetupError> {
        let _alone = lock(&self.renewing);
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

    /// Serves a corpus, replacing the one with this name or after all others.
    pub(crate) fn insert(&self, opened: Opened) -> CorpusState {
        let opened = Arc::new(opened);
        let state = opened.state();
        let mut all = write(&self.opened);
        // The old corpus is dropped after the lock is released, or when its last reader is done.
        let _old = match all.iter_mut().find(|corpus| corpus.name == opened.name) {
            Some(place) => Some(std::mem::replace(place, opened)),
            None => {
                all.push(opened);
                None
            }
        };
        drop(all);
        state
    }

    /// Stops serving a corpus.
    pub(crate) fn remove(&self, name: &str) {
        let mut all = write(&self.opened);
        let index = all.iter().position(|opened| opened.name == name);
        let _gone = index.map(|index| all.remove(index));
        drop(all);
    }
}

/// The refusal of a name that no corpus has.
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
