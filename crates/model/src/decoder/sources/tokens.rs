//! The tokens by which a model marks sources of knowledge (SR-RAG, section 3.2): one after the question, one for each
//! source, one after the knowledge.

use ken_language::{Knowledge, Sourced};
use serde::{Deserialize, Serialize};

use crate::decoder::error::DecoderError;
use crate::decoder::text::tokenizer::{Reading, TextTokenizer};

/// The tokens of a model that chooses its source.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SourceTokens {
    /// Ends the question; a source is chosen after it.
    pub end_of_question: u32,
    /// Ends the knowledge; the answer is generated after it.
    pub end_of_knowledge: u32,
    /// The model itself.
    pub own: u32,
    /// The corpora.
    pub corpora: Vec<CorpusToken>,
    /// Whether the model was taught to write what it knows before it answers from that. Otherwise it only retrieves
    /// or not (Selective-RAG).
    pub verbalizes: bool,
    /// The probability of all corpora together above which a corpus is used, if it was chosen on held-out questions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threshold: Option<f64>,
}

/// The token of a corpus.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CorpusToken {
    /// The corpus's name.
    pub name: String,
    /// Its token.
    pub token: u32,
}

/// The tokens of a question and the text after it, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SourcedTokens {
    /// The question and its end.
    pub question: Vec<u32>,
    /// The source; empty if the model is to choose it.
    pub source: Vec<u32>,
    /// The knowledge, without its end.
    pub knowledge: Vec<u32>,
    /// The end of the knowledge and the text that asks for the answer; empty if the model is to write the knowledge.
    pub answer: Vec<u32>,
}

impl SourcedTokens {
    /// All tokens.
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

impl SourceTokens {
    /// All tokens, in the order of their ids.
    pub fn all(&self) -> Vec<u32> {
        let ends = [self.end_of_question, self.end_of_knowledge, self.own];
        let mut all: Vec<u32> = ends.into_iter().collect();
        all.extend(self.corpora.iter().map(|corpus| corpus.token));
        all.sort_unstable();
        all
    }

    /// The tokens of the sources: the model itself, then the corpora in order.
    pub(in crate::decoder) fn of_sources(&self) -> impl Iterator<Item = u32> + '_ {
        std::iter::once(self.own).chain(self.corpora.iter().map(|corpus| corpus.token))
    }

    /// The token of a corpus; that of the only one if `name` is `None` or unknown.
    pub(in crate::decoder) fn of_corpus(&self, name: Option<&str>) -> Option<u32> {
        let named = self
            .corpora
            .iter()
            .find(|corpus| Some(corpus.name.as_str()) == name);
        let only = || match self.corpora.as_slice() {
            [only] => Some(only),
            all => all.first().filter(|_| name.is_none()),
        };
        named.or_else(only).map(|corpus| corpus.token)
    }

    /// A question and the text after it as the model reads it. Texts of people or documents cannot contain any of
    /// these tokens.
    pub(in crate::decoder) fn read(
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
                        known: self.corpora.iter().map(|c| c.name.clone()).collect(),
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
