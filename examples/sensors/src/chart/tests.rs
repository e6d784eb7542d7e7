use bucket_mongo::bson::DateTime;

use super::{Point, Series, svg, terminal};

const HOUR: i64 = 3_600_000;
/// 2014-02-14.
const START: i64 = 1_392_336_000_000;

/// A step of an hour.
fn hour(number: i64, value: Option<f64>) -> Point {
    Point {
        start: DateTime::from_millis(START + number * HOUR),
        end: DateTime::from_millis(START + (number + 1) * HOUR),
        min: value.map(|value| value - value.abs() * 0.1),
        average: value,
        max: value.map(|value| value + value.abs() * 0.1),
        is_filled: false,
    }
}

fn series(values: impl IntoIterator<Item = Option<f64>>) -> Series {
    let points = (0..).zip(values).map(|(number, value)| hour(number, value));
    Series {
        title: "cpu-1 load".to_owned(),
        unit: "percent".to_owned(),
        points: points.collect(),
    }
}

/// Two days: a wave, and a gap from hour 20 to hour 26.
fn two_days() -> Series {
    let value = |hour: i32| {
        let wave = (f64::from(hour) / 5.0).sin() * 20.0 + 50.0;
        (!(20..26).contains(&hour)).then_some(wave)
    };
    series((0..48).map(value))
}

/// The moves of the pen that draws the average: one for each run without a gap.
fn runs(svg: &str) -> usize {
    let (_, path) = svg.split_once("<path class=\"average\" d=\"").unwrap();
    path.split('"').next().unwrap().matches('M').count()
}

/// The lines of the plot, without the labels.
fn plot(text: &str) -> Vec<String> {
    let edge = ['\u{2502}', '\u{2524}'];
    let lines = text.lines().filter_map(|line| line.split_once(edge));
    lines.map(|(_, plot)| plot.to_owned()).collect()
}

/// The number of columns in which something is drawn.
fn drawn_columns(text: &str) -> usize {
    let rows: Vec<Vec<char>> = plot(text).iter().map(|row| row.chars().collect()).collect();
    let widest = rows.iter().map(Vec::len).max().unwrap_or(0);
    let drawn = |column: usize| {
        let cell = |row: &Vec<char>| row.get(column).is_some_and(|cell| *cell != ' ');
        rows.iter().any(cell)
    };
    (0..widest).filter(|column| drawn(*column)).count()
}

#[test]
fn the_pictures_do_not_change() {
    let kept = |name: &str, kept: &str, drawn: &str| {
        if let Some(folder) = std::env::var_os("CHART_PICTURES") {
            std::fs::write(std::path::Path::new(&folder).join(name), drawn).unwrap();
        }
        assert_eq!(
            drawn, kept,
            "{name} changed; to see it set CHART_PICTURES to a folder"
        );
    };
    kept(
        "two_days.txt",
        include_str!("tests/two_days.txt"),
        &terminal::draw(&two_days(), 80),
    );
    kept(
        "two_days.svg",
        include_str!("tests/two_days.svg"),
        &svg::draw(&two_days()),
    );
}

#[test]
fn a_chart_without_values_says_so() {
    for (series, span) in [
        (series([]), "no steps"),
        (
            series([None, None]),
            "2014-02-14 00:00:00 to 2014-02-14 02:00:00 UTC",
        ),
        (
            series([Some(f64::NAN), Some(f64::INFINITY)]),
            "2014-02-14 00:00:00",
        ),
    ] {
        let text = terminal::draw(&series, 80);
        assert!(text.contains("no values") && text.contains(span), "{text}");
        let svg = svg::draw(&series);
        assert!(svg.contains("no values") && svg.contains(span), "{svg}");
        assert!(svg.ends_with("</svg>\n"));
    }
}

#[test]
fn one_step_is_a_line_over_its_time() {
    let text = terminal::draw(&series([Some(5.0)]), 80);
    assert_eq!(
        drawn_columns(&text),
        plot(&text)
            .iter()
            .map(|row| row.chars().count())
            .max()
            .unwrap()
    );
    assert_eq!(runs(&svg::draw(&series([Some(5.0)]))), 1);
}

#[test]
fn gaps_are_visible_whether_their_steps_are_empty_or_left_out() {
    let empty = two_days();
    let mut left_out = empty.clone();
    left_out.points.retain(|point| point.average.is_some());
    for series in [empty, left_out] {
        assert_eq!(runs(&svg::draw(&series)), 2);
        let text = terminal::draw(&series, 80);
        let drawn = drawn_columns(&text);
        // 42 of 48 hours, in about 75 columns.
        assert!((60..70).contains(&drawn), "{drawn}\n{text}");
    }
}

#[test]
fn a_filled_step_looks_different_and_has_no_band() {
    let measured = two_days();
    let mut filled = measured.clone();
    for point in &mut filled.points {
        if point.average.is_none() {
            (point.average, point.is_filled) = (Some(45.0), true);
        }
    }
    let (text, svg) = (terminal::draw(&filled, 80), svg::draw(&filled));
    // Every other dot of a line, and dots nowhere else.
    let dots: Vec<char> = text
        .chars()
        .filter(|c| "\u{2802}\u{2801}\u{2804}\u{2840}".contains(*c))
        .collect();
    assert!(dots.len() >= 8, "{text}");
    assert!(text.ends_with(" filled in\n"), "{text}");
    let (_, path) = svg
        .split_once("<path class=\"average filled\" d=\"")
        .unwrap();
    assert_eq!(
        path.split('"').next().unwrap().matches('M').count(),
        1,
        "{svg}"
    );
    assert_eq!(runs(&svg), 2, "{svg}");
    assert!(svg.contains("filled in</text>"), "{svg}");

    let (text, svg) = (terminal::draw(&measured, 80), svg::draw(&measured));
    assert!(!text.contains("filled in") && !svg.contains("filled in"));
    // In few columns, a span in which anything was measured counts as measured.
    let many: Vec<_> = (0..1_000)
        .map(|n| Point {
            is_filled: n % 10 != 3,
            ..hour(n, Some(1.0))
        })
        .collect();
    let series = Series {
        points: many,
        ..measured
    };
    assert!(
        !terminal::draw(&series, 40)
            .lines()
            .any(|line| line.contains('\u{2802}') && !line.contains("filled in"))
    );
}

#[test]
fn values_of_any_size_are_drawn_with_labels_that_differ() {
    let tiny = f64::from_bits(1);
    for values in [
        [0.0, 0.0],
        [7.0, 7.0],
        [-3.5, -3.5],
        [0.1, 0.2],
        [1e9, 1e9 + 1.0],
        [1e15, 1e15 + 1.0],
        [1e-300, 2e-300],
        [tiny, tiny],
        [0.0, tiny],
        [f64::MIN_POSITIVE, 1.0],
        [f64::MIN, f64::MAX],
        [f64::MAX, f64::MAX],
        [-1e300, 1e-300],
        [1.0, f64::NAN],
        [f64::NEG_INFINITY, 1.0],
    ] {
        let series = series(values.map(Some));
        let text = terminal::draw(&series, 80);
        assert!(drawn_columns(&text) > 30, "{values:?}\n{text}");
        let ticks: Vec<&str> = text
            .lines()
            .filter_map(|line| line.split_once('\u{2524}'))
            .map(|(label, _)| label.trim())
            .collect();
        assert!((3..=9).contains(&ticks.len()), "{values:?}\n{text}");
        assert!(
            ticks.windows(2).all(|pair| pair[0] != pair[1]),
            "{values:?}\n{text}"
        );
        let svg = svg::draw(&series);
        assert_eq!(runs(&svg), 1, "{values:?}");
        let (_, view) = svg.split_once("viewBox=\"").unwrap();
        let left: usize = view
            .trim_start_matches('-')
            .split(' ')
            .next()
            .unwrap()
            .parse()
            .unwrap();
        let longest = ticks.iter().map(|tick| tick.len()).max().unwrap();
        assert!(longest * 8 <= 82 + left, "{values:?}\n{svg}");
        assert!(
            !svg.contains("NaN") && !svg.contains("inf"),
            "{values:?}\n{svg}"
        );
    }
}

#[test]
fn no_line_is_wider_than_the_terminal() {
    for width in [0, 40, 41, 80, 100, 500] {
        let text = terminal::draw(&two_days(), width);
        let widest = text.lines().map(|line| line.chars().count()).max().unwrap();
        assert!(widest <= width.max(60), "{width}\n{text}");
        assert!(text.lines().all(|line| line.trim_end() == line), "{text}");
    }
}

#[test]
fn long_and_odd_spans_have_few_ticks() {
    for (start, end) in [
        (0, 1),
        (0, 250),
        (-1, 1),
        (START, START + 7 * 24 * HOUR),
        (START, START + 500 * 24 * HOUR),
        (START, START + 40_000 * 24 * HOUR),
        (i64::MIN, i64::MAX),
        (i64::MAX - 5, i64::MAX),
        (START, START),
    ] {
        let mut series = series([Some(1.0)]);
        series.points[0].start = DateTime::from_millis(start);
        series.points[0].end = DateTime::from_millis(end);
        let text = terminal::draw(&series, 80);
        let axis = text.lines().find(|line| line.contains('\u{2514}')).unwrap();
        assert!(axis.matches('\u{252c}').count() <= 10, "{text}");
        assert!(svg::draw(&series).len() < 6_000);
    }
}

#[test]
fn many_steps_do_not_make_a_large_picture() {
    let series = series((0..100_000).map(|hour| Some(f64::from(hour % 24))));
    assert!(svg::draw(&series).len() < 100_000);
    let text = terminal::draw(&series, 80);
    assert!(text.len() < 8_000);
}

#[test]
fn names_stay_on_their_line_and_in_the_picture() {
    let mut series = two_days();
    series.title = "a\u{1b}[2J\n<b> & \"c\"".to_owned();
    let text = terminal::draw(&series, 80);
    assert!(
        text.starts_with("a\u{fffd}[2J\u{fffd}<b> & \"c\", percent\n"),
        "{text}"
    );
    let svg = svg::draw(&series);
    assert!(svg.contains("&lt;b> &amp; &quot;c&quot;, percent") && !svg.contains("<b>"));
}
