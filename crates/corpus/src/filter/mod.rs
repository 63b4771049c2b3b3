//! Conditions on the metadata of documents, beside which passages have scores of their own.
//!
//! A comparison is `KEY=VALUE`, or with `!=`, `<`, `<=`, `>`, `>=` or `^=` (begins with); `KEY IN (a, b)` and `EXISTS KEY` are
//! conditions too. They are joined by `AND`, `OR` and `NOT`, in capitals, and grouped by parentheses; `AND` binds more
//! tightly than `OR`. A key or value that holds one of these words, a parenthesis, a comma in a list or spaces at its ends is
//! written in double quotes.

mod parse;
mod selection;

use std::cmp::Ordering;
use std::fmt;

use serde_json::{Map, Value};

use crate::composed::composed;

pub use parse::FilterError;
pub use selection::Selection;

/// A condition on a document's metadata.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Filter {
    /// Compares the value of a key.
    ///
    /// Two numbers are compared as numbers, anything else as texts, which also orders dates such as `2021-03-04`. Letters
    /// are equal whether they are composed or not. In a list, one matching value is enough. A document without the key
    /// matches `!=` only.
    Compare {
        /// The key of the metadata.
        key: String,
        /// How its value is compared.
        comparison: Comparison,
        /// The value that it is compared with.
        value: String,
    },
    /// The key has a text, a number or a truth value, or a list of them.
    Exists {
        /// The key of the metadata.
        key: String,
    },
    /// The condition does not hold.
    Not(Box<Self>),
    /// All of them hold.
    All(Vec<Self>),
    /// At least one of them holds.
    Any(Vec<Self>),
}

/// How a filter compares a document's value with the filter's.
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
    /// `^=`: the value, as a text, begins with the filter's.
    StartsWith,
}

/// Longer signs come before those that they start with.
const SIGNS: [(&str, Comparison); 7] = [
    ("!=", Comparison::NotEqual),
    ("<=", Comparison::LessOrEqual),
    (">=", Comparison::GreaterOrEqual),
    ("^=", Comparison::StartsWith),
    ("=", Comparison::Equal),
    ("<", Comparison::Less),
    (">", Comparison::Greater),
];

impl Filter {
    /// The condition that the key has one of the values: `KEY IN (a, b)`.
    pub fn one_of(key: &str, values: impl IntoIterator<Item = String>) -> Self {
        let equal = |value| Self::Compare {
            key: key.to_owned(),
            comparison: Comparison::Equal,
            value,
        };
        let any: Vec<Self> = values.into_iter().map(equal).collect();
        match <[Self; 1]>::try_from(any) {
            Ok([only]) => only,
            Err(any) => Self::Any(any),
        }
    }

    /// The number of comparisons in it; an empty group counts as one.
    pub fn comparisons(&self) -> usize {
        match self {
            Self::Compare { .. } | Self::Exists { .. } => 1,
            Self::Not(filter) => filter.comparisons(),
            Self::All(filters) | Self::Any(filters) => {
                let sum: usize = filters.iter().map(Self::comparisons).sum();
                sum.max(1)
            }
        }
    }

    /// The keys that it reads.
    fn keys(&self) -> Vec<&str> {
        match self {
            Self::Compare { key, .. } | Self::Exists { key } => vec![key],
            Self::Not(filter) => filter.keys(),
            Self::All(filters) | Self::Any(filters) => {
                filters.iter().flat_map(Self::keys).collect()
            }
        }
    }

    /// Whether a document with this metadata matches.
    pub fn matches(&self, metadata: &Map<String, Value>) -> bool {
        let any = |key: &str, fits: &dyn Fn(&str) -> bool| {
            let fits = |value: &Value| text_of(value).is_some_and(|text| fits(&text));
            match metadata.get(key) {
                Some(Value::Array(values)) => values.iter().any(fits),
                Some(value) => fits(value),
                None => false,
            }
        };
        match self {
            Self::All(filters) => filters.iter().all(|filter| filter.matches(metadata)),
            Self::Any(filters) => filters.iter().any(|filter| filter.matches(metadata)),
            Self::Not(filter) => !filter.matches(metadata),
            Self::Exists { key } => any(key, &|_| true),
            Self::Compare {
                key,
                comparison,
                value,
            } => {
                let ordered =
                    |fits: fn(Ordering) -> bool| any(key, &|text| fits(compare(text, value)));
                match comparison {
                    Comparison::Equal => ordered(Ordering::is_eq),
                    Comparison::NotEqual => !ordered(Ordering::is_eq),
                    Comparison::Less => ordered(Ordering::is_lt),
                    Comparison::LessOrEqual => ordered(Ordering::is_le),
                    Comparison::Greater => ordered(Ordering::is_gt),
                    Comparison::GreaterOrEqual => ordered(Ordering::is_ge),
                    Comparison::StartsWith => {
                        any(key, &|text| composed(text).starts_with(&*composed(value)))
                    }
                }
            }
        }
    }
}

/// A value as the text that is compared; `None` if it cannot be compared.
fn text_of(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(_) | Value::Bool(_) => Some(value.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

/// Compares a document's value with that of a filter, as numbers if both are, else as texts.
fn compare(text: &str, value: &str) -> Ordering {
    let numbers = number_in(text).zip(number_in(value));
    let ordered = numbers.and_then(|(one, other)| one.partial_cmp(&other));
    ordered.unwrap_or_else(|| match composed(text) == composed(value) {
        true => Ordering::Equal,
        false => text.cmp(value),
    })
}

/// The number in a text, without surrounding spaces. `nan` is a text: it is also a name.
pub fn number_in(text: &str) -> Option<f64> {
    let number = text.trim().parse::<f64>().ok();
    number.filter(|number| !number.is_nan())
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Compare {
                key,
                comparison,
                value,
            } => {
                let sign = SIGNS.iter().find(|(_, named)| named == comparison);
                let sign = sign.map_or("", |(sign, _)| sign);
                write!(
                    f,
                    "{}{sign}{}",
                    parse::quoted(key, true),
                    parse::quoted(value, false)
                )
            }
            Self::Exists { key } => write!(f, "EXISTS {}", parse::quoted(key, true)),
            Self::Not(filter) => write!(f, "NOT ({filter})"),
            Self::All(filters) => joined(f, filters, " AND "),
            Self::Any(filters) => joined(f, filters, " OR "),
        }
    }
}

/// Writes conditions with a word between them, compound ones in parentheses. An empty list is written as a condition
/// with the same truth value.
fn joined(f: &mut fmt::Formatter<'_>, filters: &[Filter], word: &str) -> fmt::Result {
    if filters.is_empty() {
        return f.write_str(if word == " OR " { "NOT ()" } else { "()" });
    }
    for (place, filter) in filters.iter().enumerate() {
        if place > 0 {
            f.write_str(word)?;
        }
        match filter {
            Filter::All(_) | Filter::Any(_) => write!(f, "({filter})")?,
            filter => write!(f, "{filter}")?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

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
    fn letters_are_equal_composed_or_not() {
        let metadata = serde_json::json!({"place": "Caf\u{e9} Zo\u{eb}", "tags": ["the\u{301}"]});
        for (filter, expected) in [
            ("place=Cafe\u{301} Zoe\u{308}", true),
            ("place!=Cafe\u{301} Zoe\u{308}", false),
            ("place^=Cafe\u{301}", true),
            ("place^=Cafe", false),
            ("tags=th\u{e9}", true),
            ("tags IN (th\u{e9}, tee)", true),
            ("tags=the", false),
        ] {
            let filter: Filter = filter.parse().unwrap();
            let fits = filter.matches(metadata.as_object().unwrap());
            assert_eq!(fits, expected, "{filter}");
        }
    }

    #[test]
    fn filters_are_written_and_read() {
        for text in [
            "a=b",
            "a!=b",
            "a<1",
            "a<=1",
            "a>1",
            "a>=1",
            "a=b=c",
            "a=",
            "a=\">1\"",
            "a=\"'x'\"",
        ] {
            assert_eq!(text.parse::<Filter>().unwrap().to_string(), text);
        }
        for text in [
            "",
            "a",
            "=b",
            " =b",
            "a!b",
            "a=1 AND",
            "(a=1",
            "a IN b",
            "a IN (b",
            "NOT",
            "a=\"x",
            "EXISTS",
            "a=1 OR =2",
            // Slips that would fit nothing.
            "a==1",
            "a=>1",
            "a>>1",
            "a='x'",
        ] {
            assert!(text.parse::<Filter>().is_err(), "{text}");
        }
        let deep = format!("{}a=1{}", "(".repeat(99), ")".repeat(99));
        assert!(
            deep.parse::<Filter>()
                .unwrap_err()
                .reason
                .contains("deeper")
        );
    }

    #[test]
    fn conditions_are_joined() {
        for (filter, expected) in [
            ("year=2020 AND tags=Red", true),
            ("year=2020 AND tags=Blue", false),
            ("year=1 OR tags=Red", true),
            // AND binds more tightly.
            ("year=2020 OR tags=Blue AND ok=false", true),
            ("(year=2020 OR tags=Blue) AND ok=false", false),
            ("NOT year=2020", false),
            ("NOT (year=1 OR ok=false)", true),
            ("NOT NOT ok=true", true),
            ("year IN (2019, 2020)", true),
            ("year IN(2019)", false),
            ("tags IN (Blue, \"Red\") AND year>=2020", true),
            ("EXISTS year AND NOT EXISTS gone", true),
            ("EXISTS none", false),
            ("NOT(EXISTS gone)", true),
            ("date^=2021-03", true),
            ("date^=2022 OR year^=20", true),
            ("()", true),
        ] {
            assert_eq!(matches(filter), expected, "{filter}");
        }
        let size = |filter: &str| filter.parse::<Filter>().unwrap().comparisons();
        assert_eq!(size("a=1 AND NOT (b IN (2, 3) OR EXISTS c)"), 4);
        assert_eq!(size("() OR () OR NOT ()"), 3);
    }

    #[test]
    fn words_and_signs_in_values_stay_there() {
        let metadata = serde_json::json!({
            "title": "War and Peace", "what": "a OR b", "note": "f(x), say", "IN": "1", "a b": "ANDES",
        });
        for filter in [
            "title=War and Peace",
            "what=\"a OR b\"",
            "note=f(x), say",
            "(note=\"f(x), say\")",
            "note IN (\"f(x), say\", y)",
            "a b IN (ANDES)",
            "\"IN\"=1",
            "a b=ANDES",
            "a b=ANDES AND title=War and Peace",
            "NOT what<\"=\"",
        ] {
            let filter: Filter = filter.parse().unwrap();
            assert!(filter.matches(metadata.as_object().unwrap()), "{filter}");
            let again: Filter = filter.to_string().parse().unwrap();
            assert_eq!(again, filter);
        }
    }

    fn filters() -> impl Strategy<Value = Filter> {
        let text = "[a-c \"\\\\(),=<>!^]{1,4}|AND|a OR b|NOT|IN|EXISTS x";
        let comparison = (0..SIGNS.len()).prop_map(|at| SIGNS[at].1);
        let leaf = prop_oneof![
            (text, comparison, text).prop_map(|(key, comparison, value)| Filter::Compare {
                key,
                comparison,
                value
            }),
            text.prop_map(|key| Filter::Exists { key }),
        ];
        leaf.prop_recursive(4, 12, 3, |inner| {
            prop_oneof![
                inner
                    .clone()
                    .prop_map(|filter| Filter::Not(Box::new(filter))),
                proptest::collection::vec(inner.clone(), 2..4).prop_map(Filter::All),
                proptest::collection::vec(inner, 2..4).prop_map(Filter::Any),
            ]
        })
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(filter in filters()) {
            prop_assert_eq!(filter.to_string().parse::<Filter>(), Ok(filter));
        }

        #[test]
        fn anything_is_read_or_refused(text in "([a-b=<>!^(),\" ]|AND|OR|NOT|IN|EXISTS){0,12}") {
            if let Ok(filter) = text.parse::<Filter>() {
                prop_assert_eq!(filter.to_string().parse::<Filter>(), Ok(filter));
            }
        }
    }
}
