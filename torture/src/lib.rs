//! Fault injection for everything that keeps files: power losses, failing system calls, kills, damage, and
//! concurrent readers. It is a tool of the project and no part of ken; `torture/README.md` says how to run
//! it, and what it cannot see.
#![cfg(target_os = "linux")]
// A failure of the tool itself ends the campaign.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
#![allow(clippy::print_stdout, clippy::print_stderr)]

pub mod batch;
pub mod company;
pub mod crash;
pub mod damage;
pub mod faults;
pub mod kills;
pub mod links;
#[path = "../../crates/hub/tests/hub/loopback.rs"]
#[allow(dead_code)]
mod loopback;
pub mod outcome;
mod process;
pub mod random;
pub mod shim;
pub mod worker;
pub mod world;
pub mod worlds;
