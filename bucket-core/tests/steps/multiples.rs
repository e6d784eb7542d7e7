//! Whether steps consist of whole windows.

use bucket_core::{Interval, TimeRange, Window};
use proptest::prelude::*;

use crate::{any_date, any_step};

#[test]
fn whole_windows_are_inside_one_step_if_it_is_a_multiple() {
    let all = |every: Interval, window| every.is_multiple_of(window, TimeRange::ALL);
    assert!(all(Interval::hours(2), Window::hours(1)));
    assert!(all(Interval::hours(24), Window::Day));
    assert!(all(Interval::week(), Window::Week));
    assert!(all(Interval::year(), Window::Month));
    assert!(!all(Interval::hours(1), Window::hours(2)));
    assert!(!all(Interval::minutes(90), Window::hours(1)));
    assert!(!all(Interval::hours(7 * 24), Window::Week));
    assert!(!all(Interval::week(), Window::seconds(7 * 86_400)));
    assert!(!all(Interval::week(), Window::Month));
    assert!(!all(Interval::month(), Window::Week));
    assert!(!all(Interval::hours(24), Window::Month));
    assert!(!all(Interval::day(), Window::seconds(0)));
}

proptest! {
    #[test]
    fn windows_are_inside_the_steps_that_are_multiples_of_them(
        at in any_date(),
        every in any_step(),
        window in prop_oneof![
            prop::sample::select(vec![Window::Day, Window::Week, Window::Month]),
            prop::sample::select(vec![1_u32, 60, 1_800, 3_600, 7_200, 18_000, 86_400, 604_800])
                .prop_map(Window::seconds),
        ],
    ) {
        let (start, end) = window.span(at);
        let inside = every.span(at).0 <= start && end <= every.span(at).1;
        prop_assert!(inside || !every.is_multiple_of(window, TimeRange::ALL));
    }
}
