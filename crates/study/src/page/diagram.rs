//! Diagrams as SVG: lines and dots over two axes.

use std::fmt::Write;

use super::escaped;

/// Space for the names and numbers of the axes, in pixels.
const LEFT: f64 = 64.0;
const BELOW: f64 = 40.0;
const MARGIN: f64 = 20.0;

/// An axis with its range.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Axis<'a> {
    name: &'a str,
    low: f64,
    high: f64,
}

impl<'a> Axis<'a> {
    /// From 0 to 1.
    pub(crate) fn share(name: &'a str) -> Self {
        Self {
            name,
            low: 0.0,
            high: 1.0,
        }
    }

    /// As far as some values go, and a little farther.
    pub(crate) fn around(name: &'a str, values: &[f64]) -> Self {
        let low = values.iter().copied().fold(f64::INFINITY, f64::min);
        let high = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        if !(low.is_finite() && high.is_finite()) {
            return Self::share(name);
        }
        let margin = ((high - low) * 0.08).max(0.005);
        Self {
            name,
            low: low - margin,
            high: high + margin,
        }
    }

    /// Where a value lies, from 0 to 1.
    fn place(&self, value: f64) -> f64 {
        ((value - self.low) / (self.high - self.low)).clamp(0.0, 1.0)
    }
}

/// A diagram under construction.
pub(crate) struct Diagram<'a> {
    width: f64,
    height: f64,
    across: Axis<'a>,
    up: Axis<'a>,
    marks: String,
    legends: usize,
}

impl<'a> Diagram<'a> {
    /// An empty one, in pixels.
    pub(crate) fn new(width: f64, height: f64, across: Axis<'a>, up: Axis<'a>) -> Self {
        Self {
            width,
            height,
            across,
            up,
            marks: String::new(),
            legends: 0,
        }
    }

    fn at(&self, (x, y): (f64, f64)) -> (f64, f64) {
        let (width, height) = (self.width - LEFT - MARGIN, self.height - BELOW - MARGIN);
        (
            LEFT + self.across.place(x) * width,
            MARGIN + (1.0 - self.up.place(y)) * height,
        )
    }

    /// A line through points.
    pub(crate) fn line(&mut self, points: &[(f64, f64)], color: &str, dashed: bool) {
        let mut path = String::new();
        for point in points {
            let (x, y) = self.at(*point);
            let _ = write!(path, "{x:.1},{y:.1} ");
        }
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
        let (x, y) = self.at(point);
        let _ = write!(
            self.marks,
            "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\" fill=\"#222\" fill-opacity=\".7\">\
             <title>{} ({:.3}, {:.3})</title></circle>",
            escaped(name),
            point.0,
            point.1
        );
    }

    /// Adds a color to the legend.
    pub(crate) fn legend(&mut self, name: &str, color: &str) {
        let y = MARGIN + 14.0 + 16.0 * self.legends as f64;
        let x = LEFT + 10.0;
        self.legends += 1;
        let _ = write!(
            self.marks,
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
        for step in 0..=4 {
            let part = f64::from(step) / 4.0;
            let value = |axis: &Axis<'_>| axis.low + part * (axis.high - axis.low);
            let (x, bottom) = self.at((value(&self.across), self.up.low));
            let (left, y) = self.at((self.across.low, value(&self.up)));
            let right = self.width - MARGIN;
            let _ = write!(
                axes,
                "<line x1=\"{left}\" x2=\"{right}\" y1=\"{y:.1}\" y2=\"{y:.1}\" stroke=\"#e4e4e4\"/>\
                 <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.2}</text>\
                 <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{:.2}</text>",
                left - 6.0,
                y + 4.0,
                value(&self.up),
                bottom + 16.0,
                value(&self.across)
            );
        }
        let (width, height) = (self.width, self.height);
        format!(
            "<svg viewBox=\"0 0 {width} {height}\" width=\"{width}\" height=\"{height}\" \
             role=\"img\">{axes}{}<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\
             <text transform=\"translate(12 {}) rotate(-90)\" text-anchor=\"middle\">{}</text></svg>",
            self.marks,
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
        diagram.line(&[(0.0, 0.0), (1.0, 1.0), (2.0, -1.0)], "#000", false);
        let svg = diagram.svg();
        let points = "points=\"64.0,60.0 180.0,20.0 180.0,60.0\"";
        assert!(svg.contains(points), "{svg}");
    }

    #[test]
    fn equal_values_have_an_axis_too() {
        let axis = Axis::around("y", &[0.2, 0.2]);
        assert_eq!(axis.place(0.2), 0.5);
        assert_eq!(Axis::around("y", &[]).place(1.0), 1.0);
    }
}
