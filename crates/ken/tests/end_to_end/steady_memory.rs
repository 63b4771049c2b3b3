//! The memory of a server whose settings are read again, and whose corpus is changed and compacted, again and again:
//! it does not grow.

#![allow(clippy::print_stderr)]

use crate::documents::with_notes;
use crate::serve::Serving;
use crate::traffic::{chat, finish, memory, send, upload};

/// Rounds in which caches fill, and all rounds.
const ROUNDS: [usize; 2] = [50, 200];

/// How much more memory may be used after all rounds than after the first: the allocator gives freed memory back, but
/// not to the page.
const MOST_GROWTH: f64 = 0.1;

#[test]
#[ignore = "needs the models of KEN_TEST_MODELS"]
fn reloads_and_changes_leave_no_memory_behind() {
    let ken = with_notes();
    let serving = Serving::start(&ken, &["--corpus", "notes=island", "--server-data", "data"]);
    let address = serving.address();
    let mut held = Vec::new();
    for round in 0..ROUNDS[1] {
        let reply = send(address, "POST", "/v1/ken/reload", "text/plain", "").unwrap();
        assert_eq!(reply.status, 200, "{}", reply.body);
        let name = format!("crate{}.md", round % 20);
        let text = format!("Crate {round} holds {round} jars of plums.\n");
        finish(address, &upload(address, "notes", (&name, &text)).unwrap());
        if round % 10 == 9 {
            ken.text(&["corpus", "compact", "--corpus", "island"]);
        }
        if round % 5 == 4 {
            let question = "Who is the keeper of the Orrin lighthouse?";
            let asked = chat(address, (question, "always"), round % 2 == 0);
            asked.unwrap_or_else(|reply| panic!("{}", reply.body));
        }
        held.push(memory(serving.child.id()).anonymous as f64 / 1024.0);
    }
    // Means of ten rounds, since each takes and frees some.
    let mean = |end: usize| held[end - 10..end].iter().sum::<f64>() / 10.0;
    let [first, last] = ROUNDS.map(mean);
    eprintln!("memory of its own after {ROUNDS:?} rounds: {first:.1} and {last:.1} MiB");
    assert!(last < first * (1.0 + MOST_GROWTH), "{held:.0?}");
}
