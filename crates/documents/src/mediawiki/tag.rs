//! The tags in wikitext: HTML's and MediaWiki's own. It decides whether an element's content is kept, not how it
//! looks.

/// What the text keeps of an element.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TagKind {
    /// The tag is dropped, the content is parsed.
    Mark,
    /// The tag is a line break.
    Break,
    /// The content is dropped too.
    Hidden,
    /// The content is kept verbatim.
    Verbatim,
}

/// A tag at the start of a text.
pub(super) struct Tag {
    pub(super) kind: TagKind,
    /// The element's name in lower case.
    pub(super) name: String,
    /// In bytes.
    pub(super) length: usize,
}

/// The kind of the element with this name, in lower case; `None` for unknown elements.
fn kind_of(name: &str) -> Option<TagKind> {
    Some(match name {
        "ref" | "references" | "gallery" | "timeline" | "imagemap" | "score" | "graph"
        | "mapframe" | "maplink" | "templatedata" | "templatestyles" | "includeonly"
        | "indicator" | "inputbox" | "categorytree" | "section" | "style" | "hiero" => {
            TagKind::Hidden
        }
        "nowiki" | "math" | "chem" | "ce" | "pre" | "syntaxhighlight" | "source" => {
            TagKind::Verbatim
        }
        "br" | "hr" => TagKind::Break,
        "abbr" | "b" | "bdi" | "bdo" | "big" | "blockquote" | "caption" | "center" | "cite"
        | "code" | "data" | "dd" | "del" | "dfn" | "div" | "dl" | "dt" | "em" | "font" | "h1"
        | "h2" | "h3" | "h4" | "h5" | "h6" | "i" | "ins" | "kbd" | "langconvert" | "li"
        | "mark" | "noinclude" | "ol" | "onlyinclude" | "p" | "poem" | "q" | "rb" | "rp" | "rt"
        | "ruby" | "s" | "samp" | "small" | "span" | "strike" | "strong" | "sub" | "sup"
        | "table" | "td" | "th" | "time" | "tr" | "tt" | "u" | "ul" | "var" | "wbr" => {
            TagKind::Mark
        }
        _ => return None,
    })
}

/// The known tag that `text` starts with, if any.
pub(super) fn read(text: &str) -> Option<Tag> {
    let rest = text.strip_prefix('<')?;
    let closing = rest.starts_with('/');
    let rest = rest.strip_prefix('/').unwrap_or(rest);
    let name_length = rest.bytes().take_while(u8::is_ascii_alphanumeric).count();
    let (name, after) = rest.split_at(name_length);
    // A tag contains no other tag, so that each byte is scanned only once.
    let end = after.bytes().position(|byte| matches!(byte, b'<' | b'>'))?;
    if after.as_bytes()[end] != b'>' {
        return None;
    }
    let length = text.len() - after.len() + end + 1;
    let name = name.to_ascii_lowercase();
    let kind = match kind_of(&name)? {
        TagKind::Hidden | TagKind::Verbatim if closing || after[..end].ends_with('/') => {
            TagKind::Mark
        }
        kind => kind,
    };
    Some(Tag { kind, name, length })
}

/// Start and end of the first end tag of an element in `text`.
pub(super) fn find_end(text: &str, name: &str) -> Option<(usize, usize)> {
    let mut from = 0;
    while let Some(distance) = text[from..].find("</") {
        let start = from + distance;
        let rest = &text[start + 2..];
        if rest
            .get(..name.len())
            .is_some_and(|start| start.eq_ignore_ascii_case(name))
        {
            let after = &rest[name.len()..];
            let spaces = after.len() - after.trim_start().len();
            if after[spaces..].starts_with('>') {
                let end = text.len() - after.len() + spaces + 1;
                return Some((start, end));
            }
        }
        from = start + 2;
    }
    None
}
