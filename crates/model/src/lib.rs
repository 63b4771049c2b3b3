//! Models: their files (`hub`), what every language model can be asked (`language`), decoders that
//! write and score text here (`decoder`), and encoders that embed it (`encoder`). Knows nothing of
//! corpora, prompts' contents or routing.

pub mod decoder;
pub mod encoder;
mod fingerprint;
pub mod hub;
pub mod language;
