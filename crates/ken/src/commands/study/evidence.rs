//! The searches of a study, each done once for all models.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use ken_answer::{BackEnd, Retriever};
use ken_corpus::Active;
use ken_eval::{ResultsFile, RunSettings, read_results};
use ken_lab::pruning::Basis;
use ken_language::LanguageModel;
use ken_scale::study::{
    Condition, Evidence, Order, PruneRatio, Retrieval, StudiedCondition, evidence_file,
    find_evidence,
};
use ken_setup::{CorpusAddress, Settings};

use super::grid::{QuestionSet, retrievals, settings_of};
use crate::arguments::prune::{PruneMethod, PruneRanking};
use crate::arguments::study::StudyRunArguments;
use crate::commands::prune::basis;
use crate::commands::prune::remainder::{RankedCorpus, Remainder, no_score};
use crate::commands::records;
use crate::failure::{Failure, Result};
use crate::session::Session;

/// The search results for one data set under one condition.
pub(super) struct EvidenceFile {
    pub(super) condition: Condition,
    pub(super) dataset: usize,
    path: PathBuf,
    /// What it depends on.
    pub(super) identity: RunSettings,
}

impl EvidenceFile {
    pub(super) fn evidence(&self) -> Result<Vec<Evidence>> {
        Ok(read_results(&self.path)?)
    }
}

/// Searches for all questions under all conditions with retrieval.
pub(super) fn find(
    arguments: &StudyRunArguments,
    sets: &[QuestionSet],
    session: &Session<'_>,
) -> Result<(Vec<StudiedCondition>, Vec<EvidenceFile>)> {
    let (mut conditions, mut all) = (Vec::new(), Vec::new());
    if arguments.scales.0.contains(&0) {
        conditions.push(StudiedCondition {
            condition: Condition::FROM_MEMORY,
            passages: 0,
            index_bytes: Some(0),
            disk_bytes: Some(0),
        });
    }
    let mut by_ratio: BTreeMap<PruneRatio, Vec<Retrieval>> = BTreeMap::new();
    for retrieval in retrievals(arguments, session.settings) {
        let of_ratio = by_ratio.entry(retrieval.pruned).or_default();
        of_ratio.push(retrieval);
    }
    let scales = arguments.scales.0.iter().filter(|n| **n > 0);
    let scales: Vec<u32> = scales.copied().collect();
    let is_pruned = by_ratio.keys().any(|ratio| *ratio != PruneRatio::NONE);
    let ranked = is_pruned.then(|| ranked(arguments, session)).transpose()?;
    for (pruned, retrievals) in by_ratio {
        let searched = Searched::at(pruned, ranked.as_ref(), arguments, session)?;
        for order in [Order::Forward, Order::Reversed] {
            let in_order = retrievals.iter().filter(|other| other.order == order);
            let ks: Vec<usize> = in_order.map(|retrieval| retrieval.k).collect();
            if ks.is_empty() {
                continue;
            }
            for &n in &scales {
                let retriever = searched.retriever(order, n, session)?;
                for &k in &ks {
                    let retrieval = Retrieval { order, pruned, k };
                    let condition = Condition { n, retrieval };
                    conditions.push(studied(condition, &retriever)?);
                    let identity = searched.identity(&retriever, condition);
                    for (dataset, set) in sets.iter().enumerate() {
                        let path = kept(set, condition, &retriever, &identity, arguments, session)?;
                        all.push(EvidenceFile {
                            condition,
                            dataset,
                            path,
                            identity: identity.clone(),
                        });
                    }
                }
            }
        }
    }
    // In the order in which a resumed study lists them.
    conditions.sort_by_key(|studied| studied.condition);
    all.sort_by_key(|file| file.condition);
    Ok((conditions, all))
}

/// Searches for the questions of a file, the first ones one at a time, and stores the results in the returned file.
fn kept(
    set: &QuestionSet,
    condition: Condition,
    retriever: &Retriever,
    identity: &RunSettings,
    arguments: &StudyRunArguments,
    session: &Session<'_>,
) -> Result<PathBuf> {
    let name = evidence_file(&set.name, &condition);
    let path = arguments.folder().join(name);
    let mut file = ResultsFile::open(&path, identity.clone())?;
    let (mode, k) = (session.settings.mode, condition.retrieval.k);
    let alone = set.questions.get(..set.timed).unwrap_or(&set.questions);
    let one = std::num::NonZeroUsize::MIN;
    for (questions, batch) in [(alone, one), (&set.questions[..], arguments.batch)] {
        let run = records::drawn(batch, None, session);
        find_evidence(retriever, mode, k, questions, &mut file, run)?.complete(&path)?;
    }
    Ok(path)
}

fn studied(condition: Condition, retriever: &Retriever) -> Result<StudiedCondition> {
    let (index_bytes, disk_bytes) = retriever.back_end().bytes().unzip();
    let passages = match retriever.back_end() {
        // Some may be left out by a filter.
        BackEnd::Milvus(collection) => collection.matching_count()?,
        back_end => back_end.passage_count().unwrap_or_default() as u64,
    };
    Ok(StudiedCondition {
        condition,
        passages,
        index_bytes,
        disk_bytes,
    })
}

/// A corpus, or what is left of it when a share is pruned.
struct Searched {
    settings: Settings,
    left: Option<Remainder>,
}

impl Searched {
    /// Without a ranking, nothing is pruned.
    fn at(
        ratio: PruneRatio,
        ranked: Option<&RankedCorpus>,
        arguments: &StudyRunArguments,
        session: &Session<'_>,
    ) -> Result<Self> {
        let Some(ranked) = ranked.filter(|_| ratio != PruneRatio::NONE) else {
            return Ok(Self {
                settings: session.settings.clone(),
                left: None,
            });
        };
        ken_storage::create_dir_all(&arguments.folder())?;
        let place = arguments.folder().join(format!("pruned-{ratio}"));
        let left = ranked.at(ratio.share(), place, session)?;
        Ok(Self {
            settings: left.settings(session.settings),
            left: Some(left),
        })
    }

    fn retriever(&self, order: Order, n: u32, session: &Session<'_>) -> Result<Retriever> {
        let active = match order {
            Order::Forward => Active::First(n),
            Order::Reversed => Active::Last(n),
        };
        let settings = Settings {
            active,
            ..self.settings.clone()
        };
        Ok(session.setup_with(&settings).retriever()?)
    }

    /// What the results depend on.
    fn identity(&self, retriever: &Retriever, condition: Condition) -> RunSettings {
        let Condition { n, retrieval } = condition;
        let settings = &self.settings;
        let mut identity = settings.retrieval_identity(Some(retriever), retrieval.k);
        identity.extend(settings.computing());
        let copy = self.left.as_ref().and_then(|left| left.identity.as_ref());
        if let Some(copy) = copy {
            // Copies differ in their generations and files, but not in what they hold.
            let held = format!("{copy}, {n} shards {}", retrieval.order);
            identity.insert("corpus".to_owned(), held);
        }
        identity
    }
}

/// What is pruned first.
fn ranked(arguments: &StudyRunArguments, session: &Session<'_>) -> Result<RankedCorpus> {
    let corpus = session.settings.corpus()?;
    if let Some(name) = &arguments.score {
        return RankedCorpus::by_score(name, corpus, session);
    }
    if let CorpusAddress::Milvus(_) = corpus {
        return Err(no_score(corpus));
    }
    if arguments.pruner.is_none() {
        return Err(Failure::refused(
            "no_pruner",
            "what to prune first is not said",
            "add --pruner FILE, which `ken train pruner LABELS --corpus DIR --out FILE` makes, or leave --prune out",
        ));
    }
    let by = PruneRanking {
        pruner: arguments.pruner.clone(),
        labels: None,
        method: vec![PruneMethod::Pruner],
    };
    let basis = basis::read(&by)?;
    let is_needed = basis.has_passages_read();
    let reader = is_needed.then(|| reader(&basis, arguments, session));
    let reader = reader.transpose()?;
    let (method, reader) = (PruneMethod::Pruner, reader.as_deref());
    RankedCorpus::by_method(method, &basis, reader, corpus, session)
}

/// The studied model that read the passages when the pruner was trained; if there is none, that of the settings,
/// which is then checked.
fn reader(
    basis: &Basis,
    arguments: &StudyRunArguments,
    session: &Session<'_>,
) -> Result<Arc<dyn LanguageModel>> {
    for model in &arguments.model {
        let settings = settings_of(model, session);
        let opened = session.setup_with(&settings).language_model()?;
        if basis.is_read_by(&*opened) {
            return Ok(opened);
        }
    }
    Ok(session.setup().language_model()?)
}
