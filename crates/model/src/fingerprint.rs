//! Fingerprints that identify models: by all bytes of their weights, or by their names.
//!
//! A fingerprint of files is a text of two halves, `SAMPLED-WHOLE`. The first is a hash of the
//! sizes and of samples; corpora, records and heads of earlier versions hold only this half, which
//! misses a change between the samples. The second is a hash of all bytes.
//! [`ken_storage::same_fingerprint`] compares fingerprints, by the first half where one lacks the
//! second.

use std::fmt;

use ken_language::fingerprint_of_texts;
use ken_storage::{ReadAt, StorageError, WHOLE_DIGITS};
use rayon::prelude::*;
use sha2::{Digest, Sha256};

/// Samples taken of a file.
const SAMPLES: u64 = 64;
/// Bytes of a sample.
const SAMPLE_BYTES: u64 = 16 * 1024;
/// Bytes that one thread hashes at a time.
const CHUNK_BYTES: u64 = 1 << 20;

/// A fingerprint of files, in both its halves.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fingerprint {
    pub(crate) sampled: String,
    pub(crate) whole: String,
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.sampled, self.whole)
    }
}

impl Fingerprint {
    /// Of several files in this order. Uses all threads.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn of_files(files: &[&ReadAt]) -> Result<Self, StorageError> {
        Self::of_files_among(files, files)
    }

    /// As [`Fingerprint::of_files`], with the first half from samples of other files.
    ///
    /// # Errors
    /// A file that cannot be read.
    pub(crate) fn of_files_among(
        files: &[&ReadAt],
        sampled_files: &[&ReadAt],
    ) -> Result<Self, StorageError> {
        let mut sampled = Sha256::new();
        for file in sampled_files {
            sample(file, &mut sampled)?;
        }
        let mut whole = blake3::Hasher::new();
        for file in files {
            digest(file, &mut whole)?;
        }
        Ok(Self {
            sampled: hex(&sampled.finalize()[..16]),
            whole: hex(&whole.finalize().as_bytes()[..WHOLE_DIGITS / 2]),
        })
    }

    /// Extended by texts in both halves.
    pub(crate) fn and(&self, texts: &[&str]) -> Self {
        let with = |half: &str| fingerprint_of_texts(&[&[half], texts].concat());
        Self {
            sampled: with(&self.sampled),
            whole: with(&self.whole),
        }
    }

    /// Combined with the fingerprint of something else.
    pub(crate) fn and_of(&self, other: &Self) -> Self {
        Self {
            sampled: fingerprint_of_texts(&[&self.sampled, &other.sampled]),
            whole: fingerprint_of_texts(&[&self.whole, &other.whole]),
        }
    }

    /// Extended in the second half by what the first one has always left out.
    pub(crate) fn and_whole(self, parts: &[&[u8]]) -> Self {
        let mut hash = blake3::Hasher::new();
        for bytes in [&[self.whole.as_bytes()], parts].concat() {
            hash.update(&(bytes.len() as u64).to_le_bytes());
            hash.update(bytes);
        }
        Self {
            whole: hex(&hash.finalize().as_bytes()[..WHOLE_DIGITS / 2]),
            ..self
        }
    }
}

/// Hashes a file's size and evenly spaced samples, first and last bytes included.
fn sample(file: &ReadAt, hash: &mut Sha256) -> Result<(), StorageError> {
    let bytes = file.length();
    hash.update(bytes.to_le_bytes());
    let last = bytes.saturating_sub(SAMPLE_BYTES);
    let mut sample = vec![0; SAMPLE_BYTES.min(bytes) as usize];
    for i in 0..SAMPLES {
        let offset = (last as u128 * u128::from(i) / u128::from(SAMPLES - 1)) as u64;
        file.read_into(offset, &mut sample)?;
        hash.update(&sample);
    }
    Ok(())
}

/// Hashes all bytes of a file: its length and the hashes of its chunks.
fn digest(file: &ReadAt, hash: &mut blake3::Hasher) -> Result<(), StorageError> {
    let length = file.length();
    hash.update(&length.to_le_bytes());
    let chunks: Vec<blake3::Hash> = (0..length.div_ceil(CHUNK_BYTES))
        .into_par_iter()
        .map_init(Vec::new, |bytes, chunk| {
            let start = chunk * CHUNK_BYTES;
            bytes.resize(CHUNK_BYTES.min(length - start) as usize, 0);
            file.read_into(start, bytes)?;
            Ok(blake3::hash(bytes))
        })
        .collect::<Result<_, StorageError>>()?;
    for chunk in chunks {
        hash.update(chunk.as_bytes());
    }
    Ok(())
}

/// Hashes one part with its length, so that no two lists of parts look alike.
pub(crate) fn part(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use ken_storage::same_fingerprint as same_model;

    use super::*;

    fn of(contents: &[&[u8]]) -> Fingerprint {
        let folder = tempfile::tempdir().unwrap();
        let files: Vec<ReadAt> = contents
            .iter()
            .enumerate()
            .map(|(i, content)| {
                let path = folder.path().join(i.to_string());
                std::fs::write(&path, content).unwrap();
                ReadAt::open(&path, None).unwrap()
            })
            .collect();
        Fingerprint::of_files(&files.iter().collect::<Vec<_>>()).unwrap()
    }

    /// What earlier versions wrote into corpora, records and heads.
    #[test]
    fn the_first_half_is_the_fingerprint_of_earlier_versions() {
        let content: Vec<u8> = (0..3_000_001).map(|i| (i * 31 % 251) as u8).collect();
        let mut hash = Sha256::new();
        hash.update((content.len() as u64).to_le_bytes());
        for i in 0..64u128 {
            let from = ((content.len() - 16384) as u128 * i / 63) as usize;
            hash.update(&content[from..from + 16384]);
        }
        let earlier = hex(&hash.finalize()[..16]);
        let now = of(&[&content]);
        assert_eq!(now.sampled, earlier);
        assert!(same_model(&earlier, &now.to_string()));
        let derived = now.and(&["bare"]);
        assert!(same_model(
            &fingerprint_of_texts(&[&earlier, "bare"]),
            &derived.to_string()
        ));
    }

    #[test]
    fn every_byte_counts() {
        let base = vec![1u8; 3_000_000];
        let mut seen = vec![of(&[&base]), of(&[&base[1..]]), of(&[&base, b""])];
        // The second lies between two samples.
        for at in [0, 40_000, 1 << 20, 2_999_999] {
            let mut changed = base.clone();
            changed[at] = 2;
            seen.push(of(&[&changed]));
        }
        assert_eq!(seen[0].sampled, seen[4].sampled);
        assert!(!same_model(&seen[0].to_string(), &seen[4].to_string()));
        seen.push(seen[0].clone().and_whole(&[b"tokenizer"]));
        seen.push(seen[0].and(&["tokenizer"]));
        let mut whole: Vec<&str> = seen.iter().map(|print| print.whole.as_str()).collect();
        whole.sort_unstable();
        whole.dedup();
        assert_eq!(whole.len(), seen.len());
    }
}
