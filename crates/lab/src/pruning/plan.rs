//! What a corpus is pruned by, and its passages in the order in which they go.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::atomic::AtomicBool;

use ken_corpus::{Corpus, PlaceMark, PruneMark, Selection, score_in_metadata};
use ken_index::Index;
use ken_language::LanguageModel;
use ken_policy::{Head, digest_of};
use serde::Serialize;

use super::error::PruningError;
use super::guarantee::{CoverageQuestion, Guarantee, GuaranteedRatio, MIN_RATIO, largest_ratio};
use super::order::{Scored, Work, count, order};
use super::precedence::measured_first;
use super::score::{Method, scored};
use super::{REASON, candidates};
use crate::heads::pruner::PrunerLabels;

/// What a corpus is pruned by: a pruner, and what was measured, both of one model.
pub struct Basis {
    /// The pruner.
    pub head: Option<Head>,
    labels: Option<PrunerLabels>,
}

/// The passages of a corpus in the order in which they go.
pub struct PrunePlan {
    /// The corpus with its index.
    pub index: Index,
    /// Those that may go.
    candidates: Selection,
    order: Vec<Scored>,
    /// How many can go at most.
    most: usize,
    /// How they were scored.
    pub method: &'static str,
    /// The reason of every mark.
    pub reason: String,
}

/// A threshold on scores that leaves out about a ratio of the passages, since equal scores go together.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Threshold {
    /// The ratio.
    pub ratio: f64,
    /// The score from which on passages go, as filters compare it.
    pub score: f64,
    /// How many passages have that score or a higher one.
    pub pruned: usize,
}

impl Basis {
    /// What there is to prune by.
    ///
    /// # Errors
    /// A pruner and labels of two models.
    pub fn new(head: Option<Head>, labels: Option<PrunerLabels>) -> Result<Self, PruningError> {
        if let (Some(head), Some(labels)) = (&head, &labels) {
            same_model(&head.measured_on.model, &labels.model)?;
        }
        Ok(Self { head, labels })
    }

    /// Whether the pruner looks at what a model makes of passages.
    #[must_use]
    pub fn has_passages_read(&self) -> bool {
        let head = self.head.as_ref();
        head.is_some_and(|head| head.measured_on.reader.is_some())
    }

    /// Whether this is the model that read the passages when the pruner was trained.
    #[must_use]
    pub fn is_read_by(&self, model: &dyn LanguageModel) -> bool {
        let head = self.head.as_ref();
        let reader = head.and_then(|head| head.measured_on.reader.as_deref());
        reader.is_some_and(|expected| expected == model.fingerprint())
    }

    /// How many of some questions mastery was measured by. What pruning does to those says nothing about
    /// others.
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

    /// Makes sure that none of the questions that a guarantee is to be about is one that mastery was
    /// measured by.
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

    /// Makes sure that it is of the model at hand.
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
    /// Scores the passages of the corpus in a folder; `progress` is given how many are scored, and all.
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
        let mut most = scored.len();
        if let Some(labels) = &basis.labels
            && matches!(method, Method::Pruner { .. } | Method::Measured)
        {
            let each = labels.labels.iter();
            let each = each.map(|label| (&label.passage_id, label.mastery));
            let measured = measured_first(index.corpus(), each, &mut scored)?;
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

    /// How many passages a ratio is one of.
    #[must_use]
    pub fn passages(&self) -> usize {
        self.order.len()
    }

    /// The marks at a ratio.
    ///
    /// # Errors
    /// More than can go.
    pub fn marks(&self, ratio: f64) -> Result<Vec<PlaceMark>, PruningError> {
        let wanted = count(ratio, self.order.len());
        if wanted > self.most {
            let measured = self.most;
            return Err(PruningError::TooFewLabels { wanted, measured });
        }
        Ok(self.order[..wanted].iter().map(mark).collect())
    }

    /// The passages that have a score, with it.
    #[must_use]
    pub fn scores(&self) -> Vec<PlaceMark> {
        let scored = self.order.iter().filter(|one| one.score.is_finite());
        scored.map(mark).collect()
    }

    /// The threshold at a ratio; `None` where nothing goes, or a passage without a score.
    #[must_use]
    pub fn threshold(&self, ratio: f64) -> Option<Threshold> {
        let last = count(ratio, self.order.len()).checked_sub(1)?;
        let score = self.order.get(last)?.score;
        score.is_finite().then(|| Threshold {
            ratio,
            score: score_in_metadata(score),
            pruned: self.order.partition_point(|one| one.score >= score),
        })
    }

    /// Marks with the names of their passages, as another process takes them.
    ///
    /// # Errors
    /// A passage that cannot be read.
    pub fn named(&self, marks: &[PlaceMark]) -> Result<Vec<PruneMark>, PruningError> {
        let segments = self.index.corpus().segments();
        let named = marks.iter().map(|mark| {
            let passage = segments[mark.segment].passage(mark.ordinal)?;
            Ok(PruneMark {
                passage_id: passage.id,
                score: mark.score,
                reason: self.reason.clone(),
            })
        });
        named.collect()
    }

    /// The largest ratio that keeps a guarantee, which all passages but those without a label may go
    /// for. `progress` is given the hundredths that were tried.
    ///
    /// # Errors
    /// As of [`largest_ratio`]; no ratio that keeps it; [`PruningError::Stopped`].
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
        let kept = largest_ratio(index, candidates, order, asked, guarantee, progress, cancel)?;
        let kept = kept.ok_or(PruningError::Stopped)?;
        match kept.ratio {
            Some(_) => Ok(kept),
            None => Err(PruningError::NotGuaranteed {
                questions: kept.questions,
                max_loss: guarantee.max_loss,
                confidence: guarantee.confidence,
                needed: kept.needed,
            }),
        }
    }

    /// Why not even the smallest ratio can go, if that is so.
    ///
    /// # Errors
    /// As of [`PrunePlan::marks`].
    pub fn check(&self) -> Result<(), PruningError> {
        self.marks(MIN_RATIO).map(drop)
    }

    /// What is left after these marks, told by what it was made from: two compactions need not give
    /// the same bytes.
    #[must_use]
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
