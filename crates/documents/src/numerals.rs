//! The numbers of items in lists, as decimals, letters and Roman numerals.

/// How counts are written.
#[derive(Debug, Default, Clone, Copy)]
pub(crate) enum Style {
    #[default]
    Decimal,
    /// With a zero before a single digit.
    Padded,
    Letter,
    Roman,
    CapitalLetter,
    CapitalRoman,
    /// A bullet, or nothing.
    Unnumbered,
}

impl Style {
    /// The style that is called by its first number, as in `a`; `None` for any other sign.
    pub(crate) fn of_sign(sign: &str) -> Option<Self> {
        Some(match sign {
            "1" => Self::Decimal,
            "a" => Self::Letter,
            "A" => Self::CapitalLetter,
            "i" => Self::Roman,
            "I" => Self::CapitalRoman,
            _ => return None,
        })
    }
}

pub(crate) fn shown(count: u32, style: Style) -> String {
    match style {
        Style::Decimal => count.to_string(),
        Style::Padded => format!("{count:02}"),
        Style::Letter => letters(count),
        Style::CapitalLetter => letters(count).to_uppercase(),
        Style::Roman => roman(count),
        Style::CapitalRoman => roman(count).to_uppercase(),
        Style::Unnumbered => String::new(),
    }
}

/// A count in letters: a to z, then aa, bb and so on.
fn letters(count: u32) -> String {
    let index = count.saturating_sub(1);
    let letter = char::from(b'a' + (index % 26) as u8);
    std::iter::repeat_n(letter, (index / 26 + 1).min(8) as usize).collect()
}

fn roman(count: u32) -> String {
    const DIGITS: [(u32, &str); 13] = [
        (1000, "m"),
        (900, "cm"),
        (500, "d"),
        (400, "cd"),
        (100, "c"),
        (90, "xc"),
        (50, "l"),
        (40, "xl"),
        (10, "x"),
        (9, "ix"),
        (5, "v"),
        (4, "iv"),
        (1, "i"),
    ];
    if count > 9999 {
        return count.to_string();
    }
    let (mut rest, mut roman) = (count, String::new());
    for (value, digits) in DIGITS {
        while rest >= value {
            roman.push_str(digits);
            rest -= value;
        }
    }
    roman
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_in_letters_and_roman_numerals() {
        for (count, in_letters, in_roman) in
            [(1, "a", "i"), (26, "z", "xxvi"), (28, "bb", "xxviii")]
        {
            assert_eq!(letters(count), in_letters);
            assert_eq!(roman(count), in_roman);
        }
        assert_eq!(roman(1994), "mcmxciv");
    }
}
