//! The tags in wikitext: HTML's and MediaWiki's own. It knows what becomes of an element's
//! content, not what it looks like.

/// What becomes of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagKind {
    /// The tag goes, the content is read on.
    Mark,
    /// The tag is a line break.
    Break,
    /// The content goes too.
    Hidden,
    /// The content stays as it is.
    Verbatim,
}

/// A tag at the beginning of a text.
pub(super) struct Tag {
    pub(super) kind: TagKind,
    /// The element's name in lower case; empty where its content needs no end tag.
    pub(super) name: &'static str,
    /// In bytes.
    pub(super) length: usize,
}

const HIDDEN: &[&str] = &[
    "ref",
    "references",
    "gallery",
    "timeline",
    "imagemap",
    "score",
    "graph",
    "mapframe",
    "maplink",
    "templatedata",
    "templatestyles",
    "includeonly",
    "indicator",
    "inputbox",
    "categorytree",
    "section",
    "style",
    "hiero",
];
const VERBATIM: &[&str] = &[
    "nowiki",
    "math",
    "chem",
    "ce",
    "pre",
    "syntaxhighlight",
    "source",
];
const MARKS: &[&str] = &[
    "abbr",
    "b",
    "bdi",
    "bdo",
    "big",
    "blockquote",
    "caption",
    "center",
    "cite",
    "code",
    "data",
    "dd",
    "del",
    "dfn",
    "div",
    "dl",
    "dt",
    "em",
    "font",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "i",
    "ins",
    "kbd",
    "langconvert",
    "li",
    "mark",
    "noinclude",
    "ol",
    "onlyinclude",
    "p",
    "poem",
    "q",
    "rb",
    "rp",
    "rt",
    "ruby",
    "s",
    "samp",
    "small",
    "span",
    "strike",
    "strong",
    "sub",
    "sup",
    "table",
    "td",
    "th",
    "time",
    "tr",
    "tt",
    "u",
    "ul",
    "var",
    "wbr",
];

/// The tag that `text` begins with; `None` where it begins with none that is known.
pub(super) fn read(text: &str) -> Option<Tag> {
    let rest = text.strip_prefix('<')?;
    let closing = rest.starts_with('/');
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let name_length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let found = &rest[..name_length];
    let behind = &rest[name_length..];
    // No tag has another one within, so that each byte is looked at once only.
    let end = behind
        .bytes()
        .position(|byte| matches!(byte, b'<' | b'>'))?;
    if behind.as_bytes()[end] != b'>' {
        return None;
    }
    let length = text.len() - behind.len() + end + 1;
    let alone = closing || behind[..end].ends_with('/');
    let among = |names: &[&'static str]| {
        names
            .iter()
            .copied()
            .find(|name| name.eq_ignore_ascii_case(found))
    };
    let (kind, name) = if let Some(name) = among(HIDDEN) {
        (TagKind::Hidden, name)
    } else if let Some(name) = among(VERBATIM) {
        (TagKind::Verbatim, name)
    } else if found.eq_ignore_ascii_case("br") || found.eq_ignore_ascii_case("hr") {
        (TagKind::Break, "")
    } else {
        (TagKind::Mark, among(MARKS)?)
    };
    let kind = match kind {
        TagKind::Hidden | TagKind::Verbatim if alone => TagKind::Mark,
        kind => kind,
    };
    Some(Tag { kind, name, length })
}

/// Where the first end tag of an element begins in `text`, and where it ends.
pub(super) fn find_end(text: &str, name: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(at) = text[from..].find("</") {
        let start = from + at;
        let rest = &text[start + 2..];
        if rest
            .get(..name.len())
            .is_some_and(|found| found.eq_ignore_ascii_case(name))
        {
            let behind = &rest[name.len()..];
            let spaces = behind.len() - behind.trim_start().len();
            if behind[spaces..].starts_with('>') {
                let end = text.len() - behind.len() + spaces + 1;
                return Some((start, end));
            }
        }
        from = start + 2;
    }
    None
}
