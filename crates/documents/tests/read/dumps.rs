//! XML dumps of a MediaWiki, and other XML.

use ken_testing::cases;

use crate::files::packed::bzip2;
use crate::{documents_of, error_of, folder, owned, read};

fn dump(pages: &str) -> String {
    format!(
        "<?xml version=\"1.0\"?>\n<!-- a dump -->\n<mediawiki xmlns=\"http://www.mediawiki.org/xml/export-0.11/\" xml:lang=\"de\">\n\
         <siteinfo><sitename>W</sitename><namespaces>\
         <namespace key=\"0\" case=\"first-letter\" /><namespace key=\"14\">Kategorie</namespace>\
         <namespace key=\"6\">Datei</namespace></namespaces></siteinfo>\n{pages}</mediawiki>\n"
    )
}

fn page(id: &str, namespace: &str, extra: &str, text: &str) -> String {
    format!(
        "<page>\n<title>Page {id} &amp; so</title><ns>{namespace}</ns><id>{id}</id>{extra}\n\
         <revision><id>1{id}</id><timestamp>2020-01-02T03:04:05Z</timestamp>\
         <contributor><username>x</username><id>99</id></contributor><comment>c &lt;d&gt;</comment>\
         <model>wikitext</model><format>text/x-wiki</format>\
         <text bytes=\"9\" xml:space=\"preserve\">{text}</text></revision>\n</page>\n"
    )
}

#[test]
fn articles_are_read_and_nothing_else() {
    let pages = [
        page(
            "7",
            "0",
            "",
            "&quot;A&quot; &lt;ref&gt;r&lt;/ref&gt;is [[b|B]].&#10;[[Datei:x.png|y]]\n[[Kategorie:Fluss]]",
        ),
        page("8", "1", "", "talk"),
        page(
            "9",
            "0",
            "<redirect title=\"Page 7\" />",
            "#REDIRECT [[Page 7]]",
        ),
        page("10", "0", "", " #Redirect [[Page 7]]"),
        page("11", "0", "", "{}").replace(">wikitext<", ">json<"),
        page("12", "0", "", "<![CDATA[x < y]]>"),
        page("13", "0", "", "old").replace(
            "</page>",
            "<revision><id>5</id><timestamp>t</timestamp><text>new</text></revision></page>",
        ),
        page("14", "0", "", "").replace(
            "<text bytes=\"9\" xml:space=\"preserve\"></text>",
            "<text bytes=\"0\" />",
        ),
    ];
    let metadata = |revision: &str| {
        format!("{{\"timestamp\":\"2020-01-02T03:04:05Z\",\"revision\":{revision}}}")
    };
    let first = metadata("17").replace('}', ",\"categories\":[\"Fluss\"]}");
    let expected = cases![
        "7" => "Page 7 & so", "\"A\" is B.", first.as_str();
        "12" => "Page 12 & so", "x < y", &metadata("112");
        "13" => "Page 13 & so", "new", "{\"timestamp\":\"t\",\"revision\":5}";
        "14" => "Page 14 & so", "", &metadata("114");
    ];
    let file = dump(&pages.concat());
    assert_eq!(documents_of("d.xml", file.as_bytes()), owned(&expected));
    assert_eq!(
        documents_of("d.xml.bz2", &bzip2(file.as_bytes())),
        owned(&expected)
    );
    let dir = folder(&[("d.xml", file.as_bytes())]);
    assert!(
        read(dir.path())
            .iter()
            .all(|document| !document.as_ref().unwrap().record)
    );
}

#[test]
fn broken_dumps_are_told_by_line() {
    let whole = dump(&[page("1", "0", "", "a"), page("2", "0", "", "b")].concat());
    let cut = &whole[..whole.len() - 60];
    let (kind, message) = error_of("d.xml", cut.as_bytes());
    assert_eq!(kind, "broken_xml");
    assert!(message.starts_with("d.xml:11: broken XML: "), "{message}");

    for (from, to, kind, start) in cases![
        "<id>2</id>" => "<id></id>", "missing_field", "d.xml:9: the record has no id";
        "<id>2</id>" => "<id>1</id>", "duplicate_id", "d.xml:9: the document id \"1\"";
        "<id>2</id>" => "<id>2</ns>", "broken_xml", "d.xml:10: broken XML: ";
        ">b<" => ">&bogus;<", "broken_xml", "d.xml:11: broken XML: unknown entity &bogus;";
        ">b<" => "><b<", "broken_xml", "d.xml:11: broken XML: ";
    ] {
        let (found, message) = error_of("d.xml", whole.replace(from, to).as_bytes());
        assert_eq!(found, kind, "{message}");
        assert!(message.starts_with(start), "{message}");
    }
    let mut bytes = whole.into_bytes();
    let at = bytes.windows(3).position(|three| three == b">b<").unwrap();
    bytes[at + 1] = 0xff;
    let (kind, message) = error_of("d.xml", &bytes);
    assert_eq!(kind, "invalid_utf8");
    assert!(message.starts_with("d.xml:11: "), "{message}");
}

#[test]
fn other_xml_is_no_dump() {
    for contents in [
        "<?xml version=\"1.0\"?><svg/>",
        "",
        "no mark-up",
        "<project><page/></project>",
    ] {
        let (kind, message) = error_of("x.xml", contents.as_bytes());
        assert_eq!(kind, "unknown_format");
        assert_eq!(message, "x.xml is of no known format");
    }
}
