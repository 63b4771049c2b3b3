//! A small corpus in which something else replaces up to three files or folders: links to the outside,
//! hard links, pipes, sockets, folders, other bytes. One function serves the exhaustive and the seeded
//! cases beside it and the fuzz target. Every operation on the corpus must end in a result or a typed error, and change
//! nothing outside.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_corpus::{
    Corpus, CorpusError, CorpusInfo, PassageId, PruneMark, Settings, Sharding, Writer, history,
    verify,
};
use ken_documents::read_documents;
use ken_index::{Index, Mode, Query};
use ken_ingest::{Cut, Ingest, IngestError, compact, ingest};
use ken_testing::{FnEmbedder, hashed};
use rustix::fs::{CWD, FileType, Mode as Permissions, mknodat};
use serde_json::json;
use tempfile::TempDir;

/// The replacement of a file or a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Instead {
    /// Nothing.
    Nothing,
    /// These bytes.
    Bytes,
    /// An empty folder.
    Folder,
    /// A link to a file outside, by a path from the root or from here.
    LinkToFile,
    RelativeLinkToFile,
    /// A link to a folder outside, likewise.
    LinkToFolder,
    RelativeLinkToFolder,
    /// A link to a missing file outside.
    LinkToNothing,
    /// A link to itself.
    LinkToItself,
    /// A second name of a file outside.
    HardLink,
    /// A pipe.
    Pipe,
    /// A socket with a listener.
    Socket,
}

impl Instead {
    pub(crate) const ALL: [Self; 12] = [
        Self::Nothing,
        Self::Bytes,
        Self::Folder,
        Self::LinkToFile,
        Self::RelativeLinkToFile,
        Self::LinkToFolder,
        Self::RelativeLinkToFolder,
        Self::LinkToNothing,
        Self::LinkToItself,
        Self::HardLink,
        Self::Pipe,
        Self::Socket,
    ];
}

/// The operation on the corpus.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Opens it, reads everything, searches in all ways.
    Read,
    Verify,
    Ingest,
    Delete,
    Prune,
    Rollback,
    Compact,
    Repair,
}

impl Verb {
    pub(crate) const ALL: [Self; 8] = [
        Self::Read,
        Self::Verify,
        Self::Ingest,
        Self::Delete,
        Self::Prune,
        Self::Rollback,
        Self::Compact,
        Self::Repair,
    ];
}

/// Names that writers give to unfinished files, and others that the valid corpus lacks.
const MORE: [&str; 8] = [
    "CURRENT.tmp",
    "LOCK",
    "staging",
    "staging/x",
    "marks/x.json",
    "generations/00000004.json",
    "generations/00000004.json.tmp",
    "segments/00000004-000",
];

/// A valid corpus in memory, and a folder in which it is laid out.
pub(crate) struct Place {
    dir: TempDir,
    /// The files of the corpus by their paths below it.
    whole: BTreeMap<PathBuf, Vec<u8>>,
    /// Files, folders, and names that may be replaced.
    paths: Vec<PathBuf>,
}

impl Place {
    pub(crate) fn new() -> Self {
        // In memory if there is such a folder: the corpus is laid out for each input.
        let shared = Path::new("/dev/shm");
        let dir = match shared.is_dir() {
            true => TempDir::new_in(shared),
            false => TempDir::new(),
        };
        let place = Self {
            dir: dir.unwrap(),
            whole: BTreeMap::new(),
            paths: Vec::new(),
        };
        fs::create_dir(place.outside()).unwrap();
        place.take_in(0..4).unwrap();
        place.take_in(3..5).unwrap();
        let mark = |n: usize| PruneMark::new(PassageId::new(&format!("d{n}"), 0), 1.0, "known");
        let mut writer = Writer::open(&place.corpus()).unwrap();
        writer.prune(vec![mark(1)]).unwrap();
        drop(writer);
        let whole = files(&place.corpus());
        let mut paths: Vec<PathBuf> = MORE.iter().map(PathBuf::from).collect();
        for file in whole.keys() {
            paths.extend(file.ancestors().map(Path::to_owned));
        }
        paths.retain(|path| !path.as_os_str().is_empty());
        paths.sort();
        paths.dedup();
        Self {
            whole,
            paths,
            ..place
        }
    }

    /// How many names may be replaced.
    pub(crate) fn count(&self) -> usize {
        self.paths.len()
    }

    /// One of them.
    pub(crate) fn path(&self, number: usize) -> &Path {
        &self.paths[number % self.paths.len()]
    }

    /// The files of the valid corpus, by the numbers of their paths.
    pub(crate) fn valid(&self) -> impl Iterator<Item = (usize, &[u8])> {
        let numbered = self.paths.iter().enumerate();
        numbered.filter_map(|(number, path)| Some((number, self.whole.get(path)?.as_slice())))
    }

    /// The bytes that mean one replacement and one verb.
    pub(crate) fn case(number: usize, instead: usize, verb: usize, bytes: &[u8]) -> Vec<u8> {
        let head = [number, instead, verb].map(|n| u8::try_from(n).unwrap());
        [&head[..], &[0], bytes].concat()
    }

    fn corpus(&self) -> PathBuf {
        self.dir.path().join("corpus")
    }

    fn outside(&self) -> PathBuf {
        self.dir.path().join("outside")
    }

    /// Lays the corpus out, and applies the replacements and the verb of the bytes. A case is the number of a
    /// path, its replacement, a verb, and how many more cases follow; the rest are the bytes of files.
    ///
    /// # Panics
    /// If something outside changed, or an error has no message.
    pub(crate) fn try_out(&self, bytes: &[u8]) {
        self.lay_out();
        let outside = || files(&self.outside());
        let before = outside();
        let (mut rest, mut verbs, mut tried) = (bytes, Vec::new(), Vec::new());
        let mut sockets = Vec::new();
        while let [number, instead, verb, more, after @ ..] = rest {
            let path = self.path(usize::from(*number));
            let instead = Instead::ALL[usize::from(*instead) % Instead::ALL.len()];
            verbs.push(Verb::ALL[usize::from(*verb) % Verb::ALL.len()]);
            sockets.extend(self.replace(path, instead, after));
            tried.push((path, instead));
            rest = match more % 4 != 0 && tried.len() < 3 {
                true => after,
                false => &[],
            };
        }
        for verb in &verbs {
            if let Err(error) = self.run(*verb) {
                let message = error.to_string();
                assert!(!message.is_empty() && !error.kind().is_empty());
            }
            assert!(
                outside() == before,
                "{verb:?} changed what is outside: {tried:?}"
            );
        }
    }

    fn lay_out(&self) {
        for folder in [self.corpus(), self.outside()] {
            let _ = fs::remove_dir_all(&folder);
        }
        for (path, bytes) in &self.whole {
            let path = self.corpus().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        for name in ["letter", "photos/one", "photos/two/three"] {
            let path = self.outside().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, "dear").unwrap();
        }
    }

    fn replace(&self, path: &Path, instead: Instead, bytes: &[u8]) -> Option<UnixListener> {
        let up: PathBuf = path.iter().map(|_| "..").collect();
        let (near, far) = (up.join("outside"), self.outside());
        let path = self.corpus().join(path);
        // Below what an earlier replacement put there, nothing can be replaced.
        let inside = fs::canonicalize(path.parent()?).ok()?;
        if !inside.starts_with(fs::canonicalize(self.corpus()).ok()?) {
            return None;
        }
        let is_folder = fs::symlink_metadata(&path).is_ok_and(|what| what.is_dir());
        let _ = match is_folder {
            true => fs::remove_dir_all(&path),
            false => fs::remove_file(&path),
        };
        let done = match instead {
            Instead::Nothing => Ok(()),
            Instead::Bytes => fs::write(&path, bytes),
            Instead::Folder => fs::create_dir(&path),
            Instead::LinkToFile => symlink(far.join("letter"), &path),
            Instead::RelativeLinkToFile => symlink(near.join("letter"), &path),
            Instead::LinkToFolder => symlink(far.join("photos"), &path),
            Instead::RelativeLinkToFolder => symlink(near.join("photos"), &path),
            Instead::LinkToNothing => symlink(far.join("new"), &path),
            Instead::LinkToItself => symlink(path.file_name()?, &path),
            Instead::HardLink => fs::hard_link(far.join("letter"), &path),
            Instead::Pipe => {
                let mode = Permissions::from_raw_mode(0o644);
                mknodat(CWD, &path, FileType::Fifo, mode, 0).map_err(Into::into)
            }
            Instead::Socket => match UnixListener::bind(&path) {
                Ok(socket) => return Some(socket),
                Err(error) => Err(error),
            },
        };
        // A folder of MORE may not be there.
        if done.is_err() {
            assert!(!path.parent()?.is_dir(), "{instead:?} {}", path.display());
        }
        None
    }

    fn run(&self, verb: Verb) -> Result<(), IngestError> {
        let corpus = self.corpus();
        match verb {
            Verb::Read => self.read()?,
            Verb::Verify => drop(verify(&corpus, &mut |_| {})?),
            Verb::Ingest => self.take_in(2..6)?,
            Verb::Delete => drop(Writer::open(&corpus)?.delete(&["d0".to_owned()])?),
            Verb::Prune => {
                let mark = PruneMark::new(PassageId::new("d2", 0), 1.0, "known");
                Writer::open(&corpus)?.prune(vec![mark])?;
            }
            Verb::Rollback => drop(Writer::rollback(&corpus, 1)?),
            Verb::Compact => {
                let mut writer = Writer::open(&corpus)?;
                compact(&mut writer, &mut |_| {}, &AtomicBool::new(false))?;
                writer.forget_history()?;
            }
            Verb::Repair => {
                let damages = verify(&corpus, &mut |_| {})?;
                Writer::repair(&corpus, &damages)?;
            }
        }
        Ok(())
    }

    fn read(&self) -> Result<(), CorpusError> {
        let folder = self.corpus();
        Settings::of(&folder)?;
        CorpusInfo::read(&folder)?;
        history(&folder)?;
        let corpus = Arc::new(Corpus::open(&folder)?);
        corpus.prunings()?;
        corpus.pruned_documents()?;
        for passage in corpus.passages() {
            passage?;
        }
        if let Ok(index) = Index::open(Arc::clone(&corpus)) {
            let vector = hashed("w0 r0");
            let query = Query::new("w0", Some(&vector));
            for mode in [Mode::Dense, Mode::Lexical, Mode::Hybrid] {
                // An error is as good as results.
                let _ = index.search(&query, mode, 10, None);
            }
        }
        Ok(())
    }

    fn take_in(&self, documents: std::ops::Range<usize>) -> Result<(), IngestError> {
        let input = self.dir.path().join("input.jsonl");
        let line = |n| json!({"id": format!("d{n}"), "contents": format!("w{n} w0 r{n}"), "n": n});
        let lines: Vec<String> = documents.map(|n| line(n).to_string()).collect();
        fs::write(&input, lines.join("\n")).unwrap();
        let (corpus, embedder) = (self.corpus(), FnEmbedder::hashing());
        let work = Ingest {
            cut: "words:2".parse::<Cut>().unwrap(),
            embedder_reference: "hashing",
            sharding: Some(Sharding { count: 1, seed: 0 }),
            ..Ingest::new(read_documents(&[input])?, &corpus, &embedder)
        };
        ingest(work, &mut |_| {}, &AtomicBool::new(false)).map(|_| ())
    }
}

/// All files below a folder with their contents; for special files, their kind.
fn files(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            let kind = fs::symlink_metadata(&path).unwrap().file_type();
            if kind.is_dir() {
                folders.push(path);
            } else {
                let bytes = match kind.is_file() {
                    true => fs::read(&path).unwrap(),
                    false => format!("{kind:?}").into_bytes(),
                };
                all.insert(path.strip_prefix(folder).unwrap().to_owned(), bytes);
            }
        }
    }
    all
}
