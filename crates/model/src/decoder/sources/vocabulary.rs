//! Selects the entries of a model's vocabulary that mark the knowledge of sources, and writes examples with them: for
//! training a model to choose its source.

use ken_language::{Knowledge, Sourced};

use crate::decoder::error::DecoderError;
use crate::decoder::files::checkpoint::Checkpoint;
use crate::decoder::sources::tokens::{CorpusToken, SourceTokens, SourcedTokens};

/// A question and the text after it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedText {
    /// The question and its end.
    pub question: String,
    /// The source.
    pub source: String,
    /// The knowledge and its end.
    pub knowledge: String,
    /// The text that asks for the answer.
    pub answer: String,
}

/// Names that models' makers give to reserved entries of a vocabulary.
const RESERVED: [&str; 4] = ["reserved", "unused", "placeholder", "extra_id"];

/// Bytes that no text in UTF-8 has. Vocabularies of SentencePiece have an entry for each.
const IMPOSSIBLE_BYTES: [u8; 13] = [
    0xC0, 0xC1, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF,
];

impl Checkpoint {
    /// Selects tokens for marking the knowledge of sources: the model's own if it was trained to choose among exactly
    /// these, those with matching names, and otherwise entries of the vocabulary that are reserved or that no text
    /// has.
    ///
    /// # Errors
    /// A vocabulary with too few of them.
    pub fn source_tokens(&self, corpora: &[&str]) -> Result<SourceTokens, DecoderError> {
        if let Some(tokens) = self.sources()
            && tokens
                .corpora
                .iter()
                .map(|corpus| corpus.name.as_str())
                .eq(corpora.iter().copied())
        {
            return Ok(SourceTokens {
                // The old threshold is that of other weights.
                threshold: None,
                ..tokens.clone()
            });
        }
        let mut names = vec!["<EOQ>".to_owned(), "<EOK>".to_owned(), "<self>".to_owned()];
        match corpora {
            [_] => names.push("<corpus>".to_owned()),
            several => names.extend(several.iter().map(|name| format!("<{name}>"))),
        }
        let called: Vec<Option<u32>> = names.iter().map(|name| self.tokenizer.id(name)).collect();
        let mut free = self.free_tokens().into_iter();
        let mut taken: Vec<u32> = called.iter().copied().flatten().collect();
        let mut chosen = Vec::new();
        for token in called {
            let token = token.or_else(|| free.find(|free| !taken.contains(free)));
            let token = token.ok_or(DecoderError::NoFreeTokens {
                needed: names.len(),
            })?;
            taken.push(token);
            chosen.push(token);
        }
        let mut chosen = chosen.into_iter();
        let mut next = || chosen.next().unwrap_or_default();
        Ok(SourceTokens {
            end_of_question: next(),
            end_of_knowledge: next(),
            own: next(),
            corpora: corpora
                .iter()
                .map(|name| CorpusToken {
                    name: (*name).to_owned(),
                    token: next(),
                })
                .collect(),
            verbalizes: true,
            threshold: None,
        })
    }

    /// Entries of the vocabulary that no text has: reserved ones, those without a text, special tokens that neither
    /// end a text nor belong to a chat, and bytes that no text has.
    fn free_tokens(&self) -> Vec<u32> {
        let special = self.tokenizer.special();
        let is_kept = |text: &str| RESERVED.iter().any(|name| text.contains(name));
        let kept = special.iter().filter(|(_, text)| is_kept(text));
        let in_vocabulary = u32::try_from(self.config.vocabulary).unwrap_or(u32::MAX);
        let nameless = (self.tokenizer.entries()..in_vocabulary).take(64);
        let in_use = |id: u32, text: &str| {
            let is_end = self.end_tokens.contains(&id);
            let in_chat = self.chat.as_ref().is_some_and(|chat| chat.mentions(text));
            // The first tokens of a vocabulary begin texts and pad them.
            is_end || in_chat || id < 3
        };
        let idle = special
            .iter()
            .filter(|(id, text)| !is_kept(text) && !in_use(*id, text));
        let mut free: Vec<u32> = kept.map(|(id, _)| *id).collect();
        free.extend(nameless);
        free.extend(idle.map(|(id, _)| *id));
        let bytes = IMPOSSIBLE_BYTES.iter();
        free.extend(bytes.filter_map(|byte| self.tokenizer.id(&format!("<0x{byte:02X}>"))));
        free
    }

    /// A question and the text after it, with the marks spelled as in the vocabulary, for other training tools.
    /// `None` if a mark has no name.
    pub fn sourced_text(&self, tokens: &SourceTokens, sourced: &Sourced) -> Option<SourcedText> {
        let name = |token: u32| self.tokenizer.name(token);
        let (own, text) = match &sourced.knowledge {
            Knowledge::Unchosen | Knowledge::Unwritten => return None,
            Knowledge::Own(text) => (tokens.own, text),
            Knowledge::Found { corpus, text } => (tokens.of_corpus(corpus.as_deref())?, text),
        };
        let knowledge = match text.trim() {
            "" => String::new(),
            text => format!(" {text}"),
        };
        Some(SourcedText {
            question: format!("{}{}", sourced.question, name(tokens.end_of_question)?),
            source: name(own)?,
            knowledge: format!("{knowledge}{}", name(tokens.end_of_knowledge)?),
            answer: format!("\n{}", sourced.answer),
        })
    }

    /// The tokens of a question and the text after it.
    ///
    /// # Errors
    /// A text that the tokenizer refuses, a corpus without a token.
    pub fn sourced(
        &self,
        tokens: &SourceTokens,
        sourced: &Sourced,
    ) -> Result<SourcedTokens, DecoderError> {
        let read = tokens.read(sourced, &self.tokenizer)?;
        self.config.known(read.concat())?;
        Ok(read)
    }
}
