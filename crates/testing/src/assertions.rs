//! Assertions about fields of JSON values and parts of texts, tables of cases, and values with a few fields changed.

use serde_json::Value;

/// Compares fields of a JSON value, and shows the whole value if one differs:
/// `has!(answer, ["route"]: "corpus", ["calls"]["model"]: 2)`. A field that is missing is null.
/// Without brackets it compares fields of a struct: `has!(error, kind(): "no_corpus", path.len(): 3)`.
#[macro_export]
macro_rules! has {
    ($value:expr, $($([$key:expr])+ : $expected:expr),+ $(,)?) => {{
        let value = &$value;
        ::std::assert_eq!(
            $crate::serde_json::json!([$(value$([$key])+),+]),
            $crate::serde_json::json!([$($expected),+]),
            "{}",
            $crate::serde_json::json!(value)
        );
    }};
    ($value:expr, $($($field:ident $(($($argument:expr),*))? $([$index:expr])*).+ : $expected:expr),+ $(,)?) => {{
        let value = &$value;
        $(::std::assert_eq!(
            value$(.$field$(($($argument),*))?$([$index])*)+,
            $expected,
            "{}",
            ::std::stringify!($($field $(($($argument),*))? $([$index])*).+)
        );)+
    }};
}

/// Checks that a text has parts, and names one that is missing: `says!(page => "a title", "a line")`.
#[macro_export]
macro_rules! says {
    ($text:expr => $($part:expr),+ $(,)?) => {{
        let text: &str = &$text;
        $(::std::assert!(text.contains($part), "{:?} is not in {text}", $part);)+
    }};
}

/// Checks conditions, and names one that is false, with a message: `holds!("{share}" => share > 0.5, share < 0.7)`.
#[macro_export]
macro_rules! holds {
    ($message:literal => $($condition:expr),+ $(,)?) => {{
        $(::std::assert!(
            $condition,
            "{}: {}",
            ::std::stringify!($condition),
            ::std::format!($message)
        );)+
    }};
}

/// Checks the kind of an outcome's error, then parts of its message and, after a semicolon, of its remedy:
/// `fails!(read("gone.txt") => "missing_path", "gone.txt"; "check the path")`.
#[macro_export]
macro_rules! fails {
    ($outcome:expr => $kind:expr $(, $part:expr)* $(; $remedy:expr)?) => {{
        let error = $outcome.err().unwrap();
        ::std::assert_eq!(error.kind(), $kind, "{error}");
        $(::std::assert!(error.to_string().contains($part), "{:?} is not in {error}", $part);)*
        $(
            let remedy = error.remedy().unwrap();
            ::std::assert!(remedy.mentions($remedy), "{:?} is not in {remedy}", $remedy);
        )?
    }};
}

/// An array of tuples, a row each: `cases!["a" => 1, true; "b" => 2, false;]`.
#[macro_export]
macro_rules! cases {
    ($($first:expr => $($rest:expr),+;)+) => {
        [$(($first, $($rest),+)),+]
    };
}

/// A value with some fields changed: `with!(LoadOptions::default(), device: Device::Cpu, cache_bytes: 1)`.
#[macro_export]
macro_rules! with {
    ($value:expr, $($field:ident: $changed:expr),+ $(,)?) => {
        match $value {
            mut value => {
                $(value.$field = $changed;)+
                value
            }
        }
    };
}

/// A JSON object with the fields of another one, which win.
///
/// # Panics
/// If one is no object.
#[must_use]
pub fn extended(mut object: Value, more: &Value) -> Value {
    let more = more.as_object().unwrap().clone();
    object.as_object_mut().unwrap().extend(more);
    object
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::TableError;

    #[test]
    fn fields_are_compared_whole() {
        let value = json!({"a": {"b": [1, "x"]}, "c": true});
        has!(value, ["a"]["b"]: json!([1, "x"]), ["c"]: true);
        has!(value["a"], ["b"][1]: "x", ["none"]: Value::Null);
    }

    #[test]
    fn fields_of_structs_are_compared() {
        struct Page {
            lines: Vec<&'static str>,
            title: &'static str,
        }
        let page = Page {
            lines: vec!["a", "bc"],
            title: "t",
        };
        has!(page, lines.len(): 2, lines[1]: "bc", lines.first(): Some(&"a"), title: "t");
    }

    #[test]
    #[should_panic(expected = "lines")]
    fn a_field_that_differs_is_named() {
        struct Page {
            lines: [u8; 2],
        }
        has!(Page { lines: [1, 2] }, lines[0]: 1, lines.len(): 3);
    }

    #[test]
    #[should_panic(expected = r#"{"a":{"b":1,"c":2}}"#)]
    fn a_part_of_an_object_is_not_the_object() {
        has!(json!({"a": {"b": 1, "c": 2}}), ["a"]: json!({"b": 1}));
    }

    #[test]
    #[should_panic(expected = "share < 0.7: of all 0.75")]
    fn a_condition_that_is_false_is_named() {
        let share = 0.75;
        holds!("of all {share}" => share > 0.5, share < 0.7);
    }

    #[test]
    fn errors_are_told_by_their_kinds_messages_and_remedies() {
        fails!(Err::<(), _>(TableError::NoSamples) => "no_samples", "for no sample");
        fails!(Err::<(), _>(TableError::NoHidden) => "cannot_show_hidden"; "on this machine");
    }

    #[test]
    #[should_panic(expected = r#""c" is not in a b"#)]
    fn every_part_is_looked_for() {
        says!("a b" => "a", &format!("{} b", "a"), "c");
    }
}
