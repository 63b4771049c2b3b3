//! The characters that commands stand for, accents, and units of measurement.

use unicode_normalization::UnicodeNormalization;

/// The characters that a command without arguments stands for.
pub(super) fn characters(name: &str) -> Option<&'static str> {
    letters(name).or_else(|| signs(name))
}

fn letters(name: &str) -> Option<&'static str> {
    Some(match name {
        "ss" => "ß",
        "ae" => "æ",
        "AE" => "Æ",
        "oe" => "œ",
        "OE" => "Œ",
        "o" => "ø",
        "O" => "Ø",
        "aa" => "å",
        "AA" => "Å",
        "l" => "ł",
        "L" => "Ł",
        "i" => "ı",
        "j" => "ȷ",
        "dh" => "ð",
        "DH" => "Ð",
        "dj" => "đ",
        "DJ" => "Đ",
        "ng" => "ŋ",
        "NG" => "Ŋ",
        "th" => "þ",
        "TH" => "Þ",
        _ => return None,
    })
}

fn signs(name: &str) -> Option<&'static str> {
    Some(match name {
        "par" => "\n\n",
        "newline" | "linebreak" => "\n",
        "quad" | "qquad" | "enspace" | "space" | "hfill" | "nobreakspace" | "thinspace" => " ",
        "ldots" | "dots" | "textellipsis" => "…",
        "textbackslash" => "\\",
        "textless" => "<",
        "textgreater" => ">",
        "textbar" => "|",
        "textasciitilde" => "~",
        "textasciicircum" => "^",
        "textunderscore" => "_",
        "textbraceleft" => "{",
        "textbraceright" => "}",
        "textdollar" => "$",
        "textquotesingle" => "'",
        "textquotedbl" => "\"",
        "textquoteleft" | "grq" => "‘",
        "textquoteright" => "’",
        "textquotedblleft" | "grqq" => "“",
        "textquotedblright" => "”",
        "glqq" | "quotedblbase" => "„",
        "glq" | "quotesinglbase" => "‚",
        "flqq" | "guillemotleft" | "guillemetleft" | "og" => "«",
        "frqq" | "guillemotright" | "guillemetright" | "fg" => "»",
        "textendash" => "–",
        "textemdash" => "—",
        "textbullet" => "•",
        "textperiodcentered" | "cdot" => "·",
        "S" | "textsection" => "§",
        "P" | "textparagraph" => "¶",
        "dag" | "textdagger" => "†",
        "ddag" | "textdaggerdbl" => "‡",
        "copyright" | "textcopyright" => "©",
        "textregistered" => "®",
        "texttrademark" => "™",
        "pounds" | "textsterling" => "£",
        "euro" | "texteuro" | "EUR" => "€",
        "textyen" => "¥",
        "textcent" => "¢",
        "textdegree" | "degree" => "°",
        "textcelsius" | "celsius" => "°C",
        "textmu" => "µ",
        "textohm" => "Ω",
        "texttimes" | "times" => "×",
        "textdiv" => "÷",
        "textpm" | "pm" => "±",
        "textonehalf" => "½",
        "textonequarter" => "¼",
        "textthreequarters" => "¾",
        "textrightarrow" | "rightarrow" => "→",
        "textleftarrow" | "leftarrow" => "←",
        "textnumero" => "№",
        "LaTeX" => "LaTeX",
        "TeX" => "TeX",
        _ => return None,
    })
}

/// The accent that a command puts on a letter, as a combining character.
pub(super) fn combining(accent: &str) -> Option<char> {
    Some(match accent {
        "'" => '\u{301}',
        "`" => '\u{300}',
        "^" => '\u{302}',
        "\"" => '\u{308}',
        "~" => '\u{303}',
        "=" => '\u{304}',
        "." => '\u{307}',
        "c" => '\u{327}',
        "v" => '\u{30c}',
        "u" => '\u{306}',
        "r" => '\u{30a}',
        "H" => '\u{30b}',
        "k" => '\u{328}',
        "d" => '\u{323}',
        "b" => '\u{331}',
        "t" => '\u{361}',
        _ => return None,
    })
}

/// Writes a letter, as a command takes it, with its accent: as one character if there is one.
pub(super) fn push_accented(accent: char, letter: &str, out: &mut String) {
    let letter = letter.trim();
    let letter = match letter.strip_prefix('\\').map(str::trim_end) {
        // They have no dots, to make room for the accent.
        Some(dotless @ ("i" | "j")) => dotless,
        Some(name) => letters(name).unwrap_or(name),
        None => letter,
    };
    let mut rest = letter.chars();
    match rest.next() {
        Some(first) if first.is_alphabetic() => out.extend([first, accent].into_iter().nfc()),
        Some(other) => out.push(other),
        // `\~{}` is the sign alone.
        None if accent == '\u{303}' => out.push('~'),
        None if accent == '\u{302}' => out.push('^'),
        None => {}
    }
    out.push_str(rest.as_str());
}

/// The letters, signs and quotes that babel's German writes with `"` and a sign, and the rest after that sign.
pub(super) fn german(text: &str) -> Option<(&'static str, &str)> {
    let mut characters = text.chars();
    let shown = match characters.next()? {
        'a' => "ä",
        'o' => "ö",
        'u' => "ü",
        'A' => "Ä",
        'O' => "Ö",
        'U' => "Ü",
        's' | 'z' => "ß",
        '`' => "„",
        '\'' => "“",
        '<' => "«",
        '>' => "»",
        '=' | '~' => "-",
        '-' | '"' | '|' => "",
        _ => return None,
    };
    Some((shown, characters.as_str()))
}

/// The names of units and their prefixes in siunitx.
const UNITS: [(&str, &str); 48] = [
    ("kilo", "k"),
    ("mega", "M"),
    ("giga", "G"),
    ("tera", "T"),
    ("hecto", "h"),
    ("deci", "d"),
    ("centi", "c"),
    ("milli", "m"),
    ("micro", "µ"),
    ("nano", "n"),
    ("pico", "p"),
    ("metre", "m"),
    ("meter", "m"),
    ("gram", "g"),
    ("kilogram", "kg"),
    ("tonne", "t"),
    ("second", "s"),
    ("minute", "min"),
    ("hour", "h"),
    ("day", "d"),
    ("ampere", "A"),
    ("volt", "V"),
    ("watt", "W"),
    ("ohm", "Ω"),
    ("farad", "F"),
    ("henry", "H"),
    ("coulomb", "C"),
    ("tesla", "T"),
    ("hertz", "Hz"),
    ("newton", "N"),
    ("pascal", "Pa"),
    ("bar", "bar"),
    ("joule", "J"),
    ("electronvolt", "eV"),
    ("kelvin", "K"),
    ("celsius", "°C"),
    ("degreeCelsius", "°C"),
    ("degree", "°"),
    ("mole", "mol"),
    ("candela", "cd"),
    ("lumen", "lm"),
    ("lux", "lx"),
    ("litre", "l"),
    ("liter", "L"),
    ("decibel", "dB"),
    ("percent", "%"),
    ("bit", "bit"),
    ("byte", "B"),
];

/// How many of these are prefixes.
const PREFIXES: usize = 11;

/// The signs of a unit that siunitx names by commands, such as `\kilo\metre\per\hour`.
pub(super) fn unit(tex: &str) -> String {
    let mut out = String::new();
    // A power that precedes its unit, and whether the unit before is complete.
    let (mut power, mut is_complete) = ("", false);
    let mut words = tex.split('\\');
    out.push_str(words.next().unwrap_or_default().trim());
    for word in words {
        let end = word.find(|c: char| !c.is_ascii_alphabetic());
        let (name, rest) = word.split_at(end.unwrap_or(word.len()));
        let index = UNITS.iter().position(|(unit, _)| *unit == name);
        match name {
            "per" => out.push('/'),
            "square" => power = "²",
            "cubic" => power = "³",
            "squared" => out.push('²'),
            "cubed" => out.push('³'),
            _ => {
                if std::mem::take(&mut is_complete) && !out.ends_with('/') {
                    out.push('·');
                }
                out.push_str(index.map_or(name, |index| UNITS[index].1));
                if index.is_none_or(|index| index >= PREFIXES) {
                    is_complete = true;
                    out.push_str(std::mem::take(&mut power));
                }
            }
        }
        out.push_str(rest.trim());
    }
    out
}
