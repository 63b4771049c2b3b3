//! The order in which a corpus's passages are pruned, and what determines it.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use ken_corpus::{Corpus, PlaceMark, PruneMark, Selection, score_in_metadata};
use ken_index::Index;
use ken_language::LanguageModel;
use ken_policy::{Head, digest_of};
use serde::Serialize;

use super::error::PruningError;
use super::guarantee::{
    CoverageQuestion, Guarantee, GuaranteedRatio, MIN_RATIO, kept, largest_ratio,
};
use super::order::{Scored, Work, count, order};
use super::precedence::measured_first;
use super::score::{Method, scored};
use super::{REASON, candidates};
use crate::heads::pruner::PrunerLabels;

/// What determines the order: a pruner and measured masteries, both of one model.
pub struct Basis {
    /// The pruner.
    pub head: Option<Head>,
    labels: Option<PrunerLabels>,
}

/// The passages of a corpus in the order of pruning.
pub struct PrunePlan {
    /// The corpus with its index.
    pub index: Index,
    /// The passages that may be pruned.
    candidates: Selection,
    order: Vec<Scored>,
    /// The most passages that may be pruned.
    most: usize,
    /// How they were scored.
    pub method: &'static str,
    /// The reason of every mark.
    pub reason: String,
}

/// A threshold on scores that prunes about a ratio of the passages: equal scores are pruned together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Threshold {
    /// The ratio.
    pub ratio: f64,
    /// The lowest score that is pruned, as filters compare it.
    pub score: f64,
    /// How many passages have that score or a higher one.
    pub pruned: usize,
}

impl Basis {
    /// Combines a pruner and labels.
    ///
    /// # Errors
    /// A pruner and labels of different models.
    pub fn new(head: Option<Head>, labels: Option<PrunerLabels>) -> Result<Self, PruningError> {
        if let (Some(head), Some(labels)) = (&head, &labels) {
            same_model(&head.measured_on.model, &labels.model)?;
        }
        Ok(Self { head, labels })
    }

    /// The measured masteries, as scores of their passages.
    pub fn measured(&self) -> Vec<PruneMark> {
        let labels = self.labels.iter().flat_map(|labels| &labels.labels);
        let scores =
            labels.map(|label| PruneMark::new(label.passage_id.clone(), label.mastery, ""));
        scores.collect()
    }

    /// Whether the pruner takes vectors that a model computes from passages.
    pub fn has_passages_read(&self) -> bool {
        let head = self.head.as_ref();
        head.is_some_and(|head| head.measured_on.reader.is_some())
    }

    /// Whether this is the model that read the passages when the pruner was trained.
    pub fn is_read_by(&self, model: &dyn LanguageModel) -> bool {
        let head = self.head.as_ref();
        let reader = head.and_then(|head| head.measured_on.reader.as_deref());
        reader.is_some_and(|expected| expected == model.fingerprint())
    }

    /// How many of some questions mastery was measured by. The effect of pruning on these says nothing about other
    /// questions.
    pub fn taught<'q>(&self, questions: impl IntoIterator<Item = &'q str>) -> usize {
        let by_head = |question: &str| self.head.as_ref().is_some_and(|head| head.knows(question));
        let by_labels = |question: &str| {
            let labels = self.labels.as_ref();
            labels.is_some_and(|labels| labels.knows(question))
        };
        let questions = questions.into_iter();
        questions
            .filter(|question| by_head(question) || by_labels(question))
            .count()
    }

    /// Checks that mastery was measured by none of the questions of a guarantee.
    ///
    /// # Errors
    /// [`PruningError::TaughtQuestions`].
    pub fn check_questions(&self, asked: &[CoverageQuestion]) -> Result<(), PruningError> {
        match self.taught(asked.iter().map(|asked| asked.text.as_str())) {
            0 => Ok(()),
            taught => Err(PruningError::TaughtQuestions {
                taught,
                questions: asked.len(),
            }),
        }
    }

    /// Checks that pruner and labels are of this model.
    ///
    /// # Errors
    /// [`PruningError::OtherModel`].
    pub fn check(&self, model: &str) -> Result<(), PruningError> {
        let head = self.head.as_ref().map(|head| &head.measured_on.model);
        let labels = self.labels.as_ref().map(|labels| &labels.model);
        let mut measured = head.into_iter().chain(labels);
        measured.try_for_each(|measured| same_model(measured, model))
    }
}

fn mark(one: &Scored) -> PlaceMark {
    PlaceMark {
        segment: one.segment as usize,
        ordinal: one.ordinal as usize,
        score: f64::from(one.score),
    }
}

fn same_model(expected: &str, received: &str) -> Result<(), PruningError> {
    match expected == received {
        true => Ok(()),
        false => Err(PruningError::OtherModel {
            expected: expected.to_owned(),
            received: received.to_owned(),
        }),
    }
}

impl PrunePlan {
    /// Scores the passages of the corpus in a folder; `progress` receives how many are scored, and the total.
    ///
    /// # Errors
    /// A method that does not fit the corpus or the model, or [`PruningError::Stopped`].
    pub fn new(
        folder: &Path,
        method: Method<'_>,
        basis: &Basis,
        progress: &mut dyn FnMut(usize, usize),
        cancel: &AtomicBool,
    ) -> Result<Self, PruningError> {
        let index = Index::open(Corpus::open(folder)?.into())?;
        let candidates = candidates(index.corpus())?;
        let work = Work {
            index: &index,
            candidates: &candidates,
        };
        let scored = scored(method, work, progress, cancel)?;
        let mut scored = scored.ok_or(PruningError::Stopped)?;
        let mut most = match method {
            Method::Kept { .. } => scored.iter().filter(|p| p.score.is_finite()).count(),
            _ => scored.len(),
        };
        if let Some(labels) = &basis.labels
            && matches!(method, Method::Pruner { .. } | Method::Measured)
        {
            let masteries = labels.labels.iter();
            let masteries = masteries.map(|label| (&label.passage_id, label.mastery));
            let measured = measured_first(index.corpus(), masteries, &mut scored)?;
            if matches!(method, Method::Measured) {
                most = measured;
            }
        }
        Ok(Self {
            most,
            order: order(index.corpus(), scored)?,
            candidates,
            index,
            method: method.name(),
            reason: format!("{REASON}{}", method.name()),
        })
    }

    /// The number of passages that ratios refer to.
    pub fn passages(&self) -> usize {
        self.order.len()
    }

    /// The marks at a ratio.
    ///
    /// # Errors
    /// A ratio that exceeds the passages with labels.
    pub fn marks(&self, ratio: f64) -> Result<Vec<PlaceMark>, PruningError> {
        let wanted = count(ratio, self.order.len());
        if wanted > self.most {
            let measured = self.most;
            return Err(PruningError::TooFewLabels { wanted, measured });
        }
        Ok(self.order[..wanted].iter().map(mark).collect())
    }

    /// The passages that have a score, with the score.
    pub fn scores(&self) -> Vec<PlaceMark> {
        let scored = self.order.iter().filter(|p| p.score.is_finite());
        scored.map(mark).collect()
    }

    /// The threshold at a ratio; `None` if it prunes nothing, or a passage without a score.
    pub fn threshold(&self, ratio: f64) -> Option<Threshold> {
        let last = count(ratio, self.order.len()).checked_sub(1)?;
        let score = self.order.get(last)?.score;
        score.is_finite().then(|| Threshold {
            ratio,
            score: score_in_metadata(score),
            pruned: self.order.partition_point(|passage| passage.score >= score),
        })
    }

    /// Marks with the ids of their passages, for other processes.
    ///
    /// # Errors
    /// A passage that cannot be read.
    pub fn named(&self, marks: &[PlaceMark]) -> Result<Vec<PruneMark>, PruningError> {
        let segments = self.index.corpus().segments();
        let named = marks.iter().map(|mark| {
            let passage = segments[mark.segment].passage(mark.ordinal)?;
            Ok(PruneMark::new(passage.id, mark.score, self.reason.clone()))
        });
        named.collect()
    }

    /// The largest ratio that keeps a guarantee; passages without a label are not pruned. `progress` receives the
    /// hundredths that were tested.
    ///
    /// # Errors
    /// As of [`largest_ratio`]; no ratio keeps the guarantee; [`PruningError::Stopped`].
    pub fn guaranteed(
        &self,
        asked: &[CoverageQuestion],
        guarantee: Guarantee,
        progress: &mut dyn FnMut(u32),
        cancel: &AtomicBool,
    ) -> Result<GuaranteedRatio, PruningError> {
        let guarantee = Guarantee {
            most: self.most,
            ..guarantee
        };
        let (index, candidates, order) = (&self.index, &self.candidates, &self.order);
        let largest = largest_ratio(index, candidates, order, asked, guarantee, progress, cancel)?;
        kept(largest, guarantee)
    }

    /// Checks that at least the smallest ratio can be pruned.
    ///
    /// # Errors
    /// As of [`PrunePlan::marks`].
    pub fn check(&self) -> Result<(), PruningError> {
        self.marks(MIN_RATIO).map(drop)
    }

    /// Identifies the corpus without these marks, by corpus and marks, since two compactions need not give the same
    /// bytes.
    pub fn identity_without(&self, marks: &[PlaceMark]) -> String {
        let places = marks.iter().map(|mark| (mark.segment, mark.ordinal));
        let places: BTreeSet<(usize, usize)> = places.collect();
        format!(
            "fingerprint {} without {:016x}",
            self.index.corpus().fingerprint(),
            digest_of(&format!("{places:?}"))
        )
    }
}
