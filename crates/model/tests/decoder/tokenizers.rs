//! Tokenizers rebuilt from GGUF metadata: byte-level BPE with each way of splitting words, and
//! SentencePiece against a plain merging of the best pair.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::PathBuf;

use candle_core::quantized::GgmlDType;
use candle_core::quantized::gguf_file::Value as Gguf;
use ken_language::{Finish, GenerateOptions, Sampling};
use ken_model::decoder::{Checkpoint, Decoder, DecoderError, LoadOptions, Message, Prompt, Role};
use ken_testing::{cases, fails, has, holds};
use proptest::prelude::*;
use tempfile::TempDir;

use super::gguf;
use super::parrot::{chain, parrot};

const NORMAL: i32 = 1;
const UNKNOWN: i32 = 2;
const CONTROL: i32 = 3;
const USER_DEFINED: i32 = 4;
const BYTE: i32 = 6;

/// A tokenizer in GGUF metadata.
#[derive(Clone)]
struct Described {
    tokens: Vec<(String, i32, f32)>,
    other: Vec<(&'static str, Gguf)>,
    /// The chat template.
    template: Option<&'static str>,
}

impl Described {
    fn id(&self, token: &str) -> u32 {
        self.tokens.iter().position(|(t, ..)| t == token).unwrap() as u32
    }

    /// A decoder with this tokenizer that writes the tokens of `writes` one after the other.
    fn decoder(&self, writes: &[u32]) -> Decoder {
        let (_dir, path) = self.file(writes);
        Decoder::load(&path, &LoadOptions::default()).unwrap()
    }

    /// The same tokenizer as a file in a folder.
    fn file(&self, writes: &[u32]) -> (TempDir, PathBuf) {
        let column = |of: &dyn Fn(&(String, i32, f32)) -> Gguf| {
            Gguf::Array(self.tokens.iter().map(of).collect())
        };
        let metadata = [
            ("tokens", column(&|(token, ..)| Gguf::String(token.clone()))),
            ("token_type", column(&|&(_, kind, _)| Gguf::I32(kind))),
            ("scores", column(&|&(.., score)| Gguf::F32(score))),
            ("eos_token_id", Gguf::U32(self.id("<|stop|>"))),
            ("bos_token_id", Gguf::U32(self.id("<|go|>"))),
        ];
        let metadata = metadata
            .into_iter()
            .chain(self.other.clone())
            .map(|(key, value)| (format!("tokenizer.ggml.{key}"), value))
            .chain(self.template.map(|template| {
                let key = "tokenizer.chat_template".to_owned();
                (key, Gguf::String(template.to_owned()))
            }))
            .collect();
        let (tiny, weights) = parrot(self.tokens.len(), chain(writes, self.id("<|stop|>")));
        let metadata = gguf::metadata(&tiny, metadata);
        let dir = TempDir::new().unwrap();
        let path = dir.path().join("tiny.gguf");
        std::fs::write(
            &path,
            gguf::bytes(&tiny, &weights, GgmlDType::F32, &metadata).0,
        )
        .unwrap();
        (dir, path)
    }

    /// The tokens of a text, written out.
    fn pieces(&self, decoder: &Decoder, text: &str) -> Vec<&str> {
        self.written_out(&decoder.prompt("", text).unwrap())
    }

    fn written_out(&self, prompt: &Prompt) -> Vec<&str> {
        prompt
            .tokens()
            .iter()
            .map(|&id| self.tokens[id as usize].0.as_str())
            .collect()
    }

    /// The text of a decoder that writes these tokens.
    fn decode(&self, tokens: &[u32]) -> String {
        let go = self.id("<|go|>");
        let decoder = self.decoder(&[&[go], tokens].concat());
        let options = GenerateOptions::new(Sampling::Greedy, tokens.len() + 1);
        let mut pieces = Vec::new();
        let prompt = decoder.raw_prompt("<|go|>").unwrap();
        let written = decoder
            .generate(&prompt, &options, &mut |piece| {
                pieces.push(piece.to_owned());
                ControlFlow::Continue(())
            })
            .unwrap();
        has!(written, finish: Finish::End, tokens.as_slice(): tokens);
        assert_eq!(pieces.concat(), written.text);
        holds!("{pieces:?}" => pieces.iter().all(|piece| !piece.contains('\u{fffd}')));
        written.text
    }
}

fn strings<T: AsRef<str>>(texts: &[T]) -> Gguf {
    Gguf::Array(
        texts
            .iter()
            .map(|text| Gguf::String(text.as_ref().to_owned()))
            .collect(),
    )
}

/// The character that stands for a byte in byte-level BPE: itself if it is visible, else one beyond the first 256.
fn byte_character(byte: u8) -> char {
    let visible = |byte: u8| matches!(byte, 33..=126 | 161..=172 | 174..=255);
    if visible(byte) {
        char::from(byte)
    } else {
        let place = (0..byte).filter(|&b| !visible(b)).count() as u32;
        char::from_u32(256 + place).unwrap()
    }
}

/// Byte-level BPE with every byte, some merges, and `Ġzq`, to which no merge leads.
fn byte_level(pre: &str) -> Described {
    let merges = [
        "1 9", "19 8", "198 7", "w e", "Ġ we", "' s", "' S", "Ġ Ġ", "Ċ Ċ", "e W",
    ];
    let mut tokens = vec![
        ("<|go|>".to_owned(), CONTROL, 0.0),
        ("<|stop|>".to_owned(), CONTROL, 0.0),
        ("<|aside|>".to_owned(), CONTROL, 0.0),
        ("<|pick|>".to_owned(), USER_DEFINED, 0.0),
        ("Ġzq".to_owned(), NORMAL, 0.0),
    ];
    tokens.extend((0..=255).map(|byte| (byte_character(byte).to_string(), NORMAL, 0.0)));
    tokens.extend(
        merges
            .iter()
            .map(|merge| (merge.replace(' ', ""), NORMAL, 0.0)),
    );
    let other = vec![
        ("model", Gguf::String("gpt2".to_owned())),
        ("pre", Gguf::String(pre.to_owned())),
        ("merges", strings(&merges)),
    ];
    Described {
        tokens,
        other,
        template: None,
    }
}

/// A text and its tokens.
type Expected = (&'static str, Vec<&'static str>);

#[test]
fn words_are_split_as_each_model_wants_it() {
    let gpt2 = cases![
        "we 1987" => vec!["we", "Ġ", "1987"];
        "we's WE'S we" => vec!["we", "'s", "Ġ", "W", "E", "'", "S", "Ġwe"];
        "a\n\nb" => vec!["a", "Ċ", "Ċ", "b"];
        "a zq" => vec!["a", "Ġ", "z", "q"];
        "   a" => vec!["ĠĠ", "Ġ", "a"];
    ];
    let smollm = [
        ("we 1987", vec!["we", "Ġ", "1", "9", "8", "7"]),
        gpt2[1].clone(),
    ];
    let llama3 = [
        ("we 1987", vec!["we", "Ġ", "198", "7"]),
        ("we's WE'S we", vec!["we", "'s", "Ġ", "W", "E", "'S", "Ġwe"]),
        ("a\n\nb", vec!["a", "ĊĊ", "b"]),
        // A word that is a token needs no merges.
        ("a zq", vec!["a", "Ġzq"]),
        ("   a", vec!["ĠĠ", "Ġ", "a"]),
    ];
    let qwen2 = [
        smollm[0].clone(),
        llama3[1].clone(),
        llama3[2].clone(),
        gpt2[3].clone(),
        // Composed before it is split into bytes.
        ("e\u{301}", vec!["Ã", "©"]),
    ];
    // A capital within a word begins another.
    let capital = ("eWa", vec!["e", "W", "a"]);
    let gpt4o = [
        llama3[0].clone(),
        llama3[1].clone(),
        llama3[2].clone(),
        gpt2[3].clone(),
        capital.clone(),
    ];
    let tekken = [
        smollm[0].clone(),
        llama3[1].clone(),
        llama3[2].clone(),
        llama3[3].clone(),
        capital,
    ];
    let qwen2 = [&qwen2[..], &[("eWa", vec!["eW", "a"])]].concat();
    let cases: [(&str, &[Expected]); 8] = [
        ("gpt-2", &gpt2),
        ("default", &gpt2),
        ("smollm", &smollm),
        ("llama-bpe", &llama3),
        ("qwen2", &qwen2),
        ("refact", &smollm),
        ("gpt-4o", &gpt4o),
        ("tekken", &tekken),
    ];
    for (pre, texts) in cases {
        let described = byte_level(pre);
        let decoder = described.decoder(&[]);
        for (text, expected) in texts {
            assert_eq!(
                described.pieces(&decoder, text),
                *expected,
                "{pre}: {text:?}"
            );
        }
    }
}

#[test]
fn special_tokens_are_read_whole_if_raw_and_written_only_if_a_user_defined_them() {
    for pre in ["smollm", "llama-bpe", "qwen2"] {
        let described = byte_level(pre);
        let decoder = described.decoder(&[]);
        let text = "a<|stop|>b<|pick|><|aside|>";
        let raw = decoder.raw_prompt(text).unwrap();
        let expected = ["a", "<|stop|>", "b", "<|pick|>", "<|aside|>"];
        assert_eq!(described.written_out(&raw), expected);
        let plain = described.pieces(&decoder, text);
        assert_eq!(plain.concat(), text, "{pre}");
        assert!(plain.contains(&"<|pick|>"), "{plain:?}");
        let special = ["<|stop|>", "<|aside|>"];
        assert!(!plain.iter().any(|piece| special.contains(piece)));
        let tokens = ["a", "<|aside|>", "b", "<|pick|>", "c"].map(|token| described.id(token));
        assert_eq!(described.decode(&tokens), "ab<|pick|>c");
    }
}

#[test]
fn written_tokens_become_the_text_that_was_read() {
    for pre in ["gpt-2", "smollm", "llama-bpe", "qwen2"] {
        let described = byte_level(pre);
        let decoder = described.decoder(&[]);
        for text in [" naïve中😀", "we zq\n'S", "\t(1+2)", "   x"] {
            let prompt = decoder.prompt("", text).unwrap();
            assert_eq!(described.decode(prompt.tokens()), text, "{pre}");
        }
    }
}

#[test]
fn a_beginning_is_added_only_where_it_is_wanted() {
    let mut described = byte_level("smollm");
    let decoder = described.decoder(&[]);
    assert_eq!(described.pieces(&decoder, "we"), ["we"]);
    let error = decoder.prompt("", "").unwrap_err();
    assert_eq!(error.to_string(), "the prompt is empty");

    described.other.push(("add_bos_token", Gguf::Bool(true)));
    let decoder = described.decoder(&[]);
    assert_eq!(described.pieces(&decoder, "we"), ["<|go|>", "we"]);
    assert_eq!(described.pieces(&decoder, ""), ["<|go|>"]);
    assert_eq!(decoder.count_tokens("we").unwrap(), 1);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn the_bytes_of_the_tokens_are_the_bytes_of_the_text(text in any::<String>()) {
        thread_local! {
            static ALL: Vec<(Described, Decoder)> = ["gpt-2", "smollm", "llama-bpe"]
                .map(|pre| (byte_level(pre), byte_level(pre).decoder(&[])))
                .into();
        }
        let bytes: BTreeMap<char, u8> = (0..=255).map(|b| (byte_character(b), b)).collect();
        let text = format!("x{text}");
        ALL.with(|all| {
            for (described, decoder) in all {
                let written = described.pieces(decoder, &text).concat();
                let written: Vec<u8> = written.chars().map(|c| bytes[&c]).collect();
                assert_eq!(written, text.as_bytes());
            }
        });
    }
}

/// SentencePiece with all bytes, four characters and these pieces, the best first.
fn sentence_piece(pieces: &[String]) -> Described {
    let mut tokens = vec![
        ("<unk>".to_owned(), UNKNOWN, 0.0),
        ("<|go|>".to_owned(), CONTROL, 0.0),
        ("<|stop|>".to_owned(), CONTROL, 0.0),
    ];
    tokens.extend((0..=255u8).map(|byte| (format!("<0x{byte:02X}>"), BYTE, 0.0)));
    tokens.extend(
        pieces
            .iter()
            .enumerate()
            .map(|(rank, piece)| (piece.clone(), NORMAL, -(rank as f32))),
    );
    tokens.extend(["▁", "a", "b", "c"].map(|piece| (piece.to_owned(), NORMAL, -1e9)));
    let other = vec![
        ("model", Gguf::String("llama".to_owned())),
        ("unknown_token_id", Gguf::U32(0)),
    ];
    Described {
        tokens,
        other,
        template: None,
    }
}

/// Merges the two neighbours that make the best piece until none make one. If the same piece can be made of other
/// neighbours, those with the lower ids come first, as in Hugging Face's tokenizers.
fn merge_best(described: &Described, text: &str) -> Vec<String> {
    let known = |piece: &str| {
        let place = described
            .tokens
            .iter()
            .position(|(token, ..)| token == piece)?;
        Some((described.tokens[place].2, place))
    };
    let text = if text.is_empty() {
        String::new()
    } else {
        format!("▁{text}").replace(' ', "▁")
    };
    let mut parts: Vec<String> = text.chars().map(String::from).collect();
    loop {
        let mut best: Option<(f32, usize, usize, usize)> = None;
        for (place, pair) in parts.windows(2).enumerate() {
            let Some((score, _)) = known(&pair.concat()) else {
                continue;
            };
            let (Some((_, left)), Some((_, right))) = (known(&pair[0]), known(&pair[1])) else {
                continue;
            };
            let better = best.is_none_or(|(best_score, best_left, best_right, _)| {
                score > best_score
                    || (score == best_score && (left, right) < (best_left, best_right))
            });
            if better {
                best = Some((score, left, right, place));
            }
        }
        let Some((.., place)) = best else { break };
        let right = parts.remove(place + 1);
        parts[place].push_str(&right);
    }
    let in_bytes = |part: String| match known(&part) {
        Some(_) => vec![part],
        None => part.bytes().map(|byte| format!("<0x{byte:02X}>")).collect(),
    };
    parts.into_iter().flat_map(in_bytes).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn sentence_piece_merges_the_best_pair_first(
        pieces in prop::collection::btree_set("[abc▁]{2,4}", 0..16),
        shuffle in any::<prop::sample::Index>(),
        texts in prop::collection::vec("[abcé ]{0,16}", 1..8),
    ) {
        let mut pieces: Vec<String> = pieces.into_iter().collect();
        if !pieces.is_empty() {
            let middle = shuffle.index(pieces.len());
            pieces.rotate_left(middle);
            pieces[..=middle].reverse();
        }
        let described = sentence_piece(&pieces);
        let decoder = described.decoder(&[]);
        for text in texts {
            let mut expected = merge_best(&described, &text);
            expected.insert(0, "<|go|>".to_owned());
            prop_assert_eq!(described.pieces(&decoder, &text), expected, "{:?}", text);
        }
    }
}

#[test]
fn sentence_piece_falls_back_to_bytes_and_back() {
    let pieces = ["▁ab", "ab", "ca", "▁c"].map(str::to_owned);
    let described = sentence_piece(&pieces);
    let decoder = described.decoder(&[]);
    let read = described.pieces(&decoder, "ab é😀ca");
    let expected = [
        "<|go|>", "▁ab", "▁", "<0xC3>", "<0xA9>", "<0xF0>", "<0x9F>", "<0x98>", "<0x80>", "ca",
    ];
    assert_eq!(read, expected);
    for text in ["ab é😀ca", "ab cc", "中"] {
        let prompt = decoder.prompt("", text).unwrap();
        let (beginning, tokens) = prompt.tokens().split_first().unwrap();
        assert_eq!(*beginning, described.id("<|go|>"));
        assert_eq!(described.decode(tokens), text);
    }
}

#[test]
fn sources_are_marked_by_what_no_text_has() {
    let mut described = sentence_piece(&[]);
    let marks = |described: &Described, corpora: &[&str]| -> Result<Vec<String>, DecoderError> {
        let (_dir, path) = described.file(&[]);
        let tokens = Checkpoint::open(&path, None)?.source_tokens(corpora)?;
        let all = tokens.all().into_iter();
        Ok(all
            .map(|id| described.tokens[id as usize].0.clone())
            .collect())
    };
    let bytes = marks(&described, &["notes", "wiki"]).unwrap();
    assert_eq!(bytes, ["<0xC0>", "<0xC1>", "<0xF5>", "<0xF6>", "<0xF7>"]);
    let many = ["a"; 11];
    fails!(marks(&described, &many) => "no_free_tokens");
    // Reserved entries come first, and entries with these names before all.
    for name in ["<EOK>", "<|reserved_special_token_3|>"] {
        described.tokens.push((name.to_owned(), CONTROL, 0.0));
    }
    let kept = marks(&described, &["notes"]).unwrap();
    let expected = ["<0xC0>", "<0xC1>", "<EOK>", "<|reserved_special_token_3|>"];
    assert_eq!(kept, expected);
}

#[test]
fn sentence_piece_puts_no_space_before_a_text_where_none_is_wanted() {
    let mut described = sentence_piece(&["▁ab".to_owned(), "ab".to_owned()]);
    described
        .other
        .push(("add_space_prefix", Gguf::Bool(false)));
    described.other.push(("add_bos_token", Gguf::Bool(false)));
    let decoder = described.decoder(&[]);
    assert_eq!(described.pieces(&decoder, "ab ab"), ["ab", "▁ab"]);
    assert_eq!(
        described.decode(decoder.prompt("", " ab").unwrap().tokens()),
        " ab"
    );
}

/// A continuation is not the beginning of a text, where a space would be added.
#[test]
fn sentence_piece_reads_a_continuation_as_it_stands() {
    let described = sentence_piece(&["▁ab", "ab", "▁c", "▁▁"].map(str::to_owned));
    let decoder = described.decoder(&[]);
    let prompt = decoder.prompt("", "c").unwrap();
    let cases = [
        (" ab c", vec!["▁ab", "▁c"]),
        ("ab", vec!["ab"]),
        ("  c", vec!["▁", "▁c"]),
        ("\n c", vec!["<0x0A>", "▁c"]),
        (" ", vec!["▁"]),
    ];
    for (text, expected) in cases {
        let score = decoder.score(&prompt, &[text]).unwrap().remove(0);
        assert_eq!(
            score.tokens,
            expected
                .into_iter()
                .map(|t| described.id(t))
                .collect::<Vec<_>>(),
            "{text:?}"
        );
    }
    let error = decoder.score(&prompt, &[""]).unwrap_err();
    assert_eq!(error.to_string(), "the continuation is empty");
}

/// As in Gemma's files: lines and runs of spaces are tokens of their own, whatever the scores.
fn gemma() -> Described {
    let mut described = sentence_piece(&["▁ab", "ab", "▁c"].map(str::to_owned));
    for piece in ["\n", "\n\n", "  ", "    ", "user"] {
        let kind = USER_DEFINED;
        described.tokens.push((piece.to_owned(), kind, -1000.0));
    }
    for piece in ["<start_of_turn>", "<end_of_turn>"] {
        described.tokens.push((piece.to_owned(), CONTROL, -1000.0));
    }
    let other = [
        ("add_space_prefix", Gguf::Bool(false)),
        ("add_bos_token", Gguf::Bool(true)),
    ];
    described.other.extend(other);
    described
}

#[test]
fn lines_and_runs_of_spaces_are_read_whole() {
    let described = gemma();
    let decoder = described.decoder(&[]);
    let cases = [
        ("ab ab", vec!["ab", "▁ab"]),
        ("ab\n\n\nab", vec!["ab", "\n\n", "\n", "ab"]),
        // The longest first: of six spaces four, then two.
        ("\n      c", vec!["\n", "    ", "  ", "c"]),
        ("ab   c", vec!["ab", "  ", "▁c"]),
    ];
    for (text, expected) in cases {
        let read = described.pieces(&decoder, text);
        assert_eq!(read, [vec!["<|go|>"], expected].concat(), "{text:?}");
        let prompt = decoder.prompt("", text).unwrap();
        // The decoder of these tests can only write texts without repeated tokens.
        if text != "ab ab" && !text.starts_with("ab\n") {
            assert_eq!(described.decode(&prompt.tokens()[1..]), text);
        }
    }
    // Text after a prompt is read as in the middle of a text.
    let prompt = decoder.prompt("", "ab").unwrap();
    let scores = decoder.score(&prompt, &[" ab", "\n  c", "ab"]).unwrap();
    let ids =
        |pieces: &[&str]| -> Vec<u32> { pieces.iter().map(|piece| described.id(piece)).collect() };
    assert_eq!(scores[0].tokens, ids(&["▁ab"]));
    assert_eq!(scores[1].tokens, ids(&["\n", "  ", "c"]));
    assert_eq!(scores[2].tokens, ids(&["ab"]));
}

#[test]
fn turns_are_rendered_and_ended_by_their_marks() {
    let mut described = gemma();
    let turns = "{{ bos_token }}{%- for message in messages -%}{%- set role = 'model' if message['role'] == 'assistant' else message['role'] -%}{{ '<start_of_turn>' + role + '\n' + message['content'] | trim }}{{ '<end_of_turn>\n' }}{%- endfor -%}{%- if add_generation_prompt -%}{{ '<start_of_turn>' }}{%- endif -%}";
    described.template = Some(turns);
    let start = described.id("<start_of_turn>");
    let (ab, end) = (described.id("ab"), described.id("<end_of_turn>"));
    let decoder = described.decoder(&[start, ab, end]);
    let messages = [Message::new(Role::User, " ab <end_of_turn>")];
    let prompt = decoder.chat_prompt(&messages, 0).unwrap();
    let written = described.written_out(&prompt);
    let begins = ["<|go|>", "<start_of_turn>", "user", "\n", "ab"];
    assert_eq!(written[..5], begins);
    let ends = ["<end_of_turn>", "\n", "<start_of_turn>"];
    assert_eq!(written[written.len() - 3..], ends);
    // The user's own mark is text.
    let marks = written.iter().filter(|piece| **piece == "<end_of_turn>");
    assert_eq!(marks.count(), 1);

    let options = GenerateOptions::new(Sampling::Greedy, 9);
    let answer = decoder
        .generate(&prompt, &options, &mut |_| ControlFlow::Continue(()))
        .unwrap();
    assert_eq!((answer.text.as_str(), answer.finish), ("ab", Finish::End));
}
