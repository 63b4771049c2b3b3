//! Any bytes as the files that a server stores: its file of keys, and the files of its folder. The functions serve
//! the seeded mutations in this folder and the fuzz targets.

use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};

use ken_server::{Access, Keys, Scope, Served};
use ken_testing::TableModel;
use serde_json::json;
use tempfile::TempDir;

use crate::fixture::{LIMITS, OIL, Running, facts, grant, served};

/// A folder with a file of keys.
pub(crate) struct KeysPlace(TempDir);

impl KeysPlace {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// A valid file of keys.
    pub(crate) fn valid(&self) -> Vec<u8> {
        let mut keys = Keys::default();
        keys.make(grant(&[Scope::Ask, Scope::Admin], Some(&["notes"])), 7);
        keys.make(grant(&[Scope::Write], None), 8);
        let path = self.0.path().join("valid.json");
        keys.write(&path).unwrap();
        std::fs::read(path).unwrap()
    }

    /// Reads the bytes as the file: as keys, which stay equal when written again, or as a typed error. Returns
    /// whether they are keys.
    pub(crate) fn read(&self, bytes: &[u8]) -> bool {
        let [path, again] = ["keys.json", "again.json"].map(|name| self.0.path().join(name));
        std::fs::write(&path, bytes).unwrap();
        let opened = Access::open(path.clone());
        match Keys::read(&path) {
            Ok(keys) => {
                assert!(opened.is_ok());
                keys.write(&again).unwrap();
                assert_eq!(Keys::read(&again).unwrap(), keys);
                true
            }
            Err(error) => {
                // Broken keys never open a server to everybody.
                assert!(opened.is_err());
                assert!(error.to_string().contains("keys.json") && !error.kind().is_empty());
                false
            }
        }
    }
}

/// Files of a server's folder.
const FILES: [&str; 4] = [
    "traces/000000000001.jsonl",
    "traces/000000000002.jsonl",
    "evals/eval_1.json",
    "corrections/c.json",
];

/// A server with a folder.
pub(crate) struct JournalPlace {
    folder: TempDir,
    /// `None` while it opens its folder.
    served: Option<Served>,
}

impl JournalPlace {
    pub(crate) fn new() -> Self {
        Self {
            folder: tempfile::tempdir().unwrap(),
            served: None,
        }
    }

    fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    /// Files as a server writes them, each after the byte that chooses it.
    pub(crate) fn seeds() -> Vec<Vec<u8>> {
        let mut server = Running::keeping(&Keys::default());
        let asked = server.chat("always", OIL, &json!({})).json();
        let said =
            json!({"request_id": asked["ken"]["request_id"], "rating": "good", "answers": ["Ida"]});
        let question = json!({"question": OIL, "golden_answers": ["Ida"]});
        let correction = json!({"question": OIL, "source": "self"});
        for (path, body) in [
            ("/v1/ken/feedback", said),
            ("/v1/ken/evals/questions", question),
            ("/v1/ken/corrections", correction),
        ] {
            assert_eq!(server.post(path, &body).status / 100, 2, "{path}");
        }
        server.stop.store(true, Ordering::SeqCst);
        server.join();
        let data = server.folder.path().join("data");
        let written = |(choice, folder)| {
            let files = std::fs::read_dir(data.join(folder)).unwrap();
            let files = files.map(|file| std::fs::read(file.unwrap().path()).unwrap());
            files.map(move |text| [&[choice][..], &text].concat())
        };
        let folders = [(0, "traces"), (2, "evals"), (3, "corrections")];
        folders.into_iter().flat_map(written).collect()
    }

    /// Opens the folder with the bytes as one of its files, twice: an unreadable part is left out or gives a typed
    /// error. Returns whether it opens.
    pub(crate) fn open(&mut self, bytes: &[u8]) -> bool {
        let Some((&choice, text)) = bytes.split_first() else {
            return true;
        };
        let data = self.data();
        let _ = std::fs::remove_dir_all(&data);
        let file = data.join(FILES[usize::from(choice) % FILES.len()]);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(&file, text).unwrap();
        let keeps_texts = choice & 0x80 == 0;
        for _ in 0..2 {
            let served = self.served.take().unwrap_or_else(|| self.fresh());
            match served.keeping(keeps_texts, Some(&data)) {
                Ok(served) => self.served = Some(served),
                Err(error) => {
                    assert!(!error.to_string().is_empty() && !error.kind().is_empty());
                    return false;
                }
            }
        }
        true
    }

    fn fresh(&self) -> Served {
        let model = TableModel::new(facts()).unwrap();
        served(
            &self.folder,
            model,
            LIMITS,
            Arc::new(Mutex::new(Vec::new())),
        )
    }
}
