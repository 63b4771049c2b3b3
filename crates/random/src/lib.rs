//! SplitMix64: seeded random numbers that are equal on every machine and in every version, so that
//! a sample, a training run or a build with a seed can be reproduced.
//!
//! ```
//! let mut state = 7;
//! let mut names = ["Ada", "Ben", "Cleo", "Dov"];
//! ken_random::shuffle(&mut names, 2, &mut state);
//! let mut again = ["Ada", "Ben", "Cleo", "Dov"];
//! ken_random::shuffle(&mut again, 2, &mut 7);
//! assert_eq!(names, again);
//! ```

/// The increment of the state. Its multiples are far apart, so that consecutive integers times it seed
/// independent sequences.
pub const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// Mixes `bits` so that every output bit depends on every input bit.
pub fn mixed(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

/// The next number.
pub fn next(state: &mut u64) -> u64 {
    *state = state.wrapping_add(STEP);
    mixed(*state)
}

/// An integer below `limit`; 0 if that is 0.
pub fn below(state: &mut u64, limit: usize) -> usize {
    ((u128::from(next(state)) * limit as u128) >> 64) as usize
}

/// A number in `[0, 1)`.
pub fn unit(state: &mut u64) -> f64 {
    (next(state) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Replaces the first `count` items by a random draw from all items (Fisher-Yates).
pub fn shuffle<T>(items: &mut [T], count: usize, state: &mut u64) {
    for chosen in 0..count.min(items.len()) {
        let offset = below(state, items.len() - chosen);
        items.swap(chosen, chosen + offset);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        let mut state = 1_234_567;
        let numbers = [(); 3].map(|()| next(&mut state));
        assert_eq!(
            numbers,
            [
                6_457_827_717_110_365_317,
                3_203_168_211_198_807_973,
                9_817_491_932_198_370_423
            ]
        );
    }

    #[test]
    fn numbers_stay_in_their_range() {
        let mut state = 7;
        assert_eq!(below(&mut state, 0), 0);
        let mut items: Vec<usize> = (0..50).collect();
        shuffle(&mut items, 50, &mut state);
        assert!(!items.is_sorted());
        items.sort_unstable();
        assert!(items.into_iter().eq(0..50));
        for limit in 1..100 {
            assert!(below(&mut state, limit) < limit);
            assert!((0.0..1.0).contains(&unit(&mut state)));
        }
    }
}
