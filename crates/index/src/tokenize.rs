//! Text to the terms of the lexical index, the same way for passages and queries.
//!
//! Terms are words by Unicode's word boundaries, lower-cased, without accents, in compatibility
//! form (full-width letters become plain ones), and stemmed by the Snowball stemmer of the main
//! language of their script: Latin words as English, Cyrillic ones as Russian, and so on. Scripts
//! written without spaces (Chinese, Japanese, Thai and others) become overlapping bigrams of
//! characters, since neither single characters nor whole runs tell passages apart. There are no
//! stop words: BM25 already gives frequent words little weight, and some queries consist of nothing
//! else.

use std::collections::VecDeque;
use std::ops::Range;

use frostem::{Algorithm, Stemmer};
use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};
use unicode_normalization::UnicodeNormalization;
use unicode_segmentation::UnicodeSegmentation;

/// The longest term, in characters. Longer words are cut, so that a page of base64 does not
/// become the largest part of the dictionary.
const LONGEST_TERM: usize = 64;

/// tantivy's analyzer, from a text to its terms.
pub(crate) fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(Terms).build()
}

/// The most distinct terms of a query that count. A longer query is a document, and its first words
/// say as much as all.
const QUERY_TERMS: usize = 512;

/// The length of the prefix of a query, in bytes, that is tokenized.
const QUERY_BYTES: usize = 1 << 20;

/// How many terms are made at once, so that a text of millions takes little more memory than itself.
const TERMS_AT_ONCE: usize = 256;

/// The longest character of an unspaced script, marks included, in code points.
const LONGEST_CHARACTER: usize = LONGEST_TERM / 2;

/// The terms of a passage in the lexical index: those of its title, twice, and of its text.
#[must_use]
pub fn passage_terms(title: &str, text: &str) -> Vec<String> {
    let title: Vec<String> = terms(title).collect();
    let twice = title.iter().cloned().chain(title.iter().cloned());
    twice.chain(terms(text)).collect()
}

/// The distinct terms of a query, in its order: at most the first 512 in the first MiB of the text.
#[must_use]
pub fn query_terms(text: &str) -> Vec<String> {
    let mut end = text.len().min(QUERY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut seen = std::collections::HashSet::new();
    terms(&text[..end])
        .filter(|term| seen.insert(term.clone()))
        .take(QUERY_TERMS)
        .collect()
}

/// Splits a text into terms.
#[derive(Clone, Debug)]
struct Terms;

impl Tokenizer for Terms {
    type TokenStream<'a> = TermStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TermStream {
        TermStream {
            terms: terms(text),
            token: Token::default(),
        }
    }
}

/// The terms of one text. Offsets are left at zero: the index keeps none.
struct TermStream {
    terms: TermsOf,
    token: Token,
}

impl TokenStream for TermStream {
    fn advance(&mut self) -> bool {
        match self.terms.next() {
            Some(term) => {
                self.token.position = self.token.position.wrapping_add(1);
                self.token.text = term;
                true
            }
            None => false,
        }
    }

    fn token(&self) -> &Token {
        &self.token
    }

    fn token_mut(&mut self) -> &mut Token {
        &mut self.token
    }
}

fn terms(text: &str) -> TermsOf {
    TermsOf {
        text: fold(text),
        at: 0,
        piece: 0,
        is_unspaced: false,
        last: None,
        is_alone: false,
        ready: VecDeque::new(),
    }
}

/// The terms of a text, made as they are asked for.
struct TermsOf {
    /// Folded.
    text: String,
    /// What is before is done.
    at: usize,
    /// The end of the piece between two word boundaries in which that is.
    piece: usize,
    /// Whether the piece is of a script without spaces.
    is_unspaced: bool,
    /// The last character of a run of such pieces.
    last: Option<Range<usize>>,
    /// Whether it is the only one.
    is_alone: bool,
    ready: VecDeque<String>,
}

impl Iterator for TermsOf {
    type Item = String;

    fn next(&mut self) -> Option<String> {
        if self.ready.is_empty() {
            while self.ready.len() < TERMS_AT_ONCE && self.at < self.text.len() {
                self.advance();
            }
            if self.at == self.text.len() {
                self.end_run();
            }
        }
        self.ready.pop_front()
    }
}

impl TermsOf {
    /// Makes the terms of the next word, or of some characters of a run.
    fn advance(&mut self) {
        if self.at == self.piece {
            let piece = self.text[self.at..].split_word_bounds().next();
            let piece = piece.unwrap_or_default();
            self.is_unspaced = piece.starts_with(is_unspaced);
            self.piece = self.at + piece.len();
            if !self.is_unspaced {
                self.end_run();
            }
        }
        match self.is_unspaced {
            true => self.extend_run(),
            false => self.take_word(),
        }
    }

    fn take_word(&mut self) {
        let rest = &self.text[self.at..self.piece];
        let (word, taken) = match rest.char_indices().find(|(_, letter)| joins_words(*letter)) {
            Some((end, sign)) => (&rest[..end], end + sign.len_utf8()),
            None => (rest, rest.len()),
        };
        if word.contains(char::is_alphanumeric) {
            let word: String = word.chars().take(LONGEST_TERM).collect();
            self.ready.push_back(stem(&word));
        }
        self.at += taken;
    }

    /// Turns characters of a run into overlapping bigrams.
    fn extend_run(&mut self) {
        for character in self.text[self.at..self.piece].graphemes(true) {
            let own = self.at..self.at + shortened(character).len();
            if let Some(last) = &self.last {
                let bigram = [&self.text[last.clone()], &self.text[own.clone()]].concat();
                self.ready.push_back(bigram);
            }
            self.is_alone = self.last.is_none();
            self.last = Some(own);
            self.at += character.len();
            if self.ready.len() >= TERMS_AT_ONCE {
                return;
            }
        }
    }

    /// Ends a run; a single character is a term itself.
    fn end_run(&mut self) {
        if let Some(last) = self.last.take()
            && self.is_alone
        {
            self.ready.push_back(self.text[last].to_owned());
        }
    }
}

/// A character with its first combining marks, of which it can have millions.
fn shortened(character: &str) -> &str {
    let end = character.char_indices().nth(LONGEST_CHARACTER);
    end.map_or(character, |(end, _)| &character[..end])
}

/// The stem of a word, where there is a stemmer for its script.
fn stem(word: &str) -> String {
    let algorithm = match word.chars().find(|c| c.is_alphabetic()) {
        Some('a'..='z' | '\u{df}'..='\u{24f}') => Algorithm::English,
        Some('\u{370}'..='\u{3ff}') => Algorithm::Greek,
        Some('\u{400}'..='\u{52f}') => Algorithm::Russian,
        Some('\u{600}'..='\u{6ff}') => Algorithm::Arabic,
        Some('\u{900}'..='\u{97f}') => Algorithm::Hindi,
        Some('\u{b80}'..='\u{bff}') => Algorithm::Tamil,
        _ => return word.to_owned(),
    };
    let stem = Stemmer::new(algorithm).stem(word);
    // Some reduce a word that is all suffix to nothing.
    if stem.is_empty() {
        word.to_owned()
    } else {
        stem.into_owned()
    }
}

/// Compatibility form, lower case, no accents. Marks that are more than an accent (the vowels of
/// Indic scripts, the voicing of kana, the breve that makes another letter of a Cyrillic one) stay.
fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut under = ' ';
    let mut is_accent = |c: char| {
        let is_mark = ('\u{300}'..='\u{36f}').contains(&c);
        if !is_mark {
            under = c;
        }
        is_mark && !(c == '\u{306}' && matches!(under, '\u{400}'..='\u{52f}'))
    };
    text.nfkd()
        .flat_map(char::to_lowercase)
        .filter(|&c| !is_accent(c))
        .nfc()
        .collect()
}

/// Punctuation that Unicode keeps inside a word: `it's`, `example.com`, `snake_case`, `1,000`.
fn joins_words(c: char) -> bool {
    c.is_ascii_punctuation() || matches!(c, '\u{b7}' | '\u{2018}' | '\u{2019}' | '\u{203f}')
}

/// Letters of scripts without spaces between words.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Myanmar
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3005}'..='\u{3007}' // the Han marks of repetition and zero
        | '\u{3041}'..='\u{30ff}' // kana
        | '\u{31f0}'..='\u{31ff}' // small kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{20000}'..='\u{3ffff}' // rarer Han
    ) && c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn terms(text: &str) -> Vec<String> {
        super::terms(text).collect()
    }

    /// All terms at once.
    fn terms_at_once(text: &str) -> Vec<String> {
        fn end(terms: &mut Vec<String>, run: &mut Vec<&str>) {
            if let [alone] = run[..] {
                terms.push(alone.to_owned());
            }
            terms.extend(run.windows(2).map(<[&str]>::concat));
            run.clear();
        }
        let text = fold(text);
        let (mut terms, mut run) = (Vec::new(), Vec::new());
        for piece in text.split_word_bounds() {
            if piece.starts_with(is_unspaced) {
                run.extend(piece.graphemes(true).map(shortened));
                continue;
            }
            end(&mut terms, &mut run);
            let words = piece.split(joins_words);
            let words = words.filter(|word| word.contains(char::is_alphanumeric));
            terms.extend(
                words.map(|word| stem(&word.chars().take(LONGEST_TERM).collect::<String>())),
            );
        }
        end(&mut terms, &mut run);
        terms
    }

    #[test]
    fn words_lose_case_accents_and_endings() {
        assert_eq!(terms("The Running DOGS"), ["the", "run", "dog"]);
        assert_eq!(
            terms("Beyoncé Ångström İzmir"),
            ["beyonc", "angstrom", "izmir"]
        );
        assert_eq!(terms("BEYONCÉ"), terms("Beyonce\u{301}"));
        assert_eq!(terms("ＡＢＣ１２"), ["abc12"]);
    }

    #[test]
    fn punctuation_parts_words() {
        assert_eq!(
            terms("Einstein's well-known snake_case, example.com (1,000)!"),
            [
                "einstein", "s", "well", "known", "snake", "case", "exampl", "com", "1", "000"
            ]
        );
        assert_eq!(terms("— … !? \u{200b}"), [""; 0]);
    }

    #[test]
    fn unspaced_scripts_become_bigrams() {
        assert_eq!(terms("北京大学"), ["北京", "京大", "大学"]);
        assert_eq!(terms("在2008年,北京"), ["在", "2008", "年", "北京"]);
        assert_eq!(terms("ガイド"), ["ガイ", "イド"]);
        assert_eq!(terms("ｶﾞｲﾄﾞ"), terms("ガイド"));
        assert_eq!(terms("กินข้าว").len(), 4);
    }

    #[test]
    fn each_script_has_its_stems() {
        assert_eq!(terms("한국어 문서"), ["한국어", "문서"]);
        for (one, other) in [
            ("books", "book"),
            ("книгами", "книга"),
            ("старый ёж", "старым еж"),
            ("λόγος", "λογοι"),
            ("भाषाओं", "भाषा"),
            ("الكتاب", "كتاب"),
        ] {
            assert_eq!(terms(one), terms(other));
        }
        assert_eq!(terms("Война и мир"), ["войн", "и", "мир"]);
        assert_ne!(fold("мой"), fold("мои"));
    }

    #[test]
    fn long_words_are_cut() {
        assert_eq!(terms(&"ж".repeat(9000)), ["ж".repeat(LONGEST_TERM)]);
        let marked = format!("字{}母", "\u{489}".repeat(9000));
        assert_eq!(
            terms(&marked),
            [format!("字{}母", "\u{489}".repeat(LONGEST_CHARACTER - 1))]
        );
    }

    #[test]
    fn only_the_start_of_a_long_query_counts() {
        let text: String = (0..QUERY_TERMS + 9).map(|n| format!("x{n} ")).collect();
        assert_eq!(query_terms(&text).len(), QUERY_TERMS);
        assert_eq!(query_terms("b a b a c"), ["b", "a", "c"]);
        for fill in ["- ", "同", "a "] {
            let text = format!("{}needle", fill.repeat(QUERY_BYTES / fill.len() + 1));
            assert!(query_terms(&text).iter().all(|term| term != "needl"));
        }
    }

    proptest! {
        #[test]
        fn terms_are_the_same_however_many_are_made_at_once(
            text in "([a-cA.'_ ]|[海国カなก่ข]|[\u{301}\u{200d}🇩🇪👍é\n]){0,16}",
            times in 1_usize..200,
        ) {
            let text = text.repeat(times);
            prop_assert_eq!(terms(&text), terms_at_once(&text));
        }

        #[test]
        fn any_text_gives_short_terms_that_are_not_empty(text in any::<String>()) {
            for term in terms(&text) {
                prop_assert!(!term.is_empty());
                prop_assert!(term.len() <= 8 * LONGEST_TERM);
            }
        }
    }
}
