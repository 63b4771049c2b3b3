//! OpenAI's official client for JavaScript, through its helpers that assemble streams. `cargo xtask clients` installs
//! it with Node, and prints the variables that name both.

use std::io::Write;
use std::process::{Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::Duration;

use ken_server::{Keys, Limits};
use ken_testing::{Fact, TableModel};

use crate::fixture::{LIMITS, OIL, Running, facts};

/// Cites a passage twice, after a character that JavaScript counts as two and the server as one.
const CITING: &str = "\u{1f6e2} Ida changes it [1]. \u{1f6e2} In May [1].";

#[test]
fn streams_are_put_together_by_the_official_client() {
    let node = std::env::var_os("KEN_TEST_NODE").unwrap_or_else(|| "node".into());
    let runs = Command::new(&node)
        .arg("--version")
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let modules = std::env::var_os("KEN_TEST_NODE_MODULES");
    let (Some(modules), true) = (modules, runs.is_ok_and(|status| status.success())) else {
        // Not by a macro, whose output a test that passes does not show.
        let _ = writeln!(
            std::io::stderr(),
            "skipped: OpenAI's JavaScript client is not tried; `cargo xtask clients` installs it (by Python 3 with pip) \
             and prints KEN_TEST_NODE and KEN_TEST_NODE_MODULES"
        );
        return;
    };
    let mut all = facts();
    all.retain(|fact| fact.question != OIL);
    all.push(Fact {
        question: OIL.to_owned(),
        answer: CITING.to_owned(),
        known: 1.0,
        ..Fact::default()
    });
    let server = Running::over(TableModel::new(all).unwrap(), LIMITS, &Keys::default());
    let limits = Limits {
        deadline: Duration::from_millis(500),
        ..LIMITS
    };
    let (breaking, reading) = Running::slow(limits);
    reading.begins.store(true, Ordering::SeqCst);
    let script = "tests/http/clients/openai_client.mjs";
    let url = |server: &Running| format!("http://{}/v1", server.address);
    let ran = Command::new(&node)
        .arg(script)
        .arg(modules)
        .args([url(&server), url(&breaking), OIL.to_owned()])
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&ran.stdout).into_owned();
    let failed = String::from_utf8_lossy(&ran.stderr).into_owned();
    assert!(ran.status.success(), "{said}{failed}");
    assert_eq!(said, "all right\n");
}
