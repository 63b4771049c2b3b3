//! Diagrams as SVG: lines and dots over two axes. They are readable on light and on dark ground, and on
//! their own.

use std::fmt::Write;

use super::axis::Axis;
use super::escaped;

/// Space for the names and numbers of the axes, in pixels.
const LEFT: f64 = 64.0;
const BELOW: f64 = 40.0;
const MARGIN: f64 = 20.0;

/// The height of an entry of the legend.
const ENTRY: f64 = 17.0;

/// One point of a diagram's data.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Datum {
    pub(super) series: String,
    pub(super) x: f64,
    pub(super) y: f64,
}

/// A diagram under construction.
pub(crate) struct Diagram<'a> {
    width: f64,
    height: f64,
    pub(super) across: Axis<'a>,
    pub(super) up: Axis<'a>,
    marks: String,
    legend: String,
    legends: usize,
    pub(super) data: Vec<Datum>,
    pub(super) has_lines: bool,
}

impl<'a> Diagram<'a> {
    /// An empty one, in pixels, to which the legend is added below.
    pub(crate) fn new(width: f64, height: f64, across: Axis<'a>, up: Axis<'a>) -> Self {
        Self {
            width,
            height,
            across,
            up,
            marks: String::new(),
            legend: String::new(),
            legends: 0,
            data: Vec::new(),
            has_lines: false,
        }
    }

    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let (width, height) = (self.width - LEFT - MARGIN, self.height - BELOW - MARGIN);
        (
            LEFT + self.across.place(x) * width,
            MARGIN + (1.0 - self.up.place(y)) * height,
        )
    }

    /// A named line through points.
    pub(crate) fn line(&mut self, name: &str, points: &[(f64, f64)], color: &str, dashed: bool) {
        let mut path = String::new();
        for point in points {
            let (x, y) = self.at(*point);
            let _ = write!(path, "{x:.1},{y:.1} ");
            self.keep(name, *point);
        }
        self.has_lines = true;
        let dash = if dashed {
            " stroke-dasharray=\"4 4\""
        } else {
            ""
        };
        let _ = write!(
            self.marks,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"1.8\"{dash}/>",
            path.trim_end()
        );
    }

    /// A dot that shows its name on hover.
    pub(crate) fn dot(&mut self, point: (f64, f64), name: &str) {
        self.keep(name, point);
        self.circle(
            point,
            name,
            "fill=\"currentColor\" fill-opacity=\".7\" r=\"4\"",
        );
    }

    /// A ring about a point of a line, with a name beside it.
    pub(crate) fn ring(&mut self, point: (f64, f64), name: &str, color: &str) {
        let marked = format!("fill=\"none\" stroke=\"{color}\" stroke-width=\"2\" r=\"6\"");
        self.circle(point, name, &marked);
    }

    fn keep(&mut self, series: &str, (x, y): (f64, f64)) {
        let series = series.to_owned();
        self.data.push(Datum { series, x, y });
    }

    fn circle(&mut self, point: (f64, f64), name: &str, drawn: &str) {
        let (x, y) = self.at(point);
        let _ = write!(
            self.marks,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" {drawn}><title>{} ({:.3}, {:.3})</title></circle>",
            escaped(name),
            point.0,
            point.1
        );
    }

    /// Adds a color to the legend.
    pub(crate) fn legend(&mut self, name: &str, color: &str) {
        let y = self.height + 12.0 + ENTRY * self.legends as f64;
        let x = LEFT;
        self.legends += 1;
        let _ = write!(
            self.legend,
            "<line x1=\"{x}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"{color}\" stroke-width=\"3\"/>\
             <text x=\"{}\" y=\"{y}\">{}</text>",
            x + 18.0,
            y - 4.0,
            y - 4.0,
            x + 24.0,
            escaped(name)
        );
    }

    /// The whole.
    pub(crate) fn svg(&self) -> String {
        let mut axes = String::new();
        for &value in &self.up.ticks {
            let (left, y) = self.at((self.across.low, value));
            let _ = write!(
                axes,
                "<line x1=\"{left}\" x2=\"{}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"currentColor\" \
                 stroke-opacity=\".15\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{}</text>",
                self.width - MARGIN,
                left - 6.0,
                y + 4.0,
                self.up.told(value),
            );
        }
        for &value in &self.across.ticks {
            let (x, bottom) = self.at((value, self.up.low));
            let _ = write!(
                axes,
                "<text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>",
                bottom + 16.0,
                self.across.told(value)
            );
        }
        let (width, height) = (self.width, self.height);
        let whole = height + ENTRY * self.legends as f64;
        format!(
            "<svg viewBox=\"0 0 {width} {whole}\" width=\"{width}\" \
             height=\"{whole}\" role=\"img\" font-family=\"sans-serif\" font-size=\"12\" \
             fill=\"currentColor\">{axes}{}{}<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(12 {}) rotate(-90)\" text-anchor=\"middle\">{}</text></svg>",
            self.marks,
            self.legend,
            (LEFT + width - MARGIN) / 2.0,
            height - 6.0,
            escaped(self.across.name),
            (height - BELOW) / 2.0,
            escaped(self.up.name)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_lie_between_the_axes() {
        let mut diagram = Diagram::new(200.0, 100.0, Axis::share("x"), Axis::share("y"));
        diagram.line("a", &[(0.0, 0.0), (1.0, 1.0), (2.0, -1.0)], "#000", false);
        let svg = diagram.svg();
        let points = "points=\"64.0,60.0 180.0,20.0 180.0,60.0\"";
        assert!(svg.contains(points), "{svg}");
        assert!(svg.contains("viewBox=\"0 0 200 100\""), "{svg}");
        diagram.legend("a", "#000");
        assert!(diagram.svg().contains("viewBox=\"0 0 200 117\""));
    }
}
