//! Strings as literals in Milvus filter expressions. Only passage ids become literals: values of
//! filters are digests and hexadecimal numbers already.

/// A string in double quotes, with everything escaped that would end or change it.
pub(crate) fn quoted(text: &str) -> String {
    let mut literal = String::with_capacity(text.len() + 2);
    literal.push('"');
    for letter in text.chars() {
        match letter {
            '"' => literal.push_str("\\\""),
            '\\' => literal.push_str("\\\\"),
            '\n' => literal.push_str("\\n"),
            '\r' => literal.push_str("\\r"),
            '\t' => literal.push_str("\\t"),
            other => literal.push(other),
        }
    }
    literal.push('"');
    literal
}

/// The expression that matches the passages of these ids.
pub(crate) fn id_in<'a>(ids: impl IntoIterator<Item = &'a str>) -> String {
    let ids: Vec<String> = ids.into_iter().map(quoted).collect();
    format!("id in [{}]", ids.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Parses a literal at the start as Milvus does; the string and what follows it.
    fn read(expression: &str) -> Option<(String, &str)> {
        let mut text = String::new();
        let mut letters = expression.strip_prefix('"')?.chars();
        while let Some(letter) = letters.next() {
            match letter {
                '"' => return Some((text, letters.as_str())),
                '\n' | '\r' => return None,
                '\\' => text.push(match letters.next()? {
                    'n' => '\n',
                    'r' => '\r',
                    't' => '\t',
                    same @ ('"' | '\\') => same,
                    _ => return None,
                }),
                other => text.push(other),
            }
        }
        None
    }

    proptest! {
        #[test]
        fn no_text_ends_its_literal(text in r#"([\\"'\n\r\t\[\] =a]|\PC)*"#) {
            let expression = format!("{} or true", quoted(&text));
            prop_assert_eq!(read(&expression), Some((text, " or true")));
        }
    }
}
