//! A writer that is killed again and again, and beside it eight readers, checks, reads of the history and a second writer
//! that is refused: the kills disturb none of them.

use std::collections::HashSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ken_corpus::{Writer, history};
use serde::{Deserialize, Serialize};

use crate::outcome::Outcome;
use crate::process;
use crate::random::Random;
use crate::shim::{Control, Order, Shim, Strike, folder, kinds};
use crate::world::{Contents, KEPT, make_kept, without_panic};
use crate::worlds::{self, Round};

const READERS: usize = 8;

/// The least that has to happen before the campaign ends.
#[derive(Debug, Clone, Copy)]
pub struct Plan {
    /// Compactions.
    pub compactions: usize,
    /// Kills of the writer.
    pub kills: usize,
    /// The least time.
    pub time: Duration,
    /// The seed of the moments of kills.
    pub seed: u64,
}

/// The report of the readers when they end.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Read {
    opened: usize,
    verified: usize,
    histories: usize,
    second_writers: usize,
    violations: Vec<String>,
}

/// Runs a writer and readers beside each other.
///
/// # Panics
/// If a process cannot be started.
#[must_use]
pub fn run(shim: &Shim, plan: Plan) -> Outcome {
    let mut outcome = Outcome::begin("company", "corpus");
    let dir = folder();
    make_kept(dir.path());
    // The readers need a corpus from the start.
    Round(0).take(dir.path()).expect("the first round");
    let control = Control::create(&dir.path().join("control"));
    let mut readers = process::command("corpus", "readers", dir.path())
        .stderr(Stdio::null())
        .spawn()
        .expect("the readers");
    let mut random = Random::new(plan.seed);
    let (started, most) = (Instant::now(), plan.time * 4 + Duration::from_secs(60));
    let mut kills = 0;
    loop {
        let done = compactions(dir.path());
        let is_enough =
            kills >= plan.kills && done >= plan.compactions && started.elapsed() >= plan.time;
        if is_enough || started.elapsed() > most {
            break;
        }
        // Now and then a writer is spared for a while, so that it makes progress.
        let is_spared = random.per_mille(100);
        control.order(Order {
            strike: if is_spared {
                Strike::None
            } else {
                Strike::Kill
            },
            at: 1 + random.below(1500) as i64,
            lasting: false,
            kinds: kinds::CHANGES,
        });
        let mut writer = writer(shim, dir.path()).spawn().expect("the writer");
        let status = wait(
            &mut writer,
            Duration::from_millis(if is_spared { 2000 } else { 20_000 }),
        );
        match status {
            None => kills += 1,
            Some(status) if status.success() => {}
            Some(status) if std::os::unix::process::ExitStatusExt::signal(&status) == Some(9) => {
                kills += 1;
            }
            Some(status) => {
                let said = fs::read_to_string(dir.path().join("said")).unwrap_or_default();
                outcome.violation(
                    format!("after {kills} kills"),
                    format!("the writer ended with {status}: {said}"),
                );
                if outcome.violations.len() > 20 {
                    break;
                }
            }
        }
        if let Ok(Some(status)) = readers.try_wait() {
            outcome.violation("readers", format!("they ended with {status}"));
            break;
        }
    }
    fs::write(dir.path().join("stop"), "").expect("a sign to stop");
    let _ = wait(&mut readers, Duration::from_secs(60));
    let read: Read = fs::read(dir.path().join("read"))
        .ok()
        .and_then(|text| serde_json::from_slice(&text).ok())
        .unwrap_or_default();
    outcome.number("kills", kills);
    outcome.number("compactions", compactions(dir.path()));
    outcome.number("rounds", rounds(dir.path()));
    outcome.number("opened", read.opened);
    outcome.number("verified", read.verified);
    outcome.number("histories", read.histories);
    outcome.number("second_writers", read.second_writers);
    for violation in read.violations {
        outcome.violation("reader", violation);
    }
    if read.opened == 0 {
        outcome.violation("readers", "they read nothing");
    }
    if let Err(error) = worlds::read(&corpus(dir.path())) {
        outcome.violation("in the end", error);
    }
    outcome.end()
}

fn corpus(dir: &Path) -> PathBuf {
    dir.join(KEPT).join("corpus")
}

fn compactions(dir: &Path) -> usize {
    fs::read(dir.join("compactions")).map_or(0, |note| note.len())
}

fn rounds(dir: &Path) -> usize {
    fs::read(dir.join("rounds")).map_or(0, |note| note.len())
}

fn writer(shim: &Shim, dir: &Path) -> Command {
    let mut command = process::command("corpus", "writer", dir);
    shim.watch(&mut command, &dir.join(KEPT));
    command.env("TORTURE_CONTROL", dir.join("control"));
    command.stderr(Stdio::null());
    command
}

/// Waits for a process, and kills it after some time. Returns its status if it ended by itself.
fn wait(child: &mut Child, most: Duration) -> Option<std::process::ExitStatus> {
    let started = Instant::now();
    while started.elapsed() < most {
        if let Ok(Some(status)) = child.try_wait() {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

/// The writer: rounds of ingests, deletions, prunings and compactions, forever.
///
/// # Panics
/// If it cannot record its progress.
pub fn write(dir: &Path) {
    let note = |name: &str| {
        let file = fs::File::options()
            .create(true)
            .append(true)
            .open(dir.join(name));
        let written = file.and_then(|mut file| std::io::Write::write_all(&mut file, b"."));
        written.expect("a note");
    };
    loop {
        let round = Round(rounds(dir) + 1);
        if let Err(refusal) = round.take(dir) {
            if refusal.kind == "corpus_locked" {
                // The second writer of `read` holds the lock.
                std::thread::sleep(Duration::from_millis(1));
                continue;
            }
            let _ = fs::write(dir.join("said"), format!("{round:?}: {refusal:?}"));
            std::process::exit(process::REFUSED);
        }
        note("rounds");
        if round.is_compaction() {
            note("compactions");
        }
    }
}

/// The readers, until a file `stop` exists.
///
/// # Panics
/// If they cannot write their report.
pub fn read(dir: &Path) {
    std::panic::set_hook(Box::new(|_| {}));
    let corpus = corpus(dir);
    let known: HashSet<String> = Round::all_contents().iter().map(text_of).collect();
    let (stop, violations) = (AtomicBool::new(false), Mutex::new(Vec::new()));
    let counts: [AtomicUsize; 4] = Default::default();
    let until_stopped = |count: &AtomicUsize, work: &(dyn Fn() -> Result<(), String> + Sync)| {
        while !stop.load(Ordering::Relaxed) {
            match without_panic(work) {
                Ok(()) => {
                    count.fetch_add(1, Ordering::Relaxed);
                }
                Err(error) => {
                    let mut all = violations.lock().expect("the violations");
                    if all.len() < 100 {
                        all.push(error);
                    }
                }
            }
        }
    };
    let search = || {
        let found = worlds::searched(&corpus)?;
        match known.contains(&text_of(&found)) {
            true => Ok(()),
            false => Err(format!("a state that never was: {found:?}")),
        }
    };
    let check = || {
        worlds::read(&corpus)
            .map(|_| ())
            .map_err(|error| format!("verify: {error}"))
    };
    let look = || match history(&corpus) {
        Ok(kept) if kept.last().is_some_and(|last| last.current) => Ok(()),
        Ok(kept) => Err(format!("history: {kept:?}")),
        Err(error) => Err(format!("history: {error}")),
    };
    let second = || match Writer::open(&corpus) {
        Err(error) if error.kind() == "corpus_locked" => Ok(()),
        Err(error) => Err(format!("a second writer: {error}")),
        // It opened between two attempts of the first, which waits for it.
        Ok(_) => Ok(()),
    };
    std::thread::scope(|scope| {
        for _ in 0..READERS {
            scope.spawn(|| until_stopped(&counts[0], &search));
        }
        scope.spawn(|| until_stopped(&counts[1], &check));
        scope.spawn(|| until_stopped(&counts[2], &look));
        scope.spawn(|| {
            until_stopped(&counts[3], &|| {
                std::thread::sleep(Duration::from_millis(50));
                second()
            });
        });
        while !dir.join("stop").exists() {
            std::thread::sleep(Duration::from_millis(5));
        }
        stop.store(true, Ordering::Relaxed);
    });
    let count = |index: usize| counts[index].load(Ordering::Relaxed);
    let read = Read {
        opened: count(0),
        verified: count(1),
        histories: count(2),
        second_writers: count(3),
        violations: violations.into_inner().unwrap_or_default(),
    };
    let text = serde_json::to_vec(&read).expect("what was read");
    fs::write(dir.join("read"), text).expect("what was read");
}

fn text_of(contents: &Contents) -> String {
    format!("{contents:?}")
}
