//! Equations of Word files in a line of text: `(a+b)/c=x^2`.

use crate::html::group;

/// The elements that give an equation its structure.
const STRUCTURE: [&str; 21] = [
    "f", "num", "den", "sSup", "sSub", "sSubSup", "e", "sup", "sub", "rad", "deg", "nary", "d",
    "func", "fName", "limLow", "limUpp", "lim", "m", "mr", "eqArr",
];

/// An equation that is being read.
#[derive(Default)]
pub(super) struct Equation {
    open: Vec<Node>,
}

struct Node {
    name: &'static str,
    /// The offset of the sign before it, and that of its text.
    mark: usize,
    start: usize,
    /// How many parts it has so far.
    parts: usize,
    /// The brackets around its parts.
    brackets: [String; 2],
}

impl Equation {
    pub(super) fn start(&mut self, name: &str, text: &mut String) {
        let Some(name) = STRUCTURE.into_iter().find(|known| *known == name) else {
            return;
        };
        if let Some(parent) = self.open.last_mut()
            && parent.name == "nary"
            && text.len() == parent.start
        {
            text.push('∫');
        }
        let mark = text.len();
        if let Some(parent) = self.open.last_mut() {
            let is_first = parent.parts == 0;
            text.push_str(match (parent.name, name) {
                (_, "den") => "/",
                (_, "sup") | ("limUpp", "lim") => "^",
                (_, "sub" | "lim") => "_",
                ("rad", "e") => "√",
                ("nary" | "func", "e") => " ",
                ("d", "e") if is_first => parent.brackets[0].as_str(),
                ("d" | "mr", "e") if !is_first => ", ",
                ("m" | "eqArr", _) if !is_first => "; ",
                _ => "",
            });
            parent.parts += 1;
        }
        self.open.push(Node {
            name,
            mark,
            start: text.len(),
            parts: 0,
            brackets: ["(".to_owned(), ")".to_owned()],
        });
    }

    /// Reads a property of the open element.
    pub(super) fn property(&mut self, name: &str, value: String, text: &mut String) {
        let Some(node) = self.open.last_mut() else {
            return;
        };
        match (node.name, name) {
            ("d", "begChr") => node.brackets[0] = value,
            ("d", "endChr") => node.brackets[1] = value,
            ("nary", "chr") if node.parts == 0 => text.push_str(&value),
            _ => {}
        }
    }

    pub(super) fn end(&mut self, name: &str, text: &mut String) {
        let Some(node) = self.open.pop_if(|node| node.name == name) else {
            return;
        };
        let parent = self.open.last().map_or("", |parent| parent.name);
        let is_empty = text.len() == node.start;
        match (parent, node.name) {
            (_, "sup" | "sub" | "lim" | "deg") if is_empty => text.truncate(node.mark),
            (_, "deg") => {
                text.insert(node.start, '(');
                text.push(')');
            }
            (_, "num" | "den" | "sup" | "sub" | "lim")
            | ("rad" | "sSup" | "sSub" | "sSubSup", "e") => group(text, node.start),
            (_, "d") => text.push_str(&node.brackets[1]),
            _ => {}
        }
    }
}
