//! The subset of YAML that front matter of Markdown files uses: `key: value` and lists, plain or
//! quoted. Values of several lines or with nested keys are left out.

use serde_json::{Map, Number, Value};

/// The fields, in their order.
pub(crate) fn fields(yaml: &str) -> Map<String, Value> {
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

/// An upper bound on the number of values.
pub(crate) fn items(yaml: &str) -> u64 {
    let breaks = yaml.bytes().filter(|byte| matches!(byte, b'\n' | b','));
    breaks.count() as u64
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
    for (at, character) in line.char_indices() {
        match (quote, character) {
            (None, '#') if before == ' ' => return &line[..at],
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
    for (at, character) in inner.char_indices() {
        match (quote, character) {
            (None, ',') => {
                items.push(scalar(&inner[start..at])?);
                start = at + 1;
            }
            (None, '"' | '\'') if inner[start..at].trim().is_empty() => quote = Some(character),
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
        assert_eq!(Value::from(fields(yaml)).to_string(), json);
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
            fields(&parts.concat());
        }
    }
}
