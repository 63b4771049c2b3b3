//! The YAML of front matter: maps and lists within each other, texts of several lines, values in brackets. Anchors, tags
//! and what else people do not write there is left out.

use serde_json::{Map, Value};

use super::value::{DEEPEST, Open, unquoted, value, without_comment};

/// The most words of a key.
const MOST_WORDS: usize = 3;

/// The fields of YAML, in their order.
pub(super) fn fields(yaml: &str) -> Map<String, Value> {
    let lines = yaml.lines().map(|line| {
        let words = line.trim_start();
        (line.len() - words.len(), words)
    });
    let mut reader = Reader {
        lines: lines.collect(),
        next: 0,
    };
    let mut fields = Map::new();
    while reader.next < reader.lines.len() {
        let before = reader.next;
        fields.extend(reader.map(0, 0));
        if reader.next == before {
            reader.next += 1;
        }
    }
    fields
}

/// Whether every line is a key, belongs to one, or is a comment, and there is a key.
pub(super) fn is_yaml(block: &str) -> bool {
    let mut keys = 0_usize;
    let mut lines = block.lines().filter(|line| !line.trim().is_empty());
    let all = lines.all(|line| {
        let belongs_to_key = line.starts_with([' ', '\t']) || is_item(line);
        if line.starts_with('#') || (keys > 0 && belongs_to_key) {
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

/// Splits `key: value`; `None` for comments, and for lines that belong to something else.
fn key_and_value(line: &str) -> Option<(String, &str)> {
    let line = without_comment(line);
    let (key, value) = line.split_once(": ").or_else(|| {
        let key = line.trim_end().strip_suffix(':')?;
        Some((key, ""))
    })?;
    let key = key.trim_end();
    let bare = unquoted(key).unwrap_or_else(|| key.to_owned());
    let is_key = !key.starts_with([' ', '\t', '-', '#', '{', '[', '?', '&']) && !bare.is_empty();
    is_key.then_some((bare, value.trim()))
}

/// The lines of a block, with their indentation, and the next one to be read.
struct Reader<'y> {
    lines: Vec<(usize, &'y str)>,
    next: usize,
}

impl<'y> Reader<'y> {
    /// The next line with words, if it is indented by at least `least`. Blank lines and comments before it are passed.
    fn line(&mut self, least: usize) -> Option<(usize, &'y str)> {
        let is_passed = |words: &str| words.is_empty() || words.starts_with('#');
        while let Some(&(indent, words)) = self.lines.get(self.next) {
            if !is_passed(words) {
                return (indent >= least).then_some((indent, words));
            }
            self.next += 1;
        }
        None
    }

    /// The fields whose keys are indented by `indent`.
    fn map(&mut self, indent: usize, depth: usize) -> Map<String, Value> {
        let mut fields = Map::new();
        while let Some((_, words)) = self.line(indent).filter(|&(own, _)| own == indent) {
            let Some((key, text)) = key_and_value(words) else {
                break;
            };
            self.next += 1;
            let value = match text {
                "" => self.below(indent, depth),
                text => self.value(text, indent + 1, depth),
            };
            if let Some(value) = value {
                fields.insert(key, value);
            }
        }
        fields
    }

    /// The value under a key, whose list may be indented like the key itself.
    fn below(&mut self, indent: usize, depth: usize) -> Option<Value> {
        match self.line(indent) {
            Some((own, words)) if own > indent => self.block(own, words, depth),
            Some((_, words)) if is_item(words) => self.list(indent, depth),
            _ => Some(Value::Null),
        }
    }

    /// The value that begins with a line that is indented by `indent`.
    fn block(&mut self, indent: usize, words: &'y str, depth: usize) -> Option<Value> {
        if depth >= DEEPEST {
            self.skip(indent);
            return None;
        }
        if is_item(words) {
            return self.list(indent, depth + 1);
        }
        if key_and_value(words).is_some() {
            let fields = self.map(indent, depth + 1);
            return Some(Value::Object(fields));
        }
        self.next += 1;
        self.value(words, indent, depth)
    }

    /// The list whose items are indented by `indent`; `None` if one is left out.
    fn list(&mut self, indent: usize, depth: usize) -> Option<Value> {
        let mut items = Vec::new();
        while let Some((_, words)) = self.line(indent).filter(|&(own, _)| own == indent)
            && is_item(words)
        {
            let rest = words[1..].trim_start();
            let own = indent + words.len() - rest.len();
            if without_comment(rest).trim().is_empty() {
                self.next += 1;
                items.push(match self.line(indent + 1) {
                    Some((own, words)) => self.block(own, words, depth),
                    None => Some(Value::Null),
                });
                self.skip(indent + 1);
                continue;
            }
            // What follows the dash begins a line of its own.
            if let Some(line) = self.lines.get_mut(self.next) {
                *line = (own, rest);
            }
            items.push(self.block(own, rest, depth));
            self.skip(indent + 1);
        }
        items.into_iter().collect::<Option<_>>().map(Value::Array)
    }

    /// The value that begins with `text`, and goes on in the lines that are indented by at least `least`.
    fn value(&mut self, text: &'y str, least: usize, depth: usize) -> Option<Value> {
        let text = without_comment(text).trim();
        if let Some(style) = text.strip_prefix(['|', '>']) {
            let is_style = style.bytes().all(|byte| b"+-123456789".contains(&byte));
            let lines = self.text_lines(least);
            return is_style.then(|| match text.starts_with('|') {
                true => lines.join("\n").into(),
                false => folded(&lines).into(),
            });
        }
        let mut whole = text.to_owned();
        let mut open = Open::default();
        open.pass_all(text);
        let quote = text.chars().next().filter(|sign| "\"'".contains(*sign));
        let is_open = |whole: &str, open: &Open| match quote {
            Some(quote) => whole.len() < 2 || !whole.ends_with(quote),
            None => open.brackets > 0 || !whole.starts_with(['[', '{']),
        };
        while is_open(&whole, &open) {
            // The bracket that ends a value may stand below its key.
            let line = self.line(least).or_else(|| {
                let (indent, words) = self.line(0)?;
                let ends = open.brackets > 0 && words.starts_with([']', '}']);
                ends.then_some((indent, words))
            });
            let Some((_, words)) = line else {
                break;
            };
            self.next += 1;
            let words = without_comment(words).trim();
            whole.push(' ');
            whole.push_str(words);
            open.pass_all(words);
        }
        value(&whole, depth)
    }

    /// The lines of a text, without the indentation of the first.
    fn text_lines(&mut self, least: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let mut base = None;
        while let Some(&(indent, words)) = self.lines.get(self.next) {
            if !words.is_empty() && indent < least {
                break;
            }
            self.next += 1;
            let line = match words.is_empty() {
                true => String::new(),
                false => {
                    let inside = indent.saturating_sub(*base.get_or_insert(indent));
                    " ".repeat(inside) + words.trim_end()
                }
            };
            lines.push(line);
        }
        while lines.last().is_some_and(String::is_empty) {
            lines.pop();
        }
        lines
    }

    /// Passes the lines that are indented by at least `least`.
    fn skip(&mut self, least: usize) {
        while self.line(least).is_some() {
            self.next += 1;
        }
    }
}

fn is_item(words: &str) -> bool {
    words.starts_with("- ") || words.trim_end() == "-"
}

/// Lines that are joined by spaces, but for blank ones, which break the text.
fn folded(lines: &[String]) -> String {
    let mut text = String::new();
    for line in lines {
        match line.as_str() {
            "" => text.push('\n'),
            line => {
                if !text.is_empty() && !text.ends_with('\n') {
                    text.push(' ');
                }
                text.push_str(line);
            }
        }
    }
    text
}

#[cfg(test)]
mod tests {
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
            "quoted: \"a: b # c\"\nsingle: '12'\n\"key\": x\nescaped: \"a\\tb\"\ndoubled: 'it''s'\n",
            r#"{"quoted":"a: b # c","single":"12","key":"x","escaped":"a\tb","doubled":"it's"}"#,
        );
        check(
            "a: [x, \"y, z\", 3,]\nb:\n- one\n- 'two'\nc:\n  - 1\n  - 2\nd: []\n",
            r#"{"a":["x","y, z",3],"b":["one","two"],"c":[1,2],"d":[]}"#,
        );
    }

    #[test]
    fn numbers_stay_as_they_are_written() {
        check(
            "version: 1.10\ncode: 007\nratio: 1e3\n",
            r#"{"version":"1.10","code":"007","ratio":"1e3"}"#,
        );
    }

    #[test]
    fn maps_and_lists_within_others() {
        check(
            "pump:\n  name: seven\n  bar: 9\n  parts:\n    - name: valve\n      count: 2\n    - seal\nlast: x\n",
            r#"{"pump":{"name":"seven","bar":9,"parts":[{"name":"valve","count":2},"seal"]},"last":"x"}"#,
        );
        check(
            "map: {a: b, \"c\":[1, {d: e}]}\nlong: [\n  a,\n  b\n]\nrows:\n- - 1\n  - 2\n- [3]\n",
            r#"{"map":{"a":"b","c":[1,{"d":"e"}]},"long":["a","b"],"rows":[[1,2],[3]]}"#,
        );
        check(
            "authors:\n-\n  name: Ito\n- name: Bee\n  at: x\n",
            r#"{"authors":[{"name":"Ito"},{"name":"Bee","at":"x"}]}"#,
        );
    }

    #[test]
    fn texts_of_several_lines() {
        check(
            "kept: |\n  a # b\n    c\n\n  d\nfolded: >-\n  a\n  b\n\n  c\nplain: a\n  b\nquoted: \"a\n  b\"\nlast: x\n",
            r#"{"kept":"a # b\n  c\n\nd","folded":"a b\nc","plain":"a b","quoted":"a b","last":"x"}"#,
        );
    }

    #[test]
    fn other_yaml_is_left_out() {
        check(
            "anchor: &a b\ntag: !t c\nalias: *a\nlist: [a, *a]\nlast: x\n",
            r#"{"last":"x"}"#,
        );
        check("no key\n: x\n- item\n", "{}");
        let deep: String = (0..40)
            .map(|depth| format!("{}k:\n", " ".repeat(depth)))
            .collect();
        assert_eq!(fields(&format!("{deep}last: x"))["last"], "x");
        assert_eq!(
            fields(&format!("a:\n{}last: x", "-\n".repeat(9999)))["last"],
            "x"
        );
        assert_eq!(
            fields(&format!("a: {}\nlast: x", "[".repeat(9999)))["last"],
            "x"
        );
    }
}
