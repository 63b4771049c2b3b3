//! What the server collects about questions while people ask: in memory and, if the server has a folder, each item in
//! a file of its own.

use std::path::PathBuf;
use std::sync::Mutex;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::record::{self, RecordError};
use crate::access::caller::Caller;
use crate::lock::lock;
use crate::wire::refusal::Refusal;

/// The most items of a kind.
const MOST: usize = 10_000;

/// The most bytes of all their texts.
const MOST_BYTES: usize = 64 << 20;

/// An item of a collection.
pub(crate) trait Item: Clone + Serialize + DeserializeOwned {
    /// Unique among them, and fit to name a file.
    fn id(&self) -> &str;

    /// The length of its texts.
    fn bytes(&self) -> usize;
}

/// An item as it is stored.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct Kept<T> {
    /// In seconds since 1970 (UTC).
    created: u64,
    /// The corpora that it comes from; empty if none were named.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    corpora: Vec<String>,
    #[serde(flatten)]
    item: T,
}

impl<T> Kept<T> {
    /// Whether a caller may see and change it.
    fn is_for(&self, caller: &Caller) -> bool {
        caller.may_read_each(&self.corpora)
    }
}

/// All items.
pub(crate) struct Collection<T> {
    folder: Option<PathBuf>,
    /// Oldest first.
    all: Mutex<Vec<Kept<T>>>,
}

impl<T: Item> Collection<T> {
    /// A collection in memory only.
    pub(crate) fn in_memory() -> Self {
        Self {
            folder: None,
            all: Mutex::default(),
        }
    }

    /// The items in a folder, which is created if it is missing.
    ///
    /// # Errors
    /// A folder or record that cannot be read.
    pub(crate) fn open(folder: PathBuf) -> Result<Self, RecordError> {
        let mut all: Vec<Kept<T>> = record::all(&folder)?;
        all.sort_by(|left, right| {
            let key = |kept: &Kept<T>| (kept.created, kept.item.id().to_owned());
            key(left).cmp(&key(right))
        });
        Ok(Self {
            folder: Some(folder),
            all: Mutex::new(all),
        })
    }

    /// Checks that a caller may put an item with this id.
    ///
    /// # Errors
    /// An existing item that is not for the caller.
    pub(crate) fn check(&self, id: &str, caller: &Caller) -> Result<(), Refusal> {
        let all = lock(&self.all);
        let mut others = all.iter().filter(|kept| !kept.is_for(caller));
        if others.any(|kept| kept.item.id() == id) {
            let message = "the question is kept already, by a key for other corpora";
            Err(Refusal::conflict("question_exists", message))
        } else {
            Ok(())
        }
    }

    /// Puts an item of these corpora, replacing the one with its id or after all others.
    ///
    /// # Errors
    /// An existing item that is not for the caller; too many items; a full disk.
    pub(crate) fn put(
        &self,
        item: T,
        corpora: Vec<String>,
        caller: &Caller,
        now: u64,
    ) -> Result<(), Refusal> {
        self.check(item.id(), caller)?;
        let mut all = lock(&self.all);
        let place = all.iter().position(|kept| kept.item.id() == item.id());
        let bytes: usize = all.iter().map(|kept| kept.item.bytes()).sum();
        let is_full = place.is_none() && all.len() >= MOST;
        if is_full || bytes.saturating_add(item.bytes()) > MOST_BYTES {
            let message = "there are too many questions: export them, and delete some";
            return Err(Refusal::conflict("too_many_questions", message));
        }
        let kept = Kept {
            created: place.map_or(now, |place| all[place].created),
            corpora,
            item,
        };
        if let Some(folder) = &self.folder {
            let path = record::path(folder, kept.item.id());
            record::write(&path, &kept)?;
        }
        match place {
            Some(place) => all[place] = kept,
            None => all.push(kept),
        }
        Ok(())
    }

    /// Removes an item; returns whether it was there for the caller.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub(crate) fn remove(&self, id: &str, caller: &Caller) -> Result<bool, Refusal> {
        let mut all = lock(&self.all);
        let is_it = |kept: &Kept<T>| kept.item.id() == id && kept.is_for(caller);
        let Some(place) = all.iter().position(is_it) else {
            return Ok(false);
        };
        if let Some(folder) = &self.folder {
            ken_storage::remove(&record::path(folder, id))?;
        }
        all.remove(place);
        Ok(true)
    }

    /// All items for the caller, oldest first.
    pub(crate) fn all(&self, caller: &Caller) -> Vec<T> {
        let all = lock(&self.all);
        let own = all.iter().filter(|kept| kept.is_for(caller));
        own.map(|kept| kept.item.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::Map;

    use super::*;
    use crate::service::evals::{EvalQuestion, Evals};

    fn question(id: &str, answer: &str) -> EvalQuestion {
        EvalQuestion {
            id: id.to_owned(),
            question: "Who?".to_owned(),
            golden_answers: vec![answer.to_owned()],
            metadata: Map::new(),
        }
    }

    #[test]
    fn questions_are_replaced_removed_and_found_again() {
        let folder = tempfile::tempdir().unwrap();
        let caller = Caller::anyone();
        let open = || Evals::open(folder.path().join("evals")).unwrap();
        let evals = open();
        for (id, answer, now) in [("req_b", "x", 1), ("req_a", "y", 2), ("req_b", "z", 3)] {
            evals
                .put(question(id, answer), Vec::new(), &caller, now)
                .unwrap();
        }
        let all = [question("req_b", "z"), question("req_a", "y")];
        assert_eq!(evals.all(&caller), all);
        assert_eq!(open().all(&caller), all);
        assert!(
            evals.remove("req_b", &caller).unwrap() && !evals.remove("req_b", &caller).unwrap()
        );
        assert!(!evals.remove("../evals/req_a", &caller).unwrap());
        assert_eq!(open().all(&caller), all[1..]);
    }

    #[test]
    fn there_are_bounds() {
        let (evals, caller) = (Evals::in_memory(), Caller::anyone());
        evals
            .put(
                question("large", &"x".repeat(MOST_BYTES - 100)),
                Vec::new(),
                &caller,
                1,
            )
            .unwrap();
        let refused = evals.put(question("more", &"x".repeat(100)), Vec::new(), &caller, 2);
        assert_eq!(refused.unwrap_err().code(), "too_many_questions");
        assert!(evals.remove("large", &caller).unwrap());
        for number in 0..MOST {
            evals
                .put(question(&number.to_string(), "x"), Vec::new(), &caller, 3)
                .unwrap();
        }
        let refused = evals.put(question("more", "x"), Vec::new(), &caller, 4);
        assert_eq!(refused.unwrap_err().code(), "too_many_questions");
        evals
            .put(question("7", "y"), Vec::new(), &caller, 5)
            .unwrap();
        assert_eq!(evals.all(&caller).len(), MOST);
    }
}
