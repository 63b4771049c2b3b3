//! Corpora: every verb that changes one, each of which publishes or leaves what can be read as it was.

use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use ken_corpus::{
    Change, Corpus, CorpusError, PassageId, PruneMark, Sharding, Writer, backup, history, join,
    verify,
};
use ken_documents::read_documents;
use ken_index::{Index, Mode, Query};
use ken_ingest::{Cut, Ingest, IngestError, compact, ingest};
use ken_testing::{FnEmbedder, hashed};
use serde_json::json;

use crate::world::{Contents, KEPT, Refusal, World};

/// A list of steps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Script {
    /// Every verb once or twice.
    Verbs,
    /// Many small ingests, which are merged.
    Merge,
    /// Two parts that are joined.
    Join,
    /// Backups of a corpus that changes.
    Backup,
}

/// Corpora that are changed by a script.
#[derive(Debug, Clone, Copy)]
pub struct CorpusWorld(pub Script);

/// One step.
#[derive(Debug, Clone)]
enum Step {
    /// Documents of these numbers, with a text that follows from the round.
    Ingest(Range<usize>, usize),
    /// Documents of one shard, into another corpus.
    Part(&'static str, u32),
    /// All parts into the corpus.
    Join,
    Delete(usize),
    /// The first passages of documents.
    Prune(Range<usize>),
    /// The first passages of documents get scores.
    Score(Range<usize>),
    /// To the generation before.
    Rollback,
    Compact,
    Backup,
}

/// The corpora that a script may make.
const CORPORA: [&str; 4] = ["corpus", "part-0", "part-1", "backup"];

impl Script {
    fn steps(self) -> Vec<Step> {
        match self {
            Self::Verbs => vec![
                Step::Ingest(0..5, 0),
                Step::Ingest(3..7, 1),
                Step::Prune(0..4),
                Step::Delete(2),
                Step::Rollback,
                Step::Delete(3),
                Step::Compact,
                Step::Ingest(0..2, 2),
            ],
            Self::Merge => {
                let ingest = |n| Step::Ingest(n..n + 2, n);
                let before = (0..6).map(ingest).chain([Step::Score(0..6)]);
                let after = (6..9).map(ingest);
                before
                    .chain(after)
                    .chain([Step::Prune(4..5), Step::Compact])
                    .collect()
            }
            Self::Join => vec![
                Step::Part(CORPORA[1], 0),
                Step::Part(CORPORA[2], 1),
                Step::Join,
                Step::Score(1..4),
                Step::Delete(4),
                Step::Ingest(2..6, 1),
            ],
            Self::Backup => vec![
                Step::Ingest(0..4, 0),
                Step::Backup,
                Step::Ingest(2..6, 1),
                Step::Score(1..6),
                Step::Backup,
                Step::Prune(0..3),
                Step::Delete(2),
                Step::Backup,
            ],
        }
    }

    fn shards(self) -> u32 {
        match self {
            Self::Merge => 1,
            Self::Verbs | Self::Join | Self::Backup => 2,
        }
    }

    fn take(self, dir: &Path, step: usize) -> Result<(), IngestError> {
        let kept = dir.join(KEPT);
        let corpus = kept.join(CORPORA[0]);
        match self.steps()[step].clone() {
            Step::Ingest(documents, round) => self.ingest(dir, &corpus, documents, round, None),
            Step::Part(name, shard) => self.ingest(dir, &kept.join(name), 0..6, 0, Some(shard)),
            Step::Join => {
                let parts: Vec<PathBuf> =
                    CORPORA[1..3].iter().map(|name| kept.join(name)).collect();
                match join(&corpus, &parts, false, &mut |_| {}) {
                    Err(CorpusError::ShardTwice { .. }) => Ok(()),
                    joined => Ok(joined.map(|_| ())?),
                }
            }
            Step::Delete(document) => {
                match Writer::open(&corpus)?.delete(&[format!("d{document}")]) {
                    Err(CorpusError::UnknownDocument { .. }) => Ok(()),
                    deleted => Ok(deleted.map(|_| ())?),
                }
            }
            Step::Prune(documents) => {
                let mark = |document| {
                    PruneMark::new(PassageId::new(&format!("d{document}"), 0), 1.0, "known")
                };
                let marks = documents.map(mark).collect();
                Ok(Writer::open(&corpus)?.prune(marks).map(|_| ())?)
            }
            Step::Score(documents) => {
                let mut writer = Writer::open(&corpus)?;
                let mark = |document: usize| {
                    PruneMark::new(
                        PassageId::new(&format!("d{document}"), 0),
                        document as f64 / 8.0,
                        "",
                    )
                };
                let places = writer.places(&documents.map(mark).collect::<Vec<_>>())?;
                Ok(writer.score("mastery", &places).map(|_| ())?)
            }
            Step::Rollback => {
                let generations = history(&corpus)?;
                // Taken once more, it would undo itself.
                let done = generations
                    .last()
                    .is_some_and(|last| last.change == Change::Rollback);
                match generations.iter().rev().nth(1) {
                    Some(before) if !done => {
                        Ok(Writer::rollback(&corpus, before.generation).map(|_| ())?)
                    }
                    _ => Ok(()),
                }
            }
            Step::Compact => {
                let mut writer = Writer::open(&corpus)?;
                compact(&mut writer, &mut |_| {}, &AtomicBool::new(false)).map(|_| ())
            }
            Step::Backup => {
                let never = AtomicBool::new(false);
                Ok(backup(&corpus, &kept.join(CORPORA[3]), &mut |_| {}, &never).map(|_| ())?)
            }
        }
    }

    fn ingest(
        self,
        dir: &Path,
        corpus: &Path,
        documents: Range<usize>,
        round: usize,
        only_shard: Option<u32>,
    ) -> Result<(), IngestError> {
        let input = dir.join("input.jsonl");
        let lines: Vec<String> = documents.map(|n| line(n, round)).collect();
        fs::write(&input, lines.join("\n")).expect("the documents");
        let embedder = FnEmbedder::hashing();
        let work = Ingest {
            cut: "words:3".parse::<Cut>().expect("a cut"),
            embedder_reference: "hashing",
            sharding: Some(Sharding {
                count: self.shards(),
                seed: 0,
            }),
            only_shard,
            ..Ingest::new(read_documents(&[input])?, corpus, &embedder)
        };
        ingest(work, &mut |_| {}, &AtomicBool::new(false)).map(|_| ())
    }
}

impl CorpusWorld {
    /// Takes in a document that is not there.
    pub(crate) fn add_one(dir: &Path) -> Result<(), IngestError> {
        let corpus = dir.join(KEPT).join(CORPORA[0]);
        Script::Verbs.ingest(dir, &corpus, 9..10, 0, None)
    }

    /// Compacts.
    pub(crate) fn compact(dir: &Path) -> Result<(), IngestError> {
        let mut writer = Writer::open(&dir.join(KEPT).join(CORPORA[0]))?;
        compact(&mut writer, &mut |_| {}, &AtomicBool::new(false)).map(|_| ())
    }

    /// Tries to delete a document that is not there.
    pub(crate) fn delete_missing(dir: &Path) -> Result<(), CorpusError> {
        let mut writer = Writer::open(&dir.join(KEPT).join(CORPORA[0]))?;
        writer.delete(&["d99".to_owned()]).map(|_| ())
    }
}

/// What a writer does that never ends, by number: all documents are replaced, one is deleted, and
/// what is gone leaves the files.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Round(pub(crate) usize);

impl Round {
    const DOCUMENTS: Range<usize> = 0..6;

    /// How the texts of a round differ.
    const TEXTS: usize = 3;

    pub(crate) fn is_compaction(self) -> bool {
        self.0 % 3 == 2
    }

    pub(crate) fn take(self, dir: &Path) -> Result<(), Refusal> {
        let corpus = dir.join(KEPT).join(CORPORA[0]);
        let script = Script::Verbs;
        let taken = match self.0 % 3 {
            0 => script.ingest(
                dir,
                &corpus,
                Self::DOCUMENTS,
                self.0 / 3 % Self::TEXTS,
                None,
            ),
            1 => Writer::open(&corpus)
                .and_then(|mut writer| match writer.delete(&["d0".to_owned()]) {
                    Err(CorpusError::UnknownDocument { .. }) => Ok(0),
                    deleted => deleted,
                })
                .map(|_| ())
                .map_err(IngestError::from),
            _ => CorpusWorld::compact(dir),
        };
        taken.map_err(|error| Refusal::new(error.kind(), &error))
    }

    /// All that can be read after any round.
    pub(crate) fn all_contents() -> Vec<Contents> {
        let dir = crate::shim::folder();
        crate::world::make_kept(dir.path());
        let after = |round| {
            Self(round).take(dir.path()).expect("a round");
            read(&dir.path().join(KEPT).join(CORPORA[0])).expect("a whole corpus")
        };
        (0..3 * Self::TEXTS).map(after).collect()
    }
}

/// A document as a line of JSON.
fn line(document: usize, round: usize) -> String {
    let words: Vec<String> = (0..(document * 5 + round * 3) % 11 + 1)
        .map(|n| format!("w{n} r{}", round % 3))
        .collect();
    json!({"id": format!("d{document}"), "contents": words.join(" "), "n": document}).to_string()
}

impl World for CorpusWorld {
    fn name(&self) -> &'static str {
        match self.0 {
            Script::Verbs => "corpus",
            Script::Merge => "merge",
            Script::Join => "join",
            Script::Backup => "backup",
        }
    }

    fn steps(&self) -> usize {
        self.0.steps().len()
    }

    fn take(&self, dir: &Path, step: usize) -> Result<(), Refusal> {
        let taken = self.0.take(dir, step);
        taken.map_err(|error| Refusal::new(error.kind(), &error))
    }

    fn contents(&self, dir: &Path) -> Result<Contents, String> {
        let mut all = Contents::new();
        for name in CORPORA {
            let corpus = dir.join(KEPT).join(name);
            if Corpus::exists(&corpus) {
                let found = read(&corpus).map_err(|error| format!("{name}: {error}"))?;
                all.extend(
                    found
                        .into_iter()
                        .map(|(id, text)| (format!("{name}/{id}"), text)),
                );
            }
        }
        Ok(all)
    }
}

/// What can be read in a corpus, passage by passage. Checks that it is whole and can be searched.
pub(crate) fn read(corpus: &Path) -> Result<Contents, String> {
    let said = |error: CorpusError| error.to_string();
    let damages = verify(corpus, &mut |_| {}).map_err(said)?;
    if !damages.is_empty() {
        return Err(format!("verify finds {damages:?}"));
    }
    searched(corpus)
}

/// As [`read`], without checking the hashes.
pub(crate) fn searched(corpus: &Path) -> Result<Contents, String> {
    Ok(answers(corpus)?.0)
}

/// The readable contents, and the search results: hit by hit, with the scores.
pub(crate) fn answers(corpus: &Path) -> Result<(Contents, Vec<String>), String> {
    let corpus = Arc::new(Corpus::open(corpus).map_err(|error| error.to_string())?);
    let index = Index::open(Arc::clone(&corpus)).map_err(|error| error.to_string())?;
    let all = corpus
        .passages()
        .map(|passage| {
            let passage = passage?;
            let score = passage.metadata.get("mastery");
            let score = score.map_or_else(String::new, |score| format!(" {score}"));
            Ok((passage.id.to_string(), passage.text + &score))
        })
        .collect::<Result<Contents, CorpusError>>()
        .map_err(|error| error.to_string())?;
    let query = Query {
        text: "w0",
        vector: Some(&hashed("w0 r0")),
    };
    let with_word = all
        .values()
        .filter(|text| text.split(' ').any(|word| word == "w0"))
        .count();
    let mut found = Vec::new();
    for (mode, expected) in [(Mode::Dense, all.len()), (Mode::Lexical, with_word)] {
        let hits = index
            .search(&query, mode, 1000, None)
            .map_err(|error| error.to_string())?;
        if hits.len() != expected {
            return Err(format!("{mode} search finds {} of {expected}", hits.len()));
        }
        found.extend(hits.iter().map(|hit| format!("{mode}: {hit:?}")));
    }
    Ok((all, found))
}
