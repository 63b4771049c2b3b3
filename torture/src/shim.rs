//! Building and controlling the preloaded library, which records calls and makes them fail.

use std::fs::{self, File};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use tempfile::TempDir;

const SOURCE: &str = include_str!("shim.c");

/// Kinds of calls, as the library numbers them.
pub mod kinds {
    /// Writes and cuts.
    pub const DATA: i64 = 1;
    /// Syncs of files and folders.
    pub const SYNC: i64 = 2;
    /// Renames, links, new folders.
    pub const NAME: i64 = 4;
    /// Removals.
    pub const REMOVE: i64 = 8;
    /// Opening existing files.
    pub const OPEN: i64 = 16;
    /// Reads.
    pub const READ: i64 = 32;
    /// Mapping into memory.
    pub const MAP: i64 = 64;
    /// Locks.
    pub const LOCK: i64 = 128;
    /// Asking for lengths and kinds of files.
    pub const STAT: i64 = 256;
    /// Opening and listing folders. The standard library does not try them again when interrupted.
    pub const LIST: i64 = 512;
    /// Opening files that may be new.
    pub const CREATE: i64 = 1024;
    /// All kinds that change something.
    pub const CHANGES: i64 = DATA | SYNC | NAME | REMOVE | CREATE;
    /// All.
    pub const ALL: i64 = CHANGES | OPEN | READ | MAP | LOCK | STAT | LIST;
}

/// What the library does at a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Strike {
    /// It is only counted.
    None,
    /// It fails with this error number.
    Fail(i64),
    /// It writes half of its bytes.
    Short,
    /// The process is killed.
    Kill,
}

/// Which calls are struck, and how.
#[derive(Debug, Clone, Copy)]
pub struct Order {
    /// How.
    pub strike: Strike,
    /// From 1; 0 for none.
    pub at: i64,
    /// Whether all later ones are struck too.
    pub lasting: bool,
    /// The kinds of calls that count.
    pub kinds: i64,
}

impl Order {
    /// Only counts calls of some kinds.
    #[must_use]
    pub fn count(kinds: i64) -> Self {
        Self {
            strike: Strike::None,
            at: 0,
            lasting: false,
            kinds,
        }
    }
}

/// A folder in memory, if the system has one: a run syncs its files thousands of times.
///
/// # Panics
/// If no folder can be made.
#[must_use]
pub fn folder() -> TempDir {
    let memory = Path::new("/dev/shm");
    let made = match memory.is_dir() {
        true => tempfile::tempdir_in(memory),
        false => tempfile::tempdir(),
    };
    made.expect("a folder for the campaign")
}

/// The library, built.
#[derive(Debug)]
pub struct Shim {
    dir: TempDir,
}

impl Shim {
    /// Builds the library with the C compiler.
    ///
    /// # Panics
    /// If there is no compiler.
    #[must_use]
    pub fn build() -> Self {
        let dir = folder();
        let source = dir.path().join("shim.c");
        fs::write(&source, SOURCE).expect("the library's source");
        let status = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-o"])
            .args([&dir.path().join("shim.so"), &source])
            .arg("-ldl")
            .status()
            .expect("a C compiler");
        assert!(status.success(), "the C compiler failed");
        Self { dir }
    }

    fn library(&self) -> PathBuf {
        self.dir.path().join("shim.so")
    }

    /// Has a program loaded with the library, which watches the folder `below`.
    pub fn watch(&self, command: &mut Command, below: &Path) {
        command
            .env("LD_PRELOAD", self.library())
            .env("TORTURE_BELOW", below)
            .env("RAYON_NUM_THREADS", "2");
    }
}

/// The shared page that controls the library, and on which it reports.
#[derive(Debug)]
pub struct Control(File);

impl Control {
    /// Makes the page.
    ///
    /// # Panics
    /// If it cannot be written.
    #[must_use]
    pub fn create(path: &Path) -> Self {
        fs::write(path, [0; 4096]).expect("the control page");
        Self::open(path)
    }

    /// Opens a page that was made before.
    ///
    /// # Panics
    /// If it does not exist.
    #[must_use]
    pub fn open(path: &Path) -> Self {
        let file = File::options().read(true).write(true).open(path);
        Self(file.expect("the control page"))
    }

    /// Gives an order and restarts the count.
    pub fn order(&self, order: Order) {
        let (fault, error) = match order.strike {
            Strike::None => (0, 0),
            Strike::Fail(error) => (1, error),
            Strike::Short => (2, 0),
            Strike::Kill => (3, 0),
        };
        // `kinds` last, so that nothing is counted by halves.
        self.set(4, 0);
        for (place, value) in [
            (0, fault),
            (1, error),
            (2, order.at),
            (3, i64::from(order.lasting)),
            (5, 0),
            (6, 0),
            (4, order.kinds),
        ] {
            self.set(place, value);
        }
    }

    /// Lets every call pass.
    pub fn lift(&self) {
        self.set(4, 0);
    }

    /// Calls that were counted.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.get(5) as usize
    }

    /// Calls that were struck.
    #[must_use]
    pub fn struck(&self) -> usize {
        self.get(6) as usize
    }

    /// Calls that changed something, since [`Control::forget_changes`].
    #[must_use]
    pub fn changes(&self) -> usize {
        self.get(7) as usize
    }

    /// Counts changes from 0.
    pub fn forget_changes(&self) {
        self.set(7, 0);
    }

    /// The call that was struck last, and its path.
    #[must_use]
    pub fn last(&self) -> String {
        let mut bytes = [0; 256];
        let _ = self.0.read_at(&mut bytes, 64);
        let end = bytes.iter().position(|&b| b == 0).unwrap_or(bytes.len());
        String::from_utf8_lossy(&bytes[..end]).into_owned()
    }

    fn set(&self, place: u64, value: i64) {
        let written = self.0.write_all_at(&value.to_le_bytes(), place * 8);
        written.expect("the control page");
    }

    fn get(&self, place: u64) -> i64 {
        let mut bytes = [0; 8];
        let read = self.0.read_exact_at(&mut bytes, place * 8);
        read.expect("the control page");
        i64::from_le_bytes(bytes)
    }
}
