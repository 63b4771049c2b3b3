//! Lexical search: BM25 (k1 = 1.2, b = 0.75) over title and text, by tantivy.
//!
//! Each segment of the corpus has an index of its own in its folder `lexical/`, with one tantivy
//! segment in which document n is passage n. It holds terms and frequencies, no text and no
//! positions. A title counts twice: what a passage is about is likelier to be what is asked for
//! than what it mentions. Scores of different segments compare, since document frequencies and lengths are
//! taken over all of them, passages that have since been replaced included. tantivy keeps the
//! length of a passage in one byte, so lengths above 40 terms are rounded down a little.
//!
//! A query is a text, never an expression: nothing in it is syntax.

mod write;

pub(crate) use write::LexicalWriter;

use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tantivy::query::{Bm25StatisticsProvider, BooleanQuery, EnableScoring, TermQuery, Weight};
use tantivy::schema::{Field, IndexRecordOption, Schema, TextFieldIndexing, TextOptions};
use tantivy::{Index, Score, Searcher, SegmentReader, TantivyError, Term};

use crate::IndexError;
use crate::tokenize::query_terms;
use crate::top_k::{Candidate, Place, TopK};

/// The name of the folder in a segment's folder.
const FOLDER: &str = "lexical";
/// The name under which the index asks for our tokenizer.
const TOKENIZER: &str = "ken";

/// The one field, into which title and text go together.
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

/// The lexical indexes of a corpus, ready to search.
pub(crate) struct LexicalIndex {
    segments: Vec<LexicalSegment>,
    field: Field,
    /// An empty index of the same schema: tantivy reads the schema of a query from a searcher.
    schema_holder: Searcher,
    passages: u64,
    tokens: u64,
}

struct LexicalSegment {
    path: PathBuf,
    reader: SegmentReader,
    /// Terms in all passages.
    tokens: u64,
}

impl LexicalIndex {
    /// Opens the indexes of segments given by folder and number of passages, and verifies the
    /// checksums of their files.
    pub(crate) fn open<'a>(
        segments: impl Iterator<Item = (&'a Path, usize)>,
    ) -> Result<LexicalIndex, IndexError> {
        let (schema, field) = schema();
        let schema_holder = Index::create_in_ram(schema)
            .reader()
            .map_err(|error| damaged(Path::new(FOLDER), &error))?
            .searcher();
        let segments = segments
            .map(|(dir, passages)| LexicalSegment::open(dir.join(FOLDER), passages, field))
            .collect::<Result<Vec<_>, IndexError>>()?;
        Ok(LexicalIndex {
            passages: segments.iter().map(|s| u64::from(s.reader.max_doc())).sum(),
            tokens: segments.iter().map(|s| s.tokens).sum(),
            segments,
            field,
            schema_holder,
        })
    }

    /// The best `k` live passages that hold a term of `text`, by BM25, best first; of equal scores
    /// the one that stands earlier in the corpus. Only the first 512 distinct terms count.
    pub(crate) fn search(
        &self,
        text: &str,
        k: usize,
        is_live: &(impl Fn(Place) -> bool + Sync),
    ) -> Result<Vec<Candidate>, IndexError> {
        let terms = self.query_terms(text);
        if terms.is_empty() || k == 0 || self.tokens == 0 {
            return Ok(Vec::new());
        }
        let weight = self
            .weight(terms)
            .map_err(|error| damaged(Path::new(FOLDER), &error))?;
        let average = self.tokens as f32 / self.passages as f32;
        (0u32..)
            .zip(&self.segments)
            .collect::<Vec<_>>()
            .into_par_iter()
            .map(|(number, segment)| segment.search(number, &*weight, average, k, is_live))
            .try_reduce(|| TopK::new(k), |left, right| Ok(left.merge(right)))
            .map(TopK::into_ranking)
    }

    fn query_terms(&self, text: &str) -> Vec<Term> {
        let terms = query_terms(text).into_iter();
        terms
            .map(|term| Term::from_field_text(self.field, &term))
            .collect()
    }

    /// The query for any of the terms, with the statistics of all segments.
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
        for segment in &self.segments {
            let index = segment.reader.inverted_index(term.field())?;
            passages += u64::from(index.doc_freq(term)?);
        }
        Ok(passages)
    }
}

impl LexicalSegment {
    fn open(path: PathBuf, passages: usize, field: Field) -> Result<LexicalSegment, IndexError> {
        match read_segment(&path, field) {
            Ok((reader, tokens)) if reader.max_doc() as usize == passages => Ok(LexicalSegment {
                path,
                reader,
                tokens,
            }),
            Ok((reader, _)) => Err(IndexError::LexicalDamaged {
                path,
                reason: format!("it holds {} passages, not {passages}", reader.max_doc()),
            }),
            Err(error) => Err(damaged(&path, &error)),
        }
    }

    fn search(
        &self,
        number: u32,
        weight: &dyn Weight,
        average_tokens: f32,
        k: usize,
        is_live: &impl Fn(Place) -> bool,
    ) -> Result<TopK, IndexError> {
        let mut best = TopK::new(k);
        let slack = self.bound_slack(average_tokens);
        // tantivy calls back only where a score may exceed what the last call returned.
        let mut collect = |ordinal, score| {
            let place = Place {
                segment: number,
                ordinal,
            };
            best.offer(score, place, is_live);
            best.threshold().map_or(Score::MIN, |least| least * slack)
        };
        weight
            .for_each_pruning(Score::MIN, &self.reader, &mut collect)
            .map_err(|error| damaged(&self.path, &error))?;
        Ok(best)
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

fn read_segment(path: &Path, field: Field) -> Result<(SegmentReader, u64), TantivyError> {
    let index = Index::open_in_dir(path)?;
    let invalid = |reason: String| TantivyError::InvalidArgument(reason);
    if index.schema() != schema().0 {
        return Err(invalid("it was written with another schema".to_owned()));
    }
    if let Some(file) = index.validate_checksum()?.iter().next() {
        return Err(invalid(format!(
            "the checksum of {} is wrong",
            file.display()
        )));
    }
    let segments = index.searchable_segments()?;
    let [segment] = &segments[..] else {
        return Err(invalid(format!("it has {} parts, not 1", segments.len())));
    };
    let reader = SegmentReader::open(segment)?;
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
mod tests {
    use super::*;
    use crate::tokenize::passage_terms;
    use proptest::prelude::*;
    use std::collections::HashSet;
    use tempfile::TempDir;

    type Passages = Vec<(String, String)>;

    fn written(passages: &[(String, String)]) -> TempDir {
        let dir = tempfile::tempdir().unwrap();
        let pairs = passages.iter().map(|(a, b)| (a.as_str(), b.as_str()));
        let mut writer = LexicalWriter::create(dir.path()).unwrap();
        for (title, text) in pairs {
            writer.push(title, text).unwrap();
        }
        writer.finish().unwrap();
        dir
    }

    fn opened(segments: &[Passages]) -> LexicalIndex {
        let dirs: Vec<TempDir> = segments.iter().map(|s| written(s)).collect();
        let with_counts = dirs.iter().zip(segments).map(|(d, s)| (d.path(), s.len()));
        LexicalIndex::open(with_counts).unwrap()
    }

    fn terms(text: &str) -> Vec<String> {
        passage_terms("", text)
    }

    /// BM25 by its formula in f64, passage by passage, sorted as a whole. Passages must be short
    /// enough for tantivy to keep their exact lengths.
    fn reference(
        segments: &[Passages],
        query: &str,
        is_live: impl Fn(Place) -> bool,
    ) -> Vec<(Place, f64)> {
        let mut all = Vec::new();
        for (segment, passages) in (0..).zip(segments) {
            for (ordinal, (title, text)) in (0..).zip(passages) {
                let terms = terms(&format!("{title} {title} {text}"));
                assert!(terms.len() <= 40);
                all.push((Place { segment, ordinal }, terms));
            }
        }
        let count = all.len() as f64;
        let average = all.iter().map(|(_, t)| t.len()).sum::<usize>() as f64 / count;
        let query: HashSet<String> = terms(query).into_iter().collect();
        let mut scores = vec![0.0f64; all.len()];
        for term in &query {
            let holding = all.iter().filter(|(_, t)| t.contains(term)).count() as f64;
            let idf = (1.0 + (count - holding + 0.5) / (holding + 0.5)).ln();
            for ((_, terms), score) in all.iter().zip(&mut scores) {
                let frequency = terms.iter().filter(|t| *t == term).count() as f64;
                let length = terms.len() as f64 / average;
                *score += idf * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length));
            }
        }
        let mut ranking: Vec<(Place, f64)> = all
            .iter()
            .zip(scores)
            .map(|((place, _), score)| (*place, score))
            .filter(|&(place, score)| score > 0.0 && is_live(place))
            .collect();
        ranking.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        ranking
    }

    /// The same scores from best to worst, and each the score of its own passage. Passages whose
    /// scores differ by a rounding may change places.
    fn assert_agrees(found: &[Candidate], expected: &[(Place, f64)], k: usize) {
        assert_eq!(found.len(), expected.len().min(k));
        let near = |a: f32, b: f64| (f64::from(a) - b).abs() <= 1e-5 * b.max(1.0);
        for (found, &(_, score)) in found.iter().zip(expected) {
            assert!(near(found.score, score), "{found:?} {score}");
            let own = expected.iter().find(|(p, _)| *p == found.place).unwrap();
            assert!(near(found.score, own.1), "{found:?} {own:?}");
        }
    }

    fn sentence(words: std::ops::Range<usize>) -> impl Strategy<Value = String> {
        let word = prop::sample::select(vec!["the", "a", "moon", "tide", "river", "北京", "Élan"]);
        prop::collection::vec(word, words).prop_map(|words| words.join(" "))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]
        #[test]
        fn agrees_with_the_formula(
            segments in prop::collection::vec(
                prop::collection::vec((sentence(0..3), sentence(0..20)), 0..20), 0..4),
            query in sentence(0..6),
            k in 0usize..12,
            dead in 1u32..5,
        ) {
            let is_live = |place: Place| !(place.ordinal + place.segment).is_multiple_of(dead + 1);
            let found = opened(&segments).search(&query, k, &is_live).unwrap();
            assert_agrees(&found, &reference(&segments, &query, is_live), k);
        }
    }

    /// Many blocks of postings, and segments of very different lengths, so that skipping blocks
    /// by the bounds of one segment would lose passages.
    #[test]
    fn skipping_loses_nothing_between_unlike_segments() {
        let mut state = 7u64;
        let mut random = move |below: u64| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            (state >> 33) % below
        };
        let mut segment = |passages: usize, least: u64, most: u64| -> Passages {
            (0..passages)
                .map(|_| {
                    let words = least + random(most - least);
                    let text: Vec<String> = (0..words)
                        .map(|_| format!("w{}", random(30).min(random(30))))
                        .collect();
                    (String::new(), text.join(" "))
                })
                .collect()
        };
        let segments = vec![
            segment(1500, 1, 6),
            segment(1500, 25, 40),
            segment(9, 1, 40),
        ];
        let index = opened(&segments);
        for query in ["w0", "w3 w20", "w1 w2 w5 w9", "w29 w0 w0 w11 nowhere"] {
            let expected = reference(&segments, query, |_| true);
            for k in [1, 10, 100] {
                let found = index.search(query, k, &|_| true).unwrap();
                assert_agrees(&found, &expected, k);
            }
        }
    }

    fn one(title: &str, text: &str) -> Passages {
        vec![(title.to_owned(), text.to_owned())]
    }

    #[test]
    fn nothing_in_a_query_is_syntax() {
        let index = opened(&[one("Logic", "What AND means in a query")]);
        for query in [
            "what is \"AND\" (x:",
            "+what -AND",
            "what^2~ [a TO b]",
            "title:what*",
        ] {
            assert_eq!(
                index.search(query, 5, &|_| true).unwrap().len(),
                1,
                "{query}"
            );
        }
        for query in ["", "   ", "\u{0}", "(((", "\\", "🙂"] {
            assert!(
                index.search(query, 5, &|_| true).unwrap().is_empty(),
                "{query}"
            );
        }
    }

    #[test]
    fn of_a_long_query_the_first_distinct_terms_count() {
        let index = opened(&[one("", "needle"), one("", "thread")]);
        let filler: String = (0..20_000).map(|n| format!("x{n} ")).collect();
        let found = index.search(&format!("needle {filler} thread"), 5, &|_| true);
        let found = found.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place.segment, 0);
        assert!(
            index
                .search(&"字".repeat(100_000), 5, &|_| true)
                .unwrap()
                .is_empty()
        );
    }

    #[test]
    fn chinese_is_found_by_pairs() {
        let index = opened(&[one("", "北京大学在中国首都"), one("", "大北方的京剧")]);
        let found = index.search("北京在哪里?", 5, &|_| true).unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!(found[0].place.segment, 0);
    }

    #[test]
    fn an_index_of_another_count_is_refused() {
        let dir = written(&one("", "alone"));
        let error = LexicalIndex::open([(dir.path(), 2)].into_iter())
            .err()
            .unwrap();
        assert_eq!(error.kind(), "lexical_damaged");
        assert!(
            error.to_string().contains("it holds 1 passages, not 2"),
            "{error}"
        );
    }

    /// Every file cut short, emptied, altered in the middle, or gone: an error or a working index,
    /// and never a panic.
    #[test]
    fn damage_to_any_file_is_an_error() {
        let passages: Passages = (0..300)
            .map(|n| (format!("title {n}"), format!("text number {n} of many")))
            .collect();
        let clean = written(&passages);
        let names: Vec<_> = std::fs::read_dir(clean.path().join(FOLDER))
            .unwrap()
            .map(|entry| entry.unwrap().file_name())
            .collect();
        assert!(names.len() >= 5);
        for name in names {
            for damage in ["cut", "emptied", "altered", "gone"] {
                let dir = tempfile::tempdir().unwrap();
                let folder = dir.path().join(FOLDER);
                std::fs::create_dir(&folder).unwrap();
                for entry in std::fs::read_dir(clean.path().join(FOLDER)).unwrap() {
                    let entry = entry.unwrap();
                    std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
                }
                let path = folder.join(&name);
                let mut bytes = std::fs::read(&path).unwrap();
                match damage {
                    "cut" => bytes.truncate(bytes.len() / 2),
                    "emptied" => bytes.clear(),
                    "altered" => {
                        let middle = bytes.len() / 3;
                        if let Some(byte) = bytes.get_mut(middle) {
                            *byte ^= 0x55;
                        }
                    }
                    _ => {}
                }
                std::fs::write(&path, bytes).unwrap();
                if damage == "gone" {
                    std::fs::remove_file(&path).unwrap();
                }
                let essential = !name.to_string_lossy().starts_with('.');
                match LexicalIndex::open([(dir.path(), 300)].into_iter()) {
                    Ok(index) => {
                        index.search("text of title 7", 10, &|_| true).unwrap();
                        assert!(!essential, "{name:?} {damage} went unnoticed");
                    }
                    Err(error) => assert_eq!(error.kind(), "lexical_damaged"),
                }
            }
        }
    }
}
