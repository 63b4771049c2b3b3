//! Stored responses of `/v1/responses`, for clients that continue them: each in a file, within limits of number, size
//! and age. The oldest are removed first.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::Mutex;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::clock::{seconds_of, unix_seconds};
use super::record::{self, RecordError};
use crate::lock::lock;

/// Their folder in that of the server.
pub(crate) const FOLDER: &str = "responses";

/// How ids of responses begin.
const START: &str = "resp_";

/// The most responses.
const MOST: usize = 10_000;

/// The most bytes of all responses.
const MOST_BYTES: u64 = 256 << 20;

/// How long each is kept, in seconds: 30 days.
const KEPT: u64 = 30 * 24 * 3600;

/// A response with everything that a later one needs to continue it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct KeptResponse {
    pub(crate) id: String,
    /// The id of the key that asked for it.
    pub(crate) key: Option<String>,
    /// In seconds since 1970 (UTC).
    pub(crate) created: u64,
    /// As the client got it.
    pub(crate) response: Value,
    /// The items of its input.
    pub(crate) input: Vec<Value>,
    /// The items of the earlier responses that it continues, with their output.
    pub(crate) before: Vec<Value>,
}

impl KeptResponse {
    /// The whole conversation, up to the answer.
    pub(crate) fn said(self) -> Vec<Value> {
        let mut said = self.before;
        said.extend(self.input);
        let output = self.response["output"].as_array().into_iter().flatten();
        let answers = output.filter(|item| item["type"] == "message");
        said.extend(answers.map(|answer| {
            let parts = answer["content"].as_array().into_iter().flatten();
            let text = parts.filter_map(|part| part["text"].as_str().or(part["refusal"].as_str()));
            json!({ "role": "assistant", "content": text.collect::<String>() })
        }));
        said
    }
}

/// All stored responses.
pub(crate) struct Responses {
    folder: PathBuf,
    known: Mutex<Known>,
}

/// The responses on disk.
#[derive(Default)]
struct Known {
    /// Oldest first.
    all: VecDeque<OnDisk>,
    /// The bytes of all of them.
    bytes: u64,
}

struct OnDisk {
    id: String,
    /// In seconds since 1970 (UTC).
    created: u64,
    bytes: u64,
}

impl Responses {
    /// The responses in a folder, which is created if it is missing. It removes those that are too old.
    ///
    /// # Errors
    /// A folder that cannot be read, a file that cannot be removed.
    pub(crate) fn open(folder: PathBuf) -> Result<Self, RecordError> {
        ken_storage::create_plain_dir_all(&folder)?;
        let mut all = Vec::new();
        for name in ken_storage::names(&folder)? {
            let id = name
                .strip_suffix(record::ENDING)
                .filter(|id| record::is_id(id, START));
            let about = std::fs::symlink_metadata(folder.join(&name));
            if let (Some(id), Ok(about)) = (id, about) {
                all.push(OnDisk {
                    id: id.to_owned(),
                    created: about.modified().map_or(0, seconds_of),
                    bytes: about.len(),
                });
            }
        }
        all.sort_by(|left, right| (left.created, &left.id).cmp(&(right.created, &right.id)));
        let responses = Self {
            folder,
            known: Mutex::new(Known {
                bytes: all.iter().map(|response| response.bytes).sum(),
                all: all.into(),
            }),
        };
        responses.forget_old(&mut lock(&responses.known), unix_seconds())?;
        Ok(responses)
    }

    /// A response of this key.
    ///
    /// # Errors
    /// A record that cannot be read.
    pub(crate) fn find(
        &self,
        id: &str,
        key: Option<&str>,
        now: u64,
    ) -> Result<Option<KeptResponse>, RecordError> {
        let response: Option<KeptResponse> = record::find(&self.folder, id, START)?;
        let is_own = |kept: &KeptResponse| kept.key.as_deref() == key;
        Ok(response.filter(|kept| is_own(kept) && now < kept.created.saturating_add(KEPT)))
    }

    /// Stores a response, and removes the oldest that are too many or too old.
    ///
    /// # Errors
    /// A file that cannot be written or removed.
    pub(crate) fn keep(&self, kept: &KeptResponse) -> Result<(), RecordError> {
        let path = record::path(&self.folder, &kept.id);
        record::write(&path, kept)?;
        let bytes = std::fs::symlink_metadata(&path).map_or(0, |about| about.len());
        let mut known = lock(&self.known);
        known.bytes += bytes;
        known.all.push_back(OnDisk {
            id: kept.id.clone(),
            created: kept.created,
            bytes,
        });
        self.forget_old(&mut known, kept.created)
    }

    /// Removes the oldest that are too many or too old.
    fn forget_old(&self, known: &mut Known, now: u64) -> Result<(), RecordError> {
        while let Some(oldest) = known.all.front()
            && (known.all.len() > MOST
                || known.bytes > MOST_BYTES
                || oldest.created.saturating_add(KEPT) <= now)
        {
            let path = record::path(&self.folder, &oldest.id);
            known.bytes -= oldest.bytes;
            known.all.pop_front();
            ken_storage::remove(&path)?;
        }
        Ok(())
    }

    /// Removes a response.
    ///
    /// # Errors
    /// A file that cannot be removed.
    pub(crate) fn remove(&self, id: &str) -> Result<(), RecordError> {
        let mut known = lock(&self.known);
        if let Some(index) = known.all.iter().position(|response| response.id == id)
            && let Some(gone) = known.all.remove(index)
        {
            known.bytes -= gone.bytes;
        }
        drop(known);
        Ok(record::remove(&record::path(&self.folder, id), None)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kept(number: u64, created: u64) -> KeptResponse {
        let text = json!([{"type": "output_text", "text": "Ida"}]);
        let output = json!([{"type": "file_search_call"}, {"type": "message", "content": text}]);
        KeptResponse {
            id: format!("resp_{number}"),
            key: Some("a".to_owned()),
            created,
            response: json!({ "output": output }),
            input: vec![json!({"role": "user", "content": "who?"})],
            before: vec![json!({"role": "system", "content": "be nice"})],
        }
    }

    #[test]
    fn a_response_is_found_by_its_key_until_it_is_too_old() {
        let folder = tempfile::tempdir().unwrap();
        let open = || Responses::open(folder.path().join("responses")).unwrap();
        let one = kept(1, 1000);
        open().keep(&one).unwrap();
        let responses = open();
        let find = |id: &str, key: Option<&str>, now| responses.find(id, key, now).unwrap();
        assert_eq!(find("resp_1", Some("a"), 1000), Some(one));
        for (id, key, now) in [
            ("resp_1", Some("b"), 1000),
            ("resp_1", None, 1000),
            ("resp_1", Some("a"), 1000 + KEPT),
            ("resp_2", Some("a"), 1000),
            ("../responses/resp_1", Some("a"), 1000),
        ] {
            assert_eq!(find(id, key, now), None, "{id} {key:?} {now}");
        }
        responses.remove("resp_1").unwrap();
        assert_eq!(find("resp_1", Some("a"), 1000), None);
        assert_eq!(lock(&responses.known).bytes, 0);
    }

    #[test]
    fn the_oldest_go_when_they_are_too_old_or_too_much() {
        let folder = tempfile::tempdir().unwrap();
        let responses = Responses::open(folder.path().join("responses")).unwrap();
        for (number, created) in [(1, 10), (2, 20), (3, 10 + KEPT)] {
            responses.keep(&kept(number, created)).unwrap();
        }
        let is_there = |number: u64| {
            let place = record::path(&responses.folder, &format!("resp_{number}"));
            place.exists()
        };
        assert_eq!([1, 2, 3].map(is_there), [false, true, true]);
        // With one more there are a few too many.
        lock(&responses.known).bytes = MOST_BYTES - 100;
        responses.keep(&kept(4, 11 + KEPT)).unwrap();
        assert_eq!([2, 3, 4].map(is_there), [false, true, true]);
    }

    #[test]
    fn what_was_said_ends_with_the_answer() {
        let said = json!([
            {"role": "system", "content": "be nice"},
            {"role": "user", "content": "who?"},
            {"role": "assistant", "content": "Ida"},
        ]);
        assert_eq!(json!(kept(1, 1).said()), said);
    }
}
