//! Splitting texts into the terms of the lexical index, alike for passages and queries.
//!
//! Terms are words by Unicode's word boundaries, folded (`fold`) and stemmed by the Snowball stemmer of the main
//! language of their script, Cyrillic ones as Russian and so on, and Latin ones of a passage by that of its language
//! (`language`). Such a passage has a marker, a term that is no word, and a query has the stems of all languages with
//! markers. A word that is written in several ways gets the terms of all of them: `Wi-Fi` is also `wifi`, `max_pressure` also `maxpressure`, `12,500` also `12500`,
//! `getPumpStatus` also `get`, `pump` and `status`; and names that end or begin with signs, `C++`, `C#`, `.NET`, are also terms as
//! they stand. Scripts written without spaces (Chinese, Japanese, Thai and others), and Korean, whose particles are part of the
//! word, become overlapping bigrams of characters, since neither single characters nor whole runs tell passages apart;
//! passages have their single characters as well, for queries of one. There are no stop words: BM25 already gives
//! frequent words little weight, and some queries consist of nothing else.

mod fold;
mod language;
mod words;

use std::collections::VecDeque;
use std::ops::Range;

use tantivy::tokenizer::{TextAnalyzer, Token, TokenStream, Tokenizer};
use unicode_segmentation::UnicodeSegmentation;

use fold::fold;
use frostem::Algorithm;
use language::ENGLISH;
pub use language::language_of;
pub(crate) use language::{Language, OTHERS};
use words::{Compound, Joint, camel_parts, stem};

/// The longest term, in characters. Longer words are cut, so that a page of base64 does not
/// become the largest part of the dictionary.
const LONGEST_TERM: usize = 64;

/// tantivy's analyzer, from a text to its terms.
pub(crate) fn analyzer() -> TextAnalyzer {
    TextAnalyzer::builder(Terms).build()
}

/// How many small words of a language show that a passage is in it: a single one may be part of a name.
const LEAST_WORDS: usize = 2;

/// The most distinct terms of a query that count. A longer query is a document, and its first words
/// say as much as all.
const QUERY_TERMS: usize = 512;

/// The length of the prefix of a query, in bytes, that is tokenized.
const QUERY_BYTES: usize = 1 << 20;

/// How many terms are made at a time, so that a text of millions takes little more memory than itself.
const TERMS_AT_ONCE: usize = 256;

/// The longest character of an unspaced script, marks included, in code points.
const LONGEST_CHARACTER: usize = LONGEST_TERM / 2;

/// The terms of a passage, read as English: those of its title, twice, and of its text.
pub fn passage_terms(title: &str, text: &str) -> Vec<String> {
    let english = |text| terms(text, Side::Passage, ENGLISH.stems);
    let title: Vec<String> = english(title).collect();
    let twice = title.iter().cloned().chain(title.iter().cloned());
    twice.chain(english(text)).collect()
}

/// The distinct terms of a query in English, in its order: at most the first 512 in the first MiB of the text.
pub fn query_terms(text: &str) -> Vec<String> {
    query_words(text, &[]).into_iter().flatten().collect()
}

/// The words of a query, each as its terms: that in English, and those in `others`, the languages that passages are in.
/// At most the first 512 in the first MiB of the text, no term twice.
pub(crate) fn query_words(text: &str, others: &[&Language]) -> Vec<Vec<String>> {
    let mut end = text.len().min(QUERY_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let mut others: Vec<TermsOf> = (others.iter())
        .map(|language| terms(&text[..end], Side::Query, language.stems))
        .collect();
    let mut seen = std::collections::HashSet::new();
    let words = terms(&text[..end], Side::Query, ENGLISH.stems).map(|term| {
        // Languages differ in stems alone, so that their terms stand in the same places.
        let more = others.iter_mut().filter_map(Iterator::next);
        let mut word: Vec<String> = std::iter::once(term).chain(more).collect();
        word.retain(|term| seen.insert(term.clone()));
        word
    });
    let words = words.filter(|word| !word.is_empty());
    words.take(QUERY_TERMS).collect()
}

/// The terms that the index makes of a title or a text.
#[cfg(test)]
pub(crate) fn indexed_terms(text: &str) -> Vec<String> {
    let mut analyzer = analyzer();
    let mut stream = analyzer.token_stream(text);
    std::iter::from_fn(|| Some(stream.next()?.text.clone())).collect()
}

/// Splits a text into terms.
#[derive(Clone, Debug)]
struct Terms;

impl Tokenizer for Terms {
    type TokenStream<'a> = TermStream;

    fn token_stream<'a>(&'a mut self, text: &'a str) -> TermStream {
        let language = language::by_words(text, LEAST_WORDS).unwrap_or(&ENGLISH);
        let is_marked = !std::ptr::eq(language, &ENGLISH);
        TermStream {
            terms: terms(text, Side::Passage, language.stems),
            mark: is_marked.then_some(language),
            token: Token::default(),
        }
    }
}

/// The terms of one text. Offsets are left at zero: the index keeps none.
struct TermStream {
    terms: TermsOf,
    /// The language whose mark is still to come.
    mark: Option<&'static Language>,
    token: Token,
}

impl TokenStream for TermStream {
    fn advance(&mut self) -> bool {
        let marked = |language: &Language| language.marker.to_owned();
        let next = self.terms.next();
        match next.or_else(|| self.mark.take().map(marked)) {
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

/// The text that terms are made for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    /// The characters of a run are terms, and their bigrams.
    Passage,
    /// Only the bigrams of a run are terms: they say more than its characters.
    Query,
}

fn terms(text: &str, side: Side, latin: Algorithm) -> TermsOf {
    TermsOf {
        text: fold(text),
        side,
        latin,
        at: 0,
        piece: 0,
        is_unspaced: false,
        last: None,
        is_alone: false,
        compound: Compound::default(),
        ready: VecDeque::new(),
    }
}

/// The terms of a text, made as they are asked for.
struct TermsOf {
    /// Folded.
    text: String,
    side: Side,
    /// How words in Latin letters are stemmed.
    latin: Algorithm,
    /// The offset of the text that is still to be split.
    at: usize,
    /// The end of the piece between two word boundaries that holds it.
    piece: usize,
    /// Whether the piece is of a script without spaces.
    is_unspaced: bool,
    /// The last character of a run of unspaced pieces.
    last: Option<Range<usize>>,
    /// Whether that is the only character of the run.
    is_alone: bool,
    /// The words since the last that may also be written as one.
    compound: Compound,
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
                self.end_compound();
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
            let is_hyphen = matches!(piece, "-" | "\u{2010}" | "\u{2011}");
            let is_word = !self.is_unspaced && piece.contains(char::is_alphanumeric);
            if !self.is_unspaced {
                self.end_run();
            }
            if is_hyphen {
                self.compound.join(Joint::Hyphen);
            } else if !is_word {
                self.end_compound();
            }
        }
        match self.is_unspaced {
            true => self.extend_run(),
            false => self.take_word(),
        }
    }

    fn take_word(&mut self) {
        let rest = &self.text[self.at..self.piece];
        let (word, sign) = match rest.char_indices().find(|(_, letter)| joins_words(*letter)) {
            Some((end, sign)) => (&rest[..end], Some(sign)),
            None => (rest, None),
        };
        let end = self.at + word.len();
        if word.contains(char::is_alphanumeric) {
            let cut: String = word.chars().take(LONGEST_TERM).collect();
            let lower = cut.to_lowercase();
            let latin = self.latin;
            let stemmed = |part: &str| stem(&part.to_lowercase(), latin);
            self.ready.push_back(stem(&lower, latin));
            self.ready.extend(camel_parts(&cut).map(stemmed));
            self.ready.extend(self.with_signs(&lower, end));
            let joined = self.compound.push(&lower);
            self.ready.extend(joined.map(|word| stem(&word, latin)));
            match sign {
                Some('_') => self.compound.join(Joint::Hyphen),
                Some(sign) if self.groups_digits(word, end + sign.len_utf8()) => {
                    self.compound.join(Joint::Digits);
                }
                Some(_) => self.end_compound(),
                None => {}
            }
        }
        self.at = end + sign.map_or(0, char::len_utf8);
    }

    fn end_compound(&mut self) {
        let joined = self.compound.end();
        self.ready
            .extend(joined.map(|word| stem(&word, self.latin)));
    }

    /// A name with the signs that belong to it: up to two of `+` and `#` behind it, or the point before it.
    fn with_signs(&self, word: &str, end: usize) -> Option<String> {
        let behind = &self.text[end..];
        let signs = behind.bytes().take_while(|sign| b"+#".contains(sign));
        let signs = signs.take(3).count();
        if (1..=2).contains(&signs) && !behind[signs..].starts_with(char::is_alphanumeric) {
            return Some(format!("{word}{}", &behind[..signs]));
        }
        let mut before = self.text[..self.at].chars().rev();
        let is_point = before.next() == Some('.');
        (is_point && before.next().is_none_or(char::is_whitespace)).then(|| format!(".{word}"))
    }

    /// Whether a sign between these digits and the text from `next` separates thousands.
    fn groups_digits(&self, digits: &str, next: usize) -> bool {
        let is_digit = |byte: &u8| byte.is_ascii_digit();
        let behind = self.text[next..].bytes();
        self.compound.takes_digits(digits)
            && digits.bytes().all(|byte| byte.is_ascii_digit())
            && behind.take(4).take_while(is_digit).count() == 3
    }

    /// Turns the characters of a run into overlapping bigrams, and those of a passage also into terms of their own.
    fn extend_run(&mut self) {
        for character in self.text[self.at..self.piece].graphemes(true) {
            let own = self.at..self.at + shortened(character).len();
            if let Some(last) = &self.last {
                let bigram = [&self.text[last.clone()], &self.text[own.clone()]].concat();
                self.ready.push_back(bigram);
            }
            if self.side == Side::Passage {
                self.ready.push_back(self.text[own.clone()].to_owned());
            }
            self.is_alone = self.last.is_none();
            self.last = Some(own);
            self.at += character.len();
            if self.ready.len() >= TERMS_AT_ONCE {
                return;
            }
        }
    }

    /// Ends a run; in a query, a run of a single character is a term itself.
    fn end_run(&mut self) {
        if let Some(last) = self.last.take()
            && self.is_alone
            && self.side == Side::Query
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

/// Punctuation that Unicode keeps inside a word: `it's`, `example.com`, `snake_case`, `1,000`.
fn joins_words(c: char) -> bool {
    c.is_ascii_punctuation() || matches!(c, '\u{b7}' | '\u{2018}' | '\u{2019}' | '\u{203f}')
}

/// Letters of scripts without spaces between words, and Korean syllables, since particles follow a noun without one.
fn is_unspaced(c: char) -> bool {
    matches!(c,
        '\u{e00}'..='\u{eff}' // Thai, Lao
        | '\u{1000}'..='\u{109f}' // Myanmar
        | '\u{1780}'..='\u{17ff}' // Khmer
        | '\u{3005}'..='\u{3007}' // the Han marks of repetition and zero
        | '\u{3041}'..='\u{30ff}' // kana
        | '\u{31f0}'..='\u{31ff}' // small kana
        | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' // Han
        | '\u{ac00}'..='\u{d7a3}' // Hangul
        | '\u{20000}'..='\u{3ffff}' // rarer Han
    ) && c.is_alphanumeric()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn terms(text: &str) -> Vec<String> {
        super::terms(text, Side::Query, Algorithm::English).collect()
    }

    fn of_passage(text: &str) -> Vec<String> {
        super::terms(text, Side::Passage, Algorithm::English).collect()
    }

    /// Whether a query with one text finds a passage with the other by all of its terms.
    fn finds(query: &str, passage: &str) -> bool {
        let passage = of_passage(passage);
        terms(query).iter().all(|term| passage.contains(term))
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
                "einstein",
                "s",
                "well",
                "known",
                "wellknown",
                "snake",
                "case",
                "snakecas",
                "exampl",
                "com",
                "1",
                "000",
                "1000"
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
    fn passages_have_their_single_characters_too() {
        assert_eq!(of_passage("北京大"), ["北", "北京", "京", "京大", "大"]);
        assert!(finds("水", "海水很冷") && finds("冷", "海水很冷"));
    }

    #[test]
    fn a_korean_noun_finds_itself_with_a_particle() {
        assert_eq!(terms("한국어 문서"), ["한국", "국어", "문서"]);
        for (noun, sentence) in [
            ("펌프", "펌프가 열린다"),
            ("문서", "이 문서에는"),
            ("물", "물은 차다"),
        ] {
            assert!(finds(noun, sentence), "{noun}");
        }
    }

    #[test]
    fn what_is_written_in_several_ways_finds_itself() {
        for (one, other) in [
            ("wifi", "the Wi-Fi at the basin"),
            ("email", "an e-mail"),
            ("47110815", "Gasket 4711-0815/B"),
            ("12500", "12,500 boats"),
            ("1250000", "1.250.000 euros"),
            ("get pump status", "Call getPumpStatus"),
            ("getpumpstatus", "getPumpStatus or get_pump_status"),
            ("server", "HTTPServer"),
            ("strasse", "Straße"),
            ("Lodz", "Łódź"),
            ("encyclopaedia", "encyclopædia"),
            ("oeuvre", "œuvre"),
            ("isik", "ışık"),
            ("smorrebrod", "smørrebrød"),
            ("2024", "٢٠٢٤"),
            ("cooperation", "co\u{ad}opera\u{200b}tion"),
            ("wellknown", "well\u{2010}known"),
        ] {
            assert!(finds(one, other), "{one} in {:?}", of_passage(other));
        }
        // A name is not cut if it has no parts, and groups of digits that are no thousands stay apart.
        assert_eq!(terms("PDFs iOS"), ["pdfs", "io", "os"]);
        assert_eq!(terms("10.20.30.4"), ["10", "20", "30", "4"]);
        assert_eq!(
            terms("1,000 2,000"),
            ["1", "000", "1000", "2", "000", "2000"]
        );
    }

    #[test]
    fn signs_belong_to_the_names_that_have_them() {
        assert_eq!(terms("C++ and C#"), ["c", "c++", "and", "c", "c#"]);
        assert_eq!(terms(".NET"), ["net", ".net"]);
        assert_eq!(
            terms("issue#12, 1+1, a.b, end."),
            ["issu", "12", "1", "1", "a", "b", "end"]
        );
        assert!(finds("c#", "The console is written in C#.") && !finds("c#", "c.68_69delAG"));
    }

    #[test]
    fn each_script_has_its_stems() {
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
    fn a_passage_has_the_stems_of_its_language_and_a_query_those_of_all_that_are_held() {
        let text = "Die Häuser der Inseln sind nicht von den Fischern.";
        let held = indexed_terms(text);
        assert_eq!(held.last().map(String::as_str), Some("\u{1}de"));
        let is_held = |term: &str| held.iter().any(|own| own == term);
        let languages = OTHERS.iter().filter(|language| is_held(language.marker));
        let languages: Vec<&Language> = languages.collect();
        for query in ["Haus", "einer Insel", "Fischer"] {
            let words = query_words(query, &languages);
            assert!(words.iter().flatten().any(|term| is_held(term)), "{query}");
        }
        assert_eq!(query_words("Häusern", &languages), [["hausern", "haus"]]);
        assert_eq!(query_words("Häusern", &[]), [["hausern"]]);
        // An English text has no marker, and its queries have no other stems.
        let english = indexed_terms("The houses of the island are not for the fishers.");
        assert!(english.iter().all(|term| !term.starts_with('\u{1}')));
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
        fn words_are_those_that_text_between_spaces_gives_alone(
            words in proptest::collection::vec("([a-cA-C.'_+#-]|[0-9,.]|[海국カなก่ข]|[\u{301}\u{200d}🇩🇪👍é]){1,9}", 0..400),
        ) {
            // A long text is processed in pieces, which must not affect its terms.
            let apart: Vec<String> = words.iter().flat_map(|word| terms(word)).collect();
            prop_assert_eq!(terms(&words.join(" ")), apart);
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
