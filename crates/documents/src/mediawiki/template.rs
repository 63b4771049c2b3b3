//! The text of templates within sentences: quantities, numbers, dates, words of other languages and
//! names. Other templates, such as boxes and navigation, show nothing.
//!
//! No template is expanded: each kind is known by its names in the wikis that use it.

/// The most bytes of a template within a sentence; longer ones show nothing.
pub(super) const LONGEST: usize = 4096;

/// The text that a template shows.
#[derive(Debug, Clone, Copy)]
enum Shows {
    /// Its first text.
    First,
    /// Its text of this number, from 1, or its last one if it has fewer.
    Nth(usize),
    /// Its last text.
    Last,
    /// All its texts, with this between them.
    Joined(&'static str),
    /// A text before its first one.
    Before(&'static str),
    /// A sign.
    Sign(&'static str),
    /// A quantity with the unit that it is given in.
    Quantity,
    /// A number with its uncertainty, power and unit.
    Value,
    /// A year, a month and a day.
    Date,
    /// A fraction.
    Fraction,
    /// A word in another language, its script and its sound.
    Foreign,
    /// A number with separated thousands.
    Number,
    /// A title, or the words given for it.
    Link,
}

/// The text of a template; `None` if it shows nothing. `body` is its name and its texts, with a bar before each, from
/// which the markup is already removed.
pub(super) fn shown(body: &str) -> Option<String> {
    let (name, rest) = body
        .split_once('|')
        .map_or((body, None), |(name, rest)| (name, Some(rest)));
    let name = name.trim();
    if name.len() > 64 || body.len() > LONGEST {
        return None;
    }
    // A function has its first text behind a colon.
    let (name, first) = match name.split_once(':') {
        Some((name, first)) => (name, Some(first)),
        None => (name, None),
    };
    let name = name.trim().replace('_', " ").to_lowercase();
    let shows = known(&name, first.is_some())?;
    let texts = Texts::of(
        first
            .into_iter()
            .chain(rest.into_iter().flat_map(|rest| rest.split('|'))),
    );
    let text = render(shows, &texts)?;
    let text = text.trim_matches('\n').to_owned();
    (!text.trim().is_empty() || matches!(shows, Shows::Sign(_))).then_some(text)
}

/// What the template with this name, in lower case, shows.
fn known(name: &str, is_function: bool) -> Option<Shows> {
    if is_function {
        return match name {
            "formatnum" => Some(Shows::Number),
            "lc" | "uc" | "lcfirst" | "ucfirst" => Some(Shows::First),
            _ => None,
        };
    }
    if let Some(shows) = by_start(name) {
        return Some(shows);
    }
    Some(match name {
        "convert" | "cvt" | "conv" => Shows::Quantity,
        "val" | "unité" | "unite" | "unit" | "nombre" | "nb" | "num" => Shows::Value,
        "start date" | "end date" | "birth date" | "death date" | "date" | "dts"
        | "date table sorting" | "start date and age" | "end date and age"
        | "birth date and age" | "film date" | "release date" | "death date and age"
        | "death year and age" | "death-date and age" | "birth-date" | "death-date"
        | "birth-date and age" | "birth year and age" | "launch date" | "datum" | "date-"
        | "date de naissance" | "fecha" | "data" => Shows::Date,
        "nowrap"
        | "nobr"
        | "nobreak"
        | "nowr"
        | "small"
        | "smaller"
        | "big"
        | "larger"
        | "nobold"
        | "noitalic"
        | "abbr"
        | "abbrv"
        | "tooltip"
        | "sic"
        | "typo"
        | "mvar"
        | "math"
        | "mono"
        | "code"
        | "codes"
        | "kbd"
        | "tt"
        | "var"
        | "samp"
        | "em"
        | "strong"
        | "u"
        | "underline"
        | "strike"
        | "strikethrough"
        | "smallcaps"
        | "sc"
        | "sc2"
        | "sup"
        | "sub"
        | "chem2"
        | "ipa"
        | "ipa link"
        | "ipalink"
        | "unicode"
        | "iast"
        | "pie"
        | "transcription"
        | "visible anchor"
        | "vanchor"
        | "quote"
        | "blockquote"
        | "cquote"
        | "quotation"
        | "flag"
        | "flagcountry"
        | "flagu"
        | "flagg"
        | "country"
        | "nts"
        | "number table sorting"
        | "kapitälchen"
        | "keep"
        | "nobr begin"
        | "nwr"
        | "ordinal number"
        | "zitat"
        | "first word"
        | "kern"
        | "music"
        | "hebrew"
        | "audio"
        | "pronunciation"
        | "lang-zh"
        | "linktext"
        | "emphasis"
        | "highlight"
        | "nowrap begin" => Shows::First,
        "lang" | "color" | "colour" | "font color" | "rtl-lang" | "langue" | "idioma" | "lang2"
        | "langx" | "text color" | "resize" | "fontsize" | "audio-de" | "wikt-lang" | "langr"
        | "polytonic lang" => Shows::Nth(2),
        "transl" | "transliteration" | "translit" => Shows::Last,
        "nihongo" | "nihongo2" | "nihongo3" | "korean" | "zh" | "cjkv" => Shows::Foreign,
        "frac" | "fraction" | "sfrac" | "sfraction" | "tmath" => Shows::Fraction,
        "gaps" | "chem" | "respell" | "ipac-en" | "siècle" | "s-" => Shows::Joined(""),
        "sortname" | "ship" => Shows::Joined(" "),
        "plainlist"
        | "plain list"
        | "unbulleted list"
        | "ubl"
        | "hlist"
        | "flatlist"
        | "flat list"
        | "bulleted list"
        | "nowrap list"
        | "comma separated entries"
        | "cslist" => Shows::Joined(", "),
        "ill" | "interlanguage link" | "link-interwiki" | "lien" | "internal link helper" => {
            Shows::Link
        }
        "circa" | "c." | "ca." | "ca" => Shows::Before("c. "),
        "floruit" | "fl." => Shows::Before("fl. "),
        "reign" | "r." => Shows::Before("r. "),
        "born" => Shows::Before("born "),
        "died" => Shows::Before("died "),
        "as of" | "since" => Shows::Before("as of "),
        "us$" | "usd" | "dollar" => Shows::Before("US$"),
        "£" | "gbp" | "pound" | "pound sterling" => Shows::Before("£"),
        "€" | "eur" | "euro" => Shows::Before("€"),
        "¥" | "jpy" | "yen" => Shows::Before("¥"),
        "a$" | "aud" => Shows::Before("A$"),
        "inr" | "indian rupee" | "₹" => Shows::Before("₹"),
        "hms" => Shows::Before("HMS "),
        "uss" => Shows::Before("USS "),
        "ss" => Shows::Before("SS "),
        "rms" => Shows::Before("RMS "),
        "isbn" => Shows::Before("ISBN "),
        "e" => Shows::Before("×10^"),
        "snd" | "spnd" | "spaced ndash" | "spaced en dash" | "dash" => Shows::Sign(" – "),
        "ndash" | "en dash" | "nbnd" => Shows::Sign("–"),
        "mdash" | "em dash" | "emdash" | "spaced mdash" => Shows::Sign("—"),
        "nbsp" | "space" | "spaces" | "thinsp" | "hair space" | "nnbsp" => Shows::Sign(" "),
        "'" | "' s" | "apostrophe" => Shows::Sign("'"),
        "'s" => Shows::Sign("'s"),
        "'\"" => Shows::Sign("'\""),
        "=" => Shows::Sign("="),
        "times" => Shows::Sign("×"),
        "+-" | "±" | "plusminus" => Shows::Sign("±"),
        "minus" => Shows::Sign("−"),
        "degree" | "deg" => Shows::Sign("°"),
        "•" | "bullet" | "·" | "middot" | "dot" => Shows::Sign(" · "),
        _ => return None,
    })
}

/// What templates show whose names end in a language or a script.
fn by_start(name: &str) -> Option<Shows> {
    let (start, end) = name.split_once(['-', '/', ' '])?;
    let is_code = (2..=8).contains(&end.len())
        && end
            .bytes()
            .all(|byte| byte.is_ascii_lowercase() || byte == b'-');
    match start {
        "lang" if is_code => Some(Shows::First),
        "ipa" if is_code => Some(Shows::First),
        "script" => Some(Shows::First),
        _ => None,
    }
}

/// The texts of a template, in order or by name.
struct Texts<'t> {
    plain: Vec<&'t str>,
    named: Vec<(&'t str, &'t str)>,
}

impl<'t> Texts<'t> {
    fn of(texts: impl Iterator<Item = &'t str>) -> Self {
        let mut all = Self {
            plain: Vec::new(),
            named: Vec::new(),
        };
        for text in texts {
            let is_name = |name: &str| {
                let name = name.trim();
                !name.is_empty()
                    && name.len() < 24
                    && name
                        .chars()
                        .all(|c| c.is_alphanumeric() || matches!(c, '-' | '_' | ' '))
            };
            match text.split_once('=').filter(|(name, _)| is_name(name)) {
                // A number as a name is a position.
                Some((name, text)) if name.trim().bytes().all(|byte| byte.is_ascii_digit()) => {
                    all.plain.push(text.trim());
                }
                Some((name, text)) => all.named.push((name.trim(), text.trim())),
                None => all.plain.push(text.trim()),
            }
        }
        all
    }

    fn get(&self, number: usize) -> Option<&'t str> {
        self.plain
            .get(number)
            .copied()
            .filter(|text| !text.is_empty())
    }

    fn named(&self, names: &[&str]) -> Option<&'t str> {
        let mut all = self.named.iter();
        let text = all.find(|(name, _)| names.contains(name))?.1;
        (!text.is_empty()).then_some(text)
    }

    fn joined(&self, between: &str) -> String {
        let texts = self.plain.iter().copied().filter(|text| !text.is_empty());
        texts.collect::<Vec<_>>().join(between)
    }
}

fn render(shows: Shows, texts: &Texts<'_>) -> Option<String> {
    let first = || {
        texts
            .get(0)
            .or_else(|| texts.named(&["text", "quote", "Text", "content"]))
    };
    Some(match shows {
        Shows::First => first()?.to_owned(),
        Shows::Nth(number) => {
            let last = texts.plain.len().checked_sub(1)?;
            texts
                .get((number - 1).min(last))
                .or_else(|| texts.named(&["text"]))?
                .to_owned()
        }
        Shows::Last => texts.plain.last()?.to_string(),
        Shows::Joined(between) => texts.joined(between),
        Shows::Before(before) => format!("{before}{}", texts.get(0)?),
        Shows::Sign(sign) => sign.to_owned(),
        Shows::Quantity => quantity(texts)?,
        Shows::Value => value(texts)?,
        Shows::Date => date(texts)?,
        Shows::Fraction => match (texts.get(0)?, texts.get(1), texts.get(2)) {
            (whole, Some(above), Some(below)) => format!("{whole} {above}/{below}"),
            (above, Some(below), None) => format!("{above}/{below}"),
            (below, ..) => format!("1/{below}"),
        },
        Shows::Foreign => foreign(texts)?,
        Shows::Number => match texts.plain.contains(&"R") || texts.plain.contains(&"NOSEP") {
            true => texts.get(0)?.to_owned(),
            false => grouped(texts.get(0)?),
        },
        Shows::Link => texts
            .named(&["lt", "display", "texte"])
            .or_else(|| texts.named(&["trad", "fr"]))
            .or(texts.get(0))?
            .to_owned(),
    })
}

/// `{{convert|5|to|10|km|mi}}`: numbers and the words between them up to the first unit, and its parts.
fn quantity(texts: &Texts<'_>) -> Option<String> {
    let mut out = String::new();
    let mut after_number = false;
    for (index, &text) in texts.plain.iter().enumerate() {
        let is_number = text
            .starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '−' | '+' | '.'))
            && text.chars().any(|c| c.is_ascii_digit());
        if is_number {
            if after_number {
                break;
            }
            if !out.is_empty() && !out.ends_with(['–', ' ']) {
                out.push(' ');
            }
            out.push_str(text);
            after_number = true;
            continue;
        }
        if !after_number {
            return None;
        }
        after_number = false;
        match text {
            "-" | "–" | "to(-)" => out.push('–'),
            "x" | "by" | "×" | "xx" => out.push_str(" × "),
            "+/-" | "±" => out.push_str(" ± "),
            "to" | "and" | "or" | "to about" => {
                out.push(' ');
                out.push_str(text);
                out.push(' ');
            }
            unit => {
                out.push(' ');
                out.push_str(unit_name(unit));
                // Feet have inches after them.
                let more = texts
                    .plain
                    .get(index + 1)
                    .is_some_and(|next| next.starts_with(|c: char| c.is_ascii_digit()))
                    && texts
                        .plain
                        .get(index + 2)
                        .is_some_and(|next| next.starts_with(char::is_alphabetic));
                if !more {
                    return Some(out);
                }
            }
        }
    }
    (!out.is_empty()).then_some(out)
}

/// A unit as sentences write it.
fn unit_name(unit: &str) -> &str {
    match unit {
        "sqmi" => "sq mi",
        "sqkm" | "km2" => "km²",
        "m2" | "sqm" => "m²",
        "m3" => "m³",
        "km3" => "km³",
        "cm2" => "cm²",
        "cm3" | "cc" => "cm³",
        "sqft" => "sq ft",
        "cuft" => "cu ft",
        "kph" | "km/h" => "km/h",
        "C" => "°C",
        "F" => "°F",
        "in" => "in",
        unit => unit,
    }
}

/// `{{val|1234.5|0.2|e=6|u=km}}`.
fn value(texts: &Texts<'_>) -> Option<String> {
    let mut out = grouped(texts.get(0)?);
    if let Some(second) = texts.get(1) {
        match second.starts_with(|c: char| c.is_ascii_digit()) {
            true => out.push_str(&format!(" ± {second}")),
            false => out.push_str(&format!(" {second}")),
        }
    }
    if let Some(power) = texts.named(&["e"]) {
        out.push_str(&format!(" × 10^{power}"));
    }
    if let Some(unit) = texts.named(&["u", "ul", "unit", "up", "upl"]) {
        out.push_str(&format!(" {}", unit_name(unit)));
    }
    if let Some(before) = texts.named(&["p"]) {
        out.insert_str(0, before);
    }
    if let Some(after) = texts.named(&["s"]) {
        out.push_str(after);
    }
    Some(out)
}

const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// Year, month and day as numbers; else the words as they are.
fn date(texts: &Texts<'_>) -> Option<String> {
    let first = texts.get(0)?;
    let number = |text: Option<&str>| text.and_then(|text| text.parse::<usize>().ok());
    let month = |text: Option<&str>| {
        number(text)
            .and_then(|month| MONTHS.get(month.checked_sub(1)?))
            .copied()
    };
    // `2020-01-02`, or its three parts.
    let mut parts = first.splitn(3, '-');
    let whole = (parts.next(), parts.next(), parts.next());
    let (year, second, third) = match whole {
        (Some(year), Some(month), Some(day)) if year.len() == 4 => (year, Some(month), Some(day)),
        _ => (first, texts.get(1), texts.get(2)),
    };
    let is_year = year.len() >= 3 && year.bytes().all(|byte| byte.is_ascii_digit());
    if !is_year {
        let words = texts.plain.iter().take(3).copied();
        let words: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        return Some(words.join(" "));
    }
    Some(match (month(second), number(third)) {
        (Some(month), Some(day)) => match texts.named(&["df"]) {
            Some("y" | "yes" | "true") => format!("{day} {month} {year}"),
            _ => format!("{month} {day}, {year}"),
        },
        (Some(month), None) => format!("{month} {year}"),
        (None, _) => year.to_owned(),
    })
}

/// A word, and how it is written and read.
fn foreign(texts: &Texts<'_>) -> Option<String> {
    let named = ["c", "t", "s", "p", "hangul", "hanja", "rr"];
    let mut words = texts
        .plain
        .iter()
        .copied()
        .take(3)
        .chain(
            texts
                .named
                .iter()
                .filter(|(name, _)| named.contains(name))
                .map(|(_, text)| *text),
        )
        .filter(|text| !text.is_empty());
    let first = words.next()?;
    let mut others: Vec<&str> = words.collect();
    others.dedup();
    Some(match others.is_empty() {
        true => first.to_owned(),
        false => format!("{first} ({})", others.join(", ")),
    })
}

/// A number with commas between its thousands.
fn grouped(number: &str) -> String {
    let sign = number.len() - number.trim_start_matches(['-', '−', '+']).len();
    let digits = number[sign..]
        .bytes()
        .take_while(u8::is_ascii_digit)
        .count();
    let rest = &number[sign + digits..];
    let plain = rest.is_empty() || (rest.starts_with('.') && !rest[1..].contains(['.', ',']));
    if digits < 5 && !(digits == 4 && rest.is_empty()) || !plain {
        return number.to_owned();
    }
    let mut out = number[..sign].to_owned();
    for (index, digit) in number[sign..sign + digits].chars().enumerate() {
        if index > 0 && (digits - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out + rest
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn templates_of_sentences_are_shown() {
        for (body, text) in [
            ("convert|5|km|mi|abbr=on", "5 km"),
            ("Convert|5|to|10|km|mi", "5 to 10 km"),
            ("convert|1.5|-|2|sqmi|km2", "1.5–2 sq mi"),
            ("convert|6|ft|2|in|m", "6 ft 2 in"),
            ("cvt|3|x|4|m|ft", "3 × 4 m"),
            ("formatnum:1234567.89", "1,234,567.89"),
            ("formatnum:1,234|R", "1,234"),
            ("val|12345|u=km", "12,345 km"),
            ("val|1.5|0.2|e=6|ul=m/s", "1.5 ± 0.2 × 10^6 m/s"),
            ("start date|1999|12|31", "December 31, 1999"),
            ("birth date and age|df=yes|1950|2|3", "3 February 1950"),
            ("death date and age|1920|5|6|1850|1|2", "May 6, 1920"),
            ("date|2020-01-02", "January 2, 2020"),
            ("date|14|juillet|1789", "14 juillet 1789"),
            ("start date|1999", "1999"),
            ("nowrap|10 kg", "10 kg"),
            ("lang|de|Straße", "Straße"),
            ("lang-fr|rue", "rue"),
            ("langx|el|λόγος", "λόγος"),
            ("transl|ru|ISO|reka", "reka"),
            ("nihongo|Weir|堰|seki", "Weir (堰, seki)"),
            ("frac|1|2", "1/2"),
            ("frac|3|1|2", "3 1/2"),
            ("circa|1500", "c. 1500"),
            ("US$|5 million", "US$5 million"),
            ("ill|A Name|de|Ein Name", "A Name"),
            ("sortname|Ada|Byron", "Ada Byron"),
            ("hlist|a|b|c", "a, b, c"),
            ("snd", " – "),
            ("quote|text=So it was.|author=A", "So it was."),
            ("chem|H|2|O", "H2O"),
            ("lang|1=es|2=agua", "agua"),
        ] {
            assert_eq!(shown(body).as_deref(), Some(text), "{body}");
        }
        for body in [
            "Infobox river|name=X",
            "cite web|url=x|title=T",
            "efn|no",
            "coord|1|2|N|3|4|E",
            "#if:a|b|c",
            "lang",
            "convert",
            "convert|km",
            "",
            "|",
            "PAGENAME",
            "1|x",
            "main|Other",
        ] {
            assert_eq!(shown(body), None, "{body}");
        }
    }

    proptest! {
        #[test]
        fn any_template_is_read(name in "(convert|val|formatnum:|date|lang|frac|zh|nihongo|hlist)", rest in "[|=0-9.,é語a-z−-]{0,40}") {
            shown(&format!("{name}{rest}"));
        }
    }
}
