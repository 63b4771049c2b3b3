//! The syntax that the content of pages shares with PostScript: white space, comments, strings and the ends of words.

/// Bytes to be read.
pub(super) struct Scanner<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Scanner<'a> {
    /// Takes the bytes before the first for which `ends` is true.
    pub(super) fn take_until(&mut self, ends: impl Fn(u8) -> bool) -> &'a [u8] {
        let end = self.rest.iter().position(|&byte| ends(byte));
        let (taken, rest) = self.rest.split_at(end.unwrap_or(self.rest.len()));
        self.rest = rest;
        taken
    }

    pub(super) fn skip(&mut self, bytes: usize) {
        self.rest = self.rest.get(bytes..).unwrap_or_default();
    }

    /// The first byte of the next word, which white space and comments may precede.
    pub(super) fn peek(&mut self) -> Option<u8> {
        loop {
            self.take_until(|byte| !is_space(byte));
            match *self.rest.first()? {
                b'%' => self.take_until(|byte| matches!(byte, b'\n' | b'\r')),
                first => return Some(first),
            };
        }
    }

    /// A string of hexadecimal digits, after its opening bracket.
    pub(super) fn hexadecimal(&mut self) -> Vec<u8> {
        let digits = self.take_until(|byte| byte == b'>');
        self.skip(1);
        hexadecimal(digits)
    }

    /// A string in parentheses, after the opening one.
    pub(super) fn literal(&mut self) -> Vec<u8> {
        let mut text = Vec::new();
        let mut depth = 1;
        while let [byte, rest @ ..] = self.rest {
            self.rest = rest;
            match byte {
                b'\\' => {
                    self.escape(&mut text);
                    continue;
                }
                b'(' => depth += 1,
                b')' => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            text.push(*byte);
        }
        text
    }

    /// The character after a backslash in a string.
    fn escape(&mut self, text: &mut Vec<u8>) {
        let digits = self.rest.iter().take(3);
        let digits = digits.take_while(|&&byte| matches!(byte, b'0'..=b'7'));
        let (mut code, mut count) = (0_u32, 0);
        for digit in digits {
            code = 8 * code + u32::from(digit - b'0');
            count += 1;
        }
        if count > 0 {
            // If a number is too large, its lowest eight bits count.
            text.push(code.to_le_bytes()[0]);
            return self.skip(count);
        }
        match self.rest {
            [b'\r', b'\n', ..] => return self.skip(2),
            [b'\r' | b'\n', ..] | [] => {}
            [b'n', ..] => text.push(b'\n'),
            [b'r', ..] => text.push(b'\r'),
            [b't', ..] => text.push(b'\t'),
            [b'b', ..] => text.push(8),
            [b'f', ..] => text.push(12),
            [other, ..] => text.push(*other),
        }
        self.skip(1);
    }
}

pub(super) fn is_space(byte: u8) -> bool {
    matches!(byte, b'\0' | b'\t' | b'\n' | b'\x0c' | b'\r' | b' ')
}

pub(super) fn ends_word(byte: u8) -> bool {
    let delimits = b"()<>[]{}/%".contains(&byte);
    delimits || is_space(byte)
}

/// The bytes of hexadecimal digits. Other characters among them are skipped, and a last single digit is the
/// high one.
pub(super) fn hexadecimal(digits: &[u8]) -> Vec<u8> {
    let digits: Vec<u8> = digits
        .iter()
        .filter_map(|&digit| char::from(digit).to_digit(16))
        .filter_map(|digit| u8::try_from(digit).ok())
        .collect();
    digits
        .chunks(2)
        .map(|pair| pair[0] << 4 | pair.get(1).copied().unwrap_or(0))
        .collect()
}
