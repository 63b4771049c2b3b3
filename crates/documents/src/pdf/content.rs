//! The operations of a page's content, read leniently: bytes that are neither an operand nor an operator are skipped,
//! so that an odd byte does not cost the rest of the page.

use lopdf::{Dictionary, Object, StringFormat};

use super::scanner::{Scanner, ends_word, hexadecimal, is_space};

/// How deep arrays and dictionaries may nest.
const DEEPEST: usize = 32;
/// How many bytes after the end of a picture must look like content.
const AFTER_PICTURE: usize = 8;

/// An operator and its operands.
pub(super) struct Operation<'a> {
    pub(super) operator: &'a [u8],
    pub(super) operands: Vec<Object>,
}

/// The operations of a content, one at a time.
pub(super) struct Operations<'a> {
    content: Scanner<'a>,
}

/// The next token of a content.
enum Part<'a> {
    Operand(Object),
    Word(&'a [u8]),
    Close,
}

impl<'a> Operations<'a> {
    pub(super) fn of(content: &'a [u8]) -> Self {
        Self {
            content: Scanner { rest: content },
        }
    }

    fn part(&mut self, depth: usize) -> Option<Part<'a>> {
        loop {
            let first = self.content.peek()?;
            let is_double = self.content.rest.get(1) == Some(&first);
            match first {
                b'(' => {
                    self.content.skip(1);
                    let text = Object::string_literal(self.content.literal());
                    return Some(Part::Operand(text));
                }
                b'<' if is_double => {
                    self.content.skip(2);
                    if depth < DEEPEST {
                        return Some(Part::Operand(self.dictionary(depth + 1)));
                    }
                }
                b'<' => {
                    self.content.skip(1);
                    let text = self.content.hexadecimal();
                    let text = Object::String(text, StringFormat::Hexadecimal);
                    return Some(Part::Operand(text));
                }
                b'[' => {
                    self.content.skip(1);
                    if depth < DEEPEST {
                        let items = self.operands(depth + 1);
                        return Some(Part::Operand(Object::Array(items)));
                    }
                }
                b']' => {
                    self.content.skip(1);
                    return Some(Part::Close);
                }
                b'>' => {
                    self.content.skip(if is_double { 2 } else { 1 });
                    return Some(Part::Close);
                }
                b'/' => {
                    self.content.skip(1);
                    let name = self.content.take_until(ends_word);
                    return Some(Part::Operand(Object::Name(unescaped(name))));
                }
                b'0'..=b'9' | b'+' | b'-' | b'.' => {
                    let number = self.content.take_until(|byte| !is_of_number(byte));
                    return Some(Part::Operand(self::number(number)));
                }
                first if !is_of_operator(first) => self.content.skip(1),
                _ => {
                    let word = self.content.take_until(|byte| !is_of_operator(byte));
                    return Some(of_word(word));
                }
            }
        }
    }

    /// The operands up to the end of an array or dictionary. Operators among them are skipped.
    fn operands(&mut self, depth: usize) -> Vec<Object> {
        let mut operands = Vec::new();
        while let Some(part) = self.part(depth) {
            match part {
                Part::Operand(operand) => operands.push(operand),
                Part::Word(_) => {}
                Part::Close => break,
            }
        }
        operands
    }

    fn dictionary(&mut self, depth: usize) -> Object {
        let mut entries = Dictionary::new();
        let mut operands = self.operands(depth).into_iter();
        while let (Some(key), Some(value)) = (operands.next(), operands.next()) {
            if let Object::Name(key) = key {
                entries.set(key, value);
            }
        }
        Object::Dictionary(entries)
    }

    /// Skips a picture in the content, after its first operator.
    fn skip_picture(&mut self) {
        let mut from = 0;
        while let Some(at) = self.content.rest.get(from..).and_then(end_of_picture) {
            from += at + 2;
            let after = self.content.rest.get(from..).unwrap_or_default();
            let mut after = after.iter().take(AFTER_PICTURE);
            if after.all(|&byte| is_space(byte) || matches!(byte, b' '..=b'~')) {
                return self.content.skip(from);
            }
        }
        self.content.rest = &[];
    }
}

impl<'a> Iterator for Operations<'a> {
    type Item = Operation<'a>;

    fn next(&mut self) -> Option<Operation<'a>> {
        let mut operands = Vec::new();
        loop {
            match self.part(0)? {
                Part::Operand(operand) => operands.push(operand),
                Part::Word(b"BI") => {
                    self.skip_picture();
                    operands.clear();
                }
                Part::Word(operator) => return Some(Operation { operator, operands }),
                Part::Close => {}
            }
        }
    }
}

/// The start of the operator that ends a picture.
fn end_of_picture(content: &[u8]) -> Option<usize> {
    let mut places = content.windows(3).enumerate();
    places.find_map(|(at, bytes)| {
        let is_end = is_space(bytes[0]) && bytes[1..] == *b"EI";
        (is_end && content.get(at + 3).is_none_or(|&byte| is_space(byte))).then_some(at + 1)
    })
}

fn of_word(word: &[u8]) -> Part<'_> {
    Part::Operand(match word {
        b"true" => Object::Boolean(true),
        b"false" => Object::Boolean(false),
        b"null" => Object::Null,
        operator => return Part::Word(operator),
    })
}

fn is_of_operator(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"*'\"".contains(&byte)
}

fn is_of_number(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'+' | b'-' | b'.')
}

/// A number. Digits after a second point, or after a sign among the digits, do not count.
fn number(text: &[u8]) -> Object {
    let start = text.iter().take_while(|byte| matches!(byte, b'+' | b'-'));
    let (signs, digits) = text.split_at(start.count());
    let mut has_point = false;
    let end = digits.iter().position(|&byte| {
        let ends = matches!(byte, b'+' | b'-') || (byte == b'.' && has_point);
        has_point |= byte == b'.';
        ends
    });
    let digits = digits.get(..end.unwrap_or(digits.len()));
    let digits = digits.and_then(|digits| std::str::from_utf8(digits).ok());
    let number: f32 = digits.and_then(|digits| digits.parse().ok()).unwrap_or(0.0);
    Object::Real(if signs.contains(&b'-') {
        -number
    } else {
        number
    })
}

/// A name, in which `#` and two digits are a byte.
fn unescaped(name: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(name.len());
    let mut rest = name;
    while let [byte, after @ ..] = rest {
        rest = after;
        match after {
            [high, low, others @ ..]
                if *byte == b'#' && high.is_ascii_hexdigit() && low.is_ascii_hexdigit() =>
            {
                bytes.extend(hexadecimal(&[*high, *low]));
                rest = others;
            }
            _ => bytes.push(*byte),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use ken_testing::has;

    use super::*;

    fn read(content: &[u8]) -> Vec<(String, Vec<Object>)> {
        let operations = Operations::of(content);
        let operator = |operator| String::from_utf8_lossy(operator).into_owned();
        operations
            .map(|operation| (operator(operation.operator), operation.operands))
            .collect()
    }

    fn text(bytes: &[u8]) -> Object {
        Object::string_literal(bytes)
    }

    #[test]
    fn operands_of_all_kinds() {
        let content = b"1 -.5 +2. Td\n[(a\\(b) -250 <4 1 4>]TJ % (no)\r/F#311 true null 0 Tf";
        let of = |operator: &str, operands| (operator.to_owned(), operands);
        let hexadecimal = Object::String(b"A@".to_vec(), StringFormat::Hexadecimal);
        let items = vec![text(b"a(b"), Object::Real(-250.0), hexadecimal];
        let name = Object::Name(b"F11".to_vec());
        assert_eq!(
            read(content),
            [
                of("Td", [1.0, -0.5, 2.0].map(Object::Real).to_vec()),
                of("TJ", vec![Object::Array(items)]),
                of(
                    "Tf",
                    vec![name, true.into(), Object::Null, Object::Real(0.0)]
                ),
            ]
        );
    }

    #[test]
    fn escapes_in_strings() {
        let content = b"(\\101\\7z\\n\\(\\q(in)\\\r\nx\\\ny\\400)Tj";
        assert_eq!(read(content)[0].1, [text(b"A\x07z\n(q(in)xy\0")]);
    }

    #[test]
    fn odd_bytes_cost_nothing_else() {
        let one = |content: &[u8]| read(content).remove(0).1;
        assert_eq!(one(b") ] > } (a) Tj"), [text(b"a")]);
        assert_eq!(one(b"\xff Q (a) Tj"), []);
        assert_eq!(
            one(b"--5 1.2.3 5-3 - Td"),
            [-5.0, 1.2, 5.0, 0.0].map(Object::Real)
        );
        let array = one(b"[(a) 0.0 Tc\n-250.0 (b)]TJ").remove(0);
        assert_eq!(array.as_array().unwrap().len(), 4);
        assert!(read(b"(a(b)Tj").is_empty(), "the string is never closed");
    }

    #[test]
    fn properties_are_dictionaries() {
        let operands = read(b"/Span <</ActualText (x)/A[1 2]/B<</C/D>>>> BDC")
            .remove(0)
            .1;
        let properties = operands[1].as_dict().unwrap();
        has!(properties, get(b"ActualText").unwrap(): &text(b"x"), len(): 3);
    }

    #[test]
    fn pictures_are_passed_over() {
        let content = b"BI /W 2 ID \x01 EI \x02\x03\xff\nEI Q (a) Tj BI ID never closed (b) Tj";
        let operators = |(operator, _): (String, _)| operator;
        let operators: Vec<_> = read(content).into_iter().map(operators).collect();
        assert_eq!(operators, ["Q", "Tj"]);
    }

    #[test]
    fn deep_nesting_comes_to_an_end() {
        let deep = [
            &b"[".repeat(100_000)[..],
            b"(a)] TJ",
            &b"<<".repeat(100_000),
        ]
        .concat();
        assert!(read(&deep).len() <= 1);
    }
}
