//! How time and memory grow with the length of a file, over random and hostile ones of each format
//! and all segmentations.
//!
//! The test doubles a short length once. The long run, which `KEN_GROWTH_BYTES=16M cargo test
//! --release -p ken-documents --test growth -- --ignored --nocapture` starts, doubles up to that
//! many bytes and prints what it measured.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

#[path = "../files/mod.rs"]
mod files;

use std::env;
use std::fs;
use std::ops::Range;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use files::hostile::{Pattern, patterns};
use ken_corpus::{Segmentation, segment};
use ken_documents::read_documents;

/// The most that twice the length may take, as a multiple of the time for the length.
const MOST_GROWTH: f64 = 2.5;

/// Shorter times are lost in the noise of the machine, and one long time among short ones is
/// noise, too. Where time grows with the square of the length, the short run takes seconds.
const SHORTEST: Duration = Duration::from_millis(250);

/// How often a time is measured; the least counts.
const TIMES: usize = 3;
/// How often all times are measured again before the growth counts as too large.
const ATTEMPTS: usize = 3;

/// How texts are cut.
const SEGMENTATIONS: [&str; 5] = ["whole", "sentence", "words:100", "words:3/2", "tokens:64/8"];

/// The variables that tell the child its task.
const CHILD_FILE: &str = "KEN_TEST_GROWTH_FILE";
const CHILD_WORK: &str = "KEN_TEST_GROWTH_WORK";

/// The length of the short run.
const SHORT_BYTES: usize = 128 << 10;

/// The most memory that a file of a given decompressed size takes at once: a value of JSON or an
/// object of PDF takes about a hundred bytes for two in the file, and what is parsed is held beside
/// it.
fn most_memory(bytes: usize) -> u64 {
    (64 << 20) + 160 * bytes as u64
}

#[test]
fn time_doubles_with_length() {
    let folder = tempfile::tempdir().unwrap();
    let mut failed = Vec::new();
    for pattern in patterns() {
        failed.extend(too_much(&pattern, SHORT_BYTES, folder.path()));
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
#[ignore = "takes minutes; see above"]
fn time_doubles_with_length_at_length() {
    let most = env::var("KEN_GROWTH_BYTES").unwrap_or_else(|_| "16M".to_owned());
    let most: usize = match most.strip_suffix('M') {
        Some(mebibytes) => mebibytes.parse::<usize>().unwrap() << 20,
        None => most.parse().unwrap(),
    };
    let only = env::var("KEN_GROWTH_ONLY").unwrap_or_default();
    let folder = tempfile::tempdir().unwrap();
    let mut failed = Vec::new();
    println!("file\tpattern\thow\tbytes\tseconds\tpeak_bytes");
    for pattern in patterns() {
        if !format!("{} {}", pattern.file, pattern.name).contains(&only) {
            continue;
        }
        let mut bytes = (most >> 4).max(SHORT_BYTES / 2);
        while 2 * bytes <= most {
            failed.extend(too_much(&pattern, bytes, folder.path()));
            bytes *= 2;
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

/// The times and sizes that grow too fast from a length to twice the length.
fn too_much(pattern: &Pattern, bytes: usize, folder: &Path) -> Vec<String> {
    let (once, twice) = ((pattern.make)(bytes), (pattern.make)(2 * bytes));
    let path = folder.join(pattern.file);
    let mut failed = Vec::new();
    let mut judge = |how: &str, work: &mut dyn FnMut(&[u8])| {
        let (mut first, mut second) = (Duration::MAX, time(&mut || work(&twice)));
        if second >= SHORTEST {
            for _ in 0..ATTEMPTS {
                (first, second) = (least(&mut || work(&once)), least(&mut || work(&twice)));
                if second < SHORTEST || second.as_secs_f64() <= MOST_GROWTH * first.as_secs_f64() {
                    first = Duration::MAX;
                    break;
                }
            }
            // The child measures the longer file.
            work(&twice);
        }
        let peak = peak_of_child(&path, how);
        let name = format!("{}\t{}\t{how}", pattern.file, pattern.name);
        println!("{name}\t{}\t{:.4}\t{peak}", 2 * bytes, second.as_secs_f64());
        if first != Duration::MAX {
            failed.push(format!(
                "{name}: {bytes} bytes take {first:?}, twice as many {second:?}"
            ));
        }
        if peak > most_memory(2 * bytes) {
            failed.push(format!(
                "{name}: {} bytes take {} MiB",
                2 * bytes,
                peak >> 20
            ));
        }
    };
    judge("read", &mut |file| {
        fs::write(&path, file).unwrap();
        read(&path);
    });
    if pattern.file == "t.txt" {
        for how in SEGMENTATIONS {
            judge(how, &mut |file| {
                cut(std::str::from_utf8(file).unwrap(), how);
            });
        }
    }
    failed
}

fn read(path: &Path) {
    for document in read_documents(&[path.to_owned()]).unwrap() {
        drop(std::hint::black_box(document));
    }
}

fn cut(text: &str, how: &str) {
    let pieces = segment(text, how.parse::<Segmentation>().unwrap(), &three_bytes);
    std::hint::black_box(pieces);
}

/// The most memory that a process has which does nothing else, in bytes. The child is this program.
fn peak_of_child(path: &Path, how: &str) -> u64 {
    let output = Command::new(env::current_exe().unwrap())
        .args(["--exact", "--nocapture", "child_that_is_measured"])
        .env(CHILD_FILE, path)
        .env(CHILD_WORK, how)
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", path.display());
    let text = String::from_utf8(output.stdout).unwrap();
    let peak = text.lines().find_map(|line| line.strip_prefix("> "));
    peak.unwrap().parse().unwrap()
}

#[test]
fn child_that_is_measured() {
    let (Ok(path), Ok(how)) = (env::var(CHILD_FILE), env::var(CHILD_WORK)) else {
        return;
    };
    match how.as_str() {
        "read" => read(Path::new(&path)),
        how => cut(&fs::read_to_string(&path).unwrap(), how),
    }
    // The line may start after output of the test program.
    println!("\n> {}", peak_memory());
}

/// The CPU time of this thread, if the system reports it: others may keep the processor busy.
fn computed() -> Option<Duration> {
    let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    let nanoseconds = text.split_whitespace().next()?.parse().ok()?;
    Some(Duration::from_nanos(nanoseconds))
}

fn time(work: &mut dyn FnMut()) -> Duration {
    let (start, computed_before) = (Instant::now(), computed());
    work();
    match (computed_before, computed()) {
        (Some(before), Some(after)) => after.saturating_sub(before),
        _ => start.elapsed(),
    }
}

/// The least of some times.
fn least(work: &mut dyn FnMut()) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..TIMES {
        least = least.min(time(work));
        // Long times are less disturbed.
        if least > Duration::from_secs(1) {
            break;
        }
    }
    least
}

/// A tokenizer: three bytes a token, even within a character.
fn three_bytes(text: &str) -> Vec<Range<usize>> {
    (0..text.len())
        .step_by(3)
        .map(|start| start..(start + 3).min(text.len()))
        .collect()
}

/// The most memory that this process had at once, in bytes; 0 if the system does not say.
fn peak_memory() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kibibytes = line.unwrap_or_default().trim().trim_end_matches(" kB");
    kibibytes.trim().parse::<u64>().unwrap_or(0) << 10
}
