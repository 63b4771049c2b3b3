//! Random numbers that are the same on every machine and in every version: SplitMix64.

/// The next number.
pub(crate) fn split_mix(state: &mut u64) -> u64 {
    *state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
    let mut z = *state;
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// A whole number below `limit`; 0 where that is 0.
pub(crate) fn below(state: &mut u64, limit: usize) -> usize {
    ((u128::from(split_mix(state)) * limit as u128) >> 64) as usize
}

/// A number in `[0, 1)`.
pub(crate) fn unit(state: &mut u64) -> f64 {
    (split_mix(state) >> 11) as f64 / (1_u64 << 53) as f64
}

/// Puts the first `count` places in random order, drawn from all (Fisher and Yates).
pub(crate) fn shuffle<T>(items: &mut [T], count: usize, state: &mut u64) {
    for chosen in 0..count.min(items.len()) {
        let offset = below(state, items.len() - chosen);
        items.swap(chosen, chosen + offset);
    }
}
