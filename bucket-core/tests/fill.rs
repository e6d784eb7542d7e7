//! Filling gaps: known values never change, and no value is invented where none can be computed.

use bson::DateTime;
use bucket_core::{Fill, step::Filled};
use proptest::prelude::*;

type Row = (DateTime, Option<f64>);

fn at(millis: i64) -> DateTime {
    DateTime::from_millis(millis)
}

fn rows(values: &[(i64, Option<f64>)]) -> Vec<Row> {
    values
        .iter()
        .map(|&(millis, value)| (at(millis), value))
        .collect()
}

fn values(filled: &[Filled]) -> Vec<Option<f64>> {
    filled.iter().map(|row| row.value).collect()
}

#[test]
fn no_rows_give_no_rows() {
    for fill in [Fill::Skip, Fill::Null, Fill::Previous, Fill::Linear] {
        assert!(fill.apply(Vec::new(), Some((at(0), 1.0))).is_empty());
    }
    assert_eq!(Fill::default(), Fill::Skip);
}

#[test]
fn previous_values_are_held_over_gaps_and_marked() {
    let rows = rows(&[(1, None), (2, Some(2.0)), (3, None), (4, None)]);
    let filled = Fill::Previous.apply(rows.clone(), None);
    assert_eq!(values(&filled), [None, Some(2.0), Some(2.0), Some(2.0)]);
    let marks: Vec<bool> = filled.iter().map(|row| row.is_filled).collect();
    assert_eq!(marks, [false, false, true, true]);
    let filled = Fill::Previous.apply(rows, Some((at(-9), 7.0)));
    assert_eq!((filled[0].value, filled[0].is_filled), (Some(7.0), true));
}

#[test]
fn lines_follow_time_and_not_rows() {
    let rows = rows(&[
        (0, Some(0.0)),
        (10, None),
        (75, None),
        (100, Some(100.0)),
        (110, None),
    ]);
    let filled = Fill::Linear.apply(rows, None);
    assert_eq!(
        values(&filled),
        [Some(0.0), Some(10.0), Some(75.0), Some(100.0), None]
    );
    assert!(filled[1].is_filled && filled[2].is_filled && !filled[4].is_filled);
}

#[test]
fn lines_do_not_overflow_and_stop_at_values_that_are_not_numbers() {
    let gap = |left, right| {
        let rows = rows(&[(i64::MIN, Some(left)), (0, None), (i64::MAX, Some(right))]);
        Fill::Linear.apply(rows, None)[1].value
    };
    assert!(gap(f64::MAX, f64::MIN).is_some_and(|value| value.abs() < 1e300));
    assert_eq!(gap(f64::MAX, f64::MAX), Some(f64::MAX));
    assert_eq!(gap(f64::INFINITY, 1.0), None);
    assert_eq!(gap(1.0, f64::NAN), None);
}

fn any_rows() -> impl Strategy<Value = Vec<Row>> {
    let row = (1_i64..1_000, prop::option::of(-1e6..1e6));
    prop::collection::vec(row, 0..40).prop_map(|steps| {
        let mut last = 0;
        let row = |(step, value)| {
            last += step;
            (at(last), value)
        };
        steps.into_iter().map(row).collect()
    })
}

proptest! {
    #[test]
    fn known_values_are_kept_and_filled_ones_are_between_their_neighbours(
        rows in any_rows(),
        before in prop::option::of(-1e6..1e6),
        fill in prop::sample::select(vec![Fill::Null, Fill::Previous, Fill::Linear]),
    ) {
        let filled = fill.apply(rows.clone(), before.map(|value| (at(0), value)));
        prop_assert_eq!(filled.len(), rows.len());
        for (index, (row, (date, known))) in filled.iter().zip(&rows).enumerate() {
            prop_assert_eq!(row.at, *date);
            prop_assert_eq!(row.is_filled, known.is_none() && row.value.is_some());
            if known.is_some() {
                prop_assert_eq!(row.value, *known);
                continue;
            }
            let left = rows[..index].iter().rev().find_map(|row| row.1).or(before);
            let right = rows[index..].iter().find_map(|row| row.1);
            match (fill, left, right) {
                (Fill::Previous, left, _) => prop_assert_eq!(row.value, left),
                (Fill::Linear, Some(left), Some(right)) => {
                    let value = row.value.unwrap();
                    prop_assert!(left.min(right) <= value && value <= left.max(right));
                }
                _ => prop_assert_eq!(row.value, None),
            }
        }
        let kept = Fill::Skip.apply(rows.clone(), None);
        let known = rows.iter().filter(|row| row.1.is_some());
        prop_assert!(kept.iter().map(|row| (row.at, row.value)).eq(known.copied()));
    }
}
