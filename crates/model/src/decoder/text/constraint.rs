//! Constrained decoding: which tokens may come next so that the text becomes JSON that satisfies a schema.

use std::fmt::Display;
use std::sync::{Arc, OnceLock};

use ken_language::OutputSchema;
use ken_storage::contained;
use llguidance::api::{ParserLimits, TopLevelGrammar};
use llguidance::toktrie::{ApproximateTokEnv, TokEnv, TokRxInfo, TokTrie};
use llguidance::{Matcher, ParserFactory, token_bytes_from_tokenizer_json};
use serde_json::{Value, json};

use crate::decoder::error::{DecoderError, first_line};
use crate::decoder::text::tokenizer::TextTokenizer;

/// Makes constraints. They share the vocabulary as a trie of bytes, which is built when the first one is made.
#[derive(Default)]
pub(in crate::decoder) struct Constraints(OnceLock<Result<ParserFactory, String>>);

impl Constraints {
    /// The constraint that a schema puts on a text.
    ///
    /// # Errors
    /// A schema that cannot be enforced, a model without an end-of-text token.
    pub(in crate::decoder) fn constraint(
        &self,
        schema: &OutputSchema,
        tokenizer: &TextTokenizer,
        vocabulary: usize,
        end_tokens: &[u32],
    ) -> Result<Constraint, DecoderError> {
        let made = || factory(tokenizer, vocabulary, end_tokens);
        let factory = self.0.get_or_init(|| contained(made).and_then(|made| made));
        let begun = || {
            let factory = factory.as_ref().map_err(Clone::clone)?;
            let grammar = TopLevelGrammar::from_json_schema(compact(schema.as_json()));
            let parser = factory
                .create_parser(grammar)
                .map_err(|error| first_line(&error))?;
            Ok(Constraint(Box::new(Matcher::new(Ok(parser)))))
        };
        contained(begun)
            .and_then(|begun| begun)
            .map_err(|reason| DecoderError::Schema { reason })
    }
}

/// The schema with llguidance's options for white space: one space after commas and colons and nowhere else, since
/// small models write spaces forever if allowed. Options of the schema itself are kept.
fn compact(schema: &Value) -> Value {
    let mut schema = schema.clone();
    if let Some(schema) = schema.as_object_mut() {
        let spaces = json!({
            "whitespace_flexible": false,
            "item_separator": ", ",
            "key_separator": ": ",
            "coerce_one_of": true,
        });
        schema.entry("x-guidance").or_insert(spaces);
    }
    schema
}

fn factory(
    tokenizer: &TextTokenizer,
    vocabulary: usize,
    end_tokens: &[u32],
) -> Result<ParserFactory, String> {
    let &end = end_tokens.first().ok_or("the model never ends a text")?;
    let count = u32::try_from(vocabulary).map_err(|error| error.to_string())?;
    let json = tokenizer.json().map_err(|error| first_line(&error))?;
    let json = serde_json::from_str(&json).map_err(|error| first_line(&error))?;
    let mut tokens = token_bytes_from_tokenizer_json(&json).map_err(|error| first_line(&error))?;
    // A checkpoint may have more or fewer rows than its tokenizer has tokens.
    tokens.resize(vocabulary, Vec::new());
    let trie = TokTrie::from(&TokRxInfo::new(count, end), &tokens).with_eos_tokens(end_tokens);
    let environment: TokEnv = Arc::new(ApproximateTokEnv::new(trie));
    let mut factory =
        ParserFactory::new_simple(&environment).map_err(|error| first_line(&error))?;
    factory.quiet();
    *factory.limits_mut() = ParserLimits {
        verbose_errors: false,
        ..ParserLimits::default()
    };
    Ok(factory)
}

/// The state of one text under a constraint.
#[derive(Clone)]
pub(in crate::decoder) struct Constraint(Box<Matcher>);

impl Constraint {
    /// The logits, with those of tokens that may not come next at negative infinity.
    ///
    /// # Shapes
    /// `logits`: `[vocabulary]`; returns the same.
    ///
    /// # Errors
    /// A schema that exceeds the limits of the parser.
    pub(in crate::decoder) fn allowed(&mut self, logits: &[f32]) -> Result<Vec<f32>, DecoderError> {
        let mask = self
            .0
            .compute_mask_or_eos()
            .map_err(|error| refused(&error))?;
        let numbered = (0..).zip(logits);
        let allowed = numbered.map(|(token, &logit)| match mask.get(token) {
            true => logit,
            false => f32::NEG_INFINITY,
        });
        Ok(allowed.collect())
    }

    /// Consumes the next token.
    ///
    /// # Errors
    /// A token that the constraint does not allow.
    pub(in crate::decoder) fn take(&mut self, token: u32) -> Result<(), DecoderError> {
        match self.0.is_stopped() {
            true => Ok(()),
            false => self.0.consume_token(token).map_err(|error| refused(&error)),
        }
    }
}

fn refused(error: &dyn Display) -> DecoderError {
    DecoderError::Schema {
        reason: first_line(error),
    }
}
