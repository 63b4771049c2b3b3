//! Detecting the encoding of bytes without a byte order mark.

use std::str;

use chardetng::{EncodingDetector, Iso2022JpDetection, Utf8Detection};
use encoding_rs::{ISO_2022_JP, UTF_8, UTF_16BE, UTF_16LE};

use super::decoder::Decoder;
use super::{Encoding, Kind};

/// The bytes of a page in which its declaration is searched for; browsers search 1,024.
const DECLARATION_BYTES: usize = 4096;
/// The most bytes that statistics are taken of.
const LOOKED_AT: usize = 1 << 20;
/// At most one character in this many of a text is one that texts do not have.
const SIGNS_TO_ONE_ODD: usize = 100;
/// In UTF-16, every second byte of Latin text is NUL; of words in other scripts, at least one byte in this many.
const NULS_OF_WIDE: usize = 20;

/// Bytes as text.
#[derive(Debug, PartialEq)]
pub(crate) enum Text {
    /// UTF-8, as it is.
    Plain(String),
    /// UTF-8 without the NULs in it.
    WithoutNuls { text: String, nuls: u64 },
    /// Of another encoding; each malformed sequence became U+FFFD.
    Decoded {
        text: String,
        encoding: Encoding,
        malformed: u64,
    },
    /// UTF-8 that is damaged, from this byte on.
    Damaged { bytes: Vec<u8> },
    /// No text at all.
    Binary,
}

/// The text that all the bytes of a file are, which may be a page of HTML.
pub(crate) fn text_of(bytes: Vec<u8>, html: bool) -> Text {
    match encoding_of(&bytes, html, true) {
        Guess::Utf8 => match String::from_utf8(bytes) {
            Ok(text) => plain(text),
            Err(error) => Text::Damaged {
                bytes: error.into_bytes(),
            },
        },
        Guess::Binary => Text::Binary,
        Guess::Other(encoding) => {
            let (text, malformed) = decoded(&bytes, encoding);
            Text::Decoded {
                text,
                encoding,
                malformed,
            }
        }
    }
}

fn plain(text: String) -> Text {
    let nuls = text.bytes().filter(|&byte| byte == 0).count();
    match nuls {
        0 => Text::Plain(text),
        _ if nuls.saturating_mul(SIGNS_TO_ONE_ODD) > text.len() => Text::Binary,
        _ => Text::WithoutNuls {
            text: text.replace('\0', ""),
            nuls: nuls as u64,
        },
    }
}

fn decoded(bytes: &[u8], encoding: Encoding) -> (String, u64) {
    let mut decoder = Decoder::new(encoding);
    let mut text = String::new();
    decoder.decode(bytes, true, &mut text);
    (text, decoder.malformed)
}

/// The start of a long file.
pub(crate) struct Sample<'s> {
    pub(crate) bytes: &'s [u8],
    /// Whether it is the whole file.
    pub(crate) complete: bool,
}

impl Sample<'_> {
    /// The encoding, if it is another than UTF-8. `strict`: the format knows UTF-8 alone, so that only the
    /// patterns of UTF-16 and UTF-32 count.
    pub(crate) fn encoding(&self, strict: bool) -> Option<Encoding> {
        match encoding_of(self.bytes, false, self.complete) {
            Guess::Other(encoding) => {
                let wide = match encoding.0 {
                    Kind::Known(known) => known == UTF_16LE || known == UTF_16BE,
                    Kind::Utf32 { .. } => true,
                };
                (wide || !strict).then_some(encoding)
            }
            Guess::Utf8 | Guess::Binary => None,
        }
    }
}

enum Guess {
    Utf8,
    Other(Encoding),
    Binary,
}

fn encoding_of(bytes: &[u8], html: bool, complete: bool) -> Guess {
    let other = |encoding| Guess::Other(Encoding(Kind::Known(encoding)));
    let valid = match str::from_utf8(bytes) {
        Ok(_) => true,
        // A sample may end within a character.
        Err(error) => !complete && error.error_len().is_none(),
    };
    let nuls = bytes.iter().filter(|&&byte| byte == 0).count();
    // A few NULs in UTF-8 are not halves of other characters.
    let many = nuls.saturating_mul(NULS_OF_WIDE) > bytes.len();
    if (many || (nuls > 0 && !valid))
        && let Some(wide) = wide_encoding_of(bytes, complete)
    {
        return Guess::Other(wide);
    }
    if valid {
        return match is_iso_2022_jp(bytes) {
            true => other(ISO_2022_JP),
            false => Guess::Utf8,
        };
    }
    if nuls > 0 || has_odd_signs(bytes) {
        return Guess::Binary;
    }
    if html
        && let Some(declared) = declared_in(bytes)
        && decoded(bytes, declared).1 == 0
    {
        return Guess::Other(declared);
    }
    if is_damaged_utf8(bytes) {
        return Guess::Utf8;
    }
    let start = bytes.iter().position(|byte| !byte.is_ascii());
    let rest = bytes.get(start.unwrap_or_default()..).unwrap_or_default();
    let looked_at = rest.get(..LOOKED_AT).unwrap_or(rest);
    let mut detector = EncodingDetector::new(Iso2022JpDetection::Deny);
    detector.feed(looked_at, complete && looked_at.len() == rest.len());
    let guess = detector.guess(None, Utf8Detection::Deny);
    let (text, malformed) = decoded(looked_at, Encoding(Kind::Known(guess)));
    match malformed.saturating_mul(SIGNS_TO_ONE_ODD as u64) > text.len() as u64 {
        true => Guess::Utf8,
        false => other(guess),
    }
}

/// Whether ASCII has the switches to Japanese of ISO-2022-JP, and is valid in it.
fn is_iso_2022_jp(bytes: &[u8]) -> bool {
    let switches = bytes
        .windows(3)
        .any(|three| matches!(three, b"\x1b$B" | b"\x1b$@"));
    switches && bytes.is_ascii() && decoded(bytes, Encoding(Kind::Known(ISO_2022_JP))).1 == 0
}

/// Whether there are more control characters than a text has.
fn has_odd_signs(bytes: &[u8]) -> bool {
    let odd = bytes.iter().filter(|&&byte| {
        byte < 0x20 && !matches!(byte, b'\t' | b'\n' | b'\r' | 0x08 | 0x0c | 0x1a | 0x1b)
    });
    odd.count().saturating_mul(SIGNS_TO_ONE_ODD) > bytes.len()
}

/// Whether most bytes beyond ASCII are UTF-8: other encodings resemble it only now and then.
fn is_damaged_utf8(bytes: &[u8]) -> bool {
    let (mut good, mut bad) = (0_usize, 0_usize);
    for chunk in bytes.utf8_chunks() {
        good += chunk.valid().chars().filter(|c| !c.is_ascii()).count();
        bad += usize::from(!chunk.invalid().is_empty());
    }
    good > bad
}

/// The encoding that a page declares, unless it is UTF-8, or UTF-16, in which the declaration would be unreadable.
fn declared_in(bytes: &[u8]) -> Option<Encoding> {
    let head = bytes
        .get(..DECLARATION_BYTES)
        .unwrap_or(bytes)
        .to_ascii_lowercase();
    let mut offset = 0;
    while let Some(end) = find(&head[offset..], &[b"charset", b"encoding"]) {
        offset += end;
        let after = head[offset..].trim_ascii_start();
        let Some(value) = after.strip_prefix(b"=") else {
            continue;
        };
        let value = value.trim_ascii_start();
        let value = value
            .strip_prefix(b"\"")
            .or(value.strip_prefix(b"'"))
            .unwrap_or(value);
        let length = value.iter().take_while(|byte| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b':' | b'.')
        });
        let label = value.get(..length.count()).unwrap_or_default();
        let Some(encoding) = encoding_rs::Encoding::for_label_no_replacement(label) else {
            continue;
        };
        let readable = ![UTF_8, UTF_16LE, UTF_16BE].contains(&encoding);
        return readable.then_some(Encoding(Kind::Known(encoding)));
    }
    None
}

/// The end of the first occurrence of any of the words.
fn find(bytes: &[u8], words: &[&[u8]]) -> Option<usize> {
    (0..bytes.len()).find_map(|offset| {
        let rest = &bytes[offset..];
        let word = words.iter().find(|word| rest.starts_with(word))?;
        Some(offset + word.len())
    })
}

/// The encoding of bytes with NULs, if it is UTF-16 or UTF-32.
fn wide_encoding_of(bytes: &[u8], complete: bool) -> Option<Encoding> {
    let bytes = bytes.get(..LOOKED_AT).unwrap_or(bytes);
    let complete = complete && bytes.len() < LOOKED_AT;
    let candidates = [
        Kind::Utf32 { big_endian: false },
        Kind::Utf32 { big_endian: true },
        Kind::Known(UTF_16LE),
        Kind::Known(UTF_16BE),
    ];
    let scored = candidates.into_iter().filter_map(|kind| {
        let unit = if matches!(kind, Kind::Utf32 { .. }) {
            4
        } else {
            2
        };
        // The last line break may have lost a byte.
        if complete && bytes.len() % unit > 1 {
            return None;
        }
        let whole = bytes.get(..bytes.len() / unit * unit)?;
        let encoding = Encoding(kind);
        let (text, malformed) = decoded(whole, encoding);
        let (common, odd) = signs(&text);
        let plausible =
            (odd + malformed as usize).saturating_mul(SIGNS_TO_ONE_ODD) <= text.chars().count();
        (plausible && common > 0).then_some((common, encoding))
    });
    // Of equal scores, the first wins.
    let best = scored.fold(None, |best: Option<(usize, Encoding)>, next| match best {
        Some(best) if best.0 >= next.0 => Some(best),
        _ => Some(next),
    });
    best.map(|(_, encoding)| encoding)
}

/// How many characters of a text are common in texts of any language, and how many occur in none.
fn signs(text: &str) -> (usize, usize) {
    let (mut common, mut odd) = (0, 0);
    for sign in text.chars() {
        match sign {
            ' '..='~' | '\n' | '\r' | '\t' | '、' | '。' | '，' => common += 1,
            '\0'..='\u{1f}'
            | '\u{7f}'..='\u{9f}'
            | '\u{e000}'..='\u{f8ff}'
            | '\u{fff0}'..='\u{ffff}'
            | '\u{a00}'
            | '\u{d00}'
            | '\u{3100}'..='\u{3104}' => odd += 1,
            _ => {}
        }
    }
    (common, odd)
}

#[cfg(test)]
mod tests {
    use ken_testing::cases;
    use proptest::prelude::*;

    use super::*;

    const GERMAN: &str =
        "Über die Brücke führt nur ein schmaler Weg, größere Wagen müssen außen herum fahren.";
    const RUSSIAN: &str = "Насос работает каждый день с девяти часов утра, клапан открыт.";
    const CHINESE: &str = "泵站的阀门在九巴时打开，第四号浮标的灯每六秒转一圈。";
    const JAPANESE: &str = "ポンプの弁は九気圧で開きます。浮標の灯は六秒ごとに回ります。";

    fn encoded(text: &str, label: &str) -> Vec<u8> {
        match label {
            "utf-16le" => text.encode_utf16().flat_map(u16::to_le_bytes).collect(),
            "utf-16be" => text.encode_utf16().flat_map(u16::to_be_bytes).collect(),
            "utf-32le" => text
                .chars()
                .flat_map(|c| u32::from(c).to_le_bytes())
                .collect(),
            "utf-32be" => text
                .chars()
                .flat_map(|c| u32::from(c).to_be_bytes())
                .collect(),
            label => {
                let encoding = encoding_rs::Encoding::for_label(label.as_bytes()).unwrap();
                encoding.encode(text).0.into_owned()
            }
        }
    }

    #[test]
    fn texts_in_all_encodings_are_decoded() {
        for (text, labels) in cases![
            GERMAN => &["windows-1252", "utf-16le", "utf-16be", "utf-32le", "utf-32be"][..];
            RUSSIAN => &["windows-1251", "koi8-r", "ibm866", "utf-16le", "utf-16be"];
            CHINESE => &["gbk", "big5"];
            JAPANESE => &["shift_jis", "euc-jp", "iso-2022-jp"];
            "水泵\n阀门\n一个\n" => &["utf-16le", "utf-16be", "utf-32le"];
            "The valve opens." => &["utf-16le", "utf-16be", "utf-32be"];
        ] {
            for label in labels {
                // Traditional characters alone are in Big5.
                let text = if *label == "big5" {
                    "水泵在九時打開，燈每六秒轉一圈。我們的機器很大。"
                } else {
                    text
                };
                let bytes = encoded(text, label);
                let Text::Decoded {
                    text: found,
                    encoding,
                    malformed,
                } = text_of(bytes, false)
                else {
                    panic!("{label} is not decoded");
                };
                assert_eq!(
                    (found.as_str(), malformed),
                    (text, 0),
                    "{label} as {encoding}"
                );
            }
        }
    }

    #[test]
    fn a_page_says_its_encoding() {
        for head in [
            "<meta charset=iso-8859-2>",
            "<META http-equiv=\"Content-Type\" content=\"text/html; charset=ISO-8859-2\">",
            "<?xml version='1.0' encoding='iso-8859-2'?>",
        ] {
            let page = format!("{head}<p>ő");
            let Text::Decoded { text, .. } = text_of(encoded(&page, "iso-8859-2"), true) else {
                panic!("{head}");
            };
            assert_eq!(text, page);
        }
        // What is UTF-8 is not taken for anything else.
        let page = "<meta charset=iso-8859-1><p>größer".to_owned();
        assert_eq!(text_of(page.clone().into_bytes(), true), Text::Plain(page));
    }

    #[test]
    fn what_is_no_text_is_refused() {
        let mut image = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        image.extend((0..4000_u32).flat_map(|n| n.wrapping_mul(0x9e37_79b9).to_le_bytes()));
        assert_eq!(text_of(image, false), Text::Binary);
        let program = [b"\x7fELF\x02\x01\x01".as_slice(), &[0; 200], b"some text"].concat();
        assert_eq!(text_of(program, false), Text::Binary);
        let without_nuls: Vec<u8> = (0..4000_u32)
            .map(|n| (n.wrapping_mul(0x9e37_79b9) >> 24) as u8)
            .filter(|&b| b != 0)
            .collect();
        assert_eq!(text_of(without_nuls, false), Text::Binary);
        let Text::WithoutNuls { text, nuls } =
            text_of([b"a\0b".as_slice(), &[b'c'; 200]].concat(), false)
        else {
            panic!();
        };
        assert_eq!((text.len(), nuls), (202, 1));
    }

    #[test]
    fn damaged_utf8_stays_utf8() {
        let bytes = [GERMAN.as_bytes(), b"\xff"].concat();
        assert!(matches!(text_of(bytes, false), Text::Damaged { .. }));
        assert_eq!(text_of(Vec::new(), false), Text::Plain(String::new()));
        let cut = &GERMAN.as_bytes()[..1];
        assert!(
            Sample {
                bytes: cut,
                complete: false
            }
            .encoding(false)
            .is_none()
        );
    }

    proptest! {
        #[test]
        fn any_bytes_are_judged(bytes in prop::collection::vec(any::<u8>(), 0..300), html: bool) {
            text_of(bytes, html);
        }

        #[test]
        fn utf8_is_never_another_encoding(text in "[a-zé語あб \n]{0,80}") {
            prop_assert_eq!(text_of(text.clone().into_bytes(), true), Text::Plain(text));
        }
    }
}
