//! Set-up, tests and tidy checks.
fn main() {}
