//! Models: their files (`hub`), decoders that write and score text (`decoder`), and encoders
//! that embed it (`encoder`). Knows nothing of corpora, prompts' contents or routing.

#![cfg_attr(
    test,
    allow(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::print_stdout,
        clippy::print_stderr
    )
)]

pub mod decoder;
pub mod encoder;
mod fingerprint;
pub mod hub;
