//! The open elements that hide their content: scripts and styles, drawings, choices, and elements with the
//! attribute `hidden`. An element that is never closed hides no more than in a browser, and an end tag without a start
//! tag ends nothing.

use std::collections::HashMap;

use super::elements::{
    ends_choices, ends_foreign_content, heading_level, is_void, key, line_breaks,
};

/// The kinds of hiding elements, by what ends them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Up to its end tag.
    Whole,
    /// Up to its end tag, or an element of HTML.
    Drawing,
    /// HTML within a drawing, which is shown.
    InDrawing,
    /// Up to its end tag, or an element that no list of choices holds.
    Choices,
    /// Up to its end tag, or an element of HTML; in formulas only.
    Annotation,
}

const ELEMENTS: [(&[u8], Kind); 14] = [
    (b"script", Kind::Whole),
    (b"style", Kind::Whole),
    (b"template", Kind::Whole),
    (b"noscript", Kind::Whole),
    (b"iframe", Kind::Whole),
    // What stands in these is for browsers that do not know them.
    (b"video", Kind::Whole),
    (b"audio", Kind::Whole),
    (b"canvas", Kind::Whole),
    (b"svg", Kind::Drawing),
    (b"foreignobject", Kind::InDrawing),
    (b"select", Kind::Choices),
    (b"datalist", Kind::Choices),
    (b"annotation", Kind::Annotation),
    (b"annotation-xml", Kind::Annotation),
];

fn element_of(name: &[u8]) -> Option<usize> {
    ELEMENTS.iter().position(|(known, _)| *known == name)
}

/// The open elements that decide what is shown.
#[derive(Default)]
pub(super) struct Scopes {
    open: Vec<Scope>,
    /// How many of each are open, to avoid searches for closed ones.
    counts: [usize; ELEMENTS.len()],
    /// How many of each element that breaks lines are open.
    blocks: HashMap<u64, u32>,
    region: Option<Region>,
}

#[derive(Clone, Copy)]
struct Scope {
    element: u8,
    /// Whether its content is hidden.
    hidden: bool,
    /// Whether it ends with the paragraph that it is in.
    inline: bool,
}

/// The parts of a start tag that decide what is shown.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Start {
    pub(super) self_closing: bool,
    /// The attribute `hidden`.
    pub(super) hidden: bool,
    /// A template that is shown in its place.
    pub(super) shadow: bool,
    /// Whether the tag is in a formula.
    pub(super) in_formula: bool,
    /// Whether it ends with the paragraph that it is in.
    pub(super) inline: bool,
}

impl Scopes {
    pub(super) fn hidden(&self) -> bool {
        self.region.is_some() || self.open.last().is_some_and(|scope| scope.hidden)
    }

    /// Whether the next tags belong to a drawing.
    pub(super) fn in_drawing(&self) -> bool {
        self.kind() == Some(Kind::Drawing)
    }

    fn kind(&self) -> Option<Kind> {
        let last = self.open.last()?;
        Some(ELEMENTS.get(usize::from(last.element))?.1)
    }

    /// A start tag.
    pub(super) fn start(&mut self, name: &[u8], start: Start) {
        self.end_by(name);
        if line_breaks(name) > 0 && !is_void(name) {
            *self.blocks.entry(key(name)).or_default() += 1;
        }
        if let Some(region) = &mut self.region
            && region.start(name, start.self_closing)
        {
            self.region = None;
        }
        if self.region.is_none()
            && start.hidden
            && !start.self_closing
            && !is_void(name)
            && !matches!(name, b"html" | b"body")
        {
            self.region = Some(Region::of(name, start.inline));
        }
        if start.self_closing {
            return;
        }
        let Some(element) = element_of(name) else {
            return;
        };
        let outside = self.open.last().is_some_and(|scope| scope.hidden);
        let hidden = match ELEMENTS[element].1 {
            Kind::InDrawing if self.in_drawing() => {
                let below = self.open.len().checked_sub(2);
                below.is_some_and(|below| self.open[below].hidden)
            }
            Kind::InDrawing => return,
            Kind::Annotation if !start.in_formula => return,
            Kind::Whole if start.shadow => outside,
            _ => true,
        };
        self.counts[element] += 1;
        self.open.push(Scope {
            element: u8::try_from(element).unwrap_or_default(),
            hidden,
            inline: start.inline,
        });
    }

    /// Ends the elements that cannot hold this element of HTML.
    pub(super) fn end_by(&mut self, name: &[u8]) {
        while let Some(kind) = self.kind() {
            let ends = match kind {
                Kind::Drawing | Kind::Annotation => ends_foreign_content(name),
                Kind::Choices => ends_choices(name),
                Kind::Whole | Kind::InDrawing => false,
            };
            if !ends {
                break;
            }
            self.pop();
        }
    }

    /// Whether an end tag has a start tag, which ends with it. One that may end other elements, or stand alone, counts as
    /// one that has.
    pub(super) fn ends_element(&mut self, name: &[u8]) -> bool {
        let may_lack = matches!(name, b"p" | b"br" | b"tr" | b"body");
        if line_breaks(name) == 0 || may_lack || heading_level(name).is_some() {
            return true;
        }
        let count = self.blocks.get_mut(&key(name));
        let Some(count) = count.filter(|count| **count > 0) else {
            return false;
        };
        *count -= 1;
        true
    }

    /// An end tag; returns true if it closed one of these elements.
    pub(super) fn end(&mut self, name: &[u8]) -> bool {
        let ended = self.region.as_mut().and_then(|region| region.end(name));
        if ended.is_some() {
            self.region = None;
        }
        let element = element_of(name).filter(|&element| self.counts[element] > 0);
        let Some(element) = element else {
            // The end tag of an element around it.
            self.end_by(name);
            return ended == Some(true);
        };
        while let Some(closed) = self.pop() {
            if closed == element {
                break;
            }
        }
        true
    }

    /// Ends a paragraph, and with it its open inline elements.
    pub(super) fn end_paragraph(&mut self) {
        while self.open.last().is_some_and(|scope| scope.inline) {
            self.pop();
        }
        self.region.take_if(|region| region.inline);
    }

    fn pop(&mut self) -> Option<usize> {
        let element = usize::from(self.open.pop()?.element);
        self.counts[element] -= 1;
        Some(element)
    }
}

/// An element with the attribute `hidden`, and the open elements in it.
struct Region {
    /// The names of the open elements, that of the hidden one first.
    open: Vec<u64>,
    counts: HashMap<u64, u32>,
    own: Own,
    inline: bool,
}

/// The start tags that end the element, although its end tag is missing.
#[derive(Clone, Copy)]
enum Own {
    Paragraph,
    Item,
    Definition,
    Row,
    Cell,
    Other,
}

impl Region {
    fn of(name: &[u8], inline: bool) -> Self {
        let own = match name {
            b"p" => Own::Paragraph,
            b"li" => Own::Item,
            b"dt" | b"dd" => Own::Definition,
            b"tr" | b"tbody" | b"thead" | b"tfoot" => Own::Row,
            b"td" | b"th" => Own::Cell,
            _ => Own::Other,
        };
        Self {
            open: vec![key(name)],
            counts: HashMap::from([(key(name), 1)]),
            own,
            inline,
        }
    }

    fn has(&self, name: &[u8]) -> bool {
        self.counts.get(&key(name)).is_some_and(|&count| count > 0)
    }

    /// True if the tag ends the element.
    fn start(&mut self, name: &[u8], self_closing: bool) -> bool {
        let part = matches!(name, b"tr" | b"tbody" | b"thead" | b"tfoot");
        let ends = match self.own {
            Own::Paragraph => line_breaks(name) > 0 && name != b"br",
            Own::Item => name == b"li" && !self.has(b"ul") && !self.has(b"ol"),
            Own::Definition => matches!(name, b"dt" | b"dd") && !self.has(b"dl"),
            Own::Row => part && !self.has(b"table"),
            Own::Cell => (part || matches!(name, b"td" | b"th")) && !self.has(b"table"),
            Own::Other => false,
        };
        if !ends && !self_closing && !is_void(name) {
            self.open.push(key(name));
            *self.counts.entry(key(name)).or_default() += 1;
        }
        ends
    }

    /// Whether the tag is the element's own; `None` if it does not end the element. The end tag of an element around it
    /// ends it, too.
    fn end(&mut self, name: &[u8]) -> Option<bool> {
        if !self.has(name) {
            let around = line_breaks(name) > 0 && !matches!(name, b"p" | b"br");
            return around.then_some(false);
        }
        while let Some(closed) = self.open.pop() {
            if let Some(count) = self.counts.get_mut(&closed) {
                *count = count.saturating_sub(1);
            }
            if closed == key(name) {
                break;
            }
        }
        self.open.is_empty().then_some(true)
    }
}
