//! Answer normalization before comparison: the official SQuAD rules, and their Chinese form.
//!
//! SQuAD: lower case, no ASCII punctuation, no articles, single spaces. The details are those of
//! the official Python script, down to what Python calls a word character and white space, so that
//! scores can be compared with published ones.
//!
//! Chinese: NFKC, lower case, no punctuation of any script, and each Chinese character a token of
//! its own, as the official MLQA script segments Chinese. Runs of other letters and digits stay one
//! token, so `2008年` is the two tokens `2008 年`.
//!
//! Scoring is in `scores`. Nothing here detects languages beyond looking for Chinese characters.

use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The rules by which two texts are compared. Both sides need the same ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rules {
    /// The official SQuAD normalization.
    Squad,
    /// NFKC, no punctuation, characters as tokens.
    Chinese,
}

impl Rules {
    /// The rules for comparing `a` with `b`: Chinese if either contains a Chinese character.
    pub fn for_pair(a: &str, b: &str) -> Self {
        if a.chars().chain(b.chars()).any(is_chinese) {
            Self::Chinese
        } else {
            Self::Squad
        }
    }
}

/// The normalized form of `text`: its tokens, separated by single spaces. Empty if nothing is left.
pub fn normalize(text: &str, rules: Rules) -> String {
    match rules {
        Rules::Squad => normalize_squad(text),
        Rules::Chinese => normalize_chinese(text),
    }
}

fn normalize_squad(text: &str) -> String {
    let lowered = text.to_lowercase();
    let bare: String = lowered
        .chars()
        .filter(|c| !c.is_ascii_punctuation())
        .collect();
    join_tokens(&without_articles(&bare))
}

fn normalize_chinese(text: &str) -> String {
    let compatible: String = text.nfkc().collect();
    let mut spaced = String::with_capacity(compatible.len() * 2);
    for c in compatible.to_lowercase().chars() {
        if c.is_ascii_punctuation() || is_wide_punctuation(c) {
            continue;
        }
        if is_chinese(c) {
            spaced.extend([' ', c, ' ']);
        } else {
            spaced.push(c);
        }
    }
    join_tokens(&spaced)
}

/// Replaces each article that stands as a whole word by a space.
fn without_articles(text: &str) -> String {
    let mut kept = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(first) = rest.chars().next() {
        let in_word = is_word_character(first);
        let end = rest
            .find(|c| is_word_character(c) != in_word)
            .unwrap_or(rest.len());
        let (run, tail) = rest.split_at(end);
        if in_word && matches!(run, "a" | "an" | "the") {
            kept.push(' ');
        } else {
            kept.push_str(run);
        }
        rest = tail;
    }
    kept
}

fn join_tokens(text: &str) -> String {
    let tokens = text
        .split(is_python_space)
        .filter(|token| !token.is_empty());
    tokens.collect::<Vec<_>>().join(" ")
}

/// A text with its line breaks turned into spaces: blank lines end the examples of a prompt.
pub fn on_one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Python's `\w`: letters, numbers and the underscore, without the marks and the enclosed letters
/// that Unicode also calls alphabetic.
fn is_word_character(c: char) -> bool {
    let enclosed_letter = matches!(c,
        '\u{24b6}'..='\u{24e9}' | '\u{1f130}'..='\u{1f149}'
        | '\u{1f150}'..='\u{1f169}' | '\u{1f170}'..='\u{1f189}');
    c == '_' || (c.is_alphanumeric() && !is_combining_mark(c) && !enclosed_letter)
}

/// What Python's `str.split()` splits at: Unicode white space and the four ASCII separators.
fn is_python_space(c: char) -> bool {
    c.is_whitespace() || matches!(c, '\u{1c}'..='\u{1f}')
}

/// A Han character: the unified and compatibility ideographs and the digit zero `〇`.
pub(crate) fn is_chinese(c: char) -> bool {
    matches!(c,
        '\u{3007}' | '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}'
        | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether most letters of a text are Han characters and none is kana, so that the text is Chinese.
pub fn is_mostly_chinese(text: &str) -> bool {
    let is_kana = |c: char| matches!(c, '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}');
    let letters = || text.chars().filter(|c| c.is_alphabetic());
    let han = letters().filter(|&c| is_chinese(c)).count();
    2 * han > letters().count() && !letters().any(is_kana)
}

/// Punctuation in Chinese text besides ASCII's, after NFKC: Unicode's category P in the Latin-1, general and CJK
/// punctuation blocks.
pub(crate) fn is_wide_punctuation(c: char) -> bool {
    matches!(c,
        '\u{a1}' | '\u{a7}' | '\u{ab}' | '\u{b6}' | '\u{b7}' | '\u{bb}' | '\u{bf}'
        | '\u{2010}'..='\u{2027}' | '\u{2030}'..='\u{2043}' | '\u{2045}'..='\u{2051}'
        | '\u{2053}'..='\u{205e}' | '\u{3001}'..='\u{3003}' | '\u{3008}'..='\u{3011}'
        | '\u{3014}'..='\u{301f}' | '\u{3030}' | '\u{303d}' | '\u{30a0}' | '\u{30fb}'
        | '\u{2985}' | '\u{2986}' | '\u{fe45}' | '\u{fe46}')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn squad(text: &str) -> String {
        normalize(text, Rules::Squad)
    }

    fn chinese(text: &str) -> String {
        normalize(text, Rules::Chinese)
    }

    #[test]
    fn chinese_characters_stand_alone_and_other_runs_stay_whole() {
        assert_eq!(chinese("２００８年８月（Ｂ版）"), "2008 年 8 月 b 版");
        assert_eq!(chinese("二〇〇八·《x y》……"), "二 〇 〇 八 x y");
    }

    #[test]
    fn one_chinese_side_makes_the_pair_chinese() {
        assert_eq!(Rules::for_pair("308", "308 分"), Rules::Chinese);
        assert_eq!(Rules::for_pair("カタカナ", "한글"), Rules::Squad);
    }

    #[test]
    fn chinese_is_told_by_most_letters() {
        for text in ["北京在哪里？", "2008年 NBA 冠军是哪支球队"] {
            assert!(is_mostly_chinese(text), "{text}");
        }
        for text in ["", "1949", "Where is 北京?", "東京はどこですか", "서울"] {
            assert!(!is_mostly_chinese(text), "{text}");
        }
    }

    proptest! {
        #[test]
        fn normalized_text_has_no_stray_space(text in any::<String>()) {
            for rules in [Rules::Squad, Rules::Chinese] {
                let normalized = normalize(&text, rules);
                prop_assert_eq!(join_tokens(&normalized), normalized);
            }
        }

        #[test]
        fn case_and_ascii_punctuation_do_not_matter(text in "[a-zA-Z ,.'!-]{0,40}") {
            prop_assert_eq!(squad(&text), squad(&text.to_uppercase().replace(['.', ','], "")));
        }
    }
}
