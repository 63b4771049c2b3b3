//! Learning: small heads over vectors (`heads`). Knows nothing of question sets or of the command
//! line.
#![cfg_attr(test, allow(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod heads;
