//! Refuses a `tokenizer.json` that would blow up texts: forty steps that each double a letter exhaust memory, and the
//! tokenizers crate would run them.

use std::fmt;

use serde::de::{MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// The most by which all steps together may multiply the length of a text. Those of real models at most triple it, by
/// turning a space into `▁`.
const MOST_GROWTH: u64 = 256;
/// The most bytes that all steps together may put before a text. Those of real models put a `▁` there.
const MOST_PREPENDED: usize = 256;
/// Most pieces of a template that puts special tokens around texts, with the tokens of these.
const MOST_PIECES: usize = 1024;

/// The most memory, in bytes, of a part that is read whole. The largest in real models is a base64 table of
/// characters, of some hundred thousand bytes.
const MOST_SIZE: usize = 4 << 20;
/// Approximate memory of a JSON value besides its text.
const VALUE: usize = 64;

/// The parts of the file that transform texts and token sequences.
#[derive(Deserialize)]
struct Steps<Part> {
    #[serde(default)]
    normalizer: Part,
    #[serde(default)]
    decoder: Part,
    #[serde(default)]
    post_processor: Part,
}

/// Counts the memory that a JSON value would take, without storing it.
#[derive(Default)]
struct Size(usize);

impl<'de> Deserialize<'de> for Size {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Sizes;

        impl<'de> Visitor<'de> for Sizes {
            type Value = Size;

            fn expecting(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
                formatter.write_str("a JSON value")
            }

            fn visit_unit<E>(self) -> Result<Size, E> {
                Ok(Size(VALUE))
            }

            fn visit_bool<E>(self, _: bool) -> Result<Size, E> {
                Ok(Size(VALUE))
            }

            fn visit_i64<E>(self, _: i64) -> Result<Size, E> {
                Ok(Size(VALUE))
            }

            fn visit_u64<E>(self, _: u64) -> Result<Size, E> {
                Ok(Size(VALUE))
            }

            fn visit_f64<E>(self, _: f64) -> Result<Size, E> {
                Ok(Size(VALUE))
            }

            fn visit_str<E>(self, text: &str) -> Result<Size, E> {
                Ok(Size(VALUE + text.len()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Size, A::Error> {
                let mut size = VALUE;
                while let Some(Size(item)) = items.next_element()? {
                    size += item;
                }
                Ok(Size(size))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Size, A::Error> {
                let mut size = VALUE;
                while let Some((Size(key), Size(value))) = entries.next_entry()? {
                    size += key + value;
                }
                Ok(Size(size))
            }
        }

        deserializer.deserialize_any(Sizes)
    }
}

/// Checks the content of a file. A file that cannot be parsed is left to the tokenizers crate.
///
/// # Errors
/// A message about the part that would grow.
pub(crate) fn check(content: &[u8]) -> Result<(), String> {
    let Ok(sizes) = serde_json::from_slice::<Steps<Size>>(content) else {
        return Ok(());
    };
    for (name, size) in [
        ("normalizer", sizes.normalizer),
        ("decoder", sizes.decoder),
        ("post-processor", sizes.post_processor),
    ] {
        if size.0 > MOST_SIZE {
            return Err(format!("its {name} is very large"));
        }
    }
    let Ok(steps) = serde_json::from_slice::<Steps<Value>>(content) else {
        return Ok(());
    };
    for (name, step) in [
        ("normalizer", &steps.normalizer),
        ("decoder", &steps.decoder),
    ] {
        if growth(step) > MOST_GROWTH {
            return Err(format!(
                "its {name} could make a text more than {MOST_GROWTH} times as long"
            ));
        }
    }
    if prepended(&steps.normalizer) > MOST_PREPENDED {
        return Err(format!(
            "its normalizer puts more than {MOST_PREPENDED} bytes before a text"
        ));
    }
    match pieces(&steps.post_processor) > MOST_PIECES {
        true => Err(format!(
            "its post-processor puts more than {MOST_PIECES} pieces together"
        )),
        false => Ok(()),
    }
}

/// The steps of a composite step.
fn nested(step: &Value) -> impl Iterator<Item = &Value> {
    ["normalizers", "decoders", "processors"]
        .into_iter()
        .filter_map(|name| step.get(name)?.as_array())
        .flatten()
}

/// The factor by which a step can multiply the length of a text.
fn growth(step: &Value) -> u64 {
    let length = |text: &Value| text.as_str().map_or(0, str::len) as u64;
    let content = step.get("content").map_or(0, length);
    let own = match step.get("pattern") {
        Some(pattern) => {
            let replaced = pattern.get("String").map_or(0, length);
            // A regular expression may match anything, or nothing.
            match replaced {
                0 => content.saturating_add(1),
                bytes => content.div_ceil(bytes).max(1),
            }
        }
        None => 1,
    };
    nested(step).fold(own, |all, step| all.saturating_mul(growth(step)))
}

/// How many bytes a step puts before a text.
fn prepended(step: &Value) -> usize {
    let own = step
        .get("prepend")
        .and_then(Value::as_str)
        .map_or(0, str::len);
    own + nested(step).map(prepended).sum::<usize>()
}

/// How many pieces a step joins, special tokens included.
fn pieces(step: &Value) -> usize {
    let count = |value: Option<&Value>| value.and_then(Value::as_array).map_or(0, Vec::len);
    let tokens = step.get("special_tokens").and_then(Value::as_object);
    let tokens = tokens.into_iter().flat_map(|tokens| tokens.values());
    let own = count(step.get("single"))
        + count(step.get("pair"))
        + tokens.map(|token| count(token.get("ids"))).sum::<usize>();
    own + nested(step).map(pieces).sum::<usize>()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(file: &Value) -> Result<(), String> {
        check(file.to_string().as_bytes())
    }

    #[test]
    fn steps_that_double_a_text_forty_times_are_refused() {
        let doubling = json!({"type": "Replace", "pattern": {"String": "a"}, "content": "aa"});
        let times = |n: usize| json!({"type": "Sequence", "normalizers": vec![&doubling; n]});
        assert_eq!(checked(&json!({"normalizer": times(4)})), Ok(()));
        let error = checked(&json!({"normalizer": times(40)})).unwrap_err();
        assert!(error.contains("normalizer"), "{error}");
        let nested = json!({"type": "Sequence", "normalizers": [times(20), times(20)]});
        assert!(checked(&json!({"normalizer": nested})).is_err());
        let long = json!({"pattern": {"Regex": "."}, "content": "a".repeat(1000)});
        assert!(checked(&json!({"decoder": long})).is_err());
    }

    #[test]
    fn a_long_text_before_every_text_is_refused() {
        let prepend = |bytes| json!({"type": "Prepend", "prepend": "x".repeat(bytes)});
        assert_eq!(checked(&json!({"normalizer": prepend(256)})), Ok(()));
        let both = json!({"type": "Sequence", "normalizers": [prepend(200), prepend(57)]});
        assert!(
            checked(&json!({"normalizer": both}))
                .unwrap_err()
                .contains("before a text")
        );
    }

    #[test]
    fn tokenizers_of_real_models_pass() {
        let space = json!({"type": "Replace", "pattern": {"String": " "}, "content": "▁"});
        let prepend = json!({"type": "Prepend", "prepend": "▁"});
        let file = json!({
            "normalizer": {"type": "Sequence", "normalizers": [prepend, space]},
            "post_processor": {"type": "TemplateProcessing", "single": [{}, {}, {}], "pair": [{}],
                "special_tokens": {"<s>": {"ids": [1]}}},
        });
        assert_eq!(checked(&file), Ok(()));
        assert_eq!(checked(&json!({"normalizer": null})), Ok(()));
        assert_eq!(checked(&json!([])), Ok(()));
    }

    #[test]
    fn a_template_of_very_many_pieces_is_refused() {
        let file = json!({"post_processor": {"single": vec![json!({}); 2000]}});
        assert!(checked(&file).unwrap_err().contains("post-processor"));
        let piece = json!({"SpecialToken": {"id": "<s>", "type_id": 0}});
        let file = json!({"post_processor": {"single": vec![piece; 20_000]}});
        assert!(checked(&file).unwrap_err().contains("very large"));
    }
}
