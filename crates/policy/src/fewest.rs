//! The fewest questions that are enough for a test: doubling, then bisection.

/// The fewest, up to about `most`, for which `are_enough` holds. Rounding may make it not quite monotonic; bisecting the
/// last doubling is close enough.
pub fn fewest(most: usize, are_enough: impl Fn(usize) -> bool) -> Option<usize> {
    let doubled = std::iter::successors(Some(1_usize), |count| count.checked_mul(2));
    let mut within = doubled.take_while(|count| *count <= most);
    let mut high = within.find(|count| are_enough(*count))?;
    let mut low = high / 2;
    while low + 1 < high {
        let middle = low.midpoint(high);
        match are_enough(middle) {
            true => high = middle,
            false => low = middle,
        }
    }
    Some(high)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fewest_are_found_up_to_the_largest_power_of_two() {
        for least in [0, 1, 2, 3, 5, 63, 64] {
            assert_eq!(fewest(100, |count| count >= least), Some(least.max(1)));
        }
        // 64 is the last that is tried.
        assert_eq!(fewest(100, |count| count >= 65), None);
        assert_eq!(fewest(0, |_| true), None);
    }
}
