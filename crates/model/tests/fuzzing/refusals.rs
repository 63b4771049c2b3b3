//! Mutations of valid text, of which a reader understands some and refuses the others.

use crate::mutate;

/// Reads seeds, which are understood unless they hold an error, and mutations of each, of which some
/// are understood and some are refused.
pub(crate) fn understood_or_refused(seeds: &[&str], mutations: u64, read: impl Fn(&[u8]) -> usize) {
    let mut understood = 0;
    for (place, seed) in seeds.iter().enumerate() {
        let is_error = seed.contains("error");
        assert_eq!(read(seed.as_bytes()) > 0, !is_error, "seed {place}");
        for number in 0..mutations {
            understood += u64::from(read(&mutate::mutated(seed.as_bytes(), number)) > 0);
        }
    }
    // Both ends are reached: changes that matter and changes that do not.
    let cases = mutations * seeds.len() as u64;
    assert!(
        (cases / 20..cases * 9 / 10).contains(&understood),
        "{understood} of {cases}"
    );
}
