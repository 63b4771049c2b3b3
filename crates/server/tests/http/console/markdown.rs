//! How the console reads Markdown, and which sentence it marks.

use ken_testing::{cases, says};
use serde_json::{Value, json};

use super::chromium::Chromium;
use super::person::{DESKTOP, at};
use crate::fixture::Running;

/// What a function of one of the page's modules returns.
fn call(browser: &mut Chromium, module: &str, expression: &str) -> Value {
    browser.js(&format!(
        "import(document.scripts[0].src.replace('main.js', '{module}')).then((module) => {expression})"
    ))
}

/// The elements of a text, as markup.
fn rendered(browser: &mut Chromium, text: &str) -> String {
    let expression = format!(
        "{{ const place = document.createElement('div'); place.append(...module.markdown({})); return place.innerHTML; }}",
        json!(text)
    );
    let markup = call(browser, "markdown.js", &expression);
    markup.as_str().unwrap().to_owned()
}

#[test]
fn what_models_write_becomes_elements() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "#policies");
    for (text, expected) in cases![
        "a *b* **c** `d`" => "<p>a <em>b</em> <strong>c</strong> <code>d</code></p>";
        "snake_case_name and 2 * 3 * 4" => "<p>snake_case_name and 2 * 3 * 4</p>";
        "a\nb\n\nc" => "<p>a\nb</p><p>c</p>";
        "# A\n## B" => "<h4>A</h4><h5>B</h5>";
        "- a\n- b\n  - c\n\nd" =>
            "<ul><li><p>a</p></li><li><p>b</p><ul><li><p>c</p></li></ul></li></ul><p>d</p>";
        "3. a\n4. b" => "<ol start=\"3\"><li><p>a</p></li><li><p>b</p></li></ol>";
        "> a\n> b" => "<blockquote><p>a\nb</p></blockquote>";
        "a\n\n---\n" => "<p>a</p><hr>";
        r"\*a\*" => "<p>*a*</p>";
        "" => "";
    ] {
        assert_eq!(rendered(&mut browser, text), expected, "{text}");
    }
    // A block of code is open while it is written; its content is not parsed.
    for text in [
        "```sh\nls *a* <b>\n\n# c\n```\nd",
        "```sh\nls *a* <b>\n\n# c",
    ] {
        let markup = rendered(&mut browser, text);
        says!(markup => "<code>ls *a* &lt;b&gt;\n\n# c</code>");
        assert_eq!(markup.contains("<p>d</p>"), text.ends_with('d'), "{markup}");
    }
    let table = rendered(&mut browser, "| a | b |\n|---|:-:|\n| 1 | `2` |\n\nc");
    says!(table => "<th>a</th><th>b</th>", "<td>1</td><td><code>2</code></td>");
    assert!(table.ends_with("<p>c</p>"), "{table}");
}

#[test]
fn links_lead_to_the_web_and_mail_only_and_no_markup_is_read() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "#policies");
    let link = |address: &str, label: &str| {
        format!("<a href=\"{address}\" target=\"_blank\" rel=\"noopener noreferrer\">{label}</a>")
    };
    for (text, expected) in cases![
        "[a](https://b.example/c_(d))" => link("https://b.example/c_(d)", "a");
        "[a](mailto:b@c.example)" => link("mailto:b@c.example", "a");
        "<https://b.example>" => link("https://b.example/", "https://b.example");
        "(see https://b.example/x.)" =>
            format!("(see {}.)", link("https://b.example/x", "https://b.example/x"));
        // A picture is not loaded.
        "![a](https://b.example/c.png)" => link("https://b.example/c.png", "a");
        "[a](javascript:alert(1))" => "[a](javascript:alert(1))".to_owned();
        "[a](JaVaScRiPt:alert(1))" => "[a](JaVaScRiPt:alert(1))".to_owned();
        "[a](data:text/html,b)" => "[a](data:text/html,b)".to_owned();
        "[a](//b.example)" => "[a](//b.example)".to_owned();
        "<javascript:alert(1)>" => "&lt;javascript:alert(1)&gt;".to_owned();
        "<img src=x onerror=alert(1)>" => "&lt;img src=x onerror=alert(1)&gt;".to_owned();
        "<script>a</script>&amp;" => "&lt;script&gt;a&lt;/script&gt;&amp;amp;".to_owned();
    ] {
        assert_eq!(
            rendered(&mut browser, text),
            format!("<p>{expected}</p>"),
            "{text}"
        );
    }
}

#[test]
fn any_text_is_read_in_little_time_into_harmless_elements() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "#policies");
    let expression = r##"{
      const pieces = ["*", "**", "_", "`", "```", "~~~", "[", "](", ")", "<", ">", "!", "|", "|-|-|", "\n", "\n\n", "# ", "- ", "1. ",
        "    ", "> ", "\\", "javascript:", "https://a.example", "mailto:", "a", " ", "<script>", "\u{F0000}", "é", "---"];
      const allowed = new Set("P,EM,STRONG,CODE,PRE,DIV,SPAN,BUTTON,A,UL,OL,LI,BLOCKQUOTE,HR,TABLE,THEAD,TBODY,TR,TH,TD,H4,H5,H6".split(","));
      let seed = 1;
      const next = (most) => { seed = (seed * 48271) % 2147483647; return seed % most; };
      const wrong = [];
      const texts = Array.from({ length: 1500 }, () => Array.from({ length: next(60) }, () => pieces[next(pieces.length)]).join(""));
      const long = pieces.map((piece) => piece.repeat(5000));
      const begun = performance.now();
      for (const text of [...texts, ...long, "> ".repeat(5000) + "a", "[a](".repeat(3000), "- a\n  ".repeat(3000)]) {
        const place = document.createElement("div");
        place.append(...module.markdown(text));
        for (const one of place.querySelectorAll("*")) {
          if (!allowed.has(one.tagName)) wrong.push([text, one.tagName]);
          if (one.tagName === "A" && !["https:", "http:", "mailto:"].includes(one.protocol)) wrong.push([text, one.href]);
        }
      }
      return [wrong, performance.now() - begun < 15000];
    }"##;
    assert_eq!(
        call(&mut browser, "markdown.js", expression),
        json!([[], true])
    );
}

#[test]
fn marks_stand_where_the_answer_names_passages() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "#policies");
    // Places are in code points, and no character of the answer is taken for a mark.
    let expression = r#"{
      const citation = { number: 2, passage_id: "a#0", doc_id: "a", title: "A", text: "t", places: [{ start: 7, end: 10 }] };
      const trace = { question: "q", corpus: null, citations: [citation], unfounded: [{ start: 11, end: 14 }] };
      const place = document.createElement("div");
      place.append(...module.cited("**😀\u{F0000}** [2] [9] *b*", trace, { may: () => false }));
      return [place.innerText, place.querySelector("button").innerText, place.querySelector("strong").innerText,
        place.querySelector(".unfounded").innerText, place.querySelector("em").innerText];
    }"#;
    assert_eq!(
        call(&mut browser, "answer.js", expression),
        json!(["😀\u{FFFD} 2 [9] b", "2", "😀\u{FFFD}", "[9]", "b"])
    );
}

#[test]
fn the_sentence_that_fits_best_is_found() {
    let server = Running::start();
    let mut browser = at(&server, DESKTOP, "#policies");
    for (text, wanted, expected) in cases![
        "The oil is changed in May. The tires are\nchanged in October. Ida does it." =>
            "Tires: October", "The tires are\nchanged in October.";
        "Cats sleep. Dogs bark." => "The dogs", "Dogs bark.";
        "我喜欢猫。他住在北京。" => "北京", "他住在北京。";
        "Cats sleep. Dogs bark." => "Nothing of that", "";
        "" => "a", "";
    ] {
        let expression = format!(
            "{{ const [text, wanted] = {}; const found = module.closest(text, [wanted]); \
             return found ? text.slice(found.start, found.end) : ''; }}",
            json!([text, wanted])
        );
        assert_eq!(
            call(&mut browser, "sentences.js", &expression),
            expected,
            "{wanted}"
        );
    }
    // An excerpt is around it.
    let expression = "{ const text = 'Cats sleep. '.repeat(50) + 'Dogs bark. ' + 'Cats sleep. '.repeat(50);\
        const parts = module.excerpt(text, ['dogs'], 60); return [parts[1], parts.join('').length < 80, parts[0][0], parts[2].at(-1)]; }";
    assert_eq!(
        call(&mut browser, "sentences.js", expression),
        json!(["Dogs bark.", true, "…", "…"])
    );
}
