//! Text to token ids and back, from `tokenizer.json` or rebuilt from GGUF metadata.

use std::collections::HashSet;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use tokenizers::decoders::byte_fallback::ByteFallback;
use tokenizers::decoders::fuse::Fuse;
use tokenizers::decoders::strip::Strip;
use tokenizers::models::bpe::{BPE, Vocab};
use tokenizers::normalizers::{Prepend, Replace};
use tokenizers::pre_tokenizers::byte_level::ByteLevel;
use tokenizers::pre_tokenizers::digits::Digits;
use tokenizers::pre_tokenizers::split::{Split, SplitPattern};
use tokenizers::processors::template::TemplateProcessing;
use tokenizers::{
    AddedToken, DecoderWrapper, NormalizerWrapper, PreTokenizerWrapper, SplitDelimiterBehavior,
    Tokenizer,
};

use crate::decoder::error::DecoderError;
use crate::decoder::files::gguf::Metadata;
use crate::small_file::{self, MOST_TOKENIZER_BYTES};
use crate::tokenization::{parsed, tokenizing};

/// GGUF's token types that matter here.
const NORMAL: f64 = 1.0;
const CONTROL: f64 = 3.0;
const USER_DEFINED: f64 = 4.0;

/// The pattern by which Llama 3 splits text into words before merging.
const LLAMA3_WORDS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
/// As above for Qwen2 and Qwen3, where every digit is separate.
const QWEN2_WORDS: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// As above for GPT-4o, where a capital within a word begins another.
const GPT4O_WORDS: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// As above for Mistral's Tekken, where every digit is separate too.
const TEKKEN_WORDS: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The most bytes looked up to find the merges of SentencePiece's pieces. The vocabularies of models take some tens
/// of megabytes.
const MOST_LOOKED_UP_BYTES: u64 = 1 << 31;

/// How special tokens that are spelled out in a text are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::decoder) enum Reading {
    /// As ordinary letters: for texts that people or documents wrote.
    Plain,
    /// As tokens: for texts with a model's own markup.
    Markup,
}

/// A decoder's tokenizer.
pub(in crate::decoder) struct TextTokenizer {
    /// Reads texts as plain.
    tokenizer: Tokenizer,
    /// The tokenizer for markup, made when first needed.
    markup: OnceLock<Tokenizer>,
    special: HashSet<u32>,
    path: PathBuf,
}

impl TextTokenizer {
    /// Reads a `tokenizer.json` from its content.
    pub(in crate::decoder) fn from_json(path: &Path, content: &[u8]) -> Result<Self, DecoderError> {
        let tokenizer = parsed(content).map_err(|reason| refuse(path, &reason))?;
        Ok(Self::new(tokenizer, path))
    }

    /// Rebuilds the tokenizer that llama.cpp's converter wrote into the metadata.
    pub(in crate::decoder) fn from_gguf(metadata: &Metadata<'_>) -> Result<Self, DecoderError> {
        let path = metadata.path();
        let build = || -> tokenizers::Result<Tokenizer> {
            let tokens = metadata
                .strings("tokenizer.ggml.tokens")
                .ok_or("`tokenizer.ggml.tokens` is missing")?;
            let mut tokenizer = match metadata.optional_string("tokenizer.ggml.model") {
                Some("gpt2") => byte_level_bpe(metadata, &tokens)?,
                Some("llama") => sentence_piece_bpe(metadata, &tokens)?,
                other => {
                    let kind = other.unwrap_or("(none)");
                    let reason = format!("the kind `{kind}` is not supported (gpt2 and llama are)");
                    return Err(reason.into());
                }
            };
            add_special_tokens(metadata, &tokens, &mut tokenizer)?;
            Ok(tokenizer)
        };
        let tokenizer = tokenizing(build).map_err(|reason| refuse(path, &reason))?;
        Ok(Self::new(tokenizer, path))
    }

    fn new(mut tokenizer: Tokenizer, path: &Path) -> Self {
        tokenizer.set_encode_special_tokens(true);
        let added = tokenizer.get_added_tokens_decoder();
        let special = added.iter().filter(|(_, token)| token.special);
        Self {
            special: special.map(|(&id, _)| id).collect(),
            tokenizer,
            markup: OnceLock::new(),
            path: path.to_path_buf(),
        }
    }

    fn reading(&self, reading: Reading) -> &Tokenizer {
        match reading {
            Reading::Plain => &self.tokenizer,
            Reading::Markup => self.markup.get_or_init(|| {
                let mut tokenizer = self.tokenizer.clone();
                tokenizer.set_encode_special_tokens(false);
                tokenizer
            }),
        }
    }

    fn tokenizing<T>(
        &self,
        call: impl FnOnce() -> tokenizers::Result<T>,
    ) -> Result<T, DecoderError> {
        tokenizing(call).map_err(|reason| refuse(&self.path, &reason))
    }

    /// The ids of a text; `add_special` adds the tokens that the tokenizer puts around every text.
    pub(in crate::decoder) fn encode(
        &self,
        text: &str,
        reading: Reading,
        add_special: bool,
    ) -> Result<Vec<u32>, DecoderError> {
        let encoding = self.tokenizing(|| self.reading(reading).encode_fast(text, add_special))?;
        Ok(encoding.get_ids().to_vec())
    }

    /// Where special tokens are spelled out in a text, in order.
    pub(in crate::decoder) fn special_spans(
        &self,
        text: &str,
    ) -> Result<Vec<Range<usize>>, DecoderError> {
        let encoding = self.tokenizing(|| self.reading(Reading::Markup).encode(text, false))?;
        let tokens = encoding.get_ids().iter().zip(encoding.get_offsets());
        Ok(tokens
            .filter(|(id, _)| self.special.contains(id))
            .map(|(_, &(start, end))| start..end)
            .collect())
    }

    /// The ids of a text that follows another. SentencePiece puts a space before a text, which only belongs at the
    /// start of the whole.
    pub(in crate::decoder) fn encode_continuation(
        &self,
        text: &str,
        reading: Reading,
    ) -> Result<Vec<u32>, DecoderError> {
        /// Tokenizers never merge it with the text after it.
        const ANCHOR: &str = "\n";
        let tokens = self.encode(text, reading, false)?;
        let first = tokens
            .first()
            .and_then(|&id| self.tokenizer.id_to_token(id));
        if !first.is_some_and(|token| token.starts_with('▁')) {
            return Ok(tokens);
        }
        let anchor = self.encode(ANCHOR, reading, false)?;
        let anchored = self.encode(&format!("{ANCHOR}{text}"), reading, false)?;
        Ok(anchored
            .strip_prefix(anchor.as_slice())
            .map_or(tokens, <[u32]>::to_vec))
    }

    /// The text of token ids, without special tokens. Bytes that are not a character yet become the replacement
    /// character.
    pub(in crate::decoder) fn decode(&self, ids: &[u32]) -> Result<String, DecoderError> {
        self.tokenizing(|| self.tokenizer.decode(ids, true))
    }

    /// The text of token ids, with special tokens by name.
    pub(in crate::decoder) fn decode_markup(&self, ids: &[u32]) -> Result<String, DecoderError> {
        self.tokenizing(|| self.tokenizer.decode(ids, false))
    }

    /// The tokenizer as a `tokenizer.json`.
    pub(in crate::decoder) fn json(&self) -> Result<String, DecoderError> {
        self.tokenizing(|| self.reading(Reading::Markup).to_string(false))
    }

    /// The special tokens with their texts, by id.
    pub(in crate::decoder) fn special(&self) -> Vec<(u32, String)> {
        let mut special: Vec<u32> = self.special.iter().copied().collect();
        special.sort_unstable();
        let named = special.into_iter();
        named
            .filter_map(|id| Some((id, self.tokenizer.id_to_token(id)?)))
            .collect()
    }

    /// One more than the greatest id with a text.
    pub(in crate::decoder) fn entries(&self) -> u32 {
        let ids = self.tokenizer.get_vocab(true).into_values();
        ids.max().map_or(0, |last| last.saturating_add(1))
    }

    /// The text of one token, as the vocabulary has it.
    pub(in crate::decoder) fn name(&self, id: u32) -> Option<String> {
        self.tokenizer.id_to_token(id)
    }

    /// The id of one token.
    pub(in crate::decoder) fn id(&self, token: &str) -> Option<u32> {
        self.tokenizer.token_to_id(token)
    }
}

/// The content of a `tokenizer.json`.
pub(in crate::decoder) fn read(path: &Path) -> Result<Vec<u8>, DecoderError> {
    small_file::bytes(path, MOST_TOKENIZER_BYTES).map_err(|error| refuse(path, &error.to_string()))
}

fn refuse(path: &Path, reason: &str) -> DecoderError {
    DecoderError::Tokenizer {
        path: path.to_path_buf(),
        reason: reason.to_owned(),
    }
}

fn vocabulary(tokens: &[&str]) -> Vocab {
    tokens
        .iter()
        .enumerate()
        .map(|(id, token)| ((*token).to_owned(), id as u32))
        .collect()
}

/// Byte-level BPE, as GPT-2 introduced it.
fn byte_level_bpe(metadata: &Metadata<'_>, tokens: &[&str]) -> tokenizers::Result<Tokenizer> {
    let merges = metadata
        .strings("tokenizer.ggml.merges")
        .ok_or("`tokenizer.ggml.merges` is missing")?
        .into_iter()
        .map(|merge| {
            merge
                .split_once(' ')
                .map(|(left, right)| (left.to_owned(), right.to_owned()))
                .ok_or_else(|| format!("`{merge}` is not a merge of two tokens"))
        })
        .collect::<Result<Vec<_>, _>>()?;
    let pre = metadata
        .optional_string("tokenizer.ggml.pre")
        .unwrap_or("default");
    let ignore_merges = matches!(pre, "llama-bpe" | "llama3" | "llama-v3" | "tekken");
    let steps = word_splitting(pre)?;
    let model = BPE::builder()
        .vocab_and_merges(vocabulary(tokens), merges)
        .ignore_merges(ignore_merges)
        .build()?;
    let mut tokenizer = Tokenizer::new(model);
    if pre == "qwen2" {
        tokenizer.with_normalizer(Some(tokenizers::normalizers::unicode::NFC))?;
    }
    tokenizer
        .with_pre_tokenizer(Some(tokenizers::pre_tokenizers::sequence::Sequence::new(
            steps,
        )))
        .with_decoder(Some(ByteLevel::default()));
    Ok(tokenizer)
}

/// The pattern by which a text is split into words before merging, by GGUF's name.
fn word_splitting(pre: &str) -> tokenizers::Result<Vec<PreTokenizerWrapper>> {
    let bytes = ByteLevel::new(false, true, true);
    let pattern = match pre {
        "default" | "gpt-2" | "gpt2" => return Ok(vec![bytes.into()]),
        "smollm" | "refact" => return Ok(vec![Digits::new(true).into(), bytes.into()]),
        "llama-bpe" | "llama3" | "llama-v3" | "smaug-bpe" => LLAMA3_WORDS,
        "qwen2" => QWEN2_WORDS,
        "tekken" => TEKKEN_WORDS,
        "gpt-4o" => GPT4O_WORDS,
        other => {
            return Err(format!("its way of splitting words, `{other}`, is not supported").into());
        }
    };
    let pattern = SplitPattern::Regex(pattern.to_owned());
    let words = Split::new(pattern, SplitDelimiterBehavior::Isolated, false);
    Ok(vec![
        words?.into(),
        ByteLevel::new(false, true, false).into(),
    ])
}

/// The merges that produce the pieces of SentencePiece, in order.
fn implied_merges(
    metadata: &Metadata<'_>,
    tokens: &[&str],
    vocabulary: &Vocab,
) -> tokenizers::Result<Vec<(String, String)>> {
    let scores = metadata
        .numbers("tokenizer.ggml.scores")
        .filter(|scores| scores.len() == tokens.len())
        .ok_or("`tokenizer.ggml.scores` is missing or of another length than the tokens")?;
    let types = metadata
        .numbers("tokenizer.ggml.token_type")
        .unwrap_or_default();
    let is_normal = |id: usize| types.get(id).is_none_or(|&kind| kind == NORMAL);
    // Cuts each piece at each of its letters, and looks up both parts.
    let work = tokens
        .iter()
        .map(|piece| (piece.len() as u64).pow(2))
        .sum::<u64>();
    if work > MOST_LOOKED_UP_BYTES {
        return Err("its pieces are longer than any".into());
    }
    let mut merges = Vec::new();
    for (id, piece) in tokens.iter().enumerate().filter(|(id, _)| is_normal(*id)) {
        for (cut, _) in piece.char_indices().skip(1) {
            let (left, right) = piece.split_at(cut);
            if let (Some(&left_id), Some(&right_id)) = (vocabulary.get(left), vocabulary.get(right))
            {
                merges.push((
                    scores[id],
                    left_id,
                    right_id,
                    left.to_owned(),
                    right.to_owned(),
                ));
            }
        }
    }
    // The best score is merged first; among equals, the pieces with the lower ids.
    merges.sort_by(|a, b| b.0.total_cmp(&a.0).then(a.1.cmp(&b.1)).then(a.2.cmp(&b.2)));
    let merges = merges.into_iter();
    Ok(merges.map(|(.., left, right)| (left, right)).collect())
}

/// SentencePiece's BPE (Llama 2, Mistral, Phi-3): merges are implied by the pieces' scores.
fn sentence_piece_bpe(metadata: &Metadata<'_>, tokens: &[&str]) -> tokenizers::Result<Tokenizer> {
    let vocabulary = vocabulary(tokens);
    let merges = implied_merges(metadata, tokens, &vocabulary)?;
    let unknown = metadata
        .optional_number("tokenizer.ggml.unknown_token_id")
        .and_then(|id| tokens.get(id as usize))
        .map_or("<unk>", |token| *token);
    let model = BPE::builder()
        .vocab_and_merges(vocabulary, merges)
        .unk_token(unknown.to_owned())
        .fuse_unk(true)
        .byte_fallback(true)
        .build()?;
    let mut tokenizer = Tokenizer::new(model);
    let space_before = metadata
        .optional_bool("tokenizer.ggml.add_space_prefix")
        .unwrap_or(true);
    let mut normalizers: Vec<NormalizerWrapper> = Vec::new();
    let mut decoders: Vec<DecoderWrapper> = vec![
        Replace::new("▁", " ")?.into(),
        ByteFallback::default().into(),
        Fuse::default().into(),
    ];
    if space_before {
        normalizers.push(Prepend::new("▁".to_owned()).into());
        decoders.push(Strip::new(' ', 1, 0).into());
    }
    normalizers.push(Replace::new(" ", "▁")?.into());
    tokenizer.with_normalizer(Some(tokenizers::normalizers::Sequence::new(normalizers)))?;
    tokenizer.with_decoder(Some(tokenizers::decoders::sequence::Sequence::new(
        decoders,
    )));
    Ok(tokenizer)
}

/// Marks control tokens as special, and adds the beginning-of-text token if the model uses one.
fn add_special_tokens(
    metadata: &Metadata<'_>,
    tokens: &[&str],
    tokenizer: &mut Tokenizer,
) -> tokenizers::Result<()> {
    let types = metadata
        .numbers("tokenizer.ggml.token_type")
        .unwrap_or_default();
    let of_type = |wanted: f64| {
        tokens
            .iter()
            .zip(&types)
            .filter(move |&(_, &kind)| kind == wanted)
            .map(|(token, _)| (*token).to_owned())
    };
    tokenizer.add_special_tokens(of_type(CONTROL).map(|token| AddedToken::from(token, true)))?;
    tokenizer.add_tokens(of_type(USER_DEFINED).map(|token| AddedToken::from(token, false)))?;

    let sentence_piece = metadata.optional_string("tokenizer.ggml.model") == Some("llama");
    let add_beginning = metadata
        .optional_bool("tokenizer.ggml.add_bos_token")
        .unwrap_or(sentence_piece);
    let beginning = metadata
        .optional_number("tokenizer.ggml.bos_token_id")
        .and_then(|id| Some((*tokens.get(id as usize)?, id as u32)));
    if let (true, Some((token, id))) = (add_beginning, beginning) {
        let template = TemplateProcessing::builder()
            .try_single(vec![format!("{token}:0"), "$A:0".to_owned()])?
            .special_tokens(vec![(token.to_owned(), id)])
            .build()?;
        tokenizer.with_post_processor(Some(template));
    }
    Ok(())
}
