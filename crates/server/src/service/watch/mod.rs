//! The guarantee of a calibrated policy, and whether it still holds. The server draws a share of the questions that
//! the policy answers, and checks them. Where little loss is promised, it answers those that did not retrieve with
//! retrieval as well. Where few errors among the given answers are promised, it checks whether the answer is right;
//! withheld ones do not count. Losses or errors go to a test whose false alarms are bounded however long it runs
//! (`ken_policy::LossTest`). When the test rejects, the server always retrieves, and withholds as before.
//!
//! Besides, the scores of all questions that the policy decides on are compared with those of calibration
//! (`ken_policy::DriftTest`). Questions that have changed need not lose anything, so the server only reports it.

pub(crate) mod comparison;
mod fit;
mod state;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use ken_answer::Policy;
use ken_policy::{DriftTest, Guarantee, LossTest, Promise};
use ken_random::{STEP, mixed, unit};
use ken_storage::StorageError;
use tokio::sync::Semaphore;

use self::comparison::Remembered;
pub use self::fit::NotGuaranteed;
pub(crate) use self::fit::Now;
use self::state::{Kept, Lapse};
use crate::lock::lock;

/// The probability of a false alarm, ever, over all tests of a promise; also that of the one test of drift.
pub(crate) const FALSE_ALARM: f64 = 0.05;

/// How many scores are taken before they are written; after a crash, the last few are lost.
const SCORES_PER_WRITE: u64 = 16;

/// What can be tested.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Test {
    /// Whether both answers agree. If they do, nothing was lost.
    Agreement,
    /// Which of them is right, if a person says so.
    Correctness,
    /// Which of them is right by a judge, if there is one.
    Judge,
}

impl Test {
    /// The tests of a promise. Whether two answers agree says nothing of errors: both can be wrong.
    pub(crate) fn of(promise: &Promise) -> &'static [Self] {
        match promise {
            Promise::Loss { .. } => &[Self::Agreement, Self::Correctness, Self::Judge],
            Promise::Error { .. } => &[Self::Correctness, Self::Judge],
        }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Agreement => "agreement",
            Self::Correctness => "correctness",
            Self::Judge => "judge",
        }
    }
}

/// Whether a guarantee holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// Nothing speaks against it.
    Holds,
    /// More was lost than it allows.
    Lapsed,
    /// The corpus is no longer in the state of the calibration. Losses are still watched.
    OtherCorpus,
}

impl Standing {
    pub(crate) const ALL: [Self; 3] = [Self::Holds, Self::Lapsed, Self::OtherCorpus];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Lapsed => "lapsed",
            Self::OtherCorpus => "other_corpus",
        }
    }
}

/// A question that was drawn to be checked.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Drawn {
    /// Its number among all questions of the policy, from 1.
    pub(crate) number: u64,
    /// The probability with which each is drawn.
    pub(crate) propensity: f64,
}

/// The result of a test after a loss.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TestOutcome {
    pub(crate) test: Test,
    pub(crate) limit: f64,
    pub(crate) mean: f64,
    pub(crate) observed: u64,
    pub(crate) evidence: f64,
    /// Whether the guarantee lapsed by this loss.
    pub(crate) lapses: bool,
}

/// How recent scores compare with those of calibration.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Drift {
    pub(crate) test: DriftTest,
    /// After how many questions drift was found.
    pub(crate) after: Option<u64>,
}

/// The most questions that wait for a check.
const MOST_WAITING: usize = 64;

/// Watches a guarantee.
pub(crate) struct Watch {
    pub(crate) guarantee: Guarantee,
    /// The guarantee's policy.
    pub(crate) policy: Policy,
    /// The share of questions that are drawn.
    pub(crate) share: f64,
    seed: u64,
    /// The file of the findings; `None` to keep them in memory only.
    file: Option<PathBuf>,
    kept: Mutex<Kept>,
    remembered: Mutex<Remembered>,
    /// Places for questions that wait for a check.
    pub(crate) waiting: Arc<Semaphore>,
}

impl Watch {
    /// Watches a guarantee, and goes on from a file's findings about the same one. A file with none is overwritten.
    ///
    /// # Errors
    /// A guarantee that does not fit what is served. A corpus that has changed since the guarantee was first watched
    /// is no error: a server must be able to restart after that.
    pub(crate) fn new(
        guarantee: Guarantee,
        now: Now<'_>,
        (share, seed): (f64, u64),
        file: Option<PathBuf>,
    ) -> Result<Self, NotGuaranteed> {
        now.check(&guarantee)?;
        let kept = file.as_deref().and_then(Kept::read);
        let kept = kept.filter(|kept| kept.is_of(&guarantee));
        if kept.is_none() && Some(guarantee.calibrated_on.corpus.as_str()) != now.corpus {
            return Err(NotGuaranteed::OtherCorpus);
        }
        Ok(Self {
            kept: Mutex::new(kept.unwrap_or_else(|| Kept::new(&guarantee))),
            guarantee,
            policy: now.policy,
            share,
            seed,
            file,
            remembered: Mutex::default(),
            waiting: Arc::new(Semaphore::new(MOST_WAITING)),
        })
    }

    /// Stops storing findings: the file is another server's.
    pub(crate) fn keeping_nothing(self) -> Self {
        Self { file: None, ..self }
    }

    /// Whether both watch the same guarantee on the same questions.
    pub(crate) fn is_of_same(&self, other: &Self) -> bool {
        self.guarantee == other.guarantee && (self.share, self.seed) == (other.share, other.seed)
    }

    /// The recent drawn questions.
    pub(crate) fn remembered(&self) -> MutexGuard<'_, Remembered> {
        lock(&self.remembered)
    }

    /// Writes the findings so far to the file, if there is one.
    ///
    /// # Errors
    /// A file that cannot be written. Watching goes on in memory.
    pub(crate) fn write(&self) -> Result<(), StorageError> {
        match &self.file {
            // Under the lock, so that a later state is written later.
            Some(file) => self.with(|kept| kept.write(file)),
            None => Ok(()),
        }
    }

    /// Whether more was lost than is guaranteed, so that the policy cannot be relied on.
    pub(crate) fn has_lapsed(&self) -> bool {
        self.with(|kept| kept.lapse.is_some())
    }

    fn with<T>(&self, work: impl FnOnce(&mut Kept) -> T) -> T {
        work(&mut lock(&self.kept))
    }

    /// The standing of the guarantee, for answers over a corpus with this fingerprint.
    pub(crate) fn standing(&self, corpus: Option<&str>) -> Standing {
        if self.has_lapsed() {
            Standing::Lapsed
        } else if corpus != Some(self.guarantee.calibrated_on.corpus.as_str()) {
            Standing::OtherCorpus
        } else {
            Standing::Holds
        }
    }

    /// Counts a question that the policy decided on, and says whether it is drawn, which follows from the seed and
    /// the number alone.
    pub(crate) fn draw(&self, request_id: &str, key: Option<&str>) -> Option<Drawn> {
        let number = self.with(|kept| {
            kept.questions += 1;
            kept.questions
        });
        let mut state = mixed(self.seed ^ number.wrapping_mul(STEP));
        if unit(&mut state) >= self.share {
            return None;
        }
        self.remembered().add(request_id, key);
        Some(Drawn {
            number,
            propensity: self.share,
        })
    }

    /// Takes a loss, in `[0, 1]`, of a drawn question; in memory, until it is written.
    pub(crate) fn observe(&self, test: Test, loss: f64) -> TestOutcome {
        self.with(|kept| {
            let tested = kept.test(test);
            let evidence = tested.observe(loss);
            let finding = TestOutcome {
                test,
                limit: tested.limit(),
                mean: tested.mean().unwrap_or_default(),
                observed: tested.observed(),
                evidence,
                lapses: false,
            };
            // The tests share the allowed false alarms.
            let rejects = tested.rejects(1.0 / self.rejects_at());
            let lapses = rejects && kept.lapse.is_none();
            if lapses {
                kept.lapse = Some(Lapse {
                    test: test.name().to_owned(),
                    mean: finding.mean,
                    observed: finding.observed,
                });
            }
            TestOutcome { lapses, ..finding }
        })
    }

    /// Takes what the policy measured for a question; in memory, until it is written. Returns how scores compare,
    /// when they are first found to have drifted, and whether it is time to write.
    pub(crate) fn score(&self, score: f64) -> (Option<Drift>, bool) {
        self.with(|kept| {
            let Some(test) = &mut kept.drift else {
                return (None, false);
            };
            let number = test.observed() + 1;
            let mut state = mixed(!self.seed ^ number.wrapping_mul(STEP));
            test.observe(score, unit(&mut state));
            let is_first = kept.drifted_after.is_none() && test.rejects(FALSE_ALARM);
            if is_first {
                kept.drifted_after = Some(number);
            }
            let drift = Drift {
                test: test.clone(),
                after: kept.drifted_after,
            };
            let is_time = is_first || number.is_multiple_of(SCORES_PER_WRITE);
            (is_first.then_some(drift), is_time)
        })
    }

    /// How recent scores compare; `None` if the guarantee holds none of calibration.
    pub(crate) fn drift(&self) -> Option<Drift> {
        self.with(|kept| {
            Some(Drift {
                test: kept.drift.clone()?,
                after: kept.drifted_after,
            })
        })
    }

    /// The evidence at which one of the tests of the promise rejects.
    pub(crate) fn rejects_at(&self) -> f64 {
        Test::of(&self.guarantee.promise).len() as f64 / FALSE_ALARM
    }

    /// All tests of the promise in their current state.
    pub(crate) fn tests(&self) -> Vec<(Test, LossTest)> {
        let tests = Test::of(&self.guarantee.promise).iter();
        self.with(|kept| {
            tests
                .map(|test| (*test, kept.test(*test).clone()))
                .collect()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ken_policy::Rule;

    fn guarantee(max_loss: f64) -> Guarantee {
        let mut guarantee = ken_testing::guarantee("m", "c");
        if let Promise::Loss {
            max_loss: allowed,
            measured,
        } = &mut guarantee.promise
        {
            *allowed = max_loss;
            // Digits that a reader that rounds would not give back.
            measured.disagreement_bound = 0.1 + 0.2 / 3.0;
        }
        guarantee
    }

    const NOW: Now<'_> = Now {
        policy: Policy {
            retrieve: Rule::above(ken_answer::Signal::CERTAINTY, Some(0.4)),
            ..Policy::ALWAYS
        },
        abstain: None,
        samples: 4,
        model: "m",
        corpus: Some("c"),
        prompt: "p",
    };

    fn watch(file: Option<PathBuf>, max_loss: f64) -> Watch {
        Watch::new(guarantee(max_loss), NOW, (0.25, 9), file).unwrap()
    }

    #[test]
    fn a_share_is_drawn_and_the_same_each_time() {
        let drawn = || {
            let watch = watch(None, 0.02);
            (0..4000)
                .filter_map(|_| watch.draw("r", None))
                .map(|drawn| drawn.number)
                .collect::<Vec<_>>()
        };
        let first = drawn();
        assert_eq!(first, drawn());
        assert!((900..1100).contains(&first.len()), "{}", first.len());
    }

    #[test]
    fn a_guarantee_stands_until_losses_exceed_it_and_a_restart_does_not_help() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("watch.json");
        // Limits that a reader of JSON that rounds would not give back.
        let max_loss = 0.06 / 3.1;
        let watched = watch(Some(file.clone()), max_loss);
        assert_eq!(watched.standing(Some("c")), Standing::Holds);
        assert_eq!(watched.standing(Some("d")), Standing::OtherCorpus);
        for _ in 0..50 {
            assert!(!watched.observe(Test::Agreement, 0.0).lapses);
        }
        watched.write().unwrap();
        let lapsed = (0..2000).map(|_| watched.observe(Test::Correctness, 1.0));
        let lapsed: Vec<bool> = lapsed.map(|finding| finding.lapses).collect();
        assert_eq!(lapsed.iter().filter(|lapses| **lapses).count(), 1);
        assert_eq!(watched.standing(Some("c")), Standing::Lapsed);
        watched.write().unwrap();
        let again = watch(Some(file.clone()), max_loss);
        assert!(again.has_lapsed());
        assert_eq!(again.tests()[0].1.observed(), 50);
        // Another guarantee starts afresh.
        assert!(!watch(Some(file), 0.03).has_lapsed());
    }

    #[test]
    fn scores_that_drift_are_told_of_once_and_the_guarantee_stands() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("watch.json");
        let scored = || {
            let scores = (0..300).map(|score| f64::from(score % 10) / 10.0);
            let guarantee = Guarantee {
                scores: ken_policy::Ranks::of(scores, 1),
                ..guarantee(0.02)
            };
            Watch::new(guarantee, NOW, (0.25, 9), Some(file.clone())).unwrap()
        };
        let watch = scored();
        for score in 0..200 {
            let (drift, is_time) = watch.score(f64::from(score % 10) / 10.0);
            assert_eq!((drift, is_time), (None, (score + 1) % 16 == 0));
        }
        let drifts: Vec<Drift> = (0..300).filter_map(|_| watch.score(0.9).0).collect();
        assert_eq!(drifts.len(), 1);
        let after = drifts[0].after.unwrap();
        assert!((201..260).contains(&after), "{after}");
        assert_eq!(watch.standing(Some("c")), Standing::Holds);
        watch.write().unwrap();
        let again = scored().drift().unwrap();
        assert_eq!((again.test.observed(), again.after), (500, Some(after)));
        // A guarantee without scores of calibration has no drift.
        let without = self::watch(None, 0.02);
        assert_eq!((without.score(0.9), without.drift()), ((None, false), None));
    }

    #[test]
    fn a_guarantee_of_something_else_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("watch.json");
        let refusal = |now: Now<'_>, file: Option<&PathBuf>| {
            let watch = Watch::new(guarantee(0.02), now, (0.25, 9), file.cloned());
            watch.map(|watch| watch.write().unwrap()).err()
        };
        let policy = Policy::ALWAYS;
        let guaranteed = "certainty@0.4".to_owned();
        let other = NotGuaranteed::OtherPolicy {
            guaranteed,
            policy: policy.to_string(),
        };
        assert_eq!(refusal(Now { policy, ..NOW }, None), Some(other));
        let (guaranteed, samples) = (4, 5);
        let other = NotGuaranteed::Samples {
            guaranteed,
            samples,
        };
        assert_eq!(refusal(Now { samples, ..NOW }, None), Some(other));
        let model = Now { model: "n", ..NOW };
        assert_eq!(refusal(model, None), Some(NotGuaranteed::OtherModel));
        let mut other = guarantee(0.02);
        other.calibrated_on.prompt = Some("q".to_owned());
        let watch = |guarantee| Watch::new(guarantee, NOW, (0.25, 9), None).err();
        assert_eq!(watch(other.clone()), Some(NotGuaranteed::OtherPrompt));
        other.calibrated_on.prompt = Some("p".to_owned());
        assert_eq!(watch(other), None);
        let corpus = Now {
            corpus: Some("d"),
            ..NOW
        };
        assert_eq!(
            refusal(corpus, Some(&file)),
            Some(NotGuaranteed::OtherCorpus)
        );
        // A corpus that changed since, while the server goes on from its findings.
        assert_eq!(refusal(NOW, Some(&file)), None);
        assert_eq!(refusal(corpus, Some(&file)), None);
    }

    /// A watch of a promise that at most so many answers given are wrong.
    fn of_answers(limit: f64) -> Watch {
        let mut guarantee = ken_testing::guarantee_of_answers("m", "c", None);
        if let Promise::Error { max_error, .. } = &mut guarantee.promise {
            *max_error = limit;
        }
        Watch::new(guarantee, NOW, (0.25, 9), None).unwrap()
    }

    /// After how many drawn answers, this share of them wrong, the guarantee lapses by these tests; `None` if it does
    /// not within `length`.
    fn lapses(seed: u64, limit: f64, wrong: f64, tests: &[Test], length: usize) -> Option<usize> {
        let (watch, mut state) = (of_answers(limit), seed);
        (1..=length).find(|_| {
            let error = f64::from(u8::from(unit(&mut state) < wrong));
            tests.iter().any(|test| watch.observe(*test, error).lapses)
        })
    }

    #[test]
    fn where_as_many_answers_are_wrong_as_may_be_the_guarantee_rarely_lapses() {
        let tests = [Test::Correctness, Test::Judge];
        for limit in [0.05, 0.1, 0.2] {
            let alarms = (0..1000_u64).filter(|&seed| {
                // By either, or by both on the same answers.
                let tests = &tests[(seed % 2) as usize..];
                lapses(seed, limit, limit, tests, 1500).is_some()
            });
            let alarms = alarms.count();
            assert!(alarms <= 50, "{limit}: {alarms} of 1000");
        }
    }

    #[test]
    fn twice_as_many_wrong_answers_as_may_be_are_noticed() {
        for (limit, within) in [(0.05, 600), (0.1, 300), (0.2, 150)] {
            let noticed = (0..200_u64).filter(|&seed| {
                lapses(seed, limit, 2.0 * limit, &[Test::Correctness], within).is_some()
            });
            let noticed = noticed.count();
            assert!(noticed >= 190, "{limit}: {noticed} of 200");
        }
    }

    #[test]
    fn a_guarantee_of_answers_is_for_what_withholds_them() {
        let refused = |guaranteed: Option<&str>, abstain: Option<&str>| {
            let guarantee = ken_testing::guarantee_of_answers("m", "c", guaranteed);
            let abstain = abstain.map(|text| text.parse().unwrap());
            Watch::new(guarantee, Now { abstain, ..NOW }, (0.25, 9), None).err()
        };
        let (one, other) = ("evidence:confidence@-0.4", "evidence:confidence@-0.5");
        assert_eq!(refused(Some(one), Some(one)), None);
        assert_eq!(refused(None, None), None);
        for (guaranteed, abstain) in [
            (Some(one), Some(other)),
            (Some(one), None),
            (None, Some(one)),
        ] {
            let expected = NotGuaranteed::Abstention {
                guaranteed: guaranteed.map(str::to_owned),
                abstain: abstain.map(str::to_owned),
            };
            assert_eq!(refused(guaranteed, abstain), Some(expected));
        }
        // Little loss is promised of where knowledge comes from, whatever is withheld then.
        let abstain = one.parse().ok();
        let watch = Watch::new(guarantee(0.02), Now { abstain, ..NOW }, (0.25, 9), None);
        assert!(watch.is_ok());
    }
}
