//! Fingerprints of models' files: a hash of all their bytes, and of everything else that affects results. They do not
//! protect against forgery.

use ken_storage::{ReadAt, StorageError};
use rayon::prelude::*;

/// Hexadecimal digits of a fingerprint.
const DIGITS: usize = 32;
/// Bytes that one thread hashes at a time.
const CHUNK_BYTES: u64 = 1 << 20;

/// The fingerprint of several files in this order. Uses all threads.
///
/// # Errors
/// A file that cannot be read.
pub(crate) fn of_files(files: &[&ReadAt]) -> Result<String, StorageError> {
    let mut hash = blake3::Hasher::new();
    for file in files {
        digest(file, &mut hash)?;
    }
    Ok(written(&hash))
}

/// A fingerprint extended by parts. They are hashed with their lengths, so that different lists of parts never look
/// alike.
pub(crate) fn extended(fingerprint: &str, parts: &[&[u8]]) -> String {
    let mut hash = blake3::Hasher::new();
    for bytes in [&[fingerprint.as_bytes()], parts].concat() {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    }
    written(&hash)
}

fn written(hash: &blake3::Hasher) -> String {
    hash.finalize().to_hex()[..DIGITS].to_owned()
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(contents: &[&[u8]]) -> String {
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
        of_files(&files.iter().collect::<Vec<_>>()).unwrap()
    }

    #[test]
    fn every_byte_counts() {
        let base = vec![1u8; 3_000_000];
        let mut seen = vec![of(&[&base]), of(&[&base[1..]]), of(&[&base, b""])];
        for at in [0, 40_000, 1 << 20, 2_999_999] {
            let mut changed = base.clone();
            changed[at] = 2;
            seen.push(of(&[&changed]));
        }
        seen.push(extended(&seen[0], &[b"tokenizer"]));
        seen.push(extended(&seen[0], &[b"token", b"izer"]));
        assert!(seen.iter().all(|print| print.len() == DIGITS));
        let count = seen.len();
        seen.sort_unstable();
        seen.dedup();
        assert_eq!(seen.len(), count);
        assert_eq!(of(&[&base]), of(&[&base]));
    }
}
