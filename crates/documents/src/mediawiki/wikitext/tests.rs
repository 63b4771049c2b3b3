//! Articles, their markup, tables and templates, and any text.

use ken_testing::has;
use proptest::prelude::*;

use super::*;

fn read(wikitext: &str) -> Article {
    article(wikitext, &Namespaces::default(), u64::MAX).unwrap()
}

#[track_caller]
fn check(wikitext: &str, text: &str) {
    assert_eq!(read(wikitext).text, text);
}

#[test]
fn an_article() {
    let article = read(
        "{{Infobox|name=X\n|map={{Map|{{{1|2}}}}}\n}}<!-- hidden -->\n\
         '''Brook''' (''m''){{efn|no}} is a [[town]] in the [[Vale (county)|Vale]]s.<ref name=\"a\">Book</ref><ref name=b />\n\n\
         == History ==\nFounded&nbsp;in 1200 &ndash; or so.\n* [[#Sights|one]]\n** two\n\n\
         [[File:A.jpg|thumb|A [[bridge]] of [http://x.y stone]]]\n\
         {| class=\"wikitable\"\n! a\n|-\n| {{b}} || [[c]]\n|}\n\
         === Sights ===\nSee [https://example.org the site] and [[:Category:Towns]].\n\
         [[Category:Towns in Vale| Brook]]\n[[Category: Founded 1200 ]]\n[[de:Bach]]\n__NOTOC__\n",
    );
    assert_eq!(
        article.text,
        "Brook (m) is a town in the Vales.\n\nHistory\n\nFounded in 1200 – or so.\none\ntwo\n\na\nc\n\n\
         Sights\n\nSee the site and Category:Towns."
    );
    assert_eq!(article.categories, ["Towns in Vale", "Founded 1200"]);
}

#[test]
fn headings_of_what_is_dropped_are_none() {
    let dropped = "{{x|\n== a ==\n}}\n{|\n== b ==\n|}\n== {{y}} ==\n[[c|\n== d ==\n]]";
    let article = read(&format!("{dropped}\n==== [[e]] ====\nf"));
    has!(article, headings: [Heading { offset: 3, level: 4 }], text: "d\n\ne\n\nf");
}

#[test]
fn verbatim_and_other_elements() {
    check("<nowiki>[[a]] '' {{b}} &lt;</nowiki>!", "[[a]] '' {{b}} <!");
    check("Area <math>\\pi r^{{2}}</math>.", "Area \\pi r^{{2}}.");
    check("a<br/>b<BR>c <span style=\"x\">d</span>", "a\nb\nc d");
    check("a<gallery>\nFile:x.jpg|y\n</gallery>b", "ab");
    check("<REF>x</ReF >y", "y");
    check("1 < 2 and 3 > 2, a<b", "1 < 2 and 3 > 2, a<b");
    check("x<sub>2</sub><ref>open", "x2open");
}

#[test]
fn templates_that_stand_for_words_are_shown() {
    check(
        "The weir is {{convert|5|km|mi|abbr=on}} long{{cite web|url=x}} and holds {{formatnum:1500000}} litres.",
        "The weir is 5 km long and holds 1,500,000 litres.",
    );
    check(
        "Built {{circa|{{nowrap|''1500''}}}} by {{lang|de|[[Otto|Otto der Große]]}}.",
        "Built c. 1500 by Otto der Große.",
    );
    check(
        "{{Infobox dam\n| opened = {{start date|1999|1|2}}\n}}x {{coord|1|2}}y",
        "x y",
    );
    let deep = format!("{}x{}", "{{nowrap|".repeat(60), "}}".repeat(60));
    check(&format!("a {deep}"), "a");
}

#[test]
fn quotes_and_lines() {
    check("a''b''c'''d'''e'''''f'''''", "abcdef");
    check("it's ''''x''''", "it's 'x'");
    check(
        "one\n\n\n\ntwo  three\n----\n: four",
        "one\n\ntwo three\n\nfour",
    );
    check("a ( ) b ({{x}}; 1) c (, d)", "a b (1) c (d)");
    check("snake_case __init__ __TOC__", "snake_case __init__");
    check("{ a } [b] c]] }} |", "{ a } [b] c |");
}

#[test]
fn tables_are_rows_under_names() {
    check(
        "x\n{| class=\"wikitable\"\n|+ style=\"a\" | Boats\n! Name !! Built\n|- bgcolor=red\n| ''Ida'' || 1950\n|-\n\
         | align=left | Ole!!\n| 19{{x}}61\n|-\n| colspan=\"2\" | sunk\n|}\ny",
        "x\n\nBoats\nName | Built\nName: Ida; Built: 1950\nName: Ole!!; Built: 1961\nName: sunk\n\ny",
    );
    // Names in two rows, of which one reaches down.
    check(
        "{|\n! rowspan=2 | Town !! colspan=2 | People\n|-\n! 1900 !! 2000\n|-\n| Vale || 3 || 5\n|}",
        "Town | People\n1900 | 2000\nTown: Vale; 1900: 3; 2000: 5",
    );
    // Names of rows.
    check(
        "{|\n! Born\n| 1850\n|-\n! Died\n| 1910\n|}",
        "Born | 1850\nDied | 1910",
    );
    // A cell above reaches down to the first column.
    check(
        "{|\n! A !! B\n|-\n|rowspan='2'| 1 || 2\n|-\n| 3\n|-\n| 4\n|}",
        "A | B\nA: 1; B: 2\nB: 3\nA: 4",
    );
}

#[test]
fn cells_hold_lines_links_templates_and_tables() {
    check(
        "{|\n| a=1 | {{convert|5|km}} || [[Otto|O]] and | b\n|}",
        "5 km | O and | b",
    );
    check(
        "{|\n! A !! B\n|-\n| one\n* two || three\n\n== four ==\n| [[b\n|-\n| {{nowrap|c\n| d}} || [[File:x|y]]\n|}",
        "A | B\nA: one two || three four; B: b\nA: c",
    );
    check(
        "{|\n! Name !! Parts\n|-\n| Ida\n|\n{|\n| mast || 2\n|}\n|-\n| Ole || none\n|}",
        "Name | Parts\nName: Ida; Parts: mast | 2\nName: Ole; Parts: none",
    );
    let nested = format!("{}a{}", "{|\n|\n".repeat(9), "\n|}".repeat(9));
    check(&nested, "");
    check(&nested["{|\n|\n".len()..nested.len() - 3], "a");
}

#[test]
fn what_follows_a_table_without_an_end_is_text() {
    let article = read("{| class=x\n| a\n\n== b ==\nc\n{|\n| d || e\n|}");
    has!(article, text: "| a\n\nb\n\nc\n\nd | e", headings: [Heading { offset: 5, level: 2 }]);
}

#[test]
fn rows_do_not_repeat_names_without_end() {
    let rows = "|-\n| a || b\n".repeat(100);
    let wikitext = format!("{{|\n! A long name !! Another name\n{rows}|}}");
    let within = |most: usize| article(&wikitext, &Namespaces::default(), most as u64);
    let text = within(10_000).unwrap().text;
    assert!(text.len() > wikitext.len() && text.ends_with("A long name: a; Another name: b"));
    assert_eq!(within(wikitext.len()), None);
}

#[test]
fn what_is_never_closed_stays() {
    check("a {{b|c", "a b|c");
    check("a [[b\nc]] d", "a b\nc d");
    check("{{a|[[b}} c", "c");
    check("a <!-- b", "a");
    check("{|\n| {{x\n|}\nb", "x\n\nb");
    check("{{x|\n{|\n|a\n|}\n}}b", "b");
    check("[http://a.b c\nd]", "c\nd]");
    check("[[a|b|c]] [[a|]] [[File:x|y [[z", "b|c a File:x|y z");
}

#[test]
fn namespaces_of_other_languages() {
    let mut namespaces = Namespaces::default();
    namespaces.add(14, "Kategorie");
    namespaces.add(6, "Datei");
    let article = article(
        "x [[kategorie:Fluss]] [[Datei:a.png|mini]] [[Bild|b]]",
        &namespaces,
        u64::MAX,
    );
    let article = article.unwrap();
    has!(article, text: "x b", categories: ["Fluss"]);
}

proptest! {
    #[test]
    fn any_text_is_read(parts in prop::collection::vec(prop::sample::select(vec![
        "{{", "}}", "{{{", "}}}", "[[", "]]", "[", "]", "|", "||", "!", "!!", "\n", "{|", "|}", "|-", "|+", "rowspan=2 |", "<ref>",
        "</ref>", "<ref/>", "<nowiki>", "</nowiki>", "<!--", "-->", "''", "'''", "==", "*", ":",
        "&amp;", "&#", "&#65;", "File:", "Category:", "de:", "http://", "é", "語", " ", "a", "__", "TOC",
    ]), 0..60)) {
        let article = read(&parts.concat());
        prop_assert!(!article.text.contains("\n\n\n"));
        prop_assert_eq!(article.text.trim(), &article.text);
        prop_assert!(article.headings.is_sorted_by_key(|heading| heading.offset));
        for heading in &article.headings {
            let (before, line) = article.text.split_at(heading.offset);
            prop_assert!(before.is_empty() || before.ends_with('\n'));
            prop_assert!(!line.is_empty() && !line.starts_with('\n'));
        }
    }

    #[test]
    fn text_without_marks_stays(words in prop::collection::vec("[a-zA-Zé語0-9.,]{1,8}", 1..40)) {
        let text = words.join(" ");
        prop_assert_eq!(read(&text).text, text);
    }

    #[test]
    fn templates_and_comments_leave_nothing(before in "[a-z]{1,9}", within in "[a-z|=\\[\\]' \n]{0,40}", behind in "[a-z]{1,9}") {
        let expected = format!("{before}{behind}");
        prop_assert_eq!(&read(&format!("{before}<!--{within}-->{behind}")).text, &expected);
        prop_assert_eq!(&read(&format!("{before}<ref>{within}</ref>{behind}")).text, &expected);
    }
}
