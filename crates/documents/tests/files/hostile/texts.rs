//! Plain text, Markdown and HTML.

use ken_testing::cases;

use super::{Pattern, Random, add, halves, mixed, repeated, words};

pub(super) fn texts(all: &mut Vec<Pattern>) {
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

pub(super) fn markdown(all: &mut Vec<Pattern>) {
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
    add(all, "t.md", "empty items after blank code", |n| {
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

pub(super) fn html(all: &mut Vec<Pattern>) {
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
    for (name, unit) in cases![
        "elements in elements" => "<div>";
        "hidden in hidden" => "<svg>";
        "ends" => "</p>";
        "angles" => "<";
        "entities" => "&amp";
        "ampersands" => "&";
        "comments" => "<!-- ";
        "dashes" => "<!--->";
        "data" => "<![CDATA[";
        "instructions" => "<?";
        "scripts" => "<script></scrip";
        "headings" => "<h1>";
        "preformatted" => "<pre>\n";
        "cells" => "<td>";
        "titles" => "<title>a</title>";
        "zeros" => "\0";
        "doctypes" => "<!doctype a ";
        "hidden paragraphs" => "<p hidden>a";
        "hidden in hidden regions" => "<div hidden><b>";
        "formulas in formulas" => "<math><mfrac>";
        "powers of powers" => "<math><msup><mi>x</mi>";
        "raised text" => "<sup>1";
        "cells that reach down" => "<td rowspan=9>";
        "wide cells" => "<td colspan=99>a";
        "tables in cells" => "<table><td>a";
        "paragraphs" =>
            "<p>One, two and three words, and so on, of a sentence that goes on and on, as long as it may be, up to its end.</p>";
        "paragraphs in elements" =>
            "<div><p>One, two and three words, and so on, of a sentence that goes on, as long as it may be, up to its end.</p>";
    ] {
        add(all, "t.html", name, move |n| repeated(unit, n).into());
    }
    for (name, first, second) in cases![
        "hidden and ends of others" => "<svg>", "</p>";
        "hidden of all kinds and one end" => "<svg><select>", "</object>";
        "hidden and ends" => "<svg>", "</svg>";
        "preformatted and ends" => "<pre>", "</pre>";
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
