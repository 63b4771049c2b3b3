//! The values of front matter: plain and quoted ones, and lists and maps in brackets, as YAML and TOML write them.

use serde_json::{Map, Number, Value};

/// How deep values are read within each other; deeper ones are left out.
pub(super) const DEEPEST: usize = 16;

/// The brackets and the quotes that are open in a text.
#[derive(Default)]
pub(super) struct Open {
    pub(super) brackets: usize,
    quote: Option<char>,
    /// The last sign that is no space.
    before: Option<char>,
}

impl Open {
    /// Passes the next sign of the text; true if it stands in no quotes.
    fn pass(&mut self, sign: char) -> bool {
        let begins = self.before.is_none_or(|before| "[{,:=".contains(before));
        let is_bare = self.quote.is_none();
        match (self.quote, sign) {
            (Some(quote), _) if sign == quote => self.quote = None,
            (None, '"' | '\'') if begins => self.quote = Some(sign),
            (None, '[' | '{') => self.brackets += 1,
            (None, ']' | '}') => self.brackets = self.brackets.saturating_sub(1),
            _ => {}
        }
        if !sign.is_whitespace() {
            self.before = Some(sign);
        }
        is_bare
    }

    pub(super) fn pass_all(&mut self, text: &str) {
        for sign in text.chars() {
            self.pass(sign);
        }
    }
}

/// A value on one line; `None` for more complex YAML.
pub(super) fn value(text: &str, depth: usize) -> Option<Value> {
    let text = text.trim();
    if depth > DEEPEST {
        return None;
    }
    if let Some(inside) = between(text, '[', ']') {
        let items = items(inside).into_iter();
        let items = items.map(|item| value(item, depth + 1));
        return items.collect::<Option<_>>().map(Value::Array);
    }
    let Some(inside) = between(text, '{', '}') else {
        return scalar(text);
    };
    let mut fields = Map::new();
    for item in items(inside) {
        let (key, text) = pair(item)?;
        let key = unquoted(key).unwrap_or_else(|| key.to_owned());
        fields.insert(key, value(text, depth + 1)?);
    }
    Some(Value::Object(fields))
}

fn between(text: &str, open: char, close: char) -> Option<&str> {
    text.strip_prefix(open)?.strip_suffix(close)
}

/// The texts between the commas outside of brackets and quotes; the last one may have a comma after it.
fn items(text: &str) -> Vec<&str> {
    let mut open = Open::default();
    let (mut items, mut start) = (Vec::new(), 0);
    for (offset, sign) in text.char_indices() {
        if open.pass(sign) && sign == ',' && open.brackets == 0 {
            items.push(text[start..offset].trim());
            start = offset + 1;
        }
    }
    let last = text[start..].trim();
    if !last.is_empty() {
        items.push(last);
    }
    items
}

/// The key and the value of `key: value` or `key = value`.
fn pair(item: &str) -> Option<(&str, &str)> {
    let mut open = Open::default();
    let mut signs = item.char_indices();
    let (offset, _) = signs.find(|&(offset, sign)| {
        let is_bare = open.pass(sign);
        let ends = item[offset + sign.len_utf8()..].starts_with([' ', '"', '\'', '[', '{'])
            || item[..offset].ends_with(['"', '\'']);
        is_bare && (sign == '=' || (sign == ':' && ends))
    })?;
    let key = item[..offset].trim();
    (!key.is_empty()).then(|| (key, item[offset + 1..].trim()))
}

/// One value that is no list and no map; `None` for more complex YAML. A number stays a text if it would be written
/// otherwise.
fn scalar(text: &str) -> Option<Value> {
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
        text => {
            let number = text.parse::<Number>().ok();
            let number = number.filter(|number| number.to_string() == text);
            number.map_or_else(|| text.into(), Value::Number)
        }
    })
}

/// The text in quotes.
pub(super) fn unquoted(text: &str) -> Option<String> {
    if let Some(inside) = text.strip_prefix('\'') {
        return Some(inside.strip_suffix('\'')?.replace("''", "'"));
    }
    let inside = text.strip_prefix('"')?.strip_suffix('"')?;
    // The escapes of JSON are those of both.
    let read = serde_json::from_str(text);
    Some(read.unwrap_or_else(|_| inside.to_owned()))
}

/// A line up to a comment, which starts with ` #` outside of quotes.
pub(super) fn without_comment(line: &str) -> &str {
    let mut open = Open::default();
    let mut before = ' ';
    for (offset, sign) in line.char_indices() {
        if open.pass(sign) && sign == '#' && before == ' ' {
            return &line[..offset];
        }
        before = sign;
    }
    line
}
