//! Which samples are answers, and how many of them have to be for them to tell anything.

use crate::sample::Sample;

/// The samples that are answers, each with the number of its answer type. `None` where these tell nothing: fewer
/// than half of what was drawn, or fewer than two.
///
/// A sample without an answer is none: it is empty, was cut off before its line ended, refused or filtered, or a
/// tool was called. To count it as an answer of its own would call any two of them alike, and a model that says
/// nothing sure. Where most say nothing, the rest is chance; and one alone agrees with nobody.
///
/// # Shapes
/// `types`: `[samples]`. Returns both of the same length.
#[must_use]
pub fn answers<'s>(
    samples: &'s [Sample],
    types: &[usize],
) -> Option<(Vec<&'s Sample>, Vec<usize>)> {
    let each = samples.iter().zip(types.iter().copied());
    let (answers, types): (Vec<_>, Vec<_>) = each.filter(|(one, _)| one.is_answer()).unzip();
    let are_enough = answers.len() >= 2 && 2 * answers.len() >= samples.len();
    are_enough.then_some((answers, types))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_of_the_samples_have_to_be_answers_and_two_at_least() {
        let answers_of = |given: usize, drawn: usize| {
            let samples: Vec<Sample> = (0..drawn)
                .map(|at| Sample {
                    text: if at < given { "owl" } else { " " }.to_owned(),
                    ..Sample::default()
                })
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
