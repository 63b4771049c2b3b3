//! Pages, and what is hidden, broken or in tables in them.

use ken_testing::{cases, has, says};
use serde_json::{Map, Value};

use super::HtmlPart;
use crate::record::Contents;
use crate::watch::Watch;

fn contents(html: &str) -> Contents {
    super::contents(html, HtmlPart::All, &Watch::default()).unwrap()
}

#[track_caller]
fn check(html: &str, title: Option<&str>, text: &str) {
    let contents = contents(html);
    has!(contents, title.as_deref(): title, text.as_str(): text, metadata: Map::new());
}

#[test]
fn what_a_page_says_of_itself() {
    let page = contents(
        "<head><meta charset=utf-8><META NAME=Author CONTENT=' A &amp;\n B '><meta name=author content=C>\
         <meta name=keywords content='x, y'/><meta name=description content=''><meta name=robots content=z>\
         <meta content=2020-01-02 name=date></head><p>text",
    );
    let metadata = r#"{"author":"A & B","keywords":"x, y","date":"2020-01-02"}"#;
    assert_eq!(Value::from(page.metadata).to_string(), metadata);
    assert_eq!(page.text, "text");
}

#[test]
fn a_page() {
    check(
        "<!doctype html><html><head><title> A &amp;\n B </title><style>p{}</style>\
         <script>if (a < b) x('</p>');</script></head><body><h1>Head</h1>\n<p>One <b>two</b>,\n three&nbsp;&eacute;.\
         <!-- no --><p>Four<br>five<ul><li>a<li>b</ul></body></html>",
        Some("A & B"),
        "Head\n\nOne two, three\u{a0}é.\n\nFour\nfive\n\na\nb",
    );
}

#[test]
fn spaces_and_preformatted_text() {
    check("a<b> b</b><i>c</i> <u>d</u>", None, "a bc d");
    check("<pre>x\n  y</pre>z", None, "x\n  y\n\nz");
    check(
        "<table><tr><td>1</td><td>2</td></tr><tr><td>3</table>",
        None,
        "1\t2\n3",
    );
    check(
        "<h1>From <i>heading</i></h1>x",
        Some("From heading"),
        "From heading\n\nx",
    );
}

#[test]
fn what_is_not_visible_and_what_is_broken() {
    check(
        "a<noscript>n<p>m</noscript>b<template>t</template>c",
        None,
        "abc",
    );
    check("a<svg><title>t</title></svg><p", None, "a");
    check("<", None, "<");
    check(
        "x</p></div>y &bogus; &#x110000; 1 < 2",
        None,
        "x\n\ny &bogus; \u{fffd} 1 < 2",
    );
    check("", None, "");
}

#[track_caller]
fn shows(html: &str, text: &str) {
    check(html, None, text);
}

#[test]
fn what_is_never_closed_hides_no_more_than_in_a_browser() {
    shows("a<svg><path d='M0'/><p>b", "a\n\nb");
    shows("<div>a<svg><g></div>b", "a\nb");
    shows("<svg><text>a</text><span>b</span>", "b");
    shows("a<select><option>b<p>c", "a\n\nc");
    shows("a<select><option>b<input>c", "ac");
    shows("<select><option>b</select>c", "c");
    shows("<datalist><option>b</datalist>c", "c");
    shows("<math><mi>x</mi><p>c", "x\n\nc");
    shows("<math><semantics><mi>x</mi><annotation>y<div>c", "x\nc");
    shows("<object data=a.bin><p>b</p></object>c", "b\n\nc");
    shows("<object>b", "b");
    shows(
        "<svg><foreignObject><p>b</p></foreignObject><text>t</text></svg>c",
        "b\n\nc",
    );
    shows("<template><svg><p>b</template>c", "c");
    shows(
        "<template shadowrootmode=open><p>b</p></template>c",
        "b\n\nc",
    );
}

#[test]
fn elements_of_xhtml_that_close_themselves_have_no_content() {
    let page = "<html><head><title>T</title><script src=\"a.js\"/><style/><link/></head>\
        <body><iframe src='x'/><p>One.</p><script>var x;</script><textarea/><p>Two.</p></body></html>";
    check(page, Some("T"), "One.\n\nTwo.");
    check("<title/><p>a<h1/>b", None, "a\n\nb");
    // A slash at the end of a value is none of the tag.
    shows("<script src=a.js/>x</script>y", "y");
    shows("<svg><style/><title/></svg>y", "y");
}

#[test]
fn links_to_notes_are_marks() {
    for link in [
        "<a href=#n epub:type=noteref>1</a>",
        "<a href=#n role=doc-noteref><sup>1</sup></a>",
        "<sup><a href=#n>1</a></sup>",
    ] {
        shows(&format!("so{link} it is.{link}"), "so[1] it is.[1]");
    }
    shows("so <a href=#n>1</a>", "so 1");
}

#[test]
fn items_of_ordered_lists_have_their_numbers() {
    shows(
        "<ol><li>a<ul><li>b</ul><li><p>c</p><li></ol>d<ul><li>e</ul>",
        "1. a\n\nb\n\n2. c\n\nd\n\ne",
    );
    shows("<ol start=4><li>a<li hidden>b<li>c</ol>", "4. a\n5. c");
    shows("<ol type=a><li>a<li value=27>b</ol>", "a. a\naa. b");
    shows("<ol><li>a<li value=7>b<li>c</ol>", "1. a\n7. b\n8. c");
}

#[test]
fn labels_beside_several_rows_hold_for_each() {
    shows(
        "<table><tr><th>Deck<th>Pump<th>Bar<tr><td rowspan=3>Upper<td rowspan=2>seven<td>9<tr><td>10<tr><td>eight<td>11<tr><td>Lower<td>nine<td>12</table>",
        "Deck\tPump\tBar\nUpper\tseven\t9\nUpper\tseven\t10\nUpper\teight\t11\nLower\tnine\t12",
    );
    // Neither a text of several paragraphs nor an empty cell is a label.
    shows(
        "<table><tr><td rowspan=2><p>a<p>b<td>c<tr><td>d</table>",
        "a\n\nb\nc\n\td",
    );
    shows(
        "<table><tr><td>a<td rowspan=2><td>b<tr><td>c<td>d</table>",
        "a\t\tb\nc\t\td",
    );
}

#[test]
fn handles_of_headings_are_left_out() {
    shows(
        "<h2>Pumps<a class=headerlink href=#p title='Link to this'>¶</a></h2><p>See <a href=#s>§ 3</a> ¶ of it.",
        "Pumps\n\nSee § 3 ¶ of it.",
    );
}

#[test]
fn quotes_are_marked_and_substitutes_for_media_left_out() {
    shows(
        "<p>a <q>b c</q>, d</p><video>no</video><audio>no</audio>e<canvas>no</canvas>f",
        "a “b c”, d\n\nef",
    );
}

#[test]
fn an_end_tag_without_a_start_tag_ends_nothing() {
    for end in ["ul", "table", "blockquote", "div", "section"] {
        shows(&format!("<ol><li>a</{end}><li>b</ol>"), "1. a\n2. b");
    }
    shows("a</div>b</ul>c", "abc");
    shows("<div hidden>a</ul>b</div>c", "c");
    shows("<ul><li>a<ol><li>b</ul>c", "a\n\n1. b\n\nc");
    shows(
        "<ol><li>a<table><tr><td><ul><li>x</ol></table><li>b</ol>",
        "1. a\n\nx\n\n2. b",
    );
}

#[test]
fn what_was_deleted_is_left_out_and_what_is_struck_out_is_marked() {
    shows(
        "<p>At <del>9</del> <ins>8</ins> bar, <s>10 Nm</s> <strike>11 Nm</strike> 12 Nm.",
        "At 8 bar, ~~10 Nm~~ ~~11 Nm~~ 12 Nm.",
    );
    shows("<p>a<del><p>b</p></del><p>c", "a\n\nc");
    shows("<s></s>a</s>", "a");
}

#[test]
fn definitions_stand_beside_their_terms() {
    shows(
        "<dl><dt>Pump<dd>Moves water.<dt>Valve<dt>Tap<dd><p>Opens.<p>Shuts.<dd>Leaks.</dl>x",
        "Pump: Moves water.\nValve\nTap: Opens.\n\nShuts.\nLeaks.\n\nx",
    );
    shows("<dl><dt>Is it open?<dd>Yes.</dl>", "Is it open? Yes.");
    shows("<dl><dt>Parts<dd><ul><li>a<li>b</ul></dl>", "Parts\n\na\nb");
    shows("<dl><dd>a<dt></dt><dd>b</dl>", "a\nb");
    shows(
        "<dl><dt><h2>Pump</h2></dt><dd>Moves water.</dl>",
        "Pump\n\nMoves water.",
    );
}

#[test]
fn readings_follow_their_words() {
    shows(
        "<ruby>漢<rp>(</rp><rt>kan</rt><rp>)</rp>字<rt>ji</ruby>を",
        "漢字(kanji)を",
    );
    shows("<ruby>a<rt>b<p>c", "a(b)\n\nc");
    shows("<rt>a</rt>b", "ab");
}

#[test]
fn the_attribute_hidden_hides() {
    shows(
        "a<div hidden>b<div>c</div><script>d</script></div>e",
        "a\ne",
    );
    shows("a<p hidden>b<p>c", "a\n\nc");
    shows("<ul><li hidden>a<ul><li>b</ul><li>c</ul>d", "c\n\nd");
    shows("<table><tr hidden><td>a<tr><td>b</table>", "b");
    shows("<div><span hidden>a</div>b", "b");
    shows("<p hidden='until-found'>a</p><input hidden>b", "a\n\nb");
    shows("<body hidden>a", "a");
    shows("a<div hidden></b></i>b</div>c", "a\nc");
    shows(
        "<p>Next<span aria-hidden=true>→</span><div aria-hidden=true>b</div><i aria-hidden=false>c</i>",
        "Next\nb\nc",
    );
}

#[test]
fn cells_keep_their_columns() {
    shows(
        "<table><tr><th></th><th>1990</th><th>2000</th></tr><tr><td>a</td><td></td><td>3</td></tr><tr><td>b<td>4<td></table>",
        "\t1990\t2000\na\t\t3\nb\t4",
    );
    shows(
        "<table><tr><td colspan=2>a<td>b<tr><td rowspan=2>c<td>d<td>e<tr><td>f<td>g</table>",
        "a\t\tb\nc\td\te\nc\tf\tg",
    );
    shows(
        "x<table><tr><td><p>a</p></td><td><div>b</div></td></tr></table>y",
        "x\n\na\tb\n\ny",
    );
    // A cell of several lines is no value.
    shows(
        "<table><tr><td><p>a<p>b</td><td>c</td></tr></table>",
        "a\n\nb\nc",
    );
    shows(
        "<table><tr><th>Pump<th>Bar<tr><td>seven<br>eight<td>9<tr><td><ul><li>a<li>b</ul><td>c</table>",
        "Pump\tBar\nseven eight\t9\na b\tc",
    );
    shows("<table><tr><td><pre>a\nb</pre><td>c</table>", "a\nb\nc");
    shows(
        "<table><tr><td>a<td><table><tr><td>b<td>c</table></table>",
        "a\nb\tc",
    );
}

#[test]
fn formulas_and_raised_text_are_legible() {
    for (html, text) in cases![
        "10<sup>6</sup>" => "10^6";
        "10<sup>&minus;6</sup> m<sup>2</sup>" => "10^−6 m^2";
        "x<sup>n+1</sup>, x<sup>n</sup>" => "x^(n+1), x^n";
        "1<sup>st</sup> 2<sup>nd</sup> XIX<sup>e</sup>" => "1st 2nd XIXe";
        "word<sup><a href=#n>3</a></sup> and<sup>[4]</sup>" => "word[3] and[4]";
        "H<sub>2</sub>O, 101<sub>2</sub>" => "H2O, 101_2";
        "ACME<sup>™</sup> <sup>13</sup>C" => "ACME™ 13C";
        "<math><msup><mi>x</mi><mn>2</mn></msup><mo>+</mo><mfrac><mn>1</mn><mn>2</mn></mfrac></math>" =>
            "x^2 + 1/2";
        "<math><mfrac><mrow><mi>a</mi><mo>+</mo><mi>b</mi></mrow><mi>c</mi></mfrac><mo>=</mo><msqrt><mi>d</mi></msqrt></math>" =>
            "(a + b)/c = √d";
        "<math><msubsup><mi>x</mi><mi>i</mi><mrow><mo>-</mo><mn>1</mn></mrow></msubsup>\n<mroot><mi>y</mi><mn>3</mn></mroot></math>" =>
            "x_i^-1root(y, 3)";
        "<math><semantics><mi>x</mi><annotation encoding='application/x-tex'>x</annotation></semantics></math>" =>
            "x";
    ] {
        shows(html, text);
    }
}

proptest::proptest! {
    #[test]
    fn any_page_is_read(parts in proptest::collection::vec(proptest::sample::select(vec![
        "<svg>", "</svg>", "<math>", "</math>", "<mi>", "</mi>", "<mfrac>", "<msup>", "</msup>", "<foreignObject>",
        "<table>", "</table>", "<tr>", "<td rowspan=3>", "<td colspan=9>", "</td>", "<p>", "</p>", "<div hidden>",
        "</div>", "<li hidden>", "<sup>", "</sup>", "<sub>", "<pre>", "</pre>", "<h1>", "</h1>", "<h2>", "</h2>",
        "<select>", "<option>", "<template>", "</template>", "<title>", "</title>", "<annotation>", "<script/>",
        "<ol>", "</ol>", "<ul>", "</ul>", "<li>", "<dt>", "<dd>", "<s>", "</s>", "<del>", "</del>", "<ruby>", "<rt>", "</ruby>",
        "x", "é", "2", "語", " ", "\n", "<br>", "&amp;", "<a>",
    ]), 0..60)) {
        let html = parts.concat();
        contents(&html);
        let mut page = super::Page::default();
        page.inline = true;
        super::read_into(&mut page, &html, &Watch::default()).unwrap();
        page.finish();
    }
}

/// A page with a menu, an article and a footer.
fn page_with_article() -> String {
    let paragraph = |number: usize| {
        format!(
            "<p>The keeper of lock {number} opens the upper gate when the level, which is read twice a day, \
             is above the mark, and she notes the hour, the weather and the name of the boat in her book.</p>"
        )
    };
    let paragraphs: String = (1..9).map(paragraph).collect();
    let links: String = (0..20)
        .map(|n| format!("<li><a href=/{n}>Chapter {n}</a></li>"))
        .collect();
    format!(
        "<html><head><title>Locks</title></head><body><nav><ul>{links}</ul></nav><div class=content><h2>The gates</h2>\
         {paragraphs}<table><tr><td></td><td>Upper</td></tr><tr><td>Width</td><td></td></tr></table></div>\
         <footer><a href=/>Prev</a> <a href=/>Next</a></footer></body></html>"
    )
}

#[test]
fn an_article_is_told_from_what_is_around_it() {
    let read = |html: &str, part| super::contents(html, part, &Watch::default()).unwrap();
    let html = page_with_article();
    let main = read(&html, HtmlPart::Main);
    assert_eq!(main.title.as_deref(), Some("Locks"));
    says!(main.text => "The keeper of lock 1 opens", "The keeper of lock 8 opens");
    assert!(
        !main.text.contains("Chapter 3") && !main.text.contains("Prev"),
        "{}",
        main.text
    );
    let all = read(&html, HtmlPart::All);
    assert!(all.text.contains("Chapter 3") && all.text.contains("Prev"));
    // Without an article, all is main.
    let links: String = (0..99)
        .map(|n| format!("<li><a href=/{n}>Chapter {n}</a></li>"))
        .collect();
    assert!(
        read(&format!("<ul>{links}</ul>"), HtmlPart::Main)
            .text
            .contains("Chapter 98")
    );
    // So it is where much prose is outside of it.
    let prose = "One of many long lines that stand beside the article and say something that is not in it. ".repeat(3);
    let beside = format!(
        "<div>{}</div>",
        format!("<span>{prose}</span><br>").repeat(9)
    );
    let both = html.replace("<footer>", &format!("{beside}<footer>"));
    assert!(
        read(&both, HtmlPart::Main)
            .text
            .contains("One of many long lines")
    );
}

#[test]
fn pages_of_which_a_tree_costs_too_much_are_read_as_a_whole() {
    let prose = page_with_article();
    for more in [
        "<div>".repeat(300),
        "<x>".repeat(300),
        "<br>".repeat(60_000),
    ] {
        let html = prose.replace("<footer>", &format!("{more}<footer>"));
        let read = super::contents(&html, HtmlPart::Main, &Watch::default()).unwrap();
        assert!(read.text.contains("Chapter 3"));
    }
}

#[test]
fn what_a_style_takes_out_of_the_page() {
    check(
        "<p>One.<p style='color:red; DISPLAY : none !important'>hidden<p>Two.<p style='display:block'>Three.",
        None,
        "One.\n\nTwo.\n\nThree.",
    );
}

#[test]
fn marks_of_notes_and_hyphens() {
    check(
        "<p>It opens<a href='#n'><sup>1</sup></a> at 10<sup>6</sup> Pa<a id=x></a><sup>2</sup>.",
        None,
        "It opens[1] at 10^6 Pa^2.",
    );
    check("<p>Kreisel&shy;pumpe", None, "Kreiselpumpe");
}
