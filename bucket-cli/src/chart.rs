//! A series of steps as a picture: in the terminal. It does not know the database.
//!
//! Each step is as wide as its time, and its average is a level line over it. Nothing is drawn
//! between two steps that do not touch, so that gaps are visible.

mod resample;
pub(crate) mod terminal;
mod time_axis;
mod value_axis;

use bucket_mongo::bson::DateTime;

use self::{time_axis::TimeAxis, value_axis::ValueAxis};
use crate::text::{printable, short_date};

/// What is drawn.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Series {
    pub(crate) title: String,
    /// The unit of the values, such as `m/s`; may be empty.
    pub(crate) unit: String,
    /// In order of time. Steps may be left out.
    pub(crate) points: Vec<Point>,
}

/// A step and its values.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    pub(crate) start: DateTime,
    pub(crate) end: DateTime,
    pub(crate) min: Option<f64>,
    pub(crate) average: Option<f64>,
    pub(crate) max: Option<f64>,
    /// Whether the average was filled in because nothing was measured: it is drawn as dots.
    pub(crate) is_filled: bool,
}

/// Values beyond this limit are drawn at it: the difference of two values must stay finite.
const LARGEST: f64 = 1e300;

impl Point {
    /// Removes what cannot be drawn: infinite values and NaN.
    fn drawable(self) -> Self {
        let value = |value: Option<f64>| {
            let finite = value.filter(|value| value.is_finite());
            finite.map(|value| value.clamp(-LARGEST, LARGEST))
        };
        Self {
            min: value(self.min),
            average: value(self.average),
            max: value(self.max),
            ..self
        }
    }

    /// The smallest and the largest value.
    fn band(&self) -> Option<(f64, f64)> {
        self.min.zip(self.max)
    }

    fn values(&self) -> impl Iterator<Item = f64> + use<> {
        [self.min, self.average, self.max].into_iter().flatten()
    }
}

/// A series that has values, and its axes.
struct Frame {
    points: Vec<Point>,
    time: TimeAxis,
    value: ValueAxis,
}

impl Frame {
    /// None if there are no values.
    fn of(series: &Series) -> Option<Self> {
        let points: Vec<Point> = series.points.iter().map(|point| point.drawable()).collect();
        let (first, last) = (points.first()?, points.last()?);
        let time = TimeAxis::new(first.start, last.end);
        let value = ValueAxis::of(points.iter().flat_map(Point::values))?;
        Some(Self {
            points,
            time,
            value,
        })
    }

    /// Whether the legend must explain filled steps.
    fn has_filled(&self) -> bool {
        let is_drawn = |point: &Point| point.is_filled && point.average.is_some();
        self.points.iter().any(is_drawn)
    }
}

/// The title and the unit, without characters that would break the line or the picture.
fn heading(series: &Series) -> String {
    let title = printable(&series.title);
    match series.unit.as_str() {
        "" => title,
        unit => format!("{title}, {}", printable(unit)),
    }
}

/// The span of time, or a text that there is none.
fn span(series: &Series) -> String {
    match series.points.first().zip(series.points.last()) {
        Some((first, last)) => {
            format!(
                "{} to {} UTC",
                short_date(first.start),
                short_date(last.end)
            )
        }
        None => "no steps".to_owned(),
    }
}
