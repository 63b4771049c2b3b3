//! Lexical search compared with the formula, and on damaged files.

use ken_testing::says;

use super::*;
use crate::tokenize::{Language, OTHERS, indexed_terms, query_words};
use proptest::prelude::*;
use std::collections::HashSet;
use tempfile::TempDir;

type Passages = Vec<(String, String)>;

fn written(passages: &[(String, String)]) -> TempDir {
    written_in_parts(passages, usize::MAX)
}

fn written_in_parts(passages: &[(String, String)], part_bytes: usize) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let pairs = passages.iter().map(|(a, b)| (a.as_str(), b.as_str()));
    let mut writer = LexicalWriter::with_part_bytes(dir.path(), part_bytes).unwrap();
    for (title, text) in pairs {
        writer.push(title, text).unwrap();
    }
    writer.finish().unwrap();
    dir
}

fn opened(segments: &[Passages]) -> LexicalIndex {
    opened_in_parts(segments, usize::MAX)
}

fn opened_in_parts(segments: &[Passages], part_bytes: usize) -> LexicalIndex {
    let written = |passages: &Passages| written_in_parts(passages, part_bytes);
    let dirs: Vec<TempDir> = segments.iter().map(written).collect();
    let with_counts = dirs.iter().zip(segments).map(|(d, s)| (d.path(), s.len()));
    LexicalIndex::open(with_counts).unwrap()
}

fn terms(title: &str, text: &str) -> Vec<String> {
    [title, title, text].map(indexed_terms).concat()
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
            let terms = terms(title, text);
            assert!(terms.len() <= 40);
            all.push((Place { segment, ordinal }, terms));
        }
    }
    let count = all.len() as f64;
    let average = all.iter().map(|(_, t)| t.len()).sum::<usize>() as f64 / count;
    let holding = |term: &str| {
        all.iter()
            .filter(|(_, terms)| terms.iter().any(|own| own == term))
            .count() as u64
    };
    let languages: Vec<&Language> = OTHERS
        .iter()
        .filter(|language| super::is_spoken(holding(language.marker), all.len() as u64))
        .collect();
    let query: HashSet<String> = query_words(query, &languages)
        .into_iter()
        .flatten()
        .collect();
    let mut scores = vec![0.0f64; all.len()];
    for term in &query {
        let holding = holding(term) as f64;
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
            prop::collection::vec((sentence(0..2), sentence(0..11)), 0..20), 0..4),
        query in sentence(0..6),
        k in 0usize..12,
        dead in 1u32..5,
    ) {
        let is_live = |place: Place| !(place.ordinal + place.segment).is_multiple_of(dead + 1);
        let expected = reference(&segments, &query, is_live);
        // Whole, and with every passage a part.
        for part_bytes in [usize::MAX, 0] {
            let index = opened_in_parts(&segments, part_bytes);
            assert_agrees(&index.search(&query, k, &is_live).unwrap(), &expected, k);
        }
    }
}

fn random() -> impl FnMut(u64) -> u64 {
    let mut state = 7u64;
    move |below| {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        (state >> 33) % below
    }
}

/// Many blocks of postings, and segments of very different lengths, so that skipping blocks
/// by the bounds of one segment would lose passages.
#[test]
fn skipping_loses_nothing_between_unlike_segments() {
    let mut random = random();
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
    let found = |query: &str| index.search(query, 5, &|_| true).unwrap().len();
    for query in [
        "what is \"AND\" (x:",
        "+what -AND",
        "what^2~ [a TO b]",
        "title:what*",
    ] {
        assert_eq!(found(query), 1, "{query}");
    }
    for query in ["", "   ", "\u{0}", "(((", "\\", "🙂"] {
        assert_eq!(found(query), 0, "{query}");
    }
}

#[test]
fn of_a_long_query_the_first_distinct_terms_count() {
    let index = opened(&[one("", "needle"), one("", "thread")]);
    let filler: String = (0..20_000).map(|n| format!("x{n} ")).collect();
    let found = |query: &str| index.search(query, 5, &|_| true).unwrap();
    let of_long = found(&format!("needle {filler} thread"));
    assert_eq!(of_long.len(), 1);
    assert_eq!(of_long[0].place.segment, 0);
    assert!(found(&"字".repeat(100_000)).is_empty());
}

#[test]
fn chinese_is_found_by_pairs() {
    let index = opened(&[one("", "北京大学在中国首都"), one("", "大北方的京剧")]);
    let found = index.search("北京在哪里?", 5, &|_| true).unwrap();
    assert_eq!(found.len(), 1);
    assert_eq!(found[0].place.segment, 0);
}

/// A part ends where its memory reaches the limit, and parts give the results of the whole.
#[test]
fn parts_are_searched_as_the_whole() {
    let mut random = random();
    let passages: Passages = (0..20_000)
        .map(|n| {
            let words: Vec<String> = (0..4 + random(16))
                .map(|_| format!("w{}", random(40_000).min(random(40_000))))
                .collect();
            (format!("t{}", n % 100), words.join(" "))
        })
        .collect();
    let segments = [passages];
    let whole = opened(&segments);
    let empty = tempfile::tempdir().unwrap();
    let least = LexicalWriter::create(empty.path()).unwrap().memory();
    let parts = opened_in_parts(&segments, least + (1 << 20));
    assert_eq!(whole.parts.len(), 1);
    assert!(
        (3..20).contains(&parts.parts.len()),
        "{}",
        parts.parts.len()
    );
    assert_eq!(parts.tokens, whole.tokens);
    let is_live = |place: Place| !place.ordinal.is_multiple_of(3);
    for query in ["w0", "w3 w200", "w1 w2 w5 w9 t7", "w39999 w0 w17 nowhere"] {
        let expected = reference(&segments, query, is_live);
        for k in [1, 10, 1000] {
            let found = parts.search(query, k, &is_live).unwrap();
            assert_agrees(&found, &expected, k);
            let of_whole = whole.search(query, k, &is_live).unwrap();
            for (found, of_whole) in found.iter().zip(of_whole) {
                // What remains is the order in which the terms' scores are added.
                assert!((found.score - of_whole.score).abs() <= 4.0 * f32::EPSILON * found.score);
            }
        }
    }
    // One term has no order.
    for query in ["w0", "t7", "w11"] {
        let found = parts.search(query, 500, &is_live).unwrap();
        assert_eq!(found, whole.search(query, 500, &is_live).unwrap());
    }
}

/// The limit of a part as it is, which takes millions of passages to reach: memory stays near it, and
/// terms on both sides of the border are ranked as the formula ranks them.
#[test]
#[ignore = "takes minutes"]
fn a_part_ends_at_its_real_limit_at_length() {
    const NEEDLES: [&str; 3] = ["needle", "thimble", "bobbin"];
    const AFTER: usize = 200_000;
    let mut random = random();
    let dir = tempfile::tempdir().unwrap();
    let mut writer = LexicalWriter::create(dir.path()).unwrap();
    let (mut lengths, mut holding): (Vec<u8>, Vec<(u32, [u32; 3])>) = Default::default();
    let (mut most_memory, mut border) = (0, None);
    let mut text = String::new();
    while border.is_none_or(|border| lengths.len() < border + AFTER) {
        let words = 20 + random(20) as u8;
        let mut counts = [0; 3];
        text.clear();
        for _ in 0..words {
            match random(60_000) {
                needle @ 0..3 => {
                    counts[needle as usize] += 1;
                    text.push_str(NEEDLES[needle as usize]);
                }
                word => text.push_str(&format!("w{}", word.min(random(60_000)))),
            }
            text.push(' ');
        }
        if counts != [0; 3] {
            holding.push((lengths.len() as u32, counts));
        }
        writer.push("", &text).unwrap();
        most_memory = most_memory.max(writer.memory());
        if writer.finished == 1 && border.is_none() {
            border = Some(lengths.len());
        }
        lengths.push(words);
    }
    writer.finish().unwrap();
    eprintln!(
        "{} passages, part 2 from {border:?}, {most_memory} bytes",
        lengths.len()
    );
    assert!((write::PART_BYTES..write::PART_BYTES + (16 << 20)).contains(&most_memory));

    let index = LexicalIndex::open([(dir.path(), lengths.len())].into_iter()).unwrap();
    assert_eq!(index.parts.len(), 2);
    let count = lengths.len() as f64;
    let average = lengths.iter().map(|&words| f64::from(words)).sum::<f64>() / count;
    let mut scores = vec![0.0; holding.len()];
    for needle in 0..3 {
        let with = holding.iter().filter(|(_, counts)| counts[needle] > 0);
        let with = with.count() as f64;
        let idf = (1.0 + (count - with + 0.5) / (with + 0.5)).ln();
        for ((ordinal, counts), score) in holding.iter().zip(&mut scores) {
            let frequency = f64::from(counts[needle]);
            let length = f64::from(lengths[*ordinal as usize]) / average;
            *score += idf * frequency * 2.2 / (frequency + 1.2 * (0.25 + 0.75 * length));
        }
    }
    let mut expected: Vec<(Place, f64)> = holding
        .iter()
        .zip(scores)
        .map(|(&(ordinal, _), score)| {
            (
                Place {
                    segment: 0,
                    ordinal,
                },
                score,
            )
        })
        .collect();
    expected.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    let border = border.unwrap() as u32;
    assert!(expected.iter().any(|(place, _)| place.ordinal >= border));
    let found = index.search(&NEEDLES.join(" "), expected.len(), &|_| true);
    assert_agrees(&found.unwrap(), &expected, expected.len());
}

#[test]
fn every_part_has_to_be_there() {
    let passages: Passages = ["one", "two", "three"]
        .map(|t| (String::new(), t.into()))
        .into();
    let open = |dir: &TempDir, passages| LexicalIndex::open([(dir.path(), passages)].into_iter());
    for gone in ["lexical", "lexical-2", "lexical-3"] {
        let dir = written_in_parts(&passages, 0);
        assert_eq!(open(&dir, 3).unwrap().parts.len(), 3);
        std::fs::remove_dir_all(dir.path().join(gone)).unwrap();
        assert_eq!(open(&dir, 3).err().unwrap().kind(), "lexical_damaged");
    }
    let dir = written_in_parts(&passages, 0);
    let error = open(&dir, 4).err().unwrap().to_string();
    says!(error => "lexical-3", "3 passages, not 4");
}

#[test]
fn an_index_of_another_count_is_refused() {
    let dir = written(&one("", "alone"));
    let opened = LexicalIndex::open([(dir.path(), 2)].into_iter());
    let error = opened.err().unwrap();
    assert_eq!(error.kind(), "lexical_damaged");
    let message = "there are 1 passages, not 2";
    assert!(error.to_string().contains(message), "{error}");
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

/// Without checksums, as in large files: altered bytes lead to an error or to results within the
/// passages, and never to a panic.
#[test]
fn damage_that_no_checksum_detects_is_contained() {
    let passages: Passages = (0..300)
        .map(|n| (format!("t{}", n % 7), format!("text number {n} of many")))
        .collect();
    let dir = written(&passages);
    let is_table = |path: &Path| path.extension().is_some_and(|e| e != "json" && e != "lock");
    let entries = std::fs::read_dir(dir.path().join(FOLDER)).unwrap();
    let files: Vec<PathBuf> = entries
        .map(|entry| entry.unwrap().path())
        .filter(|path| is_table(path))
        .collect();
    let (mut opened, mut refused) = (0, 0);
    for path in files {
        let valid = std::fs::read(&path).unwrap();
        let step = (valid.len() / 400).max(1);
        for at in (0..valid.len()).step_by(step) {
            let mut bytes = valid.clone();
            bytes[at] ^= [0xff, 0x80, 1][at / step % 3];
            std::fs::write(&path, bytes).unwrap();
            let segments = [(dir.path(), 300)].into_iter();
            let found = LexicalIndex::open_verifying(0, segments)
                .and_then(|index| index.search("text t3 number 7 many", 10, &|_| true));
            match found {
                Ok(found) => {
                    opened += 1;
                    assert!(found.iter().all(|c| c.place.ordinal < 300));
                }
                Err(error) => {
                    refused += 1;
                    assert_eq!(error.kind(), "lexical_damaged");
                }
            }
        }
        std::fs::write(&path, valid).unwrap();
    }
    assert!(opened > 100 && refused > 10, "{opened} {refused}");
}
