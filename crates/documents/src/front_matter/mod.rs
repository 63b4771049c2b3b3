//! Front matter of Markdown files: the subset of YAML and of TOML that it uses.

mod toml;
mod value;
mod yaml;

use serde_json::{Map, Value};

/// The metadata block before the text of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FrontMatter<'t> {
    None,
    /// Between lines of `---`.
    Yaml(&'t str),
    /// Between lines of `+++`.
    Toml(&'t str),
}

impl<'t> FrontMatter<'t> {
    /// The front matter of a file, and the text after it. Lines between such marks that are neither
    /// YAML nor TOML are text.
    pub(crate) fn split(text: &'t str) -> (Self, &'t str) {
        for (mark, ends) in [("---", &["---", "..."][..]), ("+++", &["+++"])] {
            let Some((block, rest)) = block(text, mark, ends) else {
                continue;
            };
            if mark == "+++" && toml::is_toml(block) {
                return (Self::Toml(block), rest);
            }
            if mark == "---" && yaml::is_yaml(block) {
                return (Self::Yaml(block), rest);
            }
        }
        (Self::None, text)
    }

    /// The fields, in their order.
    pub(crate) fn fields(self) -> Map<String, Value> {
        match self {
            Self::None => Map::new(),
            Self::Yaml(block) => yaml::fields(block),
            Self::Toml(block) => toml::fields(block),
        }
    }

    /// An upper bound on the number of values.
    pub(crate) fn items(self) -> u64 {
        let (Self::Yaml(block) | Self::Toml(block)) = self else {
            return 0;
        };
        let breaks = block.bytes().filter(|byte| matches!(byte, b'\n' | b','));
        breaks.count() as u64
    }
}

/// The lines between a first line `mark` and the next line of `ends`, and the text after them.
fn block<'t>(text: &'t str, mark: &str, ends: &[&str]) -> Option<(&'t str, &'t str)> {
    let mut lines = text.split_inclusive('\n');
    let first = lines.next()?;
    if first.trim_end() != mark {
        return None;
    }
    let start = first.len();
    let mut end = start;
    for line in lines {
        if ends.contains(&line.trim_end()) {
            return Some((&text[start..end], &text[end + line.len()..]));
        }
        end += line.len();
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn splits(text: &str, json: &str, rest: &str) {
        let (found, after) = FrontMatter::split(text);
        assert_eq!(Value::from(found.fields()).to_string(), json);
        assert_eq!(after, rest);
    }

    #[test]
    fn toml_is_front_matter() {
        splits(
            "+++\ntitle = \"The weir\" # what\ndate = 2024-05-01T10:00:00Z\ntags = [\n  \"a\",\n  'b',\n]\ndraft = false\nweight = 3\n\n[params]\nx = 1\n+++\ntext",
            r#"{"title":"The weir","date":"2024-05-01T10:00:00Z","tags":["a","b"],"draft":false,"weight":3,"params":{"x":1}}"#,
            "text",
        );
        let text = "+++\nno key\n+++\ntext";
        splits(text, "{}", text);
    }

    #[test]
    fn what_is_no_yaml_is_text() {
        for text in [
            "---\nA sentence that stands between rules.\n---\nMore.",
            "---\n\n# A heading\n\nWith text.\n\n---\n",
            "---\nkey: value\nand a sentence\n---\n",
            "---\nkey: value\nnever closed",
            "----\nkey: value\n----\n",
            "---\n- a list\n---\n",
        ] {
            splits(text, "{}", text);
        }
        splits("---\nkey: value\n...\nx", r#"{"key":"value"}"#, "x");
        splits("---\r\nkey: value\r\n---\r\nx", r#"{"key":"value"}"#, "x");
        splits(
            "---\n# note\nkey: >\n  folded\n  text\nlist:\n- a\n---\n",
            r#"{"key":"folded text","list":["a"]}"#,
            "",
        );
    }

    proptest! {
        #[test]
        fn any_text_is_read(parts in prop::collection::vec(prop::sample::select(vec![
            "a", "é", ":", ": ", "\n", "- ", "-", " ", "[", "]", ",", "\"", "'", "#", " #", "|", ">", "{", "}", "=", "1", "~", "\t",
        ]), 0..40)) {
            let text = parts.concat();
            yaml::fields(&text);
            toml::fields(&text);
            FrontMatter::split(&text);
        }
    }
}
