//! Sorts lists of records. The sort itself sees no records: it would be compiled for each model, and a sort is a lot of
//! code.

use std::mem;

use bson::DateTime;

/// Sorts by time. Records of one time stay in their order.
pub fn sort_by_time<R>(records: &mut [R], time: impl Fn(&R) -> DateTime) {
    let times: Vec<DateTime> = records.iter().map(time).collect();
    if !times.is_sorted() {
        arrange(records, order_of(&times));
    }
}

fn order_of(times: &[DateTime]) -> Vec<usize> {
    let mut order: Vec<usize> = (0..times.len()).collect();
    order.sort_by_key(|index| times[*index]);
    order
}

/// Moves what is at each of these indexes to where the index is. Each index of the list is there once.
pub(crate) fn arrange<R>(list: &mut [R], mut from: Vec<usize>) {
    for start in 0..list.len() {
        let mut to = start;
        // Around a circle of moves, which closes where it began. What was moved comes from where it is.
        loop {
            let next = mem::replace(&mut from[to], to);
            if next == start {
                break;
            }
            list.swap(to, next);
            to = next;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{DateTime, sort_by_time};

    #[test]
    fn records_are_in_the_order_of_a_stable_sort() {
        for lists in 0..5_usize.pow(5) {
            let digit = |index: u32| i64::try_from(lists / 5_usize.pow(index) % 5).unwrap();
            let records: Vec<(i64, u32)> = (0..5).map(|index| (digit(index), index)).collect();
            let mut expected = records.clone();
            expected.sort_by_key(|(time, _)| *time);
            let mut sorted = records;
            sort_by_time(&mut sorted, |(time, _)| DateTime::from_millis(*time));
            assert_eq!(sorted, expected);
        }
    }

    #[test]
    fn a_list_without_records_is_sorted() {
        let mut none: [(); 0] = [];
        sort_by_time(&mut none, |()| DateTime::from_millis(0));
    }
}
