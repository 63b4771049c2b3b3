//! Parsing filters, and quoting their keys and values.

use std::borrow::Cow;
use std::str::FromStr;

use super::{Filter, SIGNS};

/// How deep conditions may nest.
const DEEPEST: usize = 16;

/// A malformed filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{given:?} is no filter: {reason}; write e.g. year>=2020 AND (lang=de OR lang IN (fr, it)) AND NOT EXISTS draft"
)]
pub struct FilterError {
    /// The given text.
    pub given: String,
    /// Why it cannot be read.
    pub reason: String,
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(given: &str) -> Result<Self, FilterError> {
        let mut reader = Reader {
            rest: given.trim_start(),
            depth: 0,
        };
        let read = reader.any().and_then(|filter| match reader.rest {
            "" => Ok(filter),
            rest => Err(format!("it does not end before {rest:?}")),
        });
        read.map_err(|reason| FilterError {
            given: given.to_owned(),
            reason,
        })
    }
}

/// A key or a value as a filter writes it: in quotes if it would be parsed as something else.
pub(super) fn quoted(text: &str, is_key: bool) -> Cow<'_, str> {
    let has_word = |word| text.split_whitespace().any(|part| part == word);
    let needs = text.contains(['"', '(', ')', ','])
        || text.trim() != text
        // After a sign, these are refused as slips.
        || text.starts_with(['=', '<', '>', '\''])
        || ["AND", "OR", "NOT", "IN", "EXISTS"]
            .into_iter()
            .any(has_word)
        || is_key && (text.is_empty() || text.contains(['=', '!', '<', '>', '^']));
    match needs {
        true => format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\"")).into(),
        false => text.into(),
    }
}

struct Reader<'t> {
    /// The text still to be parsed, without spaces at its start.
    rest: &'t str,
    /// The number of open conditions.
    depth: usize,
}

impl Reader<'_> {
    fn any(&mut self) -> Result<Filter, String> {
        self.list("OR", Self::all)
            .map(|list| single(list, Filter::Any))
    }

    fn all(&mut self) -> Result<Filter, String> {
        self.list("AND", Self::one)
            .map(|list| single(list, Filter::All))
    }

    /// Conditions with a word between them, each parsed by `condition`.
    fn list(
        &mut self,
        word: &str,
        condition: fn(&mut Self) -> Result<Filter, String>,
    ) -> Result<Vec<Filter>, String> {
        let mut list = vec![condition(self)?];
        while self.take_word(word) {
            list.push(condition(self)?);
        }
        Ok(list)
    }

    fn one(&mut self) -> Result<Filter, String> {
        if self.depth == DEEPEST {
            return Err(format!("conditions nest deeper than {DEEPEST}"));
        }
        self.depth += 1;
        let read = self.condition();
        self.depth -= 1;
        read
    }

    fn condition(&mut self) -> Result<Filter, String> {
        if self.take_word("NOT") || self.rest.starts_with("NOT(") && self.take("NOT") {
            return Ok(Filter::Not(Box::new(self.one()?)));
        }
        if self.take("(") {
            if self.take(")") {
                return Ok(Filter::All(Vec::new()));
            }
            let filter = self.any()?;
            return match self.take(")") {
                true => Ok(filter),
                false => Err("a parenthesis is not closed".to_owned()),
            };
        }
        if self.take_word("EXISTS") {
            let key = self.text(&|rest| word_at(rest, &["AND", "OR"]) || rest.starts_with(')'))?;
            return match key.is_empty() {
                true => Err("EXISTS needs a key".to_owned()),
                false => Ok(Filter::Exists { key }),
            };
        }
        self.comparison()
    }

    fn comparison(&mut self) -> Result<Filter, String> {
        let starts_sign = |rest: &str| {
            let signs = SIGNS.iter().any(|(sign, _)| rest.starts_with(sign));
            signs || word_at(rest, &["IN"]) || rest.starts_with('!')
        };
        let is_quoted = self.rest.starts_with('"');
        let key = self.text(&starts_sign)?;
        if key.is_empty() && !is_quoted {
            return Err("a condition needs a key before its sign".to_owned());
        }
        if self.take_word("IN") || self.rest.starts_with("IN(") && self.take("IN") {
            return self.values(&key);
        }
        let sign = SIGNS.iter().find(|(sign, _)| self.rest.starts_with(sign));
        let Some(&(sign, comparison)) = sign else {
            return Err(format!("{key:?} is compared with nothing"));
        };
        self.take(sign);
        if self.rest.starts_with(['=', '<', '>']) {
            return Err(format!(
                "after {sign}, a value that begins with a sign stands in double quotes; the signs are = != < <= > >= ^="
            ));
        }
        if self.rest.starts_with('\'') {
            return Err("a value that begins with ' stands in double quotes".to_owned());
        }
        // Outside of a group, a parenthesis is an ordinary character.
        let is_in_group = self.depth > 1;
        let value = self.text(&|rest: &str| {
            word_at(rest, &["AND", "OR"]) || is_in_group && rest.starts_with(')')
        })?;
        Ok(Filter::Compare {
            key,
            comparison,
            value,
        })
    }

    /// The values of a list in parentheses.
    fn values(&mut self, key: &str) -> Result<Filter, String> {
        if !self.take("(") {
            return Err("IN needs a list in parentheses".to_owned());
        }
        let mut values = Vec::new();
        loop {
            values.push(self.text(&|rest: &str| rest.starts_with([',', ')']))?);
            if self.take(")") {
                return Ok(Filter::one_of(key, values));
            }
            if !self.take(",") {
                return Err("a list is not closed".to_owned());
            }
        }
    }

    /// A text in quotes, or else the text before `ends` or the end, without spaces at its ends.
    fn text(&mut self, ends: &dyn Fn(&str) -> bool) -> Result<String, String> {
        if let Some(quoted) = self.rest.strip_prefix('"') {
            let mut text = String::new();
            let mut characters = quoted.char_indices();
            while let Some((offset, character)) = characters.next() {
                match character {
                    '"' => {
                        self.rest = quoted[offset + 1..].trim_start();
                        return Ok(text);
                    }
                    '\\' => text.extend(characters.next().map(|(_, escaped)| escaped)),
                    character => text.push(character),
                }
            }
            return Err("a quote is not closed".to_owned());
        }
        let mut end = self.rest.len();
        let mut before = ' ';
        for (offset, character) in self.rest.char_indices() {
            // A keyword does not begin within another word.
            let rest = &self.rest[offset..];
            let begins_word = before.is_whitespace() || !character.is_alphabetic();
            if begins_word && ends(rest) {
                end = offset;
                break;
            }
            before = character;
        }
        let (text, rest) = self.rest.split_at(end);
        self.rest = rest;
        Ok(text.trim().to_owned())
    }

    /// Takes a whole keyword.
    fn take_word(&mut self, word: &str) -> bool {
        word_at(self.rest, &[word]) && self.take(word)
    }

    fn take(&mut self, text: &str) -> bool {
        match self.rest.strip_prefix(text) {
            Some(rest) => {
                self.rest = rest.trim_start();
                true
            }
            None => false,
        }
    }
}

/// Whether `rest` begins with one of these words, as a whole word.
fn word_at(rest: &str, words: &[&str]) -> bool {
    words.iter().any(|word| {
        let after = rest.strip_prefix(word);
        after.is_some_and(|after| {
            let next = after.chars().next();
            next.is_none_or(|next| next.is_whitespace() || next == '(')
        })
    })
}

/// The only condition of the list, or else the list joined.
fn single(mut list: Vec<Filter>, join: fn(Vec<Filter>) -> Filter) -> Filter {
    match list.len() {
        1 => list.remove(0),
        _ => join(list),
    }
}
