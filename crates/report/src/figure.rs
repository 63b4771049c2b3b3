//! Figures: series of points over two axes. `figure.js` draws them, in saved pages and in the console.

use serde::Serialize;

use crate::{Cell, Column, Table};

/// The JavaScript module that draws figures. It imports nothing.
pub const FIGURE_SCRIPT: &str = include_str!("figure.js");

/// A figure.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Figure {
    /// Its name, for files.
    pub name: String,
    /// Its caption.
    pub caption: String,
    /// The horizontal axis.
    pub across: Axis,
    /// The vertical axis.
    pub up: Axis,
    /// The series, later ones drawn over earlier ones.
    pub series: Vec<Series>,
}

/// An axis.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Axis {
    /// Its name, with the unit.
    pub name: String,
    /// Its ends; `None` for the range of the points.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<[f64; 2]>,
    /// Whether its labels are whole numbers only.
    pub is_whole: bool,
}

/// A series of points.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// How it is drawn.
    pub mark: Mark,
    /// The index of its color, from 0; `None` for the color of a reference.
    pub color: Option<usize>,
    /// The points; those of a line in order.
    pub points: Vec<Point>,
}

/// How points are drawn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Mark {
    /// A line.
    Line,
    /// A dashed line.
    Dashed,
    /// Dots, each with its own name.
    Dots,
    /// Rings around points of a line, each with its own name.
    Rings,
}

/// A point.
#[derive(Debug, Clone, Default, PartialEq, Serialize)]
pub struct Point {
    /// The horizontal value.
    pub x: f64,
    /// The vertical value.
    pub y: f64,
    /// The interval of `y`, low and high.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub band: Option<[f64; 2]>,
    /// Its own name.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub name: String,
}

impl Figure {
    /// A figure of those series that have points.
    pub fn new(
        name: impl Into<String>,
        caption: impl Into<String>,
        [across, up]: [Axis; 2],
        series: impl IntoIterator<Item = Series>,
    ) -> Self {
        Self {
            name: name.into(),
            caption: caption.into(),
            across,
            up,
            series: series
                .into_iter()
                .filter(|series| !series.points.is_empty())
                .collect(),
        }
    }

    /// Whether there is nothing to draw.
    pub fn is_empty(&self) -> bool {
        self.series.is_empty()
    }

    /// Its numbers, with one row per point.
    pub fn numbers(&self) -> Table {
        let up = Column {
            digits: Some(3),
            has_interval: true,
            ..Column::plain("y", &self.up.name)
        };
        let rows = self.series.iter().flat_map(|series| {
            series.points.iter().map(|point| {
                vec![
                    Cell::from(&series.name),
                    Cell::from(&point.name),
                    point.x.into(),
                    (Some(point.y), point.band).into(),
                ]
            })
        });
        let across = Column {
            digits: (!self.across.is_whole).then_some(3),
            ..Column::plain("x", &self.across.name)
        };
        Table {
            name: self.caption.clone(),
            columns: vec![
                Column::plain("series", "series"),
                Column::plain("name", "point"),
                across,
                up,
            ],
            rows: rows.collect(),
        }
    }
}

impl Axis {
    /// An axis over the range of the points.
    pub fn around(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            range: None,
            is_whole: false,
        }
    }

    /// An axis from 0 to 1.
    pub fn share(name: impl Into<String>) -> Self {
        Self {
            range: Some([0.0, 1.0]),
            ..Self::around(name)
        }
    }

    /// An axis of whole numbers over the range of the points.
    pub fn whole(name: impl Into<String>) -> Self {
        Self {
            is_whole: true,
            ..Self::around(name)
        }
    }
}

impl Series {
    /// A line through points.
    pub fn line(
        name: impl Into<String>,
        color: usize,
        points: impl IntoIterator<Item = impl Into<Point>>,
    ) -> Self {
        Self {
            name: name.into(),
            mark: Mark::Line,
            color: Some(color),
            points: points.into_iter().map(Into::into).collect(),
        }
    }

    /// A dashed line, as a reference for others.
    pub fn reference(
        name: impl Into<String>,
        points: impl IntoIterator<Item = impl Into<Point>>,
    ) -> Self {
        Self {
            mark: Mark::Dashed,
            color: None,
            ..Self::line(name, 0, points)
        }
    }

    /// Dots with names.
    pub fn dots(name: impl Into<String>, points: impl IntoIterator<Item = Point>) -> Self {
        Self {
            mark: Mark::Dots,
            color: None,
            ..Self::line(name, 0, points)
        }
    }
}

impl Point {
    /// A point with a name of its own.
    pub fn named(x: f64, y: f64, name: impl Into<String>) -> Self {
        Self {
            x,
            y,
            band: None,
            name: name.into(),
        }
    }
}

impl From<(f64, f64)> for Point {
    fn from((x, y): (f64, f64)) -> Self {
        Self::named(x, y, "")
    }
}
