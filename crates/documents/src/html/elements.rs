//! The meaning of HTML's elements for the text of a page.

/// A name as a number, so that open elements take little memory however long their names are.
pub(super) fn key(name: &[u8]) -> u64 {
    // FNV-1a: a clash of two names in one page costs a wrong line break at most.
    name.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// How many line breaks separate an element from its surroundings; 0 within a line.
pub(super) fn line_breaks(name: &[u8]) -> usize {
    match name {
        b"br" | b"li" | b"tr" | b"dt" | b"dd" | b"div" | b"option" | b"caption" | b"figcaption"
        | b"summary" | b"form" | b"legend" | b"center" | b"hgroup" | b"dialog" => 1,
        b"p" | b"h1" | b"h2" | b"h3" | b"h4" | b"h5" | b"h6" | b"ul" | b"ol" | b"dl" | b"table"
        | b"menu" | b"pre" | b"blockquote" | b"hr" | b"section" | b"article" | b"header"
        | b"footer" | b"main" | b"nav" | b"aside" | b"figure" | b"details" | b"fieldset"
        | b"address" | b"body" => 2,
        _ => 0,
    }
}

/// The level of a heading.
pub(super) fn heading_level(name: &[u8]) -> Option<u8> {
    match name {
        [b'h', level @ b'1'..=b'6'] => Some(level - b'0'),
        _ => None,
    }
}

/// Elements without content or end tag.
pub(super) fn is_void(name: &[u8]) -> bool {
    matches!(
        name,
        b"area"
            | b"base"
            | b"br"
            | b"col"
            | b"embed"
            | b"hr"
            | b"img"
            | b"input"
            | b"link"
            | b"meta"
            | b"param"
            | b"source"
            | b"track"
            | b"wbr"
    )
}

/// Elements that a browser never puts into `<svg>` or `<math>`: one of them ends both.
pub(super) fn ends_foreign_content(name: &[u8]) -> bool {
    line_breaks(name) > 0
        || matches!(
            name,
            b"b" | b"big"
                | b"code"
                | b"em"
                | b"embed"
                | b"head"
                | b"i"
                | b"img"
                | b"listing"
                | b"meta"
                | b"nobr"
                | b"ruby"
                | b"s"
                | b"small"
                | b"span"
                | b"strong"
                | b"strike"
                | b"sub"
                | b"sup"
                | b"td"
                | b"th"
                | b"tbody"
                | b"thead"
                | b"tfoot"
                | b"tt"
                | b"u"
                | b"var"
                | b"button"
                | b"label"
                | b"html"
        )
}

/// Elements that a list of choices cannot hold: one of them ends it.
pub(super) fn ends_choices(name: &[u8]) -> bool {
    let choice = matches!(name, b"option" | b"optgroup" | b"hr");
    (line_breaks(name) > 0 && !choice)
        || matches!(
            name,
            b"input" | b"textarea" | b"td" | b"th" | b"select" | b"tbody" | b"html"
        )
}
