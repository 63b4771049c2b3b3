//! The family's tokenizer as a `tokenizer.json`: the world's words, each with the space before it, and bytes for
//! everything else, so that it encodes every text.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::templates::{TRADES, YEARS, fill, templates};
use crate::world::World;

/// Begins and ends every text; the first token.
pub const END_OF_TEXT: &str = "<|endoftext|>";
const UNKNOWN: &str = "<unk>";
/// Special tokens for later fine-tuning: the end of the question, the end of the knowledge, and the sources.
const RESERVED: [&str; 4] = ["<EOQ>", "<EOK>", "<self>", "<corpus>"];
const SPARE: usize = 10;

/// The regular expression that splits a text into words, as [`words_of`] does.
const PATTERN: &str = r" ?[A-Za-z]+| ?[0-9]+|\n| ?[^\sA-Za-z0-9]|\s";

/// Words of prompts besides the world's own.
const PROMPTS: [&str; 8] = [
    "Question: Answer: Background: A search is needed: Mastered: Certain:",
    "Question:\nAnswer:\nBackground:\nA search is needed:\nMastered:\nCertain:",
    "\nA. a\nB. b\nC. c\nD. d\n A B C D A. B. C. D.",
    "[1] [2] [3] [4] [5] [6] [7] [8] [9] 1 2 3 4 5 6 7 8 9",
    " True False Yes No yes no true false",
    " MASK. MASK, MASK: MASK? MASK",
    " I know this. I do not know this. known unknown",
    " , . : ; ? ! ( ) - ' \" and or not in of from with by the a it they he she",
];

/// Every word of a world, in a stable order.
fn words(world: &World) -> BTreeSet<String> {
    let mut words = BTreeSet::new();
    let mut add = |text: &str| words.extend(words_of(text).into_iter().map(str::to_owned));
    PROMPTS.into_iter().for_each(&mut add);
    for template in templates() {
        // "A" is a word in any case.
        add(&format!(" {}", fill(template, "A", "A")));
    }
    let years: Vec<String> = YEARS.map(|year| year.to_string()).collect();
    let named = world.names.words().chain(TRADES.iter().copied());
    for word in named.chain(years.iter().map(String::as_str)) {
        add(&format!(" {word}"));
    }
    words
}

/// The `tokenizer.json` of a world, and its number of tokens.
pub fn tokenizer(world: &World) -> (Value, usize) {
    let mut tokens = vec![END_OF_TEXT.to_owned(), UNKNOWN.to_owned()];
    tokens.extend(RESERVED.map(str::to_owned));
    tokens.extend((1..=SPARE).map(|number| format!("<spare-{number}>")));
    let special: Vec<Value> = tokens.iter().enumerate().map(special).collect();
    tokens.extend((0..=u8::MAX).map(|byte| format!("<0x{byte:02X}>")));
    tokens.extend(words(world));
    // All tokens cost the same, so the shortest segmentation wins.
    let scored: Vec<Value> = tokens.iter().map(|token| json!([token, -1.0])).collect();
    let end = json!({"SpecialToken": {"id": END_OF_TEXT, "type_id": 0}});
    let text = |id: &str| json!({"Sequence": {"id": id, "type_id": 0}});
    let tokenizer = json!({
        "version": "1.0",
        "truncation": null,
        "padding": null,
        "added_tokens": special,
        "normalizer": null,
        "pre_tokenizer": {
            "type": "Split",
            "pattern": {"Regex": PATTERN},
            "behavior": "Isolated",
            "invert": false,
        },
        "post_processor": {
            "type": "TemplateProcessing",
            "single": [end, text("A")],
            "pair": [end, text("A"), text("B")],
            "special_tokens": {
                END_OF_TEXT: {"id": END_OF_TEXT, "ids": [0], "tokens": [END_OF_TEXT]},
            },
        },
        "decoder": {
            "type": "Sequence",
            "decoders": [{"type": "ByteFallback"}, {"type": "Fuse"}],
        },
        "model": {"type": "Unigram", "unk_id": 1, "vocab": scored, "byte_fallback": true},
    });
    (tokenizer, tokens.len())
}

fn special((id, token): (usize, &String)) -> Value {
    json!({
        "id": id,
        "content": token,
        "single_word": false,
        "lstrip": false,
        "rstrip": false,
        "normalized": false,
        "special": true,
    })
}

/// The words of a text, each with the space before it.
fn words_of(text: &str) -> Vec<&str> {
    let mut words = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let space = usize::from(rest.starts_with(' '));
        let run = |is: fn(&char) -> bool| -> usize {
            rest[space..]
                .chars()
                .take_while(is)
                .map(char::len_utf8)
                .sum()
        };
        let next = rest[space..].chars().next();
        let length = match next {
            Some(letter) if letter.is_ascii_alphabetic() => run(char::is_ascii_alphabetic),
            Some(digit) if digit.is_ascii_digit() => run(char::is_ascii_digit),
            Some(mark) if !mark.is_whitespace() => mark.len_utf8(),
            _ => 0,
        };
        let end = match length {
            // A lone space, or other whitespace.
            0 => rest.chars().next().map_or(0, char::len_utf8),
            length => space + length,
        };
        let (word, after) = rest.split_at(end);
        words.push(word);
        rest = after;
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_split_into_words() {
        let text = "Question: Who wed  Ida?\n[1] 1733 é.";
        let expected = [
            "Question", ":", " Who", " wed", " ", " Ida", "?", "\n", "[", "1", "]", " 1733", " é",
            ".",
        ];
        assert_eq!(words_of(text), expected);
    }
}
