//! Hashes that identify the models and settings that measurements depend on.

use sha2::{Digest, Sha256};

/// The fingerprint of several texts together, in the order given: 32 hexadecimal digits. Texts are
/// hashed with their lengths, so that no two lists of texts look alike.
pub fn fingerprint_of_texts(texts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for text in texts {
        hash.update((text.len() as u64).to_le_bytes());
        hash.update(text);
    }
    let digest = hash.finalize();
    digest[..16].iter().map(|b| format!("{b:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_told_apart_by_where_they_end() {
        let of = fingerprint_of_texts;
        assert_eq!(of(&["a", "bc"]), of(&["a", "bc"]));
        assert_ne!(of(&["a", "bc"]), of(&["ab", "c"]));
    }
}
