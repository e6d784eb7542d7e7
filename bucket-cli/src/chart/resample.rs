//! A series as a given number of equal spans of time: one for each column of a picture.

use bucket_mongo::bson::DateTime;

use super::Point;

/// The points, resampled to `number` spans of equal length. The average of a span weights each of
/// its points by their common time. A span without values is a gap. A span is filled if nothing in
/// it was measured.
#[allow(
    clippy::cast_possible_truncation,
    reason = "bounds of spans are between two dates"
)]
pub(super) fn resampled(points: &[Point], number: usize) -> Vec<Point> {
    let Some((first, last)) = points.first().zip(points.last()) else {
        return Vec::new();
    };
    let start = i128::from(first.start.timestamp_millis());
    let length = i128::from(last.end.timestamp_millis()) - start;
    let bound = |index: usize| {
        let millis = start + length * index as i128 / number.max(1) as i128;
        DateTime::from_millis(millis as i64)
    };
    // Points that end before a span begins do not matter to later spans either.
    let mut rest = points;
    let span = |index: usize| {
        let (start, end) = (bound(index), bound(index + 1));
        let passed = rest.iter().take_while(|point| point.end <= start).count();
        rest = &rest[passed..];
        let within = rest.iter().take_while(|point| point.start < end).count();
        merged(start, end, &rest[..within])
    };
    (0..number).map(span).collect()
}

fn merged(start: DateTime, end: DateTime, points: &[Point]) -> Point {
    let mut point = Point {
        start,
        end,
        min: None,
        average: None,
        max: None,
        is_filled: false,
    };
    let mut time = 0.0;
    for part in points {
        point.min = part.min.into_iter().chain(point.min).reduce(f64::min);
        point.max = part.max.into_iter().chain(point.max).reduce(f64::max);
        let weight = share(part.start.max(start), part.end.min(end));
        let Some(average) = part.average else {
            continue;
        };
        time += weight;
        point.is_filled = part.is_filled && (point.is_filled || point.average.is_none());
        let known = point.average.unwrap_or(average);
        // A running mean: sums of large values could overflow.
        point.average = Some(known + (average - known) * (weight / time));
    }
    point
}

/// Spans shorter than a millisecond count as one.
#[allow(clippy::cast_precision_loss, reason = "a weight")]
fn share(start: DateTime, end: DateTime) -> f64 {
    let millis = i128::from(end.timestamp_millis()) - i128::from(start.timestamp_millis());
    millis.max(1) as f64
}
