//! Which samples are answers, and whether there are enough of them to measure anything.

use crate::sample::Sample;

/// The samples that are answers, each with its answer type. `None` if they are fewer than two or fewer than half of
/// the samples.
///
/// A sample that is empty, was cut off before its line ended, was refused or filtered, or called a tool is not an
/// answer. Counting it as one would make any two of them agree, and a silent model look certain. If most samples are
/// not answers, the rest is left to chance, and a single answer has no other to agree with.
///
/// # Shapes
/// `types`: `[samples]`. Returns two lists of equal length.
pub fn answers<'s>(
    samples: &'s [Sample],
    types: &[usize],
) -> Option<(Vec<&'s Sample>, Vec<usize>)> {
    let pairs = samples.iter().zip(types.iter().copied());
    let (answers, types): (Vec<_>, Vec<_>) = pairs.filter(|(sample, _)| sample.is_answer()).unzip();
    let are_enough = answers.len() >= 2 && 2 * answers.len() >= samples.len();
    are_enough.then_some((answers, types))
}

#[cfg(test)]
mod tests {
    use ken_testing::with;

    use super::*;

    #[test]
    fn half_of_the_samples_have_to_be_answers_and_two_at_least() {
        let answers_of = |given: usize, drawn: usize| {
            let samples: Vec<Sample> = (0..drawn)
                .map(|index| with!(Sample::default(), text: if index < given { "owl" } else { " " }.to_owned()))
                .collect();
            answers(&samples, &vec![0; drawn]).map(|(answers, _)| answers.len())
        };
        assert_eq!(answers_of(5, 10), Some(5));
        assert_eq!(answers_of(4, 10), None);
        assert_eq!(answers_of(3, 5), Some(3));
        assert_eq!(answers_of(2, 2), Some(2));
        for (given, drawn) in [(0, 0), (0, 10), (1, 1), (1, 2), (2, 5)] {
            assert_eq!(answers_of(given, drawn), None, "{given} of {drawn}");
        }
    }
}
