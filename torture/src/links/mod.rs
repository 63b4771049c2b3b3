//! Links, pipes, sockets and hard links in the place of everything that a store keeps, or is about to
//! write: nothing outside it changes, nobody waits for ever, and whoever is refused is told the name.

mod stores;

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::mpsc;
use std::time::Duration;

use crate::faults::copy;
use crate::outcome::Outcome;
use crate::random::Random;
use crate::shim::folder;
use crate::world::{KEPT, make_kept, without_panic};

pub use stores::Store;
use stores::Verb;

/// A verb that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(30);

/// An object to put into a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Pose {
    /// A link to a foreign file.
    LinkToFile,
    /// A link to a foreign folder.
    LinkToFolder,
    /// A link to what was there, which was moved outside: it reads as before.
    LinkToMoved,
    /// A link to a file outside that does not exist.
    Dangling,
    /// A link to itself.
    Itself,
    Pipe,
    Socket,
    /// A hard link to a foreign file.
    HardLink,
    /// Another name of what was there.
    HardLinkToMoved,
}

impl Pose {
    const ALL: [Self; 9] = [
        Self::LinkToFile,
        Self::LinkToFolder,
        Self::LinkToMoved,
        Self::Dangling,
        Self::Itself,
        Self::Pipe,
        Self::Socket,
        Self::HardLink,
        Self::HardLinkToMoved,
    ];

    /// Puts it into the place of what is there, if anything is; false where it cannot be.
    fn put(self, place: &Path, outside: &Path) -> bool {
        let moved = outside.join("moved");
        let is_file = place.is_file();
        match self {
            Self::LinkToMoved if !place.exists() => return false,
            Self::HardLinkToMoved if !is_file => return false,
            Self::LinkToMoved => fs::rename(place, &moved).expect("what is moved"),
            Self::HardLinkToMoved => fs::copy(place, &moved).map(|_| ()).expect("a copy"),
            _ => {}
        }
        ken_storage::remove(place).expect("a place");
        fs::create_dir_all(place.parent().expect("a folder")).expect("a folder");
        match self {
            Self::LinkToFile => symlink(outside.join("letter"), place),
            Self::LinkToFolder => symlink(outside.join("photos"), place),
            Self::LinkToMoved => symlink(moved, place),
            Self::Dangling => symlink(outside.join("nothing"), place),
            Self::Itself => symlink(place.file_name().expect("a name"), place),
            Self::Pipe => {
                let made = Command::new("mkfifo").arg(place).status();
                made.map(|status| assert!(status.success(), "a pipe"))
            }
            Self::Socket => socket(place),
            Self::HardLink => fs::hard_link(outside.join("letter"), place),
            Self::HardLinkToMoved => fs::hard_link(moved, place),
        }
        .expect("what is put there");
        true
    }
}

/// A socket's path has at most some hundred bytes, so it is bound elsewhere on this disk and moved.
fn socket(place: &Path) -> std::io::Result<()> {
    let short = folder();
    let bound = short.path().join("s");
    UnixListener::bind(&bound)?;
    fs::rename(&bound, place)
}

/// Puts everything into the place of everything, `count` times or always, and tries all verbs of a store.
///
/// # Panics
/// If the store cannot be made.
#[must_use]
pub fn run(store: Store, count: Option<usize>, seed: u64) -> Outcome {
    let mut outcome = Outcome::begin("links", store.name());
    let dir = folder();
    let whole = dir.path().join("whole");
    make_kept(&whole);
    store.make(&whole);
    let places = store.places(&whole.join(KEPT));
    outcome.number("places", places.len());
    let all: Vec<(&PathBuf, Pose)> = places
        .iter()
        .flat_map(|place| Pose::ALL.map(|pose| (place, pose)))
        .collect();
    let mut random = Random::new(seed);
    for (number, at) in random
        .sample(all.len(), count.unwrap_or(all.len()))
        .into_iter()
        .enumerate()
    {
        let (place, pose) = all[at];
        let mut case = Case {
            whole: &whole,
            dir: dir.path().join(format!("run-{number}")),
            place,
            pose,
        };
        if let Some(before) = case.fresh() {
            outcome.add("cases", 1);
            outcome.add(&format!("{pose:?}"), 1);
            for &verb in store.verbs() {
                case.attempt(verb, &before, &mut outcome);
            }
        }
        let _ = fs::remove_dir_all(&case.dir);
        let _ = fs::remove_dir_all(case.outside());
    }
    outcome.end()
}

struct Case<'c> {
    whole: &'c Path,
    dir: PathBuf,
    place: &'c Path,
    pose: Pose,
}

impl Case<'_> {
    fn outside(&self) -> PathBuf {
        self.dir.with_extension("outside")
    }

    /// Lays the store out anew, and returns what is outside; `None` where the pose fits no such place.
    fn fresh(&self) -> Option<BTreeMap<PathBuf, Vec<u8>>> {
        let outside = self.outside();
        for old in [&self.dir, &outside] {
            let _ = fs::remove_dir_all(old);
        }
        fs::create_dir_all(outside.join("photos/deep")).expect("a folder");
        for (name, text) in [
            ("letter", "a letter"),
            ("photos/one", "a photo"),
            ("photos/deep/two", "another"),
        ] {
            fs::write(outside.join(name), text).expect("a file outside");
        }
        copy(self.whole, &self.dir);
        let place = self.dir.join(KEPT).join(self.place);
        self.pose.put(&place, &outside).then(|| held(&outside))
    }

    fn attempt(&mut self, verb: Verb, before: &BTreeMap<PathBuf, Vec<u8>>, outcome: &mut Outcome) {
        let (name, work) = verb;
        let at = format!("{} {:?}, {name}", self.place.display(), self.pose);
        outcome.add("attempts", 1);
        let (tell, told) = mpsc::channel();
        let (dir, outside) = (self.dir.clone(), self.outside());
        std::thread::spawn(move || tell.send(without_panic(|| Ok(work(&dir)))));
        let is_changed = match told.recv_timeout(LONGEST) {
            Err(_) => {
                outcome.violation(&at, "hangs");
                // What it still holds is its own.
                self.dir
                    .set_file_name(format!("after-{}-{name}", outcome.numbers["attempts"]));
                true
            }
            Ok(Err(panicked)) => {
                outcome.violation(&at, panicked);
                true
            }
            Ok(Ok(Ok(()))) => {
                outcome.add("done", 1);
                true
            }
            Ok(Ok(Err(message))) => {
                outcome.add("refused", 1);
                if !self.is_named(&message) {
                    outcome.violation(&at, format!("does not name it: {message}"));
                }
                if message.contains('\n') {
                    outcome.violation(&at, format!("has more than a line: {message}"));
                }
                false
            }
        };
        let is_hurt = held(&outside) != *before;
        if is_hurt {
            outcome.violation(&at, "changed what is outside");
        }
        if is_changed || is_hurt {
            self.fresh();
        }
    }

    /// Whether a message speaks of what was put there: by its name, or as the model that it belongs to. A
    /// plain file in the place of a folder holds nothing, so the store may miss what it held.
    fn is_named(&self, message: &str) -> bool {
        let name = self.place.file_name().expect("a name").to_string_lossy();
        let was_folder = self.whole.join(KEPT).join(self.place).is_dir();
        message.contains(&*name)
            || message.contains("hf:org/one")
            || was_folder
                && self.pose == Pose::HardLink
                && message.contains(&*self.dir.to_string_lossy())
    }
}

/// The tree below a folder, with the contents of files.
fn held(folder: &Path) -> BTreeMap<PathBuf, Vec<u8>> {
    let mut all = BTreeMap::new();
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).into_iter().flatten() {
            let path = entry.expect("an entry").path();
            let found = path.symlink_metadata().expect("an entry");
            let mut bytes = Vec::new();
            if found.is_dir() {
                open.push(path.clone());
            } else if found.is_file() {
                bytes = fs::read(&path).expect("a file");
            }
            let below = path.strip_prefix(folder).expect("it lies below");
            all.insert(below.to_owned(), bytes);
        }
    }
    all
}
