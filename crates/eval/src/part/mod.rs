//! Runs in parts: each of several jobs works on its part of the items and writes the records to a folder of its own
//! ([`PartFolder`]), and [`Parts`] joins these. The record of an item depends on no other item of its round, and a
//! round begins after the joined one before, so the joined files equal those of one run. Callers define the items and
//! the work.

mod error;
mod folder;
mod join;

pub use error::PartError;
pub use folder::{PartFolder, PartedRun, is_part};
pub use join::{JoinedFile, Parts};
pub use ken_corpus::{NotPart, Part};

/// The fingerprint of several items together from those of single items, or of parts; their order does not matter.
/// Each is a hexadecimal number of 128 bits; texts that are not are left out.
pub fn joined_fingerprint<'a>(fingerprints: impl IntoIterator<Item = &'a str>) -> String {
    let numbers = fingerprints
        .into_iter()
        .filter_map(|fingerprint| u128::from_str_radix(fingerprint, 16).ok());
    let joined = numbers.fold(0, |joined, number| joined ^ number);
    format!("{joined:032x}")
}

#[cfg(test)]
mod tests;
