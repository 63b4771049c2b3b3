//! A short run of each campaign, with fixed seeds: nothing is lost, and a sync that is left out is noticed.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::{Mutex, MutexGuard, Once};
use std::time::Duration;

use ken_torture::company::{self, Plan};
use ken_torture::crash::{self, Drawing};
use ken_torture::damage::{self, Store};
use ken_torture::outcome::Outcome;
use ken_torture::shim::Shim;
use ken_torture::{faults, kills, links, worlds};

/// One campaign at a time: each uses all processors, and processes that one starts would hold the locks of
/// another for a moment.
fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    static BEGIN: Once = Once::new();
    BEGIN.call_once(|| {
        // SAFETY: all tests come by here, before any of them starts a thread or a process.
        #[allow(unsafe_code)]
        unsafe {
            std::env::set_var("TORTURE_PROGRAM", env!("CARGO_BIN_EXE_torture"));
        }
    });
    ALONE.lock().unwrap_or_else(|broken| broken.into_inner())
}

fn drawing(count: usize) -> Drawing {
    Drawing {
        count,
        seed: 1,
        ..Drawing::default()
    }
}

#[track_caller]
fn nothing_wrong(outcome: &Outcome) {
    assert_eq!(outcome.violation_count, 0, "{}", outcome.summary());
}

#[test]
#[ignore = "takes minutes: run `cargo xtask test`"]
fn a_power_loss_takes_nothing_that_was_acknowledged() {
    let _alone = alone();
    let shim = Shim::build();
    for world in worlds::all() {
        let outcome = crash::run(&*world, &shim, &drawing(50));
        assert_eq!(outcome.numbers["states"], 50, "{}", outcome.summary());
        nothing_wrong(&outcome);
    }
}

#[test]
#[ignore = "takes minutes: run `cargo xtask test`"]
fn a_sync_that_is_left_out_is_noticed() {
    let _alone = alone();
    let shim = Shim::build();
    for (world, sync) in [
        // A segment's file, its place, the manifest, its place, the commit, its place.
        ("corpus", "passages.jsonl"),
        ("corpus", "corpus/segments"),
        ("corpus", ".json.tmp"),
        ("corpus", "corpus/generations"),
        ("corpus", "CURRENT.tmp"),
        ("corpus", "corpus"),
        ("datastore", "datastore.json.tmp"),
        ("results", "results.jsonl"),
    ] {
        let drawing = Drawing {
            dropped_syncs: vec![sync.to_owned()],
            until_wrong: true,
            ..drawing(2000)
        };
        let outcome = crash::run(&*worlds::named(world), &shim, &drawing);
        assert_ne!(outcome.violation_count, 0, "{sync}: {}", outcome.summary());
    }
}

#[test]
#[ignore = "takes minutes: run `cargo xtask test`"]
fn a_call_that_the_system_refuses_costs_nothing() {
    let _alone = alone();
    let shim = Shim::build();
    for world in worlds::all() {
        let outcome = faults::run(&*world, &shim, Some(40), 1);
        assert_eq!(outcome.numbers["struck"], 40, "{}", outcome.summary());
        nothing_wrong(&outcome);
    }
}

#[test]
#[ignore = "takes minutes: run `cargo xtask test`"]
fn a_kill_costs_nothing() {
    let _alone = alone();
    let shim = Shim::build();
    for world in worlds::all() {
        let outcome = kills::run(&*world, &shim, 40, 1);
        let of = |name: &str| outcome.numbers[name];
        assert!(
            2 * of("while_writing") >= of("kills"),
            "{}",
            outcome.summary()
        );
        nothing_wrong(&outcome);
    }
}

#[test]
#[ignore = "takes minutes: run `cargo xtask test`"]
fn damage_is_named_and_mended() {
    let _alone = alone();
    let shim = Shim::build();
    for store in Store::ALL {
        nothing_wrong(&damage::run(store, &shim, Some(40), 1));
    }
}

#[test]
fn links_and_pipes_lead_nowhere() {
    let _alone = alone();
    for store in links::Store::ALL {
        let outcome = links::run(store, Some(40), 1);
        assert!(outcome.numbers["attempts"] > 0, "{}", outcome.summary());
        nothing_wrong(&outcome);
    }
}

#[test]
#[ignore = "takes minutes: run `cargo xtask test`"]
fn readers_and_a_writer_that_is_killed_do_not_disturb_each_other() {
    let _alone = alone();
    let plan = Plan {
        compactions: 8,
        kills: 8,
        time: Duration::from_secs(2),
        seed: 1,
    };
    nothing_wrong(&company::run(&Shim::build(), plan));
}
