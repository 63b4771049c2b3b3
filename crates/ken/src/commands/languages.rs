//! The languages of a corpus, guessed from some of its passages: by script, and in Latin letters by small words that
//! nearly every sentence has.

use std::collections::BTreeMap;
use std::path::Path;

use ken_corpus::{Active, Corpus, CorpusError};
use serde::Serialize;

/// Passages that are looked at.
const SAMPLE: usize = 200;

/// A language with fewer of the passages is an exception.
const LEAST: f64 = 0.05;

const BY_WORDS: [(&str, &[&str]); 7] = [
    (
        "English",
        &[
            "the", "of", "and", "to", "is", "that", "for", "with", "are", "be",
        ],
    ),
    (
        "German",
        &[
            "der", "die", "und", "das", "ist", "nicht", "mit", "ein", "von", "zu",
        ],
    ),
    (
        "French",
        &[
            "le", "les", "et", "des", "est", "une", "dans", "pour", "du", "qui",
        ],
    ),
    (
        "Spanish",
        &[
            "el", "los", "las", "una", "por", "con", "para", "del", "es", "se",
        ],
    ),
    (
        "Italian",
        &[
            "il", "di", "che", "non", "della", "sono", "gli", "nel", "è", "un",
        ],
    ),
    (
        "Portuguese",
        &[
            "o", "os", "não", "uma", "em", "com", "do", "da", "para", "ao",
        ],
    ),
    (
        "Dutch",
        &[
            "het", "een", "van", "dat", "niet", "voor", "zijn", "met", "op", "aan",
        ],
    ),
];

/// A language, and the share of passages that are in it.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Share {
    pub(crate) language: &'static str,
    pub(crate) share: f64,
}

/// The languages of a corpus, the most frequent first.
pub(crate) fn of_corpus(path: &Path, active: Active) -> Result<Vec<Share>, CorpusError> {
    let corpus = Corpus::open_shards(path, active)?;
    let step = corpus.passage_count().div_ceil(SAMPLE).max(1);
    let segments = corpus.segments().iter();
    let passages =
        segments.flat_map(|segment| segment.live().ones().map(move |ordinal| (segment, ordinal)));
    let mut guesses = Vec::new();
    for (segment, ordinal) in passages.step_by(step) {
        guesses.extend(guess(&segment.passage(ordinal)?.text));
    }
    Ok(shares(&guesses))
}

/// The most frequent language, where that is not English.
pub(crate) fn other_than_english(shares: &[Share]) -> Option<&'static str> {
    let first = shares.first().map(|share| share.language);
    first.filter(|language| *language != "English")
}

fn shares(guesses: &[&'static str]) -> Vec<Share> {
    let mut counts = BTreeMap::new();
    for &language in guesses {
        *counts.entry(language).or_insert(0_usize) += 1;
    }
    let shares = counts.into_iter().map(|(language, count)| Share {
        language,
        share: count as f64 / guesses.len() as f64,
    });
    let mut shares: Vec<Share> = shares.filter(|one| one.share >= LEAST).collect();
    shares.sort_by(|a, b| b.share.total_cmp(&a.share));
    shares
}

/// The language of a text, or its script where that does not tell; `None` of a text without letters.
fn guess(text: &str) -> Option<&'static str> {
    let mut counts: BTreeMap<&'static str, usize> = BTreeMap::new();
    for script in text.chars().filter_map(script) {
        *counts.entry(script).or_default() += 1;
    }
    // Japanese is written in Han as well, and has kana in every sentence.
    if let (Some(kana), Some(han)) = (counts.get("Japanese").copied(), counts.get_mut("Chinese"))
        && 10 * kana > *han
    {
        *han = 0;
    }
    let (script, _) = counts.into_iter().max_by_key(|(_, count)| *count)?;
    match script {
        "Latin" => Some(by_words(text)),
        script => Some(script),
    }
}

/// What a letter is a sign of.
fn script(letter: char) -> Option<&'static str> {
    Some(match letter {
        '\u{370}'..='\u{3ff}' => "Greek",
        '\u{400}'..='\u{52f}' => "Cyrillic",
        '\u{590}'..='\u{5ff}' => "Hebrew",
        '\u{600}'..='\u{6ff}' => "Arabic",
        '\u{900}'..='\u{97f}' => "Hindi",
        '\u{e00}'..='\u{e7f}' => "Thai",
        '\u{3041}'..='\u{30ff}' => "Japanese",
        '\u{3400}'..='\u{9fff}' => "Chinese",
        '\u{1100}'..='\u{11ff}' | '\u{ac00}'..='\u{d7a3}' => "Korean",
        'a'..='z' | 'A'..='Z' | '\u{c0}'..='\u{24f}' => "Latin",
        letter if letter.is_alphabetic() => "others",
        _ => return None,
    })
}

/// The language whose words a text in Latin letters has most of, where one in twenty of its words is such.
fn by_words(text: &str) -> &'static str {
    let words = text.split(|c: char| !c.is_alphabetic());
    let words: Vec<String> = words
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    let count = |known: &[&str]| {
        words
            .iter()
            .filter(|word| known.contains(&word.as_str()))
            .count()
    };
    let counts = BY_WORDS.map(|(language, known)| (language, count(known)));
    match counts.into_iter().rev().max_by_key(|(_, count)| *count) {
        Some((language, count)) if 20 * count >= words.len() => language,
        _ => "others in Latin letters",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_tells_its_language() {
        for (text, language) in [
            (
                "The boat is kept in the shed, and the oil has to be changed.",
                "English",
            ),
            (
                "Das Boot ist im Schuppen, und das Öl wird mit dem Filter gewechselt.",
                "German",
            ),
            (
                "Le bateau est dans le hangar et les clés sont chez une voisine.",
                "French",
            ),
            (
                "El barco está en el cobertizo y las llaves están con una vecina.",
                "Spanish",
            ),
            (
                "La barca è nel capanno, e le chiavi non sono della casa.",
                "Italian",
            ),
            (
                "O barco não está em casa, e a chave do barco fica com uma vizinha.",
                "Portuguese",
            ),
            (
                "Het schip ligt niet in de haven, dat is van een schipper.",
                "Dutch",
            ),
            (
                "Laiva on vajassa ja avaimet naapurilla.",
                "others in Latin letters",
            ),
            ("Лодка стоит в сарае, ключ у соседки.", "Cyrillic"),
            ("灯每九秒转一圈。", "Chinese"),
            ("灯台の光は九秒ごとに回る。", "Japanese"),
            ("등대의 불빛은 구 초마다 돈다.", "Korean"),
            ("नाव छप्पर में है।", "Hindi"),
        ] {
            assert_eq!(guess(text), Some(language), "{text}");
        }
        assert_eq!(guess("12 + 30 = 42"), None);
    }

    #[test]
    fn shares_leave_exceptions_out() {
        let guesses = [vec!["English"; 90], vec!["German"; 9], vec!["Thai"]].concat();
        let shown = shares(&guesses);
        let shown: Vec<_> = shown.iter().map(|one| (one.language, one.share)).collect();
        assert_eq!(shown, [("English", 0.9), ("German", 0.09)]);
        assert!(shares(&[]).is_empty());
        assert_eq!(other_than_english(&shares(&guesses)), None);
        assert_eq!(other_than_english(&shares(&["German"])), Some("German"));
        assert_eq!(other_than_english(&[]), None);
    }
}
