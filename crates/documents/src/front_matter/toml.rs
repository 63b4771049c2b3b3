//! The TOML of front matter: keys and values, tables, texts of several lines.

use serde_json::{Map, Value};

use super::value::{DEEPEST, Open, unquoted, value, without_comment};

/// The marks around texts of several lines.
const LONG_QUOTES: [&str; 2] = ["\"\"\"", "'''"];

/// Whether every line is a key, a table, a part of a list or a comment.
pub(super) fn is_toml(block: &str) -> bool {
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
        let Some((_, value)) = key_and_value(line) else {
            return false;
        };
        for mark in LONG_QUOTES {
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

/// The fields of TOML, in their order; those of a table are within the field of its name.
pub(super) fn fields(toml: &str) -> Map<String, Value> {
    let mut fields = Map::new();
    // The header of the open table, and its fields.
    let (mut header, mut table) = ("", Map::new());
    let mut lines = toml.lines();
    while let Some(line) = lines.next() {
        let line = line.trim();
        if line.starts_with('[') {
            add_table(header, std::mem::take(&mut table), &mut fields);
            header = without_comment(line).trim();
        } else if let Some((key, first)) = key_and_value(line)
            && let Some(value) = read(first, &mut lines)
        {
            table.insert(key, value);
        }
    }
    add_table(header, table, &mut fields);
    fields
}

/// Adds a table to the fields, at the place that its header names, such as `[a.b]` or, for one of a list, `[[a]]`.
fn add_table(header: &str, table: Map<String, Value>, fields: &mut Map<String, Value>) {
    let is_in_list = header.starts_with("[[");
    let names = header
        .trim_matches(|sign: char| matches!(sign, '[' | ']'))
        .split('.');
    let names = names.map(|name| unquoted(name.trim()).unwrap_or_else(|| name.trim().to_owned()));
    let mut names: Vec<String> = names.filter(|name| !name.is_empty()).collect();
    let last = if is_in_list { names.pop() } else { None };
    let mut place = fields;
    if names.len() > DEEPEST {
        return;
    }
    for name in names {
        let inside = place.entry(name).or_insert_with(|| Map::new().into());
        let inside = match inside {
            Value::Array(items) => items.last_mut().and_then(Value::as_object_mut),
            inside => inside.as_object_mut(),
        };
        let Some(inside) = inside else {
            return;
        };
        place = inside;
    }
    match last {
        Some(name) => {
            let list = place
                .entry(name)
                .or_insert_with(|| Vec::<Value>::new().into());
            if let Some(items) = list.as_array_mut() {
                items.push(table.into());
            }
        }
        None => place.extend(table),
    }
}

/// The value that begins with `first` and may go on in the next lines.
fn read<'t>(first: &'t str, lines: &mut impl Iterator<Item = &'t str>) -> Option<Value> {
    let mut quotes = LONG_QUOTES.into_iter();
    if let Some((mark, rest)) = quotes.find_map(|mark| Some((mark, first.strip_prefix(mark)?))) {
        return Some(long_text(rest, mark, lines).into());
    }
    let mut whole = without_comment(first).trim().to_owned();
    let mut open = Open::default();
    open.pass_all(&whole);
    while open.brackets > 0 {
        let Some(line) = lines.next() else {
            break;
        };
        let line = without_comment(line).trim();
        open.pass_all(line);
        whole.push_str(line);
    }
    value(&whole, 0)
}

/// A text of several lines, up to its mark.
fn long_text<'t>(first: &'t str, mark: &str, lines: &mut impl Iterator<Item = &'t str>) -> String {
    let mut text = String::new();
    let mut next = Some(first);
    while let Some(line) = next {
        if let Some((inside, _)) = line.split_once(mark) {
            text.push_str(inside);
            break;
        }
        text.push_str(line);
        text.push('\n');
        next = lines.next();
    }
    text.trim().to_owned()
}

/// Splits `key = value`.
fn key_and_value(line: &str) -> Option<(String, &str)> {
    let (key, value) = line.split_once('=')?;
    let key = key.trim();
    let bare = |key: &str| {
        let mut bytes = key.bytes();
        !key.is_empty()
            && bytes.all(|b| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'-' | b'.'))
    };
    let name = unquoted(key).or_else(|| bare(key).then(|| key.to_owned()))?;
    Some((name, value.trim())).filter(|(_, value)| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_and_texts_of_several_lines() {
        let toml = "title = \"The weir\" # what\nabout = \"\"\"\nIt rises. # not a comment\nIt falls.\"\"\"\nat = { x = 1, y = [2, 3] }\n\
                    [params]\nauthor = \"Ito\"\n[params.map]\nzoom = 4\n[[pumps]]\nname = 'seven'\n[[pumps]]\nname = 'eight'\n";
        assert_eq!(
            Value::from(fields(toml)).to_string(),
            r#"{"title":"The weir","about":"It rises. # not a comment\nIt falls.","at":{"x":1,"y":[2,3]},"params":{"author":"Ito","map":{"zoom":4}},"pumps":[{"name":"seven"},{"name":"eight"}]}"#
        );
        // A table in place of a value is left out.
        let toml = "a = 1\n[a.b]\nc = 2\n[d]\n";
        assert_eq!(Value::from(fields(toml)).to_string(), r#"{"a":1,"d":{}}"#);
    }
}
