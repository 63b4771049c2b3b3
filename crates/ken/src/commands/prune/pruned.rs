//! The passages of a corpus in the order in which they go.

use std::path::Path;

use ken_corpus::{Corpus, PlaceMark, Selection};
use ken_index::Index;
use ken_language::LanguageModel;
use ken_study::pruning::{self, Method, Scored, Work, candidates, count, measured_first, order};

use super::basis::Basis;
use super::stopped;
use crate::arguments::PruneMethod;
use crate::failure::{Refusal, Result};
use crate::progress::Display;
use crate::session::Session;

/// The passages of a corpus in the order in which they go.
pub(super) struct Pruned {
    pub(super) index: Index,
    pub(super) candidates: Selection,
    pub(super) order: Vec<Scored>,
    /// How many can go at most.
    pub(super) most: usize,
    pub(super) method: &'static str,
    /// What stands on every mark.
    pub(super) reason: String,
}

impl Pruned {
    /// Scores them by a method; `reader` reads them where the pruner has them read.
    ///
    /// # Errors
    /// What does not fit the corpus or the model, or a run that was stopped.
    pub(super) fn new(
        folder: &Path,
        by: PruneMethod,
        basis: &Basis,
        reader: Option<&dyn LanguageModel>,
        session: &Session<'_>,
    ) -> Result<Self> {
        let index = Index::open(Corpus::open(folder)?.into())?;
        let candidates = candidates(index.corpus())?;
        let head = basis.head.as_ref().filter(|_| by == PruneMethod::Pruner);
        let method = match (by, head) {
            (PruneMethod::Pruner, Some(head)) => Method::Pruner { head, reader },
            (PruneMethod::Measured, _) => Method::Measured,
            (PruneMethod::NearDuplicates, _) => Method::NearDuplicates,
            (PruneMethod::Random | PruneMethod::Pruner, _) => Method::Random {
                seed: session.settings.seed,
            },
        };
        let work = Work {
            index: &index,
            candidates: &candidates,
        };
        let mut scored = {
            let mut display = Display::new();
            let total = candidates.total();
            let mut progress = |done| display.show_items("scored", done, total);
            pruning::scored(method, work, &mut progress, session.stop)?.ok_or_else(stopped)?
        };
        let mut most = scored.len();
        if let Some(labels) = &basis.labels
            && matches!(by, PruneMethod::Pruner | PruneMethod::Measured)
        {
            let each = labels.labels.iter();
            let each = each.map(|label| (&label.passage_id, label.mastery));
            let measured = measured_first(index.corpus(), each, &mut scored)?;
            if by == PruneMethod::Measured {
                most = measured;
            }
        }
        Ok(Self {
            most,
            order: order(index.corpus(), scored)?,
            candidates,
            index,
            method: method.name(),
            reason: format!("{}{}", pruning::REASON, method.name()),
        })
    }

    /// The marks at a ratio.
    ///
    /// # Errors
    /// More than can go.
    pub(super) fn marks(&self, ratio: f64) -> Result<Vec<PlaceMark>> {
        let wanted = count(ratio, self.order.len());
        if wanted > self.most {
            let message = format!(
                "{wanted} passages are to go, and the mastery of {} was measured",
                self.most
            );
            return Err(Refusal::new("too_few_labels", message)
                .hinting("take a smaller ratio, or a pruner, which predicts the mastery of the others: --method pruner --pruner FILE")
                .into());
        }
        let marks = self.order[..wanted].iter().map(|one| PlaceMark {
            segment: one.segment as usize,
            ordinal: one.ordinal as usize,
            score: f64::from(one.score),
        });
        Ok(marks.collect())
    }
}
