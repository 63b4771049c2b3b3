//! Files of any length by which readers were, or could be, brought to take far more time or memory
//! than the file has bytes; and plain random ones beside them.

use std::io::Write;

use super::packed::{bzip2, gzip, zstd};
use super::pages::{pdf, stream};
use super::table::two_columns;

/// A file name, which tells the format, and how a file of about so many bytes is made. For packed
/// formats these are the unpacked bytes.
pub(crate) struct Pattern {
    pub(crate) name: &'static str,
    pub(crate) file: &'static str,
    pub(crate) make: Box<dyn Fn(usize) -> Vec<u8>>,
}

/// Numbers that look random and are the same each time (xorshift).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// A number below `end`.
    pub(crate) fn below(&mut self, end: usize) -> usize {
        (self.next() % end.max(1) as u64) as usize
    }
}

/// `unit` as often as it fits.
fn repeated(unit: &str, bytes: usize) -> String {
    unit.repeat((bytes / unit.len()).max(1))
}

/// Half of one, then half of the other.
fn halves(first: &str, second: &str, bytes: usize) -> String {
    repeated(first, bytes / 2) + &repeated(second, bytes / 2)
}

/// Parts drawn by lot.
fn mixed(parts: &[&str], bytes: usize) -> String {
    let mut random = Random::new(7);
    let mut text = String::with_capacity(bytes + 16);
    while text.len() < bytes {
        text.push_str(parts[random.below(parts.len())]);
    }
    text
}

/// Lines of words.
fn words(bytes: usize) -> String {
    mixed(
        &[
            "the ",
            "lamp ",
            "Brook ",
            "A. ",
            "1.5 ",
            "ended. ",
            "and, ",
            "über ",
            "海牙。",
            "\n",
            "why? ",
        ],
        bytes,
    )
}

fn add(
    patterns: &mut Vec<Pattern>,
    file: &'static str,
    name: &'static str,
    make: impl Fn(usize) -> Vec<u8> + 'static,
) {
    patterns.push(Pattern {
        name,
        file,
        make: Box::new(make),
    });
}

/// All of them.
pub(crate) fn patterns() -> Vec<Pattern> {
    let mut all = Vec::new();
    texts(&mut all);
    markdown(&mut all);
    html(&mut all);
    records(&mut all);
    tables(&mut all);
    dumps(&mut all);
    pages(&mut all);
    packed(&mut all);
    all
}

fn texts(all: &mut Vec<Pattern>) {
    add(all, "t.txt", "words", |n| words(n).into());
    add(all, "t.txt", "any letters", |n| {
        let mut random = Random::new(3);
        let letters =
            (0..n / 2).map(|_| char::from_u32(random.below(0x3000) as u32).unwrap_or('x'));
        letters.collect::<String>().into()
    });
    for (name, unit) in [
        ("initials without spaces", "A.字B.字"),
        ("closing marks", ")"),
        ("carriage returns", "\r"),
        ("next lines", "\u{85}"),
        ("line breaks", "\n"),
        ("full stops", ". "),
        ("spaces", " "),
        ("semicolons", "；"),
        ("paragraph marks", "aB.\u{2029}"),
        ("digits and stops", "1."),
        ("abbreviations", "Dr. "),
        ("abbreviations without spaces", "Dr.(字"),
        ("one word", "a"),
        ("capital lines", "Ab\n"),
        ("lower lines", "ab.\n"),
        ("combining marks", "a\u{301}.\u{301} "),
    ] {
        add(all, "t.txt", name, move |n| repeated(unit, n).into());
    }
    for (name, first, second) in [
        ("a stop and closing marks", ".", ")"),
        ("a stop and spaces", "a. ", " "),
        ("digits and stops apart", "1", ". a"),
        ("spaces and abbreviations", " ", "Dr. "),
        ("a stop, marks and digits", ".()()()()", "1"),
    ] {
        add(all, "t.txt", name, move |n| halves(first, second, n).into());
    }
}

fn markdown(all: &mut Vec<Pattern>) {
    add(all, "t.md", "words", |n| words(n).into());
    add(all, "t.md", "any marks", |n| {
        let parts = [
            "#", " ", "\n", "\n\n", "- ", "> ", "*", "_", "`", "```\n", "[", "]", "(", ")", "![",
            "|", "---\n", "<b>", "<!--", "-->", "&amp;", "~~", "[^1]", ": ", "word ", "1. ", "\t",
            "\\", "<", ">",
        ];
        mixed(&parts, n).into()
    });
    for (name, unit) in [
        ("quotes in quotes", "> "),
        ("lists in lists", "- "),
        ("brackets", "["),
        ("links in links", "[a]("),
        ("pictures in pictures", "![a]("),
        ("brackets closed", "[]"),
        ("emphasis", "*a **b "),
        ("underlines", "_a __b "),
        ("emphasis closed", "*a* "),
        ("comments", "<!-- "),
        ("instructions", "<?"),
        ("declarations", "<!X "),
        ("data", "<![CDATA["),
        ("tags", "<a b=\""),
        ("footnotes in footnotes", "[^a]: "),
        ("footnotes", "[^a]: b\n\n"),
        ("references", "[a]: b\n"),
        ("references used", "[a]\n\n"),
        ("bars", "|"),
        ("headings", "# "),
        ("underlined headings", "a\n=\n"),
        ("rules", "---\n"),
        ("entities", "&amp"),
        ("backslashes", "\\"),
        ("strikes", "~~a"),
        ("list items", "- a\n"),
        ("list items apart", "- a\n\n"),
        ("numbered", "1. a\n"),
        ("task items", "- [ ] a\n"),
        ("blank code", "    \n"),
        ("html blocks", "<div>\n"),
        ("fences", "```\n"),
        ("tabs", "\t"),
        ("lines", "a\n"),
        ("hard breaks", "a  \n"),
        ("addresses", "<a@b."),
    ] {
        add(all, "t.md", name, move |n| repeated(unit, n).into());
    }
    add(all, "t.md", "backticks of many lengths", |n| {
        let lengths = 1..=(((2 * n) as f64).sqrt() as usize);
        lengths
            .map(|length| "`".repeat(length) + "a")
            .collect::<String>()
            .into()
    });
    add(all, "t.md", "a wide table", |n| {
        let head = "|a".repeat(n / 6);
        let rule = "|-".repeat(n / 6);
        format!("{head}\n{rule}\n{}", repeated("|\n", n / 3)).into()
    });
    for (name, open) in [("quotes", "> "), ("lists", "- "), ("both", "- > ")] {
        let before = open.repeat(96 / open.split_whitespace().count());
        add(all, "t.md", name, move |n| {
            format!("{before}a\n{}", repeated("\n", n)).into()
        });
        let before = open.repeat(96 / open.split_whitespace().count());
        add(all, "t.md", name, move |n| {
            format!("{before}a\n{}", repeated("b\n", n)).into()
        });
    }
    add(all, "t.md", "stairs of lists", |n| {
        let mut text = String::new();
        for level in 0.. {
            if text.len() > n / 2 {
                break;
            }
            text.push_str(&format!("{}- a\n", "  ".repeat(level)));
        }
        (text + &repeated("\n", n / 2)).into()
    });
    for (name, first, second) in [
        ("blank lines in code, then items", "```\n\n\n\n", "\n"),
        ("openers and closers", "[", "]"),
        ("openers and emphasis", "*", "_a"),
        ("definitions and uses", "[a]: /b\n", "[a] "),
    ] {
        add(all, "t.md", name, move |n| halves(first, second, n).into());
    }
    add(all, "t.md", "empty items behind blank code", |n| {
        format!(
            "```\n{}```\n{}",
            repeated("\n", n / 2),
            repeated("-\n", n / 2)
        )
        .into()
    });
    add(all, "t.md", "front matter", |n| {
        format!("---\n{}---\ntext", repeated("a: [b, 'c']\n", n)).into()
    });
    add(all, "t.md", "a front list", |n| {
        format!("---\nk:\n{}---\ntext", repeated("- a\n", n)).into()
    });
}

fn html(all: &mut Vec<Pattern>) {
    add(all, "t.html", "words", |n| words(n).into());
    add(all, "t.html", "any marks", |n| {
        let parts = [
            "<p>",
            "</p>",
            "<svg>",
            "</svg>",
            "<pre>",
            "<h1>",
            "</h1>",
            "<title>",
            "<!--",
            "-->",
            "<a b=c>",
            "<br/>",
            "&amp;",
            "&#1",
            "<script>",
            "</script>",
            "word ",
            "\n",
            "<",
            ">",
            "\"",
            "<td>",
            "<meta name=author content='",
        ];
        mixed(&parts, n).into()
    });
    for (name, unit) in [
        ("elements in elements", "<div>"),
        ("hidden in hidden", "<svg>"),
        ("ends", "</p>"),
        ("angles", "<"),
        ("entities", "&amp"),
        ("ampersands", "&"),
        ("comments", "<!-- "),
        ("dashes", "<!--->"),
        ("data", "<![CDATA["),
        ("instructions", "<?"),
        ("scripts", "<script></scrip"),
        ("headings", "<h1>"),
        ("preformatted", "<pre>\n"),
        ("cells", "<td>"),
        ("titles", "<title>a</title>"),
        ("zeros", "\0"),
        ("doctypes", "<!doctype a "),
    ] {
        add(all, "t.html", name, move |n| repeated(unit, n).into());
    }
    for (name, first, second) in [
        ("hidden and ends of others", "<svg>", "</p>"),
        (
            "hidden of all kinds and one end",
            "<svg><select>",
            "</object>",
        ),
        ("hidden and ends", "<svg>", "</svg>"),
        ("preformatted and ends", "<pre>", "</pre>"),
    ] {
        add(all, "t.html", name, move |n| {
            halves(first, second, n).into()
        });
    }
    add(all, "t.html", "attributes", |n| {
        let names: String = (0..n / 8).map(|number| format!(" a{number:06x}")).collect();
        format!("<p{names}>x").into()
    });
    add(all, "t.html", "one attribute", |n| {
        format!("<p a='{}'>x", "b".repeat(n)).into()
    });
}

fn records(all: &mut Vec<Pattern>) {
    add(all, "c.jsonl", "records", |n| lines(n, "some words"));
    for (name, before, unit, after) in [
        ("a long text", "{\"id\":1,\"text\":\"", "word ", "\"}"),
        ("escapes", "{\"id\":1,\"text\":\"", "\\u00e9", "\"}"),
        ("numbers", "{\"id\":1,\"text\":\"x\",\"a\":[", "0,", "0]}"),
        ("lists", "{\"id\":1,\"text\":\"x\",\"a\":[", "[],", "0]}"),
        (
            "lists in lists",
            "{\"id\":1,\"text\":\"x\",\"a\":[",
            "[",
            "]}",
        ),
        (
            "objects in objects",
            "{\"id\":1,\"text\":\"x\",\"a\":",
            "{\"a\":",
            "0}",
        ),
        ("digits", "{\"id\":1,\"text\":\"x\",\"a\":1", "0", "}"),
        (
            "one name twice",
            "{\"id\":1,\"text\":\"x\"",
            ",\"a\":0",
            "}",
        ),
        ("empty lines", "", "\n", "{\"id\":1,\"text\":\"x\"}"),
        ("broken lines", "", "{\n", ""),
        (
            "a title without end",
            "{\"id\":1,\"contents\":\"",
            "a\\n",
            "\"}",
        ),
    ] {
        add(all, "c.jsonl", name, move |n| {
            format!("{before}{}{after}\n", repeated(unit, n)).into()
        });
    }
    add(all, "c.jsonl", "names", |n| {
        let names: String = (0..n / 16)
            .map(|number| format!(",\"a{number:08}\":0"))
            .collect();
        format!("{{\"id\":1,\"text\":\"x\"{names}}}\n").into()
    });
}

/// Records of about so many bytes together.
pub(crate) fn lines(bytes: usize, text: &str) -> Vec<u8> {
    let mut lines = String::new();
    for number in 0.. {
        if lines.len() >= bytes {
            break;
        }
        lines.push_str(&format!("{{\"id\":{number},\"text\":\"{text}\"}}\n"));
    }
    lines.into()
}

fn tables(all: &mut Vec<Pattern>) {
    for (name, before, unit, after) in [
        ("a long field", "id,text\n1,\"", "word ", "\"\n"),
        ("quotes", "id,text\n1,\"", "\"\"", "\"\n"),
        ("an open quote", "id,text\n1,\"", "a,b\n", ""),
        ("empty fields", "id,text\n1", ",", "\n"),
        ("empty lines", "id,text\n", "\n", "1,x\n"),
        ("carriage returns", "id,text\n", "\r", "1,x\n"),
        ("short records", "id,text\n", "1\n", ""),
        ("line breaks in quotes", "id,text\n1,\"", "\n", "\"\n"),
    ] {
        add(all, "c.csv", name, move |n| {
            format!("{before}{}{after}", repeated(unit, n)).into()
        });
    }
    add(all, "c.csv", "columns", |n| {
        let names: String = (0..n / 8).map(|number| format!(",c{number:06x}")).collect();
        format!("id,text{names}\n1,x\n").into()
    });
    add(all, "c.tsv", "records", |n| {
        let records: String = (0..n / 24)
            .map(|number| format!("{number:09}\tsome words\n"))
            .collect();
        format!("id\ttext\n{records}").into()
    });
    add(all, "c.parquet", "rows", |n| {
        let ids: Vec<String> = (0..n / 24).map(|number| format!("{number:09}")).collect();
        let rows: Vec<(&str, &str)> = ids.iter().map(|id| (id.as_str(), "some words")).collect();
        two_columns(["id", "text"], &rows)
    });
    add(all, "c.parquet", "a long row", |n| {
        two_columns(["id", "text"], &[("a", &"word ".repeat(n / 5))])
    });
}

/// A dump with one page of this text.
pub(crate) fn one_page(text: &str) -> String {
    format!(
        "<mediawiki><page><title>A</title><ns>0</ns><id>1</id><revision><id>2</id><text>{text}</text></revision></page></mediawiki>"
    )
}

fn dumps(all: &mut Vec<Pattern>) {
    add(all, "d.xml", "articles", |n| {
        let pages: String = (0..n / 140)
            .map(|number| {
                format!(
                    "<page><title>P</title><ns>0</ns><id>{number}</id><revision><text>'''a''' [[b|c]] {{{{d}}}} e\n* f &amp; g\n</text></revision></page>\n"
                )
            })
            .collect();
        format!("<mediawiki>{pages}</mediawiki>").into()
    });
    for (name, unit) in [
        ("words", "some words\n"),
        ("entities", "&amp;"),
        ("references", "&#65;"),
        ("escaped entities", "&amp;amp;"),
        ("templates in templates", "{{"),
        ("parameters", "{{{"),
        ("links in links", "[["),
        ("labels in labels", "[[a|"),
        ("addresses", "[http://"),
        ("notes", "&lt;ref>"),
        ("notes cut off", "&lt;ref"),
        ("comments", "&lt;!--"),
        ("tables in tables", "\n{|"),
        ("categories", "[[Category:a]]"),
        ("closed links", "[[a]]"),
        ("formulas", "&lt;math>"),
        ("empty brackets", "( "),
        ("quotes", "'"),
        ("switches", "__A"),
        ("headings", "\n=="),
        ("elements", "<a>"),
        ("empty elements", "<a/>"),
        ("xml comments", "<!-- a -->"),
        ("an xml comment", "<!-- a "),
        ("data", "<![CDATA[a]]>"),
        ("instructions", "<?a ?>"),
        ("attributes", "<a b='c' d='e'/>"),
    ] {
        add(all, "d.xml", name, move |n| {
            one_page(&repeated(unit, n)).into()
        });
    }
    for (name, first, second) in [
        ("templates and ends", "{{", "}}"),
        ("labels and ends", "[[a|", "]]"),
        ("tables and ends", "\n{|\n", "\n|}\n"),
        ("elements and ends", "<a>", "</a>"),
    ] {
        add(all, "d.xml", name, move |n| {
            one_page(&halves(first, second, n)).into()
        });
    }
    add(all, "d.xml", "namespaces", |n| {
        let names: String = (0..n / 48)
            .map(|number| format!("<namespace key=\"14\">N{number:08}</namespace>"))
            .collect();
        let page = one_page(&repeated("[[N:a]]", n / 2));
        page.replacen("<page>", &format!("<siteinfo>{names}</siteinfo><page>"), 1)
            .into()
    });
    add(all, "d.xml", "attributes of one", |n| {
        let names: String = (0..n / 12)
            .map(|number| format!(" a{number:06}=''"))
            .collect();
        one_page(&format!("<a{names}/>")).into()
    });
}

/// A PDF of one page with these operators, and with a form that draws `form`.
pub(crate) fn drawing(content: &str, form: &str) -> Vec<u8> {
    pdf(&[
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        "<< /Type /Pages /Kids [3 0 R] /Count 1 /Resources << /Font << /F 5 0 R >> /XObject << /Form 6 0 R >> >> >>"
            .to_owned(),
        "<< /Type /Page /Parent 2 0 R /Contents 4 0 R >>".to_owned(),
        stream("", content),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>".to_owned(),
        stream("/Type /XObject /Subtype /Form", form),
        "<< /Title (A) >>".to_owned(),
    ])
}

fn pages(all: &mut Vec<Pattern>) {
    const TEXT: &str = "BT /F 12 Tf 72 700 Td (a) Tj ET ";
    for (name, before, unit, after) in [
        (
            "text",
            "BT /F 12 Tf 72 700 Td ",
            "(some words) Tj 0 -14 Td ",
            "ET",
        ),
        (
            "a long text",
            "BT /F 12 Tf 72 700 Td (",
            "some words ",
            ") Tj ET",
        ),
        ("kept states", TEXT, "q ", ""),
        ("lists in lists", TEXT, "[", ""),
        ("numbers", TEXT, "0 ", "Td"),
        (
            "parts of a text",
            "BT /F 12 Tf 72 700 Td [",
            "(a) 1 ",
            "] TJ ET",
        ),
        ("texts in texts", TEXT, "(", ""),
        ("dictionaries", TEXT, "<<", ""),
        ("inline pictures", TEXT, "BI ID ", ""),
        ("comments", TEXT, "%", ""),
        ("fonts", TEXT, "/F 1 Tf ", ""),
        (
            "hyphens",
            "BT /F 12 Tf 72 700 Td ",
            "(a-) Tj 0 -14 Td ",
            "ET",
        ),
    ] {
        add(all, "p.pdf", name, move |n| {
            drawing(&format!("{before}{}{after}", repeated(unit, n)), "")
        });
    }
    add(all, "p.pdf", "a form drawn often", |n| {
        drawing(
            &format!("{TEXT}{}", repeated("/Form Do ", n / 2)),
            &repeated("q Q ", 80),
        )
    });
    for (name, unit) in [
        ("objects", "<< /A 1 >> "),
        ("references", "9 0 R "),
        ("names", "/A "),
        ("a list", "0 "),
    ] {
        add(all, "p.pdf", name, move |n| {
            pdf(&[
                "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
                "<< /Type /Pages /Kids [3 0 R] /Count 1 >>".to_owned(),
                "<< /Type /Page /Parent 2 0 R >>".to_owned(),
                format!("[{}]", repeated(unit, n)),
                "<< >>".to_owned(),
            ])
        });
    }
    add(all, "p.pdf", "pages", |n| {
        let count = n / 100;
        let kids: String = (0..count)
            .map(|number| format!("{} 0 R ", number + 3))
            .collect();
        let mut objects = vec![
            "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
            format!("<< /Type /Pages /Kids [{kids}] /Count {count} >>"),
        ];
        objects.extend((0..count).map(|_| "<< /Type /Page /Parent 2 0 R >>".to_owned()));
        objects.push("<< >>".to_owned());
        pdf(&objects)
    });
}

fn packed(all: &mut Vec<Pattern>) {
    add(all, "c.jsonl.gz", "records", |n| {
        gzip(&lines(n, "some words"))
    });
    add(all, "c.jsonl.zst", "records", |n| {
        zstd(&lines(n, "some words"))
    });
    add(all, "c.jsonl.bz2", "records", |n| {
        bzip2(&lines(n, "some words"))
    });
    add(all, "c.jsonl.zst", "one line", |n| zstd(&vec![b'a'; n]));
    add(all, "c.jsonl.gz", "empty lines", |n| gzip(&vec![b'\n'; n]));
    add(all, "t.txt.bz2", "zeros", |n| bzip2(&vec![0; n]));
    add(all, "c.jsonl.gz", "members", |n| {
        gzip(b"{\"id\":1,\"text\":\"x\"}\n").repeat(n / 40)
    });
    add(all, "c.jsonl.zst", "members", |n| {
        zstd(b"{\"id\":1,\"text\":\"x\"}\n").repeat(n / 40)
    });
}

/// Zeros packed with a window of 2^`window_log` bytes.
pub(crate) fn zstd_with_window(bytes: usize, window_log: u32) -> Vec<u8> {
    let mut encoder = zstd::stream::Encoder::new(Vec::new(), 1).unwrap();
    encoder.long_distance_matching(true).unwrap();
    encoder.window_log(window_log).unwrap();
    let block = vec![0; 1 << 20];
    let mut left = bytes;
    while left > 0 {
        let count = left.min(block.len());
        encoder.write_all(&block[..count]).unwrap();
        left -= count;
    }
    encoder.finish().unwrap()
}
