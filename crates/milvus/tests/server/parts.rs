//! Jobs that push the parts of one corpus into one collection.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use ken_corpus::{Corpus, Part, Writer};
use ken_milvus::{MilvusError, Progress, PushJob, Pushed, push};

use crate::invented::{document, no_metadata, numbered, publish};
use crate::{assert_same, job, opened, pushed, started};

fn part(text: &str) -> Part {
    text.parse().unwrap()
}

fn pushed_part(
    dir: &Path,
    address: &str,
    part: Part,
    progress: &mut dyn FnMut(Progress),
    stop: &AtomicBool,
) -> Result<Pushed, MilvusError> {
    let corpus = Corpus::open(dir).unwrap();
    let address = address.parse().unwrap();
    let part = PushJob {
        part: Some(part),
        ..job(&corpus, &address)
    };
    push(part, progress, stop)
}

/// Pushes a part without a break.
fn whole_part(dir: &Path, address: &str, text: &str) -> Pushed {
    let stop = AtomicBool::new(false);
    pushed_part(dir, address, part(text), &mut |_| (), &stop).unwrap()
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn jobs_that_push_at_once_fill_one_collection() {
    let (_server, address, dir) = started("at_once", 1500);
    let total = Corpus::open(dir.path()).unwrap().passage_count() as u64;
    let job = |part: Part| {
        let mut last = Progress {
            passages: 0,
            passages_total: 0,
        };
        let stop = AtomicBool::new(false);
        let pushed = pushed_part(dir.path(), &address, part, &mut |step| last = step, &stop);
        assert_eq!(last.passages, last.passages_total);
        (pushed.unwrap(), last.passages_total)
    };
    let jobs: Vec<(Pushed, u64)> = std::thread::scope(|scope| {
        let jobs: Vec<_> = part("1/3")
            .all()
            .map(|part| scope.spawn(move || job(part)))
            .collect();
        jobs.into_iter().map(|job| job.join().unwrap()).collect()
    });
    assert_eq!(
        jobs.iter().map(|(pushed, _)| pushed.sent).sum::<u64>(),
        total
    );
    assert_eq!(jobs.iter().map(|(_, own)| own).sum::<u64>(), total);
    for (pushed, own) in &jobs {
        assert!((total / 5..=total / 2).contains(own), "{own} of {total}");
        assert_eq!((pushed.sent, pushed.kept), (*own, 0));
    }
    assert!(jobs.iter().any(|(pushed, _)| pushed.missing.is_empty()));
    assert_same(dir.path(), &address);
    let again = pushed(dir.path(), &address).unwrap();
    assert_eq!((again.sent, again.kept), (0, total));
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn a_part_that_was_stopped_is_resumed_and_the_last_one_completes() {
    let (_server, address, dir) = started("resumed", 1000);
    let dir = dir.path();
    let stop = AtomicBool::new(false);
    let mut halt = |step: Progress| stop.store(step.passages > 300, Ordering::Relaxed);
    let stopped = pushed_part(dir, &address, part("1/2"), &mut halt, &stop).unwrap();
    assert!(stopped.interrupted && stopped.sent > 300, "{stopped:?}");
    let other = whole_part(dir, &address, "2/2");
    assert_eq!((other.kept, other.missing), (0, vec![part("1/2")]));
    assert_eq!(opened(&address).err().unwrap().kind(), "push_unfinished");
    let rest = whole_part(dir, &address, "1/2");
    assert_eq!((rest.kept, rest.missing), (stopped.sent, Vec::new()));
    assert_same(dir, &address);

    // Only changes are sent, and what is gone is deleted, by whichever parts have it.
    let replaced = document(&numbered(1).0.id, "New", &no_metadata());
    let mut changes: Vec<_> = (1000..1010).map(numbered).collect();
    let new: usize = changes.iter().map(|(_, texts)| texts.len()).sum();
    changes.push((replaced, vec!["new words".to_owned()]));
    publish(dir, &changes);
    let gone = [3, 4, 100].map(|n| numbered(n).0.id);
    Writer::open(dir).unwrap().delete(&gone).unwrap();
    let deleted: usize = [3, 4, 100].iter().map(|&n| numbered(n).1.len()).sum();
    let shrunk = numbered(1).1.len() - 1;
    let first = whole_part(dir, &address, "2/2");
    assert_eq!(first.missing, [part("1/2")]);
    let last = whole_part(dir, &address, "1/2");
    assert!(last.missing.is_empty());
    assert_eq!(first.sent + last.sent, new as u64 + 1);
    assert_eq!(first.deleted + last.deleted, (deleted + shrunk) as u64);
    assert_same(dir, &address);
    let again = whole_part(dir, &address, "2/2");
    assert_eq!((again.sent, again.missing), (0, Vec::new()));
}

#[test]
#[ignore = "needs milvus-lite: run `cargo xtask test`"]
fn parts_of_different_generations_are_pushed_again() {
    let (_server, address, dir) = started("overtaken", 600);
    let dir = dir.path();
    let stop = AtomicBool::new(false);
    let mut overtaken = false;
    let mut overtake = |_: Progress| {
        if !overtaken {
            overtaken = true;
            publish(dir, &[numbered(600)]);
            let other = whole_part(dir, &address, "2/2");
            assert_eq!(other.missing, [part("1/2")]);
        }
    };
    let error = pushed_part(dir, &address, part("1/2"), &mut overtake, &stop).unwrap_err();
    assert_eq!(error.kind(), "push_overtaken");
    assert!(error.to_string().contains("part 1/2"), "{error}");
    // Neither is trusted any more.
    let first = whole_part(dir, &address, "1/2");
    assert_eq!(first.missing, [part("2/2")]);
    assert_eq!(opened(&address).err().unwrap().kind(), "push_unfinished");
    assert!(whole_part(dir, &address, "2/2").missing.is_empty());
    assert_same(dir, &address);
}
