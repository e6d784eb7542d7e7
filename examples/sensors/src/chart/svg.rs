//! A chart as SVG, without a library: the average as a line, the least and the greatest values as a
//! band around it.

use std::fmt::Write as _;

use super::{Frame, Point, Series, heading, resample::resampled, span};

const WIDTH: i32 = 980;
const HEIGHT: f64 = 380.0;
/// The edges of the plot.
const LEFT: f64 = 90.0;
const RIGHT: f64 = 960.0;
const TOP: f64 = 50.0;
const BOTTOM: f64 = HEIGHT - 60.0;
/// The width of a digit, and how many digits fit to the left of the plot.
const DIGIT: i32 = 8;
const DIGITS: usize = 10;
/// More points than this cannot be seen.
const MOST: usize = 870;
/// A label of time takes about a tenth of the axis.
const TIME_TICKS: u64 = 10;

/// Legible on light and dark pages; a line with its own colour, and a band in a tint of it.
const STYLE: &str = "\
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.grid { stroke: #d0d7de }
.axis { stroke: #57606a }
.band { fill: #1a7f5a; fill-opacity: 0.25; shape-rendering: crispEdges }
.average { fill: none; stroke: #1a7f5a; stroke-width: 2; stroke-linejoin: round }
.filled { stroke-width: 1.5; stroke-dasharray: 2 4 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .grid { stroke: #30363d }
  .axis { stroke: #8b949e }
  .band { fill: #2ea779 }
  .average { stroke: #2ea779 }
}";

/// The picture, as the text of a file.
pub(crate) fn draw(series: &Series) -> String {
    let heading = escaped(&heading(series));
    let frame = Frame::of(series);
    // Labels of many digits extend past the left edge, so the picture then begins further left.
    let labels = frame.iter().flat_map(|frame| frame.value.ticks());
    let longest = labels.map(|(_, label)| label.len()).max().unwrap_or(0);
    let more = i32::try_from(longest.saturating_sub(DIGITS)).unwrap_or(0) * DIGIT;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"{} 0 {} {HEIGHT}\" \
         role=\"img\" aria-label=\"{heading}\">\n<style>\n{STYLE}\n</style>\n\
         <text class=\"title\" x=\"{LEFT}\" y=\"24\">{heading}</text>\n",
        -more,
        WIDTH + more,
    );
    if let Some(frame) = frame {
        grid(&mut svg, &frame);
        curves(&mut svg, &frame);
        legend(&mut svg, frame.has_filled());
    } else {
        let (x, y) = (f64::midpoint(LEFT, RIGHT), f64::midpoint(TOP, BOTTOM));
        let _ = writeln!(
            svg,
            "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\">no values</text>"
        );
    }
    let _ = writeln!(
        svg,
        "<text x=\"{LEFT}\" y=\"{:.1}\">{}</text>\n</svg>",
        HEIGHT - 14.0,
        escaped(&span(series)),
    );
    svg
}

/// A line and a label for each tick, and the axes over them.
fn grid(svg: &mut String, frame: &Frame) {
    // Writing to a string cannot fail.
    for (part, label) in frame.value.ticks() {
        let y = height(part);
        let _ = writeln!(
            svg,
            "<line class=\"grid\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{y:.1}\" y2=\"{y:.1}\"/>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{label}</text>",
            LEFT - 8.0,
            y + 4.5,
        );
    }
    for (part, label) in frame.time.ticks(TIME_TICKS) {
        let x = across(part);
        let _ = writeln!(
            svg,
            "<line class=\"axis\" x1=\"{x:.1}\" x2=\"{x:.1}\" y1=\"{BOTTOM}\" y2=\"{:.1}\"/>\n\
             <text x=\"{x:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{label}</text>",
            BOTTOM + 5.0,
            BOTTOM + 20.0,
        );
    }
    let _ = writeln!(
        svg,
        "<line class=\"axis\" x1=\"{LEFT}\" x2=\"{RIGHT}\" y1=\"{BOTTOM}\" y2=\"{BOTTOM}\"/>\n\
         <line class=\"axis\" x1=\"{LEFT}\" x2=\"{LEFT}\" y1=\"{TOP}\" y2=\"{BOTTOM}\"/>"
    );
}

/// One path for the bands of all steps, one for the averages and one for those that are filled in.
fn curves(svg: &mut String, frame: &Frame) {
    let resampled = (frame.points.len() > MOST).then(|| resampled(&frame.points, MOST));
    let points = resampled.as_deref().unwrap_or(&frame.points);
    let [mut band, mut measured, mut filled] = [const { String::new() }; 3];
    let mut last: Option<&Point> = None;
    for point in points {
        let [left, right] = [point.start, point.end].map(|date| across(frame.time.part(date)));
        let y = |value| height(frame.value.part(value));
        if let Some((low, high)) = point.band() {
            let (low, high) = (y(low), y(high));
            let _ = write!(band, "M{left:.1} {high:.1}H{right:.1}V{low:.1}H{left:.1}Z");
        }
        if let Some(value) = point.average {
            let level = y(value);
            let before = last.filter(|last| last.end == point.start);
            let touches = before.and_then(|last| Some((last.average?, last.is_filled)));
            let path = if point.is_filled {
                &mut filled
            } else {
                &mut measured
            };
            let _ = match touches {
                Some((_, is_filled)) if is_filled == point.is_filled => {
                    write!(path, "V{level:.1}H{right:.1}")
                }
                Some((from, _)) => {
                    let from = y(from);
                    write!(path, "M{left:.1} {from:.1}V{level:.1}H{right:.1}")
                }
                None => write!(path, "M{left:.1} {level:.1}H{right:.1}"),
            };
        }
        last = Some(point);
    }
    let _ = writeln!(
        svg,
        "<path class=\"band\" d=\"{band}\"/>\n<path class=\"average\" d=\"{measured}\"/>"
    );
    if !filled.is_empty() {
        let _ = writeln!(svg, "<path class=\"average filled\" d=\"{filled}\"/>");
    }
}

/// At the right of the title.
fn legend(svg: &mut String, has_filled: bool) {
    let (line, band, y) = (RIGHT - 210.0, RIGHT - 110.0, 20.0);
    let _ = writeln!(
        svg,
        "<line class=\"average\" x1=\"{line}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/>\n\
         <text x=\"{:.1}\" y=\"24\">average</text>\n\
         <rect class=\"band\" x=\"{band}\" y=\"14\" width=\"20\" height=\"12\"/>\n\
         <text x=\"{:.1}\" y=\"24\">min to max</text>",
        line + 20.0,
        line + 26.0,
        band + 26.0,
    );
    if has_filled {
        let filled = line - 95.0;
        let _ = writeln!(
            svg,
            "<line class=\"average filled\" x1=\"{filled}\" x2=\"{:.1}\" y1=\"{y}\" y2=\"{y}\"/>\n\
             <text x=\"{:.1}\" y=\"24\">filled in</text>",
            filled + 20.0,
            filled + 26.0,
        );
    }
}

fn across(part: f64) -> f64 {
    LEFT + (RIGHT - LEFT) * part
}

fn height(part: f64) -> f64 {
    BOTTOM - (BOTTOM - TOP) * part
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}
