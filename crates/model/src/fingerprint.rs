//! Telling models apart: by their weights, quickly enough to do at every load, or by their names.

use std::fs::File;
use std::io::{Read, Result, Seek, SeekFrom};
use std::path::PathBuf;

use sha2::{Digest, Sha256};

/// Samples taken of a file.
const SAMPLES: u64 = 64;
/// Bytes of a sample.
const SAMPLE_BYTES: u64 = 16 * 1024;

/// The offsets at which a file of this many bytes is sampled, first and last bytes included.
fn offsets(bytes: u64) -> impl Iterator<Item = u64> {
    let last = bytes.saturating_sub(SAMPLE_BYTES);
    (0..SAMPLES).map(move |i| (last as u128 * u128::from(i) / u128::from(SAMPLES - 1)) as u64)
}

/// The fingerprint of a file's content: its size and evenly spread samples, as 32 hex digits.
#[must_use]
pub(crate) fn of_bytes(content: &[u8]) -> String {
    let mut hash = Sha256::new();
    hash.update((content.len() as u64).to_le_bytes());
    for offset in offsets(content.len() as u64) {
        let from = offset as usize;
        let to = content.len().min(from + SAMPLE_BYTES as usize);
        hash.update(&content[from..to]);
    }
    hex(&hash.finalize()[..16])
}

/// The fingerprint of several files together, in the order given.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn of_files(files: &[PathBuf]) -> Result<String> {
    let mut hash = Sha256::new();
    for path in files {
        let mut file = File::open(path)?;
        let bytes = file.metadata()?.len();
        hash.update(bytes.to_le_bytes());
        for offset in offsets(bytes) {
            file.seek(SeekFrom::Start(offset))?;
            let mut sample = Vec::with_capacity(SAMPLE_BYTES as usize);
            file.by_ref().take(SAMPLE_BYTES).read_to_end(&mut sample)?;
            hash.update(&sample);
        }
    }
    Ok(hex(&hash.finalize()[..16]))
}

/// The fingerprint of several texts together, in the order given.
#[must_use]
pub fn of_texts(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        part(&mut hash, text.as_bytes());
    }
    hex(&hash.finalize()[..16])
}

/// Adds one part with its length, so that no two lists of parts look alike.
pub(crate) fn part(hash: &mut Sha256, bytes: &[u8]) {
    hash.update((bytes.len() as u64).to_le_bytes());
    hash.update(bytes);
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_and_its_bytes_have_one_fingerprint() {
        let folder = tempfile::tempdir().unwrap();
        for size in [0usize, 10, 16 * 1024, 3_000_001] {
            let content: Vec<u8> = (0..size).map(|i| (i * 31 % 251) as u8).collect();
            let path = folder.path().join("weights");
            std::fs::write(&path, &content).unwrap();
            assert_eq!(of_bytes(&content), of_files(&[path]).unwrap());
        }
    }

    #[test]
    fn texts_are_told_apart_by_where_they_end() {
        assert_eq!(of_texts(&["a", "bc"]), of_texts(&["a", "bc"]));
        assert_ne!(of_texts(&["a", "bc"]), of_texts(&["ab", "c"]));
    }

    #[test]
    fn size_start_and_end_matter() {
        let base = vec![1u8; 100_000];
        let mut seen = vec![of_bytes(&base), of_bytes(&base[1..])];
        for at in [0, 99_999] {
            let mut changed = base.clone();
            changed[at] = 2;
            seen.push(of_bytes(&changed));
        }
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 4);
    }
}
