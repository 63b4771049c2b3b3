//! The one split of questions. It depends only on a question's subject, so that training and evaluation never share a
//! subject, and everything that is trained, calibrated or evaluated with the same share held out leaves out the same
//! questions, in any file and order. It has no seed.

use std::collections::HashSet;

use ken_answer::chance;
use ken_language::fingerprint_of_texts;

/// Something with a subject.
pub trait AboutSubject {
    /// The subject in the question's metadata, else the words of the question.
    fn subject(&self) -> &str;
}

/// A pseudo-random number in `[0, 1)` derived from a subject's words. Subjects below a share are held out.
pub fn place_in_split(subject: &str) -> f64 {
    let words = subject.trim().to_lowercase();
    let digest = fingerprint_of_texts(&[&words]);
    let number = u32::from_str_radix(&digest[..digest.len().min(8)], 16).unwrap_or(0);
    f64::from(number) / (f64::from(u32::MAX) + 1.0)
}

/// Whether this is in the held-out share, which is not used for training or calibration.
pub fn is_held_out(item: &impl AboutSubject, share: f64) -> bool {
    place_in_split(item.subject()) < share
}

/// For each question, whether nothing was taught about its subject: `[questions]`. A taught question teaches about
/// its subject, and so about all questions on that subject.
pub fn untaught<T>(
    questions: &[T],
    subject: impl Fn(&T) -> &str,
    is_taught: impl Fn(&T) -> bool,
) -> Vec<bool> {
    let words = |q: &T| subject(q).trim().to_lowercase();
    let taught = questions.iter().filter(|q| is_taught(q)).map(words);
    let taught: HashSet<String> = taught.collect();
    let each = questions.iter();
    each.map(|q| !taught.contains(&words(q))).collect()
}

/// The half of a subject, 0 or 1, for choosing the thresholds of one half on the other. It is independent of the
/// held-out share, which is halved evenly too.
pub fn half(seed: u64, subject: &str) -> usize {
    usize::from(chance(seed, subject.trim()) >= 0.5)
}

/// The shares of questions that a training holds out and validates on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Split {
    /// The share of all questions that is held out for evaluation.
    pub held_out: f64,
    /// The share of the others that validates.
    pub validation: f64,
}

impl Split {
    /// Whether this is not held out.
    pub fn keeps(self, item: &impl AboutSubject) -> bool {
        !is_held_out(item, self.held_out)
    }

    /// Whether this, which is not held out, validates.
    pub fn validates(self, item: &impl AboutSubject) -> bool {
        let share = self.held_out + self.validation * (1.0 - self.held_out);
        is_held_out(item, share)
    }
}

/// A held-out share that differs between trainings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Fold {
    /// The share, in `(0, 1)`.
    pub share: f64,
    /// The number of the training. Number 0 holds out what [`is_held_out`] does, and each other number the next
    /// share, wrapping around at 1.
    pub number: usize,
}

impl Fold {
    /// Whether a subject is held out.
    pub fn holds_out(self, subject: &str) -> bool {
        let begin = self.number as f64 * self.share;
        (place_in_split(subject) - begin).rem_euclid(1.0) < self.share
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct About(String);

    impl AboutSubject for About {
        fn subject(&self) -> &str {
            &self.0
        }
    }

    fn abouts() -> Vec<About> {
        (0..2000).map(|n| About(format!("town {n}"))).collect()
    }

    #[test]
    fn places_are_even_and_follow_from_words_alone() {
        let held = abouts()
            .iter()
            .filter(|one| is_held_out(*one, 0.25))
            .count();
        assert!((440..560).contains(&held), "{held}");
        for n in 0..50 {
            let place = place_in_split(&format!("who is {n}"));
            assert_eq!(place_in_split(&format!(" Who IS {n} ")), place);
            assert!((0.0..1.0).contains(&place));
        }
    }

    #[test]
    fn what_is_held_out_is_in_both_halves() {
        for seed in 0..3 {
            let held = abouts().into_iter().filter(|one| is_held_out(one, 0.5));
            let halves: Vec<usize> = held.map(|one| half(seed, &one.0)).collect();
            let second = halves.iter().sum::<usize>() as f64 / halves.len() as f64;
            assert!((0.44..0.56).contains(&second), "{second}");
        }
    }

    #[test]
    fn a_training_learns_validates_or_leaves_out() {
        let split = Split {
            held_out: 0.4,
            validation: 0.5,
        };
        let (kept, left): (Vec<_>, Vec<_>) = abouts().into_iter().partition(|one| split.keeps(one));
        assert!(left.iter().all(|one| is_held_out(one, 0.4)));
        let validating = kept.iter().filter(|one| split.validates(*one)).count();
        assert!((520..680).contains(&validating), "{validating}");
    }

    #[test]
    fn one_taught_question_gives_away_its_subject() {
        let asked = [("Ida", 1), ("Bo", 2), (" ida", 3), ("Cy", 4), ("Bo", 5)];
        let untaught =
            |taught: &[usize]| super::untaught(&asked, |one| one.0, |one| taught.contains(&one.1));
        assert_eq!(untaught(&[3]), [false, true, false, true, true]);
        assert_eq!(untaught(&[2, 4]), [true, false, true, false, false]);
        assert_eq!(untaught(&[]), [true; 5]);
    }

    #[test]
    fn folds_follow_one_another() {
        let fold = |number| Fold { share: 0.3, number };
        let mut held = [0; 4];
        for one in abouts() {
            assert_eq!(fold(0).holds_out(&one.0), is_held_out(&one, 0.3));
            let out: Vec<bool> = (0..4)
                .map(|number| fold(number).holds_out(&one.0))
                .collect();
            assert!(out[..3].iter().filter(|out| **out).count() <= 1, "{out:?}");
            for (held, out) in held.iter_mut().zip(out) {
                *held += usize::from(out);
            }
        }
        for held in held {
            assert!((540..660).contains(&held), "{held}");
        }
    }
}
