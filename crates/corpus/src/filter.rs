//! Conditions on the metadata of documents.

use std::cmp::Ordering;
use std::fmt;
use std::str::FromStr;

use fixedbitset::FixedBitSet;
use serde_json::{Map, Value};

use crate::store::{Corpus, CorpusError, Segment};

/// One condition on a document's metadata: `KEY=VALUE`, or with `!=`, `<`, `<=`, `>` or `>=`.
///
/// Where both sides are numbers they are compared as numbers, else as texts. Of a list one matching
/// value is enough. A document without the key matches `!=` only.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Filter {
    /// The key of the metadata.
    pub key: String,
    /// How its value is compared.
    pub comparison: Comparison,
    /// What it is compared with.
    pub value: String,
}

/// How a filter compares a document's value with its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
}

/// Longer signs come before those that they start with.
const SIGNS: [(&str, Comparison); 6] = [
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

/// A malformed filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{given:?} is not KEY=VALUE, or with !=, <, <=, > or >=, as year>=2020 is")]
pub struct FilterError {
    /// What was written.
    pub given: String,
}

impl FromStr for Filter {
    type Err = FilterError;

    fn from_str(given: &str) -> Result<Self, FilterError> {
        let error = || FilterError {
            given: given.to_owned(),
        };
        let at = given.find(['=', '!', '<', '>']).ok_or_else(error)?;
        let (key, rest) = given.split_at(at);
        let found = SIGNS
            .iter()
            .find_map(|&(sign, comparison)| Some((comparison, rest.strip_prefix(sign)?)));
        let (comparison, value) = found.ok_or_else(error)?;
        match key.trim() {
            "" => Err(error()),
            key => Ok(Self {
                key: key.to_owned(),
                comparison,
                value: value.trim().to_owned(),
            }),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = SIGNS
            .iter()
            .find(|(_, comparison)| *comparison == self.comparison)
            .map_or("", |(sign, _)| sign);
        write!(f, "{}{sign}{}", self.key, self.value)
    }
}

impl Filter {
    /// Whether a document with this metadata matches.
    #[must_use]
    pub fn matches(&self, metadata: &Map<String, Value>) -> bool {
        let equal = |value: &Value| self.compare(value) == Some(Ordering::Equal);
        let any = |fits: &dyn Fn(&Value) -> bool| match metadata.get(&self.key) {
            Some(Value::Array(values)) => values.iter().any(fits),
            Some(value) => fits(value),
            None => false,
        };
        let ordered =
            |fits: fn(Ordering) -> bool| any(&|value| self.compare(value).is_some_and(fits));
        match self.comparison {
            Comparison::Equal => any(&equal),
            Comparison::NotEqual => !any(&equal),
            Comparison::Less => ordered(Ordering::is_lt),
            Comparison::LessOrEqual => ordered(Ordering::is_le),
            Comparison::Greater => ordered(Ordering::is_gt),
            Comparison::GreaterOrEqual => ordered(Ordering::is_ge),
        }
    }

    /// Compares a document's value with that of the filter.
    fn compare(&self, value: &Value) -> Option<Ordering> {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Number(_) | Value::Bool(_) => value.to_string(),
            Value::Null | Value::Array(_) | Value::Object(_) => return None,
        };
        match (number_in(&text), number_in(&self.value)) {
            (Some(one), Some(other)) => one.partial_cmp(&other),
            _ => Some(text.as_str().cmp(&self.value)),
        }
    }
}

/// The number in a text, without surrounding spaces. `nan` is a text: there are people of that
/// name.
#[must_use]
pub fn number_in(text: &str) -> Option<f64> {
    let number = text.trim().parse::<f64>().ok();
    number.filter(|number| !number.is_nan())
}

/// A selection of a corpus's passages, such as the live ones that match filters: for each segment
/// which and how many.
#[derive(Debug, Clone)]
pub struct Selection(Vec<(FixedBitSet, usize)>);

impl Selection {
    /// The live passages of the documents that match all filters.
    ///
    /// # Errors
    /// [`CorpusError::Damaged`] where a document's record cannot be read.
    pub fn new(corpus: &Corpus, filters: &[Filter]) -> Result<Self, CorpusError> {
        Self::from_live(corpus, |segment, selected| {
            for document in segment.live_documents() {
                let metadata = segment.metadata(document)?;
                if !filters.iter().all(|filter| filter.matches(&metadata)) {
                    selected.set_range(segment.passages_of(document)?, false);
                }
            }
            Ok(())
        })
    }

    /// The live passages, and those pruned for a reason with this prefix.
    ///
    /// # Errors
    /// [`CorpusError`] where the marks of a segment cannot be read.
    pub fn with_pruned_for(corpus: &Corpus, reason_start: &str) -> Result<Self, CorpusError> {
        Self::from_live(corpus, |segment, selected| {
            selected.extend(segment.pruned_for(reason_start)?);
            Ok(())
        })
    }

    /// The live passages of each segment after a change.
    fn from_live(
        corpus: &Corpus,
        change: impl Fn(&Segment, &mut FixedBitSet) -> Result<(), CorpusError>,
    ) -> Result<Self, CorpusError> {
        let segments = corpus.segments().iter().map(|segment| {
            let mut selected = segment.live().clone();
            change(segment, &mut selected)?;
            let count = selected.count_ones(..);
            Ok((selected, count))
        });
        segments.collect::<Result<_, _>>().map(Self)
    }

    /// Removes a passage.
    pub fn remove(&mut self, segment: usize, ordinal: usize) {
        if let Some((selected, count)) = self.0.get_mut(segment)
            && selected.contains(ordinal)
        {
            selected.set(ordinal, false);
            *count -= 1;
        }
    }

    /// The selected passages of a segment by their ordinals, ascending.
    pub fn ordinals(&self, segment: usize) -> impl Iterator<Item = usize> + '_ {
        let selected = self.0.get(segment);
        selected
            .into_iter()
            .flat_map(|(selected, _)| selected.ones())
    }

    /// How many passages are selected.
    #[must_use]
    pub fn total(&self) -> usize {
        self.0.iter().map(|(_, count)| count).sum()
    }

    /// Whether a passage is selected; false where there is no such passage.
    #[must_use]
    pub fn contains(&self, segment: usize, ordinal: usize) -> bool {
        self.0
            .get(segment)
            .is_some_and(|(selected, _)| selected.contains(ordinal))
    }

    /// How many passages of a segment are selected.
    #[must_use]
    pub fn count(&self, segment: usize) -> usize {
        self.0.get(segment).map_or(0, |(_, count)| *count)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(filter: &str) -> bool {
        let metadata = serde_json::json!({
            "year": 2020, "date": "2021-03-04", "tags": ["Red", "9"], "ok": true, "none": null,
        });
        let filter: Filter = filter.parse().unwrap();
        filter.matches(metadata.as_object().unwrap())
    }

    #[test]
    fn values_are_compared_as_numbers_or_texts() {
        let fit = "year=2020|year=2020.0|year>=2020|year<10000|date>2021|date<2021-04|tags=Red|tags<10|\
                   tags!=Blue|ok=true|gone!=x|none!=x| year = 2020";
        for filter in fit.split('|') {
            assert!(matches(filter), "{filter}");
        }
        let others = "year!=2020|year>2020|date>=2022|tags=red|tags!=Red|gone=x|gone<x|none=null|\
                      ok=false";
        for filter in others.split('|') {
            assert!(!matches(filter), "{filter}");
        }
    }

    #[test]
    fn the_name_nan_is_a_text() {
        let metadata = serde_json::json!({"author": "Nan", "year": 2020});
        for (filter, expected) in [
            ("author=Nan", true),
            ("author!=Nan", false),
            ("author>=Nan", true),
            ("author=nan", false),
            ("author<Nap", true),
            ("author>3", true),
            ("year<nan", true),
            ("year=nan", false),
        ] {
            let filter: Filter = filter.parse().unwrap();
            let fits = filter.matches(metadata.as_object().unwrap());
            assert_eq!(fits, expected, "{filter}");
        }
    }

    #[test]
    fn filters_are_written_and_read() {
        for text in ["a=b", "a!=b", "a<1", "a<=1", "a>1", "a>=1", "a=b=c", "a="] {
            assert_eq!(text.parse::<Filter>().unwrap().to_string(), text);
        }
        for text in ["", "a", "=b", " =b", "a!b"] {
            assert!(text.parse::<Filter>().is_err(), "{text}");
        }
    }
}
