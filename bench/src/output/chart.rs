//! Bar charts as SVG, without a library: one bar for each contestant, a line from the smallest to
//! the largest figure.

use std::fmt::Write as _;

use super::number::figure;
use crate::report::Outcome;

const WIDTH: f64 = 980.0;
/// Where the names end and the bars begin.
const NAMES: f64 = 470.0;
/// Room for the figure after the longest bar.
const FIGURES: f64 = 110.0;
const ROW: f64 = 30.0;
const BAR: f64 = 18.0;
const TOP: f64 = 40.0;

/// Legible on a light and on a dark page.
const STYLE: &str = "\
text { font: 13px system-ui, sans-serif; fill: #1f2328 }
.title { font-weight: 600 }
.own { fill: #1a7f5a }
.peer { fill: #8b949e }
.spread { stroke: #57606a; stroke-width: 1.5 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .own { fill: #2ea779 }
  .peer { fill: #6e7681 }
  .spread { stroke: #c9d1d9 }
}";

/// The chart of a workload.
pub(crate) fn chart(outcome: &Outcome) -> String {
    let rows = outcome.contestants.iter();
    let largest = rows
        .clone()
        .map(|row| row.spread.max)
        .fold(f64::MIN_POSITIVE, f64::max);
    let height = rows.clone().fold(TOP + 6.0, |height, _| height + ROW);
    let better = if outcome.more_is_better {
        "more"
    } else {
        "less"
    };
    let title = format!("{}, {better} is better", outcome.unit.text());
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {WIDTH} {height}\" \
         role=\"img\" aria-label=\"{}\">\n<style>\n{STYLE}\n</style>\n\
         <text class=\"title\" x=\"{NAMES}\" y=\"22\">{title}</text>\n",
        escaped(&outcome.title),
    );
    let mut top = TOP;
    for row in rows {
        let x = |value: f64| NAMES + (WIDTH - NAMES - FIGURES) * value / largest;
        let (class, spread) = (if row.own { "own" } else { "peer" }, &row.spread);
        let (middle, text) = (top + BAR / 2.0, top + BAR - 4.0);
        // Writing to a string cannot fail.
        let _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{text:.1}\" text-anchor=\"end\">{}</text>\n\
             <rect class=\"{class}\" x=\"{NAMES}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"{BAR}\"/>\n\
             <line class=\"spread\" x1=\"{:.1}\" x2=\"{:.1}\" y1=\"{middle:.1}\" y2=\"{middle:.1}\"/>\n\
             <text x=\"{:.1}\" y=\"{text:.1}\">{}</text>",
            NAMES - 8.0,
            escaped(&row.name),
            (x(spread.median) - NAMES).max(1.0),
            x(spread.min),
            x(spread.max),
            x(spread.max) + 8.0,
            figure(spread.median, outcome.unit),
        );
        top += ROW;
    }
    svg.push_str("</svg>\n");
    svg
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('"', "&quot;")
}
