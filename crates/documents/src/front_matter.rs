//! Front matter of Markdown files: the subset of YAML and of TOML that it uses, plain or quoted values and
//! lists. Values of several lines or with nested keys are left out.

use serde_json::{Map, Number, Value};

/// The most words of a key.
const MOST_WORDS: usize = 3;

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
            if mark == "+++" && is_toml(block) {
                return (Self::Toml(block), rest);
            }
            if mark == "---" && is_yaml(block) {
                return (Self::Yaml(block), rest);
            }
        }
        (Self::None, text)
    }

    /// The fields, in their order.
    pub(crate) fn fields(self) -> Map<String, Value> {
        match self {
            Self::None => Map::new(),
            Self::Yaml(block) => yaml(block),
            Self::Toml(block) => toml(block),
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

/// Whether every line is a key, belongs to one, or is a comment, and there is a key.
fn is_yaml(block: &str) -> bool {
    let mut keys = 0_usize;
    let mut lines = block.lines().filter(|line| !line.trim().is_empty());
    let all = lines.all(|line| {
        if line.starts_with('#') || (keys > 0 && belongs_to_key(line)) {
            return true;
        }
        // A sentence with a colon is not a key.
        let known = key_and_value(line)
            .is_some_and(|(key, _)| key.split_whitespace().count() <= MOST_WORDS);
        keys += usize::from(known);
        // The last line of a value in brackets.
        known || (keys > 0 && matches!(line.trim_end(), "]" | "}"))
    });
    // An empty block is front matter too.
    all && (keys > 0 || block.trim().is_empty())
}

/// Whether every line is a key, a table, a part of a list or a comment.
fn is_toml(block: &str) -> bool {
    let mut open: Option<&str> = None;
    block.lines().map(str::trim).all(|line| {
        if let Some(end) = open {
            if line.ends_with(end) {
                open = None;
            }
            return true;
        }
        if line.is_empty() || line.starts_with(['#', '[']) {
            return true;
        }
        let Some((_, value)) = key_and_toml(line) else {
            return false;
        };
        for mark in ["\"\"\"", "'''"] {
            if value
                .strip_prefix(mark)
                .is_some_and(|rest| !rest.contains(mark))
            {
                open = Some(mark);
            }
        }
        if value.starts_with('[') && !value.ends_with(']') {
            open = Some("]");
        }
        true
    })
}

/// The fields of TOML before its first table.
fn toml(block: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut lines = block.lines();
    while let Some(line) = lines.next() {
        let line = without_comment(line).trim();
        if line.starts_with('[') {
            break;
        }
        let Some((key, value)) = key_and_toml(line) else {
            continue;
        };
        let mut value = value.to_owned();
        while value.starts_with('[') && !value.ends_with(']') {
            let Some(line) = lines.next() else {
                break;
            };
            value.push_str(without_comment(line).trim());
        }
        if let Some(value) = list(&value).or_else(|| scalar(&value)) {
            fields.insert(key.to_owned(), value);
        }
    }
    fields
}

/// Splits `key = value`.
fn key_and_toml(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.split_once('=')?;
    let key = key.trim();
    let bare = |key: &str| {
        let mut bytes = key.bytes();
        !key.is_empty()
            && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    };
    let name = unquoted(key).or_else(|| bare(key).then_some(key))?;
    Some((name, value.trim())).filter(|(_, value)| !value.is_empty())
}

/// The fields of YAML, in their order.
fn yaml(yaml: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    let mut lines = yaml.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((key, value)) = key_and_value(line) else {
            continue;
        };
        let mut items = Vec::new();
        let mut is_list = true;
        // Lines of the key are indented, or items of its list.
        while let Some(line) = lines.next_if(|line| belongs_to_key(line)) {
            let line = line.trim();
            match line.strip_prefix("- ").or((line == "-").then_some("")) {
                Some(item) => items.push(scalar(item)),
                None => is_list &= line.is_empty() || line.starts_with('#'),
            }
        }
        let value = match (value, items.is_empty()) {
            ("", true) if is_list => Some(Value::Null),
            ("", false) if is_list => items.into_iter().collect::<Option<_>>().map(Value::Array),
            (value, true) if is_list => list(value).or_else(|| scalar(value)),
            _ => None,
        };
        if let Some(value) = value {
            fields.insert(key.to_owned(), value);
        }
    }
    fields
}

/// Splits `key: value`; `None` for comments, and for lines that belong to something else.
fn key_and_value(line: &str) -> Option<(&str, &str)> {
    let line = without_comment(line);
    let (key, value) = line.split_once(": ").or_else(|| {
        let key = line.trim_end().strip_suffix(':')?;
        Some((key, ""))
    })?;
    let bare = unquoted(key.trim_end()).unwrap_or(key.trim_end());
    let is_key = !key.starts_with([' ', '\t', '-', '#', '{', '[', '?', '&']) && !bare.is_empty();
    is_key.then_some((bare, value.trim()))
}

fn belongs_to_key(line: &str) -> bool {
    line.starts_with([' ', '\t']) || line.starts_with("- ") || line.trim() == "-"
}

/// A line up to a comment, which starts with ` #` outside of quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut before = ' ';
    for (offset, character) in line.char_indices() {
        match (quote, character) {
            (None, '#') if before == ' ' => return &line[..offset],
            (None, '"' | '\'') if matches!(before, ' ' | '[' | ',') => quote = Some(character),
            (Some(open), character) if open == character => quote = None,
            _ => {}
        }
        before = character;
    }
    line
}

/// A list in brackets.
fn list(value: &str) -> Option<Value> {
    let inner = value.strip_prefix('[')?.strip_suffix(']')?;
    if inner.trim().is_empty() {
        return Some(Value::Array(Vec::new()));
    }
    let mut items = Vec::new();
    let (mut start, mut quote) = (0, None);
    for (offset, character) in inner.char_indices() {
        match (quote, character) {
            (None, ',') => {
                items.push(scalar(&inner[start..offset])?);
                start = offset + 1;
            }
            (None, '"' | '\'') if inner[start..offset].trim().is_empty() => quote = Some(character),
            (Some(open), character) if open == character => quote = None,
            _ => {}
        }
    }
    let last = &inner[start..];
    // The last item may have a comma after it.
    if !last.trim().is_empty() {
        items.push(scalar(last)?);
    }
    Some(Value::Array(items))
}

/// One value; `None` for more complex YAML.
fn scalar(text: &str) -> Option<Value> {
    let text = without_comment(text).trim();
    if let Some(text) = unquoted(text) {
        return Some(text.into());
    }
    if text.starts_with(['[', '{', '|', '>', '&', '*', '!', '"', '\'']) || text.contains(": ") {
        return None;
    }
    Some(match text {
        "" | "~" | "null" => Value::Null,
        "true" => true.into(),
        "false" => false.into(),
        text => text
            .parse::<Number>()
            .map_or_else(|_| text.into(), Value::Number),
    })
}

/// The text in quotes, verbatim: escapes are not resolved.
fn unquoted(text: &str) -> Option<&str> {
    ['"', '\'']
        .into_iter()
        .find_map(|quote| text.strip_prefix(quote)?.strip_suffix(quote))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[track_caller]
    fn check(yaml: &str, json: &str) {
        assert_eq!(Value::from(super::yaml(yaml)).to_string(), json);
    }

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
            r#"{"title":"The weir","date":"2024-05-01T10:00:00Z","tags":["a","b"],"draft":false,"weight":3}"#,
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
            r#"{"list":["a"]}"#,
            "",
        );
    }

    #[test]
    fn values_and_lists() {
        check(
            "author: A. Bee # who\ndate: 2020-01-02\n\n# note\nyear: 1999\nratio: 0.5\ndraft: false\nempty:\nurl: http://a/b#c\n",
            r#"{"author":"A. Bee","date":"2020-01-02","year":1999,"ratio":0.5,"draft":false,"empty":null,"url":"http://a/b#c"}"#,
        );
        check(
            "quoted: \"a: b # c\"\nsingle: '12'\n\"key\": x\n",
            r#"{"quoted":"a: b # c","single":"12","key":"x"}"#,
        );
        check(
            "a: [x, \"y, z\", 3,]\nb:\n- one\n- 'two'\nc:\n  - 1\n  - 2\nd: []\n",
            r#"{"a":["x","y, z",3],"b":["one","two"],"c":[1,2],"d":[]}"#,
        );
    }

    #[test]
    fn other_yaml_is_left_out() {
        check(
            "text: |\n  many\n  lines\nnested:\n  key: value\nmap: {a: b}\nlist:\n  - a: b\nlast: x\n",
            r#"{"last":"x"}"#,
        );
        check("no key\n: x\n- item\n", "{}");
    }

    proptest! {
        #[test]
        fn any_text_is_read(parts in prop::collection::vec(prop::sample::select(vec![
            "a", "é", ":", ": ", "\n", "- ", "-", " ", "[", "]", ",", "\"", "'", "#", " #", "|", "{", "1", "~", "\t",
        ]), 0..40)) {
            let text = parts.concat();
            super::yaml(&text);
            toml(&text);
            FrontMatter::split(&text);
        }
    }
}
