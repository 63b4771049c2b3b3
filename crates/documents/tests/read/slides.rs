//! Presentations: the order of their slides and shapes, items and raised text.

use crate::files::packages::{odf, package, pptx, relations};
use crate::{documents_of, owned, text_of};

#[test]
fn slides_are_named_and_in_order() {
    let expected = "## Slide 1: Pumps\n\n- They are old.\n\nPump | Bar\nPump: seven; Bar: 9\n\nNotes:\n\n- Say it twice.\n\n## Slide 2: Valves";
    assert_eq!(
        documents_of("p.pptx", &pptx()),
        owned(&[("p.pptx", "Pumps", expected, "{}")])
    );
}

/// A presentation of one slide with these shapes.
pub(crate) fn slide(shapes: &str) -> Vec<u8> {
    let slide = format!("<p:sld><p:cSld><p:spTree>{shapes}</p:spTree></p:cSld></p:sld>");
    let slides = relations(&[("a", "slide", "slides/slide1.xml")]);
    package(&[
        (
            "ppt/presentation.xml",
            "<p:presentation><p:sldIdLst><p:sldId id=\"256\" r:id=\"a\"/></p:sldIdLst></p:presentation>",
        ),
        ("ppt/_rels/presentation.xml.rels", slides.as_str()),
        ("ppt/slides/slide1.xml", slide.as_str()),
    ])
}

#[test]
fn shapes_of_a_slide_are_read_from_top_to_bottom() {
    let shape = |kind: &str, place: &str, text: &str| {
        format!(
            "<p:sp><p:nvSpPr><p:nvPr>{kind}</p:nvPr></p:nvSpPr><p:spPr>{place}</p:spPr>\
             <p:txBody><a:p><a:r><a:t>{text}</a:t></a:r></a:p></p:txBody></p:sp>"
        )
    };
    let at = |x: i32, y: i32| {
        format!("<a:xfrm><a:off x=\"{x}\" y=\"{y}\"/><a:ext cx=\"90\" cy=\"20\"/></a:xfrm>")
    };
    let group = format!(
        "<p:grpSp><p:grpSpPr>{}</p:grpSpPr>{}{}</p:grpSp>",
        at(0, 30),
        shape("", &at(500, 0), "inner right"),
        shape("", &at(0, 2), "inner left")
    );
    let shapes = [
        shape("", &at(0, 90), "last"),
        group,
        shape("", &at(200, 0), "right"),
        shape("", &at(0, 1), "left"),
        shape("<p:ph type=\"title\"/>", "", "Pumps"),
    ];
    assert_eq!(
        text_of("p.pptx", &slide(&shapes.concat())),
        "## Slide 1: Pumps\n\nleft\n\nright\n\ninner left\n\ninner right\n\nlast"
    );
    // The layout places a body, so the order of the file holds.
    let shapes = [
        shape("", &at(0, 90), "first"),
        shape("<p:ph type=\"body\"/>", "", "item"),
        shape("", &at(0, 0), "last"),
    ];
    assert_eq!(
        text_of("p.pptx", &slide(&shapes.concat())),
        "## Slide 1\n\nfirst\n\n- item\n\nlast"
    );
}

#[test]
fn items_of_slides_have_their_numbers_and_raised_text_is_marked() {
    let item = |level: usize, look: &str, text: &str| {
        format!("<a:p><a:pPr lvl=\"{level}\">{look}</a:pPr><a:r><a:t>{text}</a:t></a:r></a:p>")
    };
    let number = |kind: &str| format!("<a:buAutoNum type=\"{kind}\"/>");
    let (steps, letters) = (number("arabicPeriod"), number("alphaLcParenR"));
    let items = [
        item(0, &steps, "Open it."),
        item(1, &letters, "Slowly."),
        item(1, &letters, "Fully."),
        item(0, &steps, ""),
        item(0, &steps, "Wait."),
        item(1, &letters, "Long."),
        item(0, "", "Then:"),
        item(
            0,
            "<a:buAutoNum type=\"romanUcParenBoth\" startAt=\"4\"/>",
            "Close it.",
        ),
        item(
            0,
            "<a:buAutoNum type=\"romanUcParenBoth\" startAt=\"4\"/>",
            "Lock it.",
        ),
    ];
    let raised = "<a:p><a:r><a:t>At 10</a:t></a:r><a:r><a:rPr baseline=\"30000\"/><a:t>6</a:t></a:r>\
                  <a:r><a:rPr baseline=\"-25000\"/><a:t>2</a:t></a:r><a:r><a:t> Pa</a:t></a:r></a:p>";
    let shapes = format!(
        "<p:sp><p:txBody>{}</p:txBody></p:sp><p:sp><p:txBody>{raised}</p:txBody></p:sp>\
         <p:sp><p:nvSpPr><p:nvPr><p:ph type=\"body\"/></p:nvPr></p:nvSpPr><p:txBody>{}{}</p:txBody></p:sp>",
        items.concat(),
        item(0, &steps, "One"),
        item(0, "", "Other")
    );
    assert_eq!(
        text_of("p.pptx", &slide(&shapes)),
        "## Slide 1\n\n1. Open it.\n  a) Slowly.\n  b) Fully.\n2. Wait.\n  a) Long.\n\nThen:\n\n(IV) Close it.\n(V) Lock it.\n\n\
         At 10^62 Pa\n\n1. One\n- Other"
    );
}

#[test]
fn slides_of_open_documents_are_named_by_their_titles() {
    let frame = |class: &str, text: &str| {
        format!(
            "<draw:frame presentation:class=\"{class}\"><draw:text-box>{text}</draw:text-box></draw:frame>"
        )
    };
    let slides = format!(
        "<office:presentation><draw:page draw:name=\"page1\">{}{}<presentation:notes>{}</presentation:notes></draw:page>\
         <draw:page draw:name=\"Rest\"/></office:presentation>",
        frame("title", "<text:p>Pumps</text:p>"),
        frame("outline", "<text:p>Old.</text:p>"),
        frame("notes", "")
    );
    assert_eq!(
        text_of("p.odp", &odf(&slides)),
        "## Slide 1: Pumps\n\nOld.\n\n## Slide 2: Rest"
    );
}

#[test]
fn shapes_of_open_documents_are_read_from_top_to_bottom() {
    let shape = |name: &str, place: &str, text: &str| {
        format!("<draw:{name} {place}><text:p>{text}</text:p></draw:{name}>")
    };
    let at = |x: &str, y: &str| {
        format!("svg:x=\"{x}\" svg:y=\"{y}\" svg:width=\"5cm\" svg:height=\"20mm\"")
    };
    let shapes = [
        shape("custom-shape", &at("1cm", "90mm"), "last"),
        format!(
            "<draw:g>{}</draw:g>",
            shape("rect", &at("5cm", "4cm"), "lower")
        ),
        format!(
            "<draw:frame {}><draw:image/><svg:desc>A pump</svg:desc></draw:frame>",
            at("5in", "1mm")
        ),
        shape("frame", &at("20pt", "0cm"), "left"),
        "<draw:frame presentation:class=\"title\"><text:p>Old</text:p><text:p>pumps</text:p></draw:frame>"
            .to_owned(),
    ];
    let page = |shapes: &[String]| {
        format!(
            "<office:presentation><draw:page draw:name=\"page1\">{}</draw:page></office:presentation>",
            shapes.concat()
        )
    };
    assert_eq!(
        text_of("p.odp", &odf(&page(&shapes))),
        "## Slide 1: Old pumps\n\nleft\n\n[A pump]\n\nlower\n\nlast"
    );
    // The place of one is not known.
    let shapes = [
        shape("frame", &at("1cm", "9cm"), "first"),
        shape("frame", "", "last"),
    ];
    assert_eq!(
        text_of("p.odp", &odf(&page(&shapes))),
        "## Slide 1\n\nfirst\n\nlast"
    );
}
