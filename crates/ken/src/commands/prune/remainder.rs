//! The rest of a corpus at a ratio, to be searched while the corpus itself stays as it is: of a folder a copy that is
//! pruned and compacted, of a collection in Milvus what a filter by scores finds.

use std::path::{Path, PathBuf};

use ken_corpus::{CorpusInfo, Filter, PlaceMark, Writer};
use ken_ingest::compact;
use ken_lab::PruningError;
use ken_lab::pruning::{self, Basis, CorpusCopy, Method, PrunePlan, below, count};
use ken_language::LanguageModel;
use ken_milvus::{MilvusAddress, Ranked, Ranking};
use ken_setup::{CorpusAddress, Settings};

use super::basis;
use crate::arguments::prune::PruneMethod;
use crate::failure::{Failure, Result};
use crate::progress::{Display, counting};
use crate::session::Session;

/// The passages of a corpus in the order of pruning.
pub(crate) enum RankedCorpus {
    Folder {
        folder: PathBuf,
        plan: Box<PrunePlan>,
    },
    Milvus {
        address: MilvusAddress,
        ranked: Box<Ranked>,
        /// The name of the scores.
        score: String,
    },
}

/// The rest of a corpus at a ratio.
pub(crate) struct Remainder {
    corpus: CorpusAddress,
    /// What leaves out the passages that are pruned, where the corpus still holds them.
    filter: Option<Filter>,
    /// Identifies what a copy holds.
    pub(crate) identity: Option<String>,
    pub(crate) pruned: usize,
    /// How many are left.
    pub(crate) passages: u64,
    /// Of all files of a copy; `None` in Milvus, which tells no sizes.
    pub(crate) bytes: Option<u64>,
    /// Removed when this is dropped.
    _copy: Option<CorpusCopy>,
}

impl RankedCorpus {
    /// By a method; `reader` reads the passages for a pruner that needs that.
    pub(crate) fn by_method(
        method: PruneMethod,
        basis: &Basis,
        reader: Option<&dyn LanguageModel>,
        corpus: &CorpusAddress,
        session: &Session<'_>,
    ) -> Result<Self> {
        let CorpusAddress::Folder(folder) = corpus else {
            return Err(no_score(corpus));
        };
        let plan = basis::plan(folder, method, basis, reader, session)?;
        Ok(Self::of_folder(folder, plan))
    }

    /// By the scores that the corpus keeps under a name.
    pub(crate) fn by_score(
        name: &str,
        corpus: &CorpusAddress,
        session: &Session<'_>,
    ) -> Result<Self> {
        match corpus {
            CorpusAddress::Milvus(address) => Self::in_milvus(name, address, session),
            CorpusAddress::Folder(folder) => {
                let (basis, method) = (Basis::new(None, None)?, Method::Kept { name });
                let plan = basis::scored(folder, method, &basis, session)?;
                Ok(Self::of_folder(folder, plan))
            }
            CorpusAddress::Service(_) => Err(no_score(corpus)),
        }
    }

    fn of_folder(folder: &Path, plan: PrunePlan) -> Self {
        Self::Folder {
            folder: folder.to_owned(),
            plan: Box::new(plan),
        }
    }

    fn in_milvus(name: &str, address: &MilvusAddress, session: &Session<'_>) -> Result<Self> {
        let token = session.setup().milvus_token(address)?;
        let by = Ranking::Kept(name);
        let progress = &mut counting("scored");
        let ranked = Ranked::open(address, token.as_ref(), by, progress, session.stop)?;
        let ranked = ranked.ok_or(PruningError::Stopped)?;
        match ranked.pruned() {
            0 => Ok(Self::Milvus {
                address: address.clone(),
                ranked: Box::new(ranked),
                score: name.to_owned(),
            }),
            pruned => Err(Failure::refused(
                "pruned_already",
                format!(
                    "{pruned} passages of {address} are pruned by a ratio, so searches leave them out at every ratio"
                ),
                format!("restore them first: `ken prune undo --corpus {address}`"),
            )),
        }
    }

    /// How the passages were scored.
    pub(crate) fn method(&self) -> &'static str {
        match self {
            Self::Folder { plan, .. } => plan.method,
            Self::Milvus { .. } => "kept",
        }
    }

    /// Whether a ratio prunes nothing.
    pub(crate) fn is_whole_at(&self, ratio: f64) -> Result<bool> {
        Ok(match self {
            Self::Folder { plan, .. } => plan.marks(ratio)?.is_empty(),
            Self::Milvus { ranked, .. } => count(ratio, ranked.passages()) == 0,
        })
    }

    /// The rest at a ratio; a copy is made at `place`. In Milvus, passages of one score go together.
    pub(crate) fn at(
        &self,
        ratio: f64,
        place: PathBuf,
        session: &Session<'_>,
    ) -> Result<Remainder> {
        match self {
            Self::Folder { folder, plan } => {
                let (copy, marks) = pruned_copy(folder, place, plan, ratio, session)?;
                let info = CorpusInfo::read(copy.dir())?;
                Ok(Remainder {
                    corpus: CorpusAddress::Folder(copy.dir().to_owned()),
                    filter: None,
                    identity: Some(plan.identity_without(&marks)),
                    pruned: marks.len(),
                    passages: info.passages,
                    bytes: Some(info.bytes),
                    _copy: Some(copy),
                })
            }
            Self::Milvus {
                address,
                ranked,
                score,
            } => {
                let threshold = ranked.threshold(count(ratio, ranked.passages()))?;
                let pruned = threshold.map_or(0, |(_, pruned)| pruned);
                Ok(Remainder {
                    corpus: CorpusAddress::Milvus(address.clone()),
                    filter: threshold.map(|(least, _)| below(score, least)),
                    identity: None,
                    pruned,
                    passages: (ranked.passages() - pruned) as u64,
                    bytes: None,
                    _copy: None,
                })
            }
        }
    }
}

impl Remainder {
    /// The settings with which it is searched.
    pub(crate) fn settings(&self, settings: &Settings) -> Settings {
        let filters = settings.filters.iter().chain(&self.filter);
        Settings {
            corpus: Some(self.corpus.clone()),
            filters: filters.cloned().collect(),
            ..settings.clone()
        }
    }
}

/// The error for a corpus in Milvus where no scores are named.
pub(crate) fn no_score(corpus: &CorpusAddress) -> Failure {
    Failure::refused(
        "no_score",
        format!(
            "a corpus in Milvus is not copied to be pruned, so {corpus} needs scores that it keeps, and none are named"
        ),
        format!(
            "keep some by `ken prune score --corpus {corpus} --pruner FILE`, and add --score mastery"
        ),
    )
}

/// A copy of a corpus at a place, pruned by a plan and compacted, and what was pruned.
fn pruned_copy(
    corpus: &Path,
    place: PathBuf,
    plan: &PrunePlan,
    ratio: f64,
    session: &Session<'_>,
) -> Result<(CorpusCopy, Vec<PlaceMark>)> {
    let copy = CorpusCopy::new(corpus, place)?;
    let marks = plan.marks(ratio)?;
    let mut writer = Writer::open(copy.dir())?;
    writer.replace_pruned(pruning::REASON, &plan.reason, &marks)?;
    let mut display = Display::new();
    let label = format!("compacting at {ratio}");
    let mut progress = |step: ken_ingest::CompactProgress| {
        display.show_items(&label, step.passages, step.passages_total);
    };
    let (_, interrupted) = compact(&mut writer, &mut progress, session.stop)?;
    match interrupted {
        true => Err(PruningError::Stopped.into()),
        false => Ok((copy, marks)),
    }
}
