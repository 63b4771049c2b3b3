//! The tokens by which a model marks where knowledge comes from (SR-RAG, section 3.2): one behind the
//! question, one for each source, one behind the knowledge.

use serde::{Deserialize, Serialize};

use super::checkpoint::Checkpoint;
use super::error::DecoderError;
use super::tokenizer::{Reading, TextTokenizer};
use crate::language::{Knowledge, Sourced};

/// The tokens of a model that chooses its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceTokens {
    /// Ends the question; behind it a source is chosen.
    pub end_of_question: u32,
    /// Ends the knowledge; behind it the answer is written.
    pub end_of_knowledge: u32,
    /// The model itself.
    pub own: u32,
    /// The corpora.
    pub corpora: Vec<CorpusToken>,
}

/// The token of a corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusToken {
    /// The corpus's name.
    pub name: String,
    /// Its token.
    pub token: u32,
}

/// The tokens of a question and of what stands behind it, in their order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourcedTokens {
    /// The question and its end.
    pub question: Vec<u32>,
    /// The source; none where it is to be chosen.
    pub source: Vec<u32>,
    /// The knowledge, without its end.
    pub knowledge: Vec<u32>,
    /// The end of the knowledge and what asks for the answer; none where the knowledge is to be
    /// written.
    pub answer: Vec<u32>,
}

impl SourcedTokens {
    /// All of them.
    #[must_use]
    pub fn concat(&self) -> Vec<u32> {
        [
            self.question.as_slice(),
            &self.source,
            &self.knowledge,
            &self.answer,
        ]
        .concat()
    }
}

/// A question and what stands behind it as text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SourcedText {
    /// The question and its end.
    pub question: String,
    /// The source.
    pub source: String,
    /// The knowledge and its end.
    pub knowledge: String,
    /// What asks for the answer.
    pub answer: String,
}

/// What stands in a vocabulary for uses to come is called so by those who make models.
const RESERVED: [&str; 4] = ["reserved", "unused", "placeholder", "extra_id"];

/// Bytes that no text in UTF-8 has. Vocabularies of SentencePiece have an entry for each.
const IMPOSSIBLE_BYTES: [u8; 13] = [
    0xC0, 0xC1, 0xF5, 0xF6, 0xF7, 0xF8, 0xF9, 0xFA, 0xFB, 0xFC, 0xFD, 0xFE, 0xFF,
];

impl SourceTokens {
    /// All of them, in the order of their ids.
    #[must_use]
    pub fn all(&self) -> Vec<u32> {
        let ends = [self.end_of_question, self.end_of_knowledge, self.own];
        let mut all: Vec<u32> = ends.into_iter().collect();
        all.extend(self.corpora.iter().map(|corpus| corpus.token));
        all.sort_unstable();
        all
    }

    /// The tokens of the sources: the model itself, and the corpora in their order.
    pub(super) fn of_sources(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::once(self.own).chain(self.corpora.iter().map(|corpus| corpus.token))
    }

    /// The token of a corpus; of the first where it has no name, or none that the model knows and
    /// there is but one.
    fn of_corpus(&self, name: Option<&str>) -> Option<u32> {
        let named = self
            .corpora
            .iter()
            .find(|one| Some(one.name.as_str()) == name);
        let only = || match self.corpora.as_slice() {
            [only] => Some(only),
            all => all.first().filter(|_| name.is_none()),
        };
        named.or_else(only).map(|corpus| corpus.token)
    }

    /// A question and what stands behind it as the model reads it. What people or documents wrote
    /// cannot hold any of these tokens.
    pub(super) fn read(
        &self,
        sourced: &Sourced,
        tokenizer: &TextTokenizer,
    ) -> Result<SourcedTokens, DecoderError> {
        let continued = |text: &str| tokenizer.encode_continuation(text, Reading::Plain);
        let mut question = tokenizer.encode(&sourced.question, Reading::Plain, true)?;
        question.push(self.end_of_question);
        let mut tokens = SourcedTokens {
            question,
            ..SourcedTokens::default()
        };
        let text = match &sourced.knowledge {
            Knowledge::Unchosen => return Ok(tokens),
            Knowledge::Unwritten => {
                tokens.source.push(self.own);
                return Ok(tokens);
            }
            Knowledge::Own(text) => {
                tokens.source.push(self.own);
                text
            }
            Knowledge::Found { corpus, text } => {
                let token = self.of_corpus(corpus.as_deref());
                tokens
                    .source
                    .push(token.ok_or_else(|| DecoderError::NoSuchCorpus {
                        name: corpus.clone().unwrap_or_default(),
                        known: self.corpora.iter().map(|one| one.name.clone()).collect(),
                    })?);
                text
            }
        };
        if !text.is_empty() {
            tokens.knowledge = continued(&format!(" {}", text.trim()))?;
        }
        tokens.answer = [
            vec![self.end_of_knowledge],
            continued(&format!("\n{}", sourced.answer))?,
        ]
        .concat();
        Ok(tokens)
    }
}

impl Checkpoint {
    /// Takes tokens for marking the knowledge of sources: the model's own where it has been trained
    /// to choose among just these, those that are called so, and else entries of the vocabulary that
    /// are kept for uses to come or that no text has.
    ///
    /// # Errors
    /// A vocabulary with too few of them.
    pub fn source_tokens(&self, corpora: &[&str]) -> Result<SourceTokens, DecoderError> {
        if let Some(tokens) = self.sources()
            && tokens
                .corpora
                .iter()
                .map(|one| one.name.as_str())
                .eq(corpora.iter().copied())
        {
            return Ok(tokens.clone());
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
        })
    }

    /// Entries of the vocabulary that no text has: those that are kept for uses to come, those
    /// without a text at all, special tokens that neither end a text nor belong to a chat, and bytes
    /// that no text has.
    fn free_tokens(&self) -> Vec<u32> {
        let special = self.tokenizer.special();
        let is_kept = |text: &str| RESERVED.iter().any(|name| text.contains(name));
        let kept = special.iter().filter(|(_, text)| is_kept(text));
        let in_vocabulary = u32::try_from(self.config.vocabulary).unwrap_or(u32::MAX);
        let nameless = (self.tokenizer.entries()..in_vocabulary).take(64);
        let in_use = |id: u32, text: &str| {
            let is_end = self.end_tokens.contains(&id);
            let in_chat = self.chat.as_ref().is_some_and(|chat| chat.mentions(text));
            // The first tokens of a vocabulary begin texts and fill them up.
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

    /// A question and what stands behind it as text, with the marks written as the vocabulary calls
    /// them: for tools that train elsewhere. `None` where a mark has no name.
    #[must_use]
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

    /// The tokens of a question and of what stands behind it.
    ///
    /// # Errors
    /// A text that the tokenizer refuses, a corpus that has no token.
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
