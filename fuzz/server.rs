// What the targets of the server share, at the root of each: the modules of its tests that they are made of.

#[path = "../crates/server/tests/http/client.rs"]
mod client;
#[path = "../crates/server/tests/http/corrections.rs"]
mod corrections;
#[path = "../crates/server/tests/http/fixture.rs"]
mod fixture;
#[path = "../crates/server/tests/http/fuzzing/mod.rs"]
mod fuzzing;
#[path = "../crates/server/tests/http/held.rs"]
mod held;
#[path = "../crates/ken/src/commands/serve/intake.rs"]
mod intake;
#[path = "../crates/server/tests/http/random_input.rs"]
mod random_input;
#[path = "../crates/server/tests/http/route_table.rs"]
mod route_table;
#[path = "../crates/server/tests/http/slow_model.rs"]
mod slow_model;
