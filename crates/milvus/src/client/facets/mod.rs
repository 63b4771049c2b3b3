//! Metadata as Milvus can filter it, and filters as Milvus expressions.
//!
//! Milvus compares JSON values by type. ken's filters compare texts as numbers if both sides are numbers, and lists
//! by each of their values. So a row has two more fields, derived from the passage's metadata:
//!
//! - its **facets**, an array of digests, for `=` and `!=`: one for each value of each key as a text, and another as
//!   a number if it is one; and one for each kind of value that a key has, for `EXISTS` and for negations;
//! - its **bounds**, a JSON object with the least and the greatest value of each key, for `<`, `<=`, `>` and `>=`:
//!   among all texts, among those that are not numbers, and among the numbers.
//!
//! There and in expressions, keys and values are digests and hexadecimal: nothing in a filter can end the literal
//! that it becomes.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use ken_corpus::{Comparison, Filter, number_in};
use serde_json::{Map, Value};

use crate::client::schema::{BOUNDS, FACETS};
use crate::error::MilvusError;

/// How many bytes of a text its bounds keep: one more than the value of a filter may have, so that the cut changes no
/// comparison. A text that starts with a filter's whole value and is longer is the greater one, however it continues.
const KEPT: usize = 256;

/// The fields derived from the metadata of a passage.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Facets {
    /// For equality, ascending.
    pub(crate) facets: Vec<String>,
    /// For order: an object of texts.
    pub(crate) bounds: BTreeMap<String, String>,
}

/// Which values of a key are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Among {
    /// All, as texts.
    Texts,
    /// Those that are not numbers, as texts.
    Words,
    /// Those that are numbers.
    Numbers,
}

/// The end of a key's range of values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum End {
    Least,
    Greatest,
}

impl Facets {
    pub(crate) fn of(metadata: &Map<String, Value>) -> Self {
        let mut facets = BTreeSet::new();
        let mut bounds = BTreeMap::new();
        for (key, value) in metadata {
            let values = match value {
                Value::Array(values) => values.as_slice(),
                single => std::slice::from_ref(single),
            };
            for text in values.iter().filter_map(as_text) {
                facets.insert(facet(key, Among::Texts, &hexadecimal(text.as_bytes())));
                let kept = hexadecimal(&text.as_bytes()[..text.len().min(KEPT)]);
                facets.insert(some(key, Among::Texts));
                match number_in(&text).map(ordered) {
                    Some(number) => {
                        facets.insert(some(key, Among::Numbers));
                        facets.insert(facet(key, Among::Numbers, &number));
                        widen(&mut bounds, key, Among::Numbers, &number);
                    }
                    None => {
                        facets.insert(some(key, Among::Words));
                        widen(&mut bounds, key, Among::Words, &kept);
                    }
                }
                widen(&mut bounds, key, Among::Texts, &kept);
            }
        }
        Self {
            facets: facets.into_iter().collect(),
            bounds,
        }
    }
}

/// A value as a filter compares it; `None` where it does not.
fn as_text(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

fn widen(bounds: &mut BTreeMap<String, String>, key: &str, among: Among, value: &str) {
    for (end, wider) in [
        (End::Least, Ordering::Less),
        (End::Greatest, Ordering::Greater),
    ] {
        let kept = bounds
            .entry(bound(key, among, end))
            .or_insert_with(|| value.to_owned());
        if value.cmp(kept.as_str()) == wider {
            value.clone_into(kept);
        }
    }
}

/// A number as 16 hexadecimal digits whose order is that of the numbers.
fn ordered(number: f64) -> String {
    let bits = (number + 0.0).to_bits(); // makes -0.0 equal to 0.0
    let sign = 1 << 63;
    let bits = if bits & sign == 0 { bits | sign } else { !bits };
    format!("{bits:016x}")
}

pub(super) fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

impl Among {
    fn letter(self) -> char {
        match self {
            Self::Texts => 't',
            Self::Words => 'w',
            Self::Numbers => 'n',
        }
    }
}

/// The facet for a value of a key.
fn facet(key: &str, among: Among, value: &str) -> String {
    let mut hasher = blake3::Hasher::new();
    hasher.update(&(key.len() as u64).to_le_bytes());
    hasher.update(key.as_bytes());
    hasher.update(&[among.letter() as u8]);
    hasher.update(value.as_bytes());
    hasher.finalize().to_hex()[..32].to_owned()
}

/// The facet for a key with any value of a kind. Values are hexadecimal, so none is written like this.
fn some(key: &str, among: Among) -> String {
    facet(key, among, "any")
}

/// The key of an end of a key's values in [`Facets::bounds`].
fn bound(key: &str, among: Among, end: End) -> String {
    let key = &blake3::hash(key.as_bytes()).to_hex()[..32];
    let end = match end {
        End::Least => 'l',
        End::Greatest => 'g',
    };
    format!("{}{end}{key}", among.letter())
}

/// A condition on facets and bounds. It displays as a Milvus expression.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Condition {
    /// A facet is there.
    Has(String),
    /// A facet is not there.
    HasNot(String),
    /// A bound is there and compares with a value as `sign` says.
    Bound {
        name: String,
        sign: &'static str,
        value: String,
    },
    /// All of them hold; never none.
    All(Vec<Self>),
    /// One of them holds; never none.
    Any(Vec<Self>),
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (conditions, word) = match self {
            Self::Has(facet) => return write!(f, "array_contains({FACETS}, \"{facet}\")"),
            Self::HasNot(facet) => return write!(f, "not array_contains({FACETS}, \"{facet}\")"),
            Self::Bound { name, sign, value } => {
                return write!(f, "{BOUNDS}[\"{name}\"] {sign} \"{value}\"");
            }
            Self::All(conditions) => (conditions, " and "),
            Self::Any(conditions) => (conditions, " or "),
        };
        for (place, condition) in conditions.iter().enumerate() {
            f.write_str(if place == 0 { "(" } else { word })?;
            write!(f, "{condition}")?;
        }
        f.write_str(")")
    }
}

impl Condition {
    /// The condition that holds for exactly the passages of documents that match a filter.
    ///
    /// # Errors
    /// [`MilvusError::FilterTooLong`], [`MilvusError::FilterNotPossible`].
    pub(crate) fn of(filter: &Filter) -> Result<Self, MilvusError> {
        Self::of_part(filter, true)
    }

    /// The condition for a filter, or for its opposite. Only the presence of facets is negated: for a missing bound,
    /// neither a comparison nor its opposite holds.
    fn of_part(filter: &Filter, holds: bool) -> Result<Self, MilvusError> {
        let joined = |filters: &[Filter], all: bool| {
            let parts = filters.iter().map(|filter| Self::of_part(filter, holds));
            let mut parts = parts.collect::<Result<Vec<_>, _>>()?;
            // A filter that always or never holds needs a condition too.
            let absent = "0".to_owned();
            match (parts.len(), all == holds) {
                (0, true) => Ok(Self::HasNot(absent)),
                (0, false) => Ok(Self::Has(absent)),
                (1, _) => Ok(parts.remove(0)),
                (_, true) => Ok(Self::All(parts)),
                (_, false) => Ok(Self::Any(parts)),
            }
        };
        match filter {
            Filter::All(filters) => joined(filters, true),
            Filter::Any(filters) => joined(filters, false),
            Filter::Not(filter) => Self::of_part(filter, !holds),
            Filter::Exists { key } => Ok(Self::has(some(key, Among::Texts), holds)),
            Filter::Compare {
                key,
                comparison,
                value,
            } => Self::compared(filter, key, *comparison, value, holds),
        }
    }

    fn has(facet: String, holds: bool) -> Self {
        match holds {
            true => Self::Has(facet),
            false => Self::HasNot(facet),
        }
    }

    fn compared(
        filter: &Filter,
        key: &str,
        comparison: Comparison,
        value: &str,
        holds: bool,
    ) -> Result<Self, MilvusError> {
        let number = number_in(value).map(ordered);
        let equality = |holds| Self::has(equality(key, value, number.as_deref()), holds);
        let (signs, end) = match comparison {
            Comparison::Equal => return Ok(equality(holds)),
            Comparison::NotEqual => return Ok(equality(!holds)),
            Comparison::Less => (["<", ">="], End::Least),
            Comparison::LessOrEqual => (["<=", ">"], End::Least),
            Comparison::Greater => ([">", "<="], End::Greatest),
            Comparison::GreaterOrEqual => ([">=", "<"], End::Greatest),
            Comparison::StartsWith => {
                return Err(MilvusError::FilterNotPossible {
                    filter: filter.to_string(),
                });
            }
        };
        if value.len() >= KEPT {
            return Err(MilvusError::FilterTooLong {
                filter: filter.to_string(),
                received: value.len(),
                limit: KEPT - 1,
            });
        }
        let bound = |among, value: String| {
            let bound = |sign| Self::Bound {
                name: bound(key, among, end),
                sign,
                value,
            };
            match holds {
                true => bound(signs[0]),
                false => Self::Any(vec![Self::HasNot(some(key, among)), bound(signs[1])]),
            }
        };
        let text = hexadecimal(value.as_bytes());
        let Some(number) = number else {
            return Ok(bound(Among::Texts, text));
        };
        let kinds = vec![bound(Among::Numbers, number), bound(Among::Words, text)];
        Ok(match holds {
            true => Self::Any(kinds),
            false => Self::All(kinds),
        })
    }
}

/// The facet of a filter's value. A number equals no text that is not a number.
fn equality(key: &str, value: &str, number: Option<&str>) -> String {
    match number {
        Some(number) => facet(key, Among::Numbers, number),
        None => facet(key, Among::Texts, &hexadecimal(value.as_bytes())),
    }
}

#[cfg(test)]
mod tests;
