//! A chart of text: the average as a line of Braille dots, the band from the smallest to the
//! largest value as a shade around it. It needs no colours.

use std::fmt::Write as _;

use super::{Frame, Series, heading, resample::resampled, span};

/// Lines of the plot; a few more if the ticks need them.
const ABOUT: usize = 12;
/// Narrower terminals wrap the lines; wider charts are not easier to read.
const WIDTHS: (usize, usize) = (40, 160);

const BAND: char = '\u{2591}';
/// The character without dots; each dot is one of its bits.
const BRAILLE: u32 = 0x2800;
/// The dots of the left and of the right half, from the top.
const BITS: [[u32; 4]; 2] = [[0x01, 0x02, 0x04, 0x40], [0x08, 0x10, 0x20, 0x80]];

/// The chart, `width` characters wide, with a line break at the end.
pub(crate) fn draw(series: &Series, width: usize) -> String {
    let mut text = format!("{}\n", heading(series));
    let Some(frame) = Frame::of(series) else {
        let _ = writeln!(text, "no values ({})", span(series));
        return text;
    };
    let grid = Grid::of(&frame);
    let labels = row_labels(&frame, &grid);
    let label_width = labels.iter().map(String::len).max().unwrap_or(0);
    let columns = width
        .clamp(WIDTHS.0, WIDTHS.1)
        .saturating_sub(label_width + 2)
        .max(10);
    let rows = plot(&frame, &grid, columns);
    for (label, row) in labels.iter().zip(rows) {
        let edge = if label.is_empty() {
            '\u{2502}'
        } else {
            '\u{2524}'
        };
        let line = format!("{label:>label_width$} {edge}{row}");
        let _ = writeln!(text, "{}", line.trim_end());
    }
    let (axis, times) = time_lines(&frame, columns);
    let indent = " ".repeat(label_width + 1);
    let _ = writeln!(text, "{indent}\u{2514}{axis}");
    let _ = writeln!(text, "{}", format!("{indent} {times}").trim_end());
    let _ = writeln!(text, "{indent} {}", span(series));
    let _ = write!(
        text,
        "{indent} \u{2812}\u{2812} average  {BAND}{BAND} min to max"
    );
    text += if frame.has_filled() {
        "  \u{2802}\u{2802} filled in\n"
    } else {
        "\n"
    };
    text
}

/// The lines of the plot, each with as many dots above each other as a character has. Ticks are the
/// same number of lines apart, each in the middle of its line.
struct Grid {
    rows: usize,
}

impl Grid {
    fn of(frame: &Frame) -> Self {
        let steps = frame.value.steps().max(1);
        let rows = steps * ABOUT.div_ceil(steps) + 1;
        Self { rows }
    }

    /// The dot, counted from the top, of a value.
    fn dot(&self, frame: &Frame, value: f64) -> usize {
        self.dot_at(frame.value.part(value))
    }

    /// The dot of a position between 0 at the bottom and 1 at the top.
    fn dot_at(&self, part: f64) -> usize {
        let between = (self.rows - 1) * 4;
        between - rounded(part, between) + 1
    }
}

/// The label of each line that has a tick.
fn row_labels(frame: &Frame, grid: &Grid) -> Vec<String> {
    let mut labels = vec![String::new(); grid.rows];
    for (part, label) in frame.value.ticks() {
        labels[grid.dot_at(part) / 4] = label;
    }
    labels
}

/// The lines of the plot, from the top.
fn plot(frame: &Frame, grid: &Grid, columns: usize) -> Vec<String> {
    let mut bits = vec![vec![0_u32; columns]; grid.rows];
    let mut shade = vec![vec![false; columns]; grid.rows];
    let mut last = None;
    for (half, point) in resampled(&frame.points, columns * 2).iter().enumerate() {
        let column = half / 2;
        if let Some((low, high)) = point.band() {
            let [low, high] = [low, high].map(|value| grid.dot(frame, value) / 4);
            for row in shade.iter_mut().take(low + 1).skip(high) {
                row[column] = true;
            }
        }
        let level = point.average.map(|value| grid.dot(frame, value));
        // Filled steps have every other dot.
        if let Some(level) = level.filter(|_| !point.is_filled || half % 2 == 0) {
            // Down or up from the previous step, if it touches.
            let from = last.filter(|_| !point.is_filled).unwrap_or(level);
            for dot in from.min(level)..=from.max(level) {
                bits[dot / 4][column] |= BITS[half % 2][dot % 4];
            }
        }
        last = level;
    }
    let cell = |(&bits, &shade): (&u32, &bool)| match char::from_u32(BRAILLE + bits) {
        Some(dots) if bits > 0 => dots,
        _ if shade => BAND,
        _ => ' ',
    };
    let lines = bits.iter().zip(&shade);
    lines
        .map(|(bits, shade)| bits.iter().zip(shade).map(cell).collect())
        .collect()
}

/// The line of the axis and the one of its labels.
fn time_lines(frame: &Frame, columns: usize) -> (String, String) {
    let mut axis = vec!['\u{2500}'; columns];
    let mut labels = String::new();
    // A label and the blanks around it take about ten characters.
    for (part, label) in frame.time.ticks((columns as u64 / 10).max(2)) {
        let at = rounded(part, columns - 1);
        axis[at] = '\u{252c}';
        let begin = at.saturating_sub(label.len() / 2);
        let begin = begin.min(columns.saturating_sub(label.len()));
        if labels.is_empty() || begin > labels.len() {
            labels = format!("{labels:begin$}{label}");
        }
    }
    (axis.into_iter().collect(), labels)
}

#[allow(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    clippy::cast_sign_loss,
    reason = "a place of a small picture, and never negative"
)]
fn rounded(part: f64, last: usize) -> usize {
    (part * last as f64).round() as usize
}
