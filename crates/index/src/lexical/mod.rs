//! Lexical search: BM25 (k1 = 1.2, b = 0.75) over title and text, by tantivy.
//!
//! Each segment of the corpus has an index of its own in its folder `lexical/`, with one tantivy
//! segment in which document n is passage n. If that would take too much memory to write, the
//! index continues in `lexical-2/`, `lexical-3/` and so on, each a part with the passages after
//! those of the part before. It holds terms and frequencies, no text and no positions. A title
//! counts twice: a query is more likely about a passage's topic than about what it mentions. Scores
//! of different segments are comparable, since document frequencies and lengths are taken over all
//! of them and their parts, replaced passages included. tantivy keeps the length of a passage in
//! one byte, so lengths above 40 terms are rounded down a little.
//!
//! A query is text, never an expression: nothing in it is syntax.
//!
//! tantivy is not made for damaged files. Opening an index verifies tantivy's checksums of small files and the footer
//! of large ones; what tantivy then reads of these is checked block by block ([`Files`]), and panics of tantivy are
//! reported as damage too.

mod files;
mod write;

pub(crate) use write::LexicalWriter;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use ken_storage::{CheckedFolder, HEAP_BYTES, contained};
use rayon::prelude::*;
use tantivy::index::SegmentComponent;
use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, EnableScoring, TermQuery, Weight};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, Score, Searcher, SegmentReader, TantivyError, Term};

use self::files::Files;
use crate::IndexError;
use crate::tokenize::{Language, OTHERS, query_words};
use crate::top_k::{Candidate, Place, TopK};

/// The name of the folder of the first part in a segment's folder.
const FOLDER: &str = "lexical";
/// The name under which tantivy looks up our tokenizer. It changes with the terms that the tokenizer makes of a text.
const TOKENIZER: &str = "ken-2";

/// The files that tantivy keeps of a segment.
const COMPONENTS: [SegmentComponent; 6] = [
    SegmentComponent::Terms,
    SegmentComponent::Postings,
    SegmentComponent::Positions,
    SegmentComponent::FieldNorms,
    SegmentComponent::FastFields,
    SegmentComponent::Store,
];

/// The one field, which holds title and text.
fn schema() -> (Schema, Field) {
    let mut schema = Schema::builder();
    let indexing = TextFieldIndexing::default()
        .set_tokenizer(TOKENIZER)
        .set_index_option(IndexRecordOption::WithFreqs)
        .set_fieldnorms(true);
    let options = TextOptions::default().set_indexing_options(indexing);
    let field = schema.add_text_field("passage", options);
    (schema.build(), field)
}

/// The folder of a part, counted from 0, of the index in a segment's folder.
fn folder(dir: &Path, part: usize) -> PathBuf {
    match part {
        0 => dir.join(FOLDER),
        _ => dir.join(format!("{FOLDER}-{}", part + 1)),
    }
}

/// The lexical indexes of a corpus, ready to search.
pub(crate) struct LexicalIndex {
    /// Those of all segments, in the order of their passages.
    parts: Vec<Part>,
    field: Field,
    /// An empty index of the same schema: tantivy reads the schema of a query from a searcher.
    schema_holder: Searcher,
    passages: u64,
    tokens: u64,
    /// The languages besides English of the passages, looked up with the first query.
    languages: OnceLock<Vec<&'static Language>>,
}

/// The index of a segment, or of consecutive passages of it.
struct Part {
    /// The folder of its segment.
    files: CheckedFolder,
    path: PathBuf,
    /// The number of the segment in the corpus.
    segment: u32,
    /// The ordinal of its first passage.
    first: u32,
    reader: SegmentReader,
    /// Terms in all passages.
    tokens: u64,
}

impl LexicalIndex {
    /// Opens the indexes of segments given by folder and number of passages.
    pub(crate) fn open<F: Into<CheckedFolder>>(
        segments: impl Iterator<Item = (F, usize)>,
    ) -> Result<LexicalIndex, IndexError> {
        Self::open_verifying(HEAP_BYTES, segments)
    }

    /// As [`LexicalIndex::open`]; verifies the checksums of files up to `most_bytes`.
    fn open_verifying<F: Into<CheckedFolder>>(
        most_bytes: u64,
        segments: impl Iterator<Item = (F, usize)>,
    ) -> Result<LexicalIndex, IndexError> {
        let (schema, field) = schema();
        let schema_holder = Index::create_in_ram(schema)
            .reader()
            .map_err(|error| damaged(Path::new(FOLDER), &error))?
            .searcher();
        let mut parts = Vec::new();
        for (number, (folder, passages)) in (0..).zip(segments) {
            let segment = (&folder.into(), passages);
            open_segment(&mut parts, number, segment, field, most_bytes)?;
        }
        Ok(LexicalIndex {
            passages: parts.iter().map(|p| u64::from(p.reader.max_doc())).sum(),
            tokens: parts.iter().fold(0, |sum, p| p.tokens.saturating_add(sum)),
            parts,
            field,
            schema_holder,
            languages: OnceLock::new(),
        })
    }

    /// The best `k` live passages that hold a term of `text`, by BM25, best first; of equal scores
    /// the one that comes earlier in the corpus. Only the first 512 distinct terms count.
    pub(crate) fn search(
        &self,
        text: &str,
        k: usize,
        is_live: &(impl Fn(Place) -> bool + Sync),
    ) -> Result<Vec<Candidate>, IndexError> {
        if k == 0 || self.tokens == 0 {
            return Ok(Vec::new());
        }
        let weight = tantivy_call(Path::new(FOLDER), || {
            self.weight(self.query_words(text)?.into_iter().flatten().collect())
        });
        // Damage found while reading outweighs the result.
        self.parts.iter().try_for_each(|part| part.files.sound())?;
        let weight = weight?;
        let average = self.tokens as f32 / self.passages as f32;
        self.parts
            .par_iter()
            .map(|part| part.search(&*weight, average, k, is_live))
            .try_reduce(|| TopK::new(k), |left, right| Ok(left.merge(right)))
            .map(TopK::into_ranking)
    }

    /// The highest score that a passage could have for a text: a term that is repeated without end, in a passage of no
    /// length, counts its inverse document frequency times 1 + k1. Words that no passage holds count too; a word in
    /// several languages counts as the rarest of its terms that a passage holds.
    pub(crate) fn most(&self, text: &str) -> Result<f32, IndexError> {
        const K1: f32 = 1.2;
        let passages = self.passages as f32;
        let frequencies = tantivy_call(Path::new(FOLDER), || {
            let words = self.query_words(text)?;
            let frequency = |word: &Vec<Term>| {
                let held: Vec<u64> = word
                    .iter()
                    .map(|term| self.doc_freq(term))
                    .collect::<Result<_, _>>()?;
                Ok(held.into_iter().filter(|&held| held > 0).min())
            };
            words.iter().map(frequency).collect()
        });
        self.parts.iter().try_for_each(|part| part.files.sound())?;
        let frequencies: Vec<Option<u64>> = frequencies?;
        let rarities = frequencies.iter().map(|held| {
            let held = held.unwrap_or_default() as f32;
            (1.0 + (passages - held + 0.5) / (held + 0.5)).ln()
        });
        Ok((1.0 + K1) * rarities.sum::<f32>())
    }

    /// Passages, replaced ones included.
    pub(crate) fn passages(&self) -> usize {
        self.passages as usize
    }

    /// The words of a query, each as its terms in the languages of the passages.
    fn query_words(&self, text: &str) -> Result<Vec<Vec<Term>>, TantivyError> {
        let languages = match self.languages.get() {
            Some(languages) => languages,
            None => {
                let spoken = self.spoken()?;
                self.languages.get_or_init(|| spoken)
            }
        };
        let words = query_words(text, languages).into_iter();
        Ok(words
            .map(|word| word.iter().map(|text| self.term(text)).collect())
            .collect())
    }

    /// The languages besides English whose marker enough passages have.
    fn spoken(&self) -> Result<Vec<&'static Language>, TantivyError> {
        let mut spoken = Vec::new();
        for language in &OTHERS {
            let held = self.doc_freq(&self.term(language.marker))?;
            if is_spoken(held, self.passages) {
                spoken.push(language);
            }
        }
        Ok(spoken)
    }

    fn term(&self, text: &str) -> Term {
        Term::from_field_text(self.field, text)
    }

    /// The query for any of the terms, weighted by the statistics of all segments.
    fn weight(&self, terms: Vec<Term>) -> Result<Box<dyn Weight>, TantivyError> {
        use tantivy::query::Query as _;
        let any_of = terms
            .into_iter()
            .map(|term| Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)) as Box<_>)
            .collect();
        BooleanQuery::union(any_of).weight(EnableScoring::enabled_from_statistics_provider(
            self,
            &self.schema_holder,
        ))
    }
}

impl Bm25StatisticsProvider for LexicalIndex {
    fn total_num_tokens(&self, _: Field) -> Result<u64, TantivyError> {
        Ok(self.tokens)
    }

    fn total_num_docs(&self) -> Result<u64, TantivyError> {
        Ok(self.passages)
    }

    fn doc_freq(&self, term: &Term) -> Result<u64, TantivyError> {
        let mut passages = 0;
        for part in &self.parts {
            let index = part.reader.inverted_index(term.field())?;
            passages += u64::from(index.doc_freq(term)?);
        }
        Ok(passages)
    }
}

/// Whether at least one in twenty passages is in a language, so that queries are read in it too. If fewer are, many
/// of these were guessed wrongly, and every language of a query adds chance matches.
fn is_spoken(held: u64, passages: u64) -> bool {
    held > 0 && held.saturating_mul(20) >= passages
}

/// Opens the parts of a segment's index, which together must hold its passages.
fn open_segment(
    parts: &mut Vec<Part>,
    segment: u32,
    (segment_folder, passages): (&CheckedFolder, usize),
    field: Field,
    most_bytes: u64,
) -> Result<(), IndexError> {
    let mut held = 0;
    for number in 0.. {
        let path = folder(segment_folder.dir(), number);
        if number > 0 && (held >= passages || !ken_storage::is_dir(&path)?) {
            break;
        }
        let read = tantivy_call(&path, || {
            read_part(segment_folder, &path, field, most_bytes)
        });
        segment_folder.sound()?;
        let (reader, tokens) = read?;
        let part = Part {
            files: segment_folder.clone(),
            path,
            segment,
            first: held as u32,
            reader,
            tokens,
        };
        let holds = part.reader.max_doc() as usize;
        if number > 0 && holds == 0 {
            return Err(part.damaged("it holds no passages".to_owned()));
        }
        held += holds;
        parts.push(part);
    }
    match parts.last() {
        Some(last) if held != passages => Err(last.damaged(format!(
            "up to its end there are {held} passages, not {passages}"
        ))),
        _ => Ok(()),
    }
}

impl Part {
    fn search(
        &self,
        weight: &dyn Weight,
        average_tokens: f32,
        k: usize,
        is_live: &impl Fn(Place) -> bool,
    ) -> Result<TopK, IndexError> {
        let mut best = TopK::new(k);
        let slack = self.bound_slack(average_tokens);
        // tantivy calls back only where a score may exceed what the last call returned.
        let mut collect = |document: u32, score| {
            // Only a damaged index names a document that it does not have.
            if document < self.reader.max_doc() {
                let place = Place {
                    segment: self.segment,
                    ordinal: self.first.saturating_add(document),
                };
                best.offer(score, place, is_live);
            }
            best.threshold().map_or(Score::MIN, |least| least * slack)
        };
        let searched = tantivy_call(&self.path, || {
            weight.for_each_pruning(Score::MIN, &self.reader, &mut collect)
        });
        self.files.sound()?;
        searched.map(|()| best)
    }

    fn damaged(&self, reason: String) -> IndexError {
        IndexError::LexicalDamaged {
            path: self.path.clone(),
            reason,
        }
    }

    /// A factor for thresholds that keeps tantivy from skipping too much.
    ///
    /// tantivy skips a block of postings by a bound on its scores: the score of the passage that
    /// was best when the block was written, by the average length a of its own segment. Under the
    /// average b of all segments, another passage of the block may be best. As a score
    /// f / (f + k1 (1 - b' + b' l / a)) changes by at most the factor a / b or b / a between the
    /// two, no passage's exceeds the bound by more than that factor. A little more is for rounding.
    fn bound_slack(&self, average_tokens: f32) -> f32 {
        let own = self.tokens as f32 / self.reader.max_doc().max(1) as f32;
        let ratio = own / average_tokens;
        0.999 * ratio.min(1.0 / ratio)
    }
}

/// The result of a call of tantivy; if it fails or panics, the index at `path` is damaged.
fn tantivy_call<T>(
    path: &Path,
    call: impl FnOnce() -> Result<T, TantivyError>,
) -> Result<T, IndexError> {
    let called = contained(call).map_err(|reason| IndexError::LexicalDamaged {
        path: path.to_owned(),
        reason,
    })?;
    called.map_err(|error| damaged(path, &error))
}

/// Opens the index in a folder, and returns the number of terms in all its passages. The checksums
/// of files up to `most_bytes` are verified; larger ones are checked as they are read.
fn read_part(
    segment: &CheckedFolder,
    path: &Path,
    field: Field,
    most_bytes: u64,
) -> Result<(SegmentReader, u64), TantivyError> {
    let index = Index::open(Files::open(segment, path)?)?;
    let invalid = |reason: String| TantivyError::InvalidArgument(reason);
    if index.schema() != schema().0 {
        return Err(invalid(
            "it was written by another version of ken".to_owned(),
        ));
    }
    let segments = index.searchable_segments()?;
    let [tantivy_segment] = &segments[..] else {
        return Err(invalid(format!(
            "it has {} tantivy segments, not 1",
            segments.len()
        )));
    };
    for component in COMPONENTS {
        let file = tantivy_segment.relative_path(component);
        let is_small = std::fs::metadata(path.join(&file)).is_ok_and(|m| m.len() <= most_bytes);
        if is_small && !index.directory().validate_checksum(&file)? {
            return Err(invalid(format!(
                "the checksum of {} is wrong",
                file.display()
            )));
        }
    }
    let reader = SegmentReader::open(tantivy_segment)?;
    let tokens = reader.inverted_index(field)?.total_num_tokens();
    Ok((reader, tokens))
}

fn damaged(path: &Path, error: &TantivyError) -> IndexError {
    let reason = match error {
        TantivyError::InvalidArgument(reason) => reason.clone(),
        other => other.to_string(),
    };
    IndexError::LexicalDamaged {
        path: path.to_owned(),
        reason,
    }
}

#[cfg(test)]
mod tests;
