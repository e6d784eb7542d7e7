//! What the derive generates from the options for forms, names and sizes.

use bucket_core::spec::{IdSegment, Names, TimeUnit};
use bucket_core::{Form, LatePolicy, Window};
use bucket_mongo::{BucketSpec, Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

/// A record with these container options.
macro_rules! spec {
    ($($keys:tt)*) => {{
        #[derive(Serialize, Deserialize, Bucketed)]
        #[bucket(collection = "trades", items = "history", $($keys)*)]
        #[allow(dead_code)]
        struct Trade {
            #[bucket(key)]
            customer: i64,
            #[bucket(time)]
            date: DateTime,
        }
        Trade::SPEC
    }};
}

fn window_of(spec: &BucketSpec) -> Window {
    match spec.form() {
        Form::Window { window, .. } => window,
        other => panic!("{other:?} is not a window"),
    }
}

#[test]
fn a_window_is_a_duration_or_a_calendar_unit() {
    let windows = [
        (spec!(window = "30s"), Window::Seconds(30)),
        (spec!(window = "90m"), Window::Seconds(5_400)),
        (spec!(window = "1h 30min"), Window::Seconds(5_400)),
        (spec!(window = "2w"), Window::Seconds(1_209_600)),
        (spec!(window = "366d"), Window::Seconds(31_622_400)),
        (spec!(window = "day"), Window::Day),
        (spec!(window = "week"), Window::Week),
        (spec!(window = "month"), Window::Month),
    ];
    for (spec, window) in windows {
        assert_eq!(window_of(&spec), window);
        assert_eq!(spec.id_unit(), TimeUnit::Seconds);
    }
}

#[test]
fn a_window_without_a_capacity_is_closed_by_bytes() {
    let without = spec!(window = "1h");
    assert_eq!(
        (without.capacity(), without.max_bytes()),
        (None, Some(262_144))
    );
    let with = spec!(window = "1h", capacity = 60);
    assert_eq!((with.capacity(), with.max_bytes()), (Some(60), None));
    let both = spec!(window = "1h", capacity = 60, max_bytes = 65_536);
    assert_eq!(
        (both.capacity(), both.max_bytes()),
        (Some(60), Some(65_536))
    );
}

#[test]
fn sizes_have_units_of_1024() {
    assert_eq!(
        spec!(capacity = 9, max_bytes = "1KB").max_bytes(),
        Some(1_024)
    );
    assert_eq!(
        spec!(capacity = 9, max_bytes = "64 KiB").max_bytes(),
        Some(65_536)
    );
    assert_eq!(
        spec!(capacity = 9, max_bytes = "8MB").max_bytes(),
        Some(8_388_608)
    );
}

#[test]
fn late_records_are_merged_unless_the_model_says_otherwise() {
    let form = |late| Form::Hybrid {
        capacity: 9,
        max_duration: 5_400_000,
        late,
    };
    let default = spec!(capacity = 9, max_duration = "1h30m");
    assert_eq!(default.form(), form(LatePolicy::Merge));
    assert_eq!(
        default.id().last(),
        Some(&IdSegment::Time(TimeUnit::Millis))
    );
    let side = spec!(capacity = 9, max_duration = "90m", late = "side");
    assert_eq!(side.form(), form(LatePolicy::Side));
    let reject = spec!(capacity = 9, max_duration = "90m", late = "reject");
    assert_eq!(reject.form(), form(LatePolicy::Reject));
}

#[test]
fn names_that_are_not_given_are_those_of_the_tutorial() {
    assert_eq!(spec!(window = "1h").names(), &Names::DEFAULT);
    let given = spec!(
        max_duration = "1h",
        capacity = 9,
        max_bytes = "1MB",
        count = "n",
        start = "from",
        end = "to",
        closed = "done",
        bytes = "size",
        created_at = "opened",
        stats = ""
    );
    let names = Names {
        count: "n",
        start: "from",
        end: "to",
        closed: "done",
        bytes: "size",
        created_at: Some("opened"),
        stats: "",
        ..Names::DEFAULT
    };
    assert_eq!(given.names(), &names);
    let numbered = spec!(
        numbered = "page",
        capacity = 9,
        size = "places",
        full = "done"
    );
    let names = Names {
        number: "page",
        size: "places",
        full: "done",
        ..Names::DEFAULT
    };
    assert_eq!(numbered.names(), &names);
    assert_eq!(
        numbered.id(),
        [
            IdSegment::Key(0),
            IdSegment::Literal("_"),
            IdSegment::Number
        ]
    );
    let own = spec!(numbered = "page", capacity = 9, id = "{customer}/{page}");
    assert_eq!(own.id().get(1), Some(&IdSegment::Literal("/")));
}

#[test]
fn compression_is_the_servers_default_unless_the_model_says_otherwise() {
    assert_eq!(spec!(capacity = 9).compression(), None);
    assert_eq!(
        spec!(capacity = 9, compression = "zstd").compression(),
        Some("zstd")
    );
    assert_eq!(
        spec!(capacity = 9, compression = "none").compression(),
        Some("none")
    );
}

#[test]
fn object_ids_and_a_raised_capacity_are_as_given() {
    assert!(spec!(window = "1h", object_ids).object_ids());
    assert!(!spec!(window = "1h").object_ids());
    assert_eq!(
        spec!(capacity = 20, raised_from = 10).raised_from(),
        Some(10)
    );
    assert_eq!(spec!(capacity = 20).raised_from(), None);
}
