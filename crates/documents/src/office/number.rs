//! Numbers as a workbook shows them: dates, times and percentages by the format of their cell, others
//! without the noise of binary fractions.

/// How a cell shows its number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) enum NumberFormat {
    #[default]
    General,
    Marked(Marks),
    Percent,
    Date,
    DateTime,
    Time,
    /// Hours beyond a day are not wrapped.
    Duration,
}

/// What a cell shows around its number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// A currency.
    before: String,
    /// A unit.
    after: String,
    /// The least digits of a whole number.
    digits: usize,
    /// Whether negative numbers have marks of their own.
    is_for_positive: bool,
}

/// The most zeros before a number.
const MOST_ZEROS: usize = 32;

/// The epoch that a workbook counts days from.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Epoch {
    /// Day 1 is 1900-01-01, and 1900 counts as a leap year.
    #[default]
    Of1900,
    /// Day 0 is 1904-01-01.
    Of1904,
}

/// The formats that files name by number, without a code.
pub(super) fn built_in(id: u32) -> NumberFormat {
    match id {
        9 | 10 => NumberFormat::Percent,
        14..=17 | 27..=31 | 36 | 50..=54 | 57 | 58 => NumberFormat::Date,
        18..=21 | 32..=35 | 45 | 47 | 55 | 56 => NumberFormat::Time,
        22 => NumberFormat::DateTime,
        46 => NumberFormat::Duration,
        _ => NumberFormat::General,
    }
}

/// The format for a code such as `yyyy\-mm\-dd` or `0.0%`.
pub(super) fn of_code(code: &str) -> NumberFormat {
    if code.to_ascii_lowercase().contains("general") {
        return NumberFormat::General;
    }
    let (mut date, mut time, mut percent, mut duration) = (false, false, false, false);
    let mut minutes_or_months = false;
    let mut characters = code.chars();
    while let Some(character) = characters.next() {
        match character {
            '"' => drop(characters.by_ref().find(|&c| c == '"')),
            '\\' | '_' | '*' => drop(characters.next()),
            '[' => {
                let inner: String = characters.by_ref().take_while(|&c| c != ']').collect();
                duration |= !inner.is_empty()
                    && inner
                        .chars()
                        .all(|c| matches!(c, 'h' | 'H' | 'm' | 'M' | 's' | 'S'));
            }
            // The second part is for negative numbers.
            ';' => break,
            'y' | 'Y' | 'd' | 'D' => date = true,
            'h' | 'H' | 's' | 'S' => time = true,
            'm' | 'M' => minutes_or_months = true,
            '%' => percent = true,
            _ => {}
        }
    }
    match (date, time || duration, minutes_or_months) {
        (true, true, _) => NumberFormat::DateTime,
        (true, false, _) | (false, false, true) if !duration => NumberFormat::Date,
        _ if duration => NumberFormat::Duration,
        (_, true, _) => NumberFormat::Time,
        _ if percent => NumberFormat::Percent,
        _ => marks(code).map_or(NumberFormat::General, NumberFormat::Marked),
    }
}

/// What a code such as `0.0 "bar"` or `00000` shows around a number; `None` if that is nothing, or the number is scaled,
/// taken apart or shown under a condition.
fn marks(code: &str) -> Option<Marks> {
    let mut marks = Marks::default();
    let (mut is_number, mut is_whole, mut last) = (false, true, ' ');
    let mut characters = code.chars();
    while let Some(character) = characters.next() {
        let side = match is_number {
            true => &mut marks.after,
            false => &mut marks.before,
        };
        match character {
            '"' => side.extend(characters.by_ref().take_while(|&c| c != '"')),
            '\\' => side.extend(characters.next()),
            '_' | '*' => drop(characters.next()),
            '[' => {
                let inner: String = characters.by_ref().take_while(|&c| c != ']').collect();
                match inner.strip_prefix('$') {
                    Some(currency) => side.push_str(currency.split('-').next().unwrap_or_default()),
                    None if inner.starts_with(['<', '>', '=']) => return None,
                    None => {}
                }
            }
            ';' => {
                marks.is_for_positive = true;
                break;
            }
            '0' | '#' | '?' | '.' | ',' => {
                if !marks.after.is_empty() {
                    return None;
                }
                is_number = true;
                is_whole &= character == '0';
                marks.digits += usize::from(character == '0');
                last = character;
            }
            '/' | 'E' | 'e' | '@' => return None,
            '-' if is_number => return None,
            ' ' | '$' | '€' | '£' | '¥' => side.push(character),
            _ => {}
        }
    }
    if !is_whole {
        marks.digits = 0;
    }
    let shows = marks.digits > 1 || !(marks.before.is_empty() && marks.after.trim().is_empty());
    (is_number && shows && last != ',').then_some(marks)
}

impl Marks {
    /// The text of a number, given without marks.
    fn around(&self, number: &str) -> String {
        let (sign, number) = match number.strip_prefix('-') {
            Some(_) if self.is_for_positive => return number.to_owned(),
            Some(number) => ("-", number),
            None => ("", number),
        };
        let (before, after) = (self.before.trim_start(), self.after.trim_end());
        let width = match number.bytes().all(|byte| byte.is_ascii_digit()) {
            true => self.digits.min(MOST_ZEROS),
            false => 0,
        };
        format!("{sign}{before}{number:0>width$}{after}")
    }
}

/// A number in the file, as its cell shows it.
pub(super) fn shown(written: &str, format: &NumberFormat, epoch: Epoch) -> String {
    let written = written.trim();
    let Ok(number) = written.parse::<f64>() else {
        return written.to_owned();
    };
    if !number.is_finite() {
        return written.to_owned();
    }
    match format {
        NumberFormat::General => plain(number, written),
        NumberFormat::Marked(marks) => marks.around(&plain(number, written)),
        NumberFormat::Percent => format!("{}%", rounded(number * 100.0)),
        _ => moment(number, format, epoch).unwrap_or_else(|| plain(number, written)),
    }
}

fn plain(number: f64, written: &str) -> String {
    // Integers keep all their digits.
    let digits = written.strip_prefix('-').unwrap_or(written);
    if digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return written.to_owned();
    }
    rounded(number)
}

/// A number with 15 significant digits, the most that spreadsheet programs show.
fn rounded(number: f64) -> String {
    let rounded: f64 = format!("{number:.14e}").parse().unwrap_or(number);
    match rounded != 0.0 && !(1e-9..1e21).contains(&rounded.abs()) {
        true => format!("{rounded:e}"),
        false => rounded.to_string(),
    }
}

fn moment(number: f64, format: &NumberFormat, epoch: Epoch) -> Option<String> {
    // The first day after the year 9999.
    if !(0.0..2_958_466.0).contains(&number) {
        return None;
    }
    // Below 2^38, so exact.
    let seconds = (number * 86_400.0).round() as u64;
    let (days, seconds) = (seconds / 86_400, seconds % 86_400);
    let (hours, minutes, rest) = (seconds / 3600, seconds / 60 % 60, seconds % 60);
    let hours = match format {
        NumberFormat::Duration => hours + days * 24,
        _ => hours,
    };
    let time = match rest {
        0 => format!("{hours:02}:{minutes:02}"),
        rest => format!("{hours:02}:{minutes:02}:{rest:02}"),
    };
    Some(match format {
        NumberFormat::Date if seconds == 0 => date(days, epoch),
        NumberFormat::Time | NumberFormat::Duration => time,
        _ if days == 0 && epoch == Epoch::Of1900 => time,
        _ if seconds == 0 => date(days, epoch),
        _ => format!("{} {time}", date(days, epoch)),
    })
}

/// A day of the Gregorian calendar as year, month and day.
fn date(days: u64, epoch: Epoch) -> String {
    // Days from 0000-03-01, so that leap days end the years.
    let days = match epoch {
        // Day 60 is 1900-02-29, which never was.
        Epoch::Of1900 if days >= 60 => days + 693_899,
        Epoch::Of1900 => days + 693_900,
        Epoch::Of1904 => days + 695_361,
    };
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let shifted = (5 * day + 2) / 153;
    let (month, year) = match shifted < 10 {
        true => (shifted + 3, era * 400 + year),
        false => (shifted - 9, era * 400 + year + 1),
    };
    let day = day - (153 * shifted + 2) / 5 + 1;
    format!("{year:04}-{month:02}-{day:02}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers() {
        let shown = |written| shown(written, &NumberFormat::General, Epoch::Of1900);
        assert_eq!(shown("0.30000000000000004"), "0.3");
        assert_eq!(shown("12345678901234567890"), "12345678901234567890");
        assert_eq!(shown("-7"), "-7");
        assert_eq!(shown("1.5E+3"), "1500");
        assert_eq!(shown("1e300"), "1e300");
        assert_eq!(shown("x"), "x");
        assert_eq!(shown("NaN"), "NaN");
    }

    #[test]
    fn dates_and_times() {
        let at = |written, format| shown(written, &format, Epoch::Of1900);
        assert_eq!(at("1", NumberFormat::Date), "1900-01-01");
        assert_eq!(at("61", NumberFormat::Date), "1900-03-01");
        assert_eq!(at("45351", NumberFormat::Date), "2024-02-29");
        assert_eq!(at("45351.75", NumberFormat::DateTime), "2024-02-29 18:00");
        assert_eq!(at("0.5", NumberFormat::Time), "12:00");
        assert_eq!(at("1.5", NumberFormat::Duration), "36:00");
        assert_eq!(at("-1", NumberFormat::Date), "-1");
        assert_eq!(at("0.155", NumberFormat::Percent), "15.5%");
        let of_1904 = shown("0", &NumberFormat::Date, Epoch::Of1904);
        assert_eq!(of_1904, "1904-01-01");
    }

    #[test]
    fn units_currencies_and_zeros() {
        for (code, written, expected) in [
            ("0 \"bar\"", "5", "5 bar"),
            ("0.0\\ \"bar\"", "-2.5", "-2.5 bar"),
            ("#,##0.00\\ [$€-407]", "1234.5", "1234.5 €"),
            ("_(\"$\"* #,##0.00_);_(\"$\"* \\(#,##0.00\\)", "-3", "-3"),
            ("[$$-409]#,##0.00", "-3", "-$3"),
            ("00000", "123", "00123"),
            ("00000", "1.5", "1.5"),
            ("000-00", "123", "123"),
        ] {
            assert_eq!(
                shown(written, &of_code(code), Epoch::Of1900),
                expected,
                "{code}"
            );
        }
    }

    #[test]
    fn codes() {
        for (code, format) in [
            ("General", NumberFormat::General),
            ("#,##0.00", NumberFormat::General),
            ("0.0%", NumberFormat::Percent),
            ("yyyy\\-mm\\-dd", NumberFormat::Date),
            ("d/m/yy h:mm", NumberFormat::DateTime),
            ("hh:mm:ss", NumberFormat::Time),
            ("[h]:mm", NumberFormat::Duration),
            ("mmm", NumberFormat::Date),
            ("0.0,, \"M\"", NumberFormat::General),
            ("# ?/?", NumberFormat::General),
            ("[Red]0.00", NumberFormat::General),
            ("[$-409]d-mmm-yy", NumberFormat::Date),
        ] {
            assert_eq!(of_code(code), format, "{code}");
        }
    }
}
