//! Ids: the manual's form, the order of every date, no collision for any key text.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "tests are meant to panic"
)]

mod common;

use bson::DateTime;
use bucket_core::BucketId;
use common::{Reading, ReadingKey, Trade, TradeKey, date};
use proptest::prelude::*;

const ODD_KEYS: [&str; 17] = [
    "12",
    "12_3",
    "12_3_",
    "_",
    "",
    "(blank)",
    "a.b|c",
    "^a$",
    "$x",
    "%5F",
    "%",
    "a%",
    "\u{0}\n\t\u{7f}",
    "\u{1F600}",
    "12_1698335223",
    "1698335223_1",
    "-",
];

fn id(device: &str, channel: &str, millis: i64) -> BucketId<Reading> {
    let key = ReadingKey {
        device: device.into(),
        channel: channel.into(),
    };
    BucketId::first(&key, DateTime::from_millis(millis))
}

#[test]
fn ordinary_keys_and_dates_have_the_manuals_form() {
    let id = BucketId::<Trade>::first(&123.into(), date("2023-10-26T15:47:03.434Z"));
    assert_eq!(id.to_string(), "123_1698335223");
    let id = BucketId::<Trade>::first(&456.into(), date("2023-10-31T11:16:02.120Z"));
    assert_eq!(id.to_string(), "456_1698750962");
    assert_eq!(
        id_of("device_001", "room 7", 1_698_335_223_434),
        "device%5F001_room 7_1698335223"
    );
}

#[test]
fn a_key_in_a_message_has_the_stored_names_and_stays_on_its_line() {
    let trade = Trade::SPEC.key_text(&TradeKey { customer_id: 123 });
    assert_eq!(trade, "{ customerId: 123 }");
    for odd in ODD_KEYS {
        let text = Reading::SPEC.key_text(&ReadingKey {
            device: odd.into(),
            channel: "room 7".into(),
        });
        let expected = format!("{{ device: {odd:?}, channel: \"room 7\" }}");
        assert_eq!(text, expected);
    }
    let long = Reading::SPEC.key_text(&ReadingKey {
        device: "\n\u{1b}".repeat(5_000),
        channel: "x".repeat(10_000),
    });
    assert!(
        long.len() < 400 && !long.contains(char::is_control),
        "{long}"
    );
    assert!(long.ends_with("xx\".. }"), "{long}");
}

fn id_of(device: &str, channel: &str, millis: i64) -> String {
    id(device, channel, millis).to_string()
}

#[test]
fn the_last_key_part_is_separate_from_the_time_without_an_escape() {
    assert_eq!(id_of("a", "12_3", 1_698_335_223_000), "a_12_3_1698335223");
    let odd = [
        "x_1698335223",
        "x_1698335223_1",
        "x_a10",
        "x_5",
        "_",
        "x_-9999999999999999999",
    ];
    for channel in odd {
        for millis in [-1, 5, 1_698_335_223_000, i64::MAX] {
            let first = id("a", channel, millis);
            let next = first.next(&first.key().unwrap(), DateTime::from_millis(millis));
            for id in [first, next] {
                let parsed: BucketId<Reading> = id.as_str().parse().unwrap();
                assert_eq!(parsed.key().unwrap().channel, channel, "{id}");
                assert_eq!(
                    (parsed.opened_at(), parsed.sequence()),
                    (id.opened_at(), id.sequence()),
                    "{id}"
                );
            }
        }
    }
}

#[test]
fn unusual_dates_have_the_documented_form() {
    let text =
        |millis| BucketId::<Trade>::first(&1.into(), DateTime::from_millis(millis)).to_string();
    assert_eq!(text(0), "1_0000000000");
    assert_eq!(text(999_999_999_000), "1_0999999999");
    assert_eq!(text(9_999_999_999_999), "1_9999999999");
    assert_eq!(text(10_000_000_000_000), "1_a10000000000");
    assert_eq!(text(-1), "1_-9999999999999999999");
    assert_eq!(text(i64::MAX), "1_f9223372036854775");
    assert_eq!(text(i64::MIN), "1_-9990776627963145224");
}

#[test]
fn a_late_record_opens_its_bucket_after_the_existing_ones() {
    let first = BucketId::<Trade>::first(&1.into(), date("2023-10-26T15:47:03Z"));
    let late = first.next(&1.into(), date("2001-01-01T00:00:00Z"));
    assert_eq!(late.to_string(), "1_1698335223_1");
    assert!(late > first);
    assert_eq!(late.opened_at(), first.opened_at());
}

#[test]
fn buckets_of_one_time_are_numbered_in_order() {
    let at = date("2023-10-26T15:47:03Z");
    let mut id = BucketId::<Trade>::first(&1.into(), at);
    for expected in 1..=12_000 {
        let next = id.next(&1.into(), at);
        assert!(next > id, "{next} is not after {id}");
        assert_eq!(next.sequence(), expected);
        assert_eq!(
            next.to_string()
                .parse::<BucketId<Trade>>()
                .unwrap()
                .sequence(),
            expected
        );
        id = next;
    }
    assert_eq!(id.to_string(), "1_1698335223_d12000");
}

#[test]
fn no_two_odd_keys_share_an_id_and_each_is_read_back() {
    let mut seen = std::collections::HashMap::new();
    let long = "k_".repeat(250);
    let keys: Vec<&str> = ODD_KEYS.iter().copied().chain([long.as_str()]).collect();
    for device in &keys {
        for channel in &keys {
            let id = id(device, channel, 1_698_335_223_000);
            let parsed: BucketId<Reading> = id.as_str().parse().unwrap();
            let key = parsed.key().unwrap();
            assert_eq!(
                (key.device.as_str(), key.channel.as_str()),
                (*device, *channel)
            );
            assert_eq!(seen.insert(id.to_string(), (*device, *channel)), None);
        }
    }
}

#[test]
fn text_that_is_not_an_id_is_a_typed_error() {
    let no_ids = [
        "",
        "123",
        "123_",
        "123_x",
        "123_1698335223_",
        "123_1698335223_x",
        "123_-5",
        "123_a123",
        "_",
        "123_16983352231",
    ];
    for text in no_ids {
        let parsed = text.parse::<BucketId<Trade>>();
        assert!(parsed.is_err(), "{text} was read as {parsed:?}");
    }
    let wrong_key: BucketId<Trade> = "abc_1698335223".parse().unwrap();
    assert_eq!(
        wrong_key.key().unwrap_err().to_string(),
        "`abc` is not an integer"
    );
}

#[test]
fn the_manuals_own_short_seconds_are_read() {
    let id: BucketId<Trade> = "123_999999999".parse().unwrap();
    assert_eq!(id.opened_at().timestamp_millis(), 999_999_999_000);
    assert_eq!(id.as_str(), "123_999999999");
}

proptest! {
    #[test]
    fn ids_of_a_key_sort_in_time_order(device in ".*", a: i64, b: i64) {
        let (first, second) = (id(&device, "c", a), id(&device, "c", b));
        let seconds = |millis: i64| millis.div_euclid(1000);
        prop_assert_eq!(first.as_str().cmp(second.as_str()), seconds(a).cmp(&seconds(b)));
    }

    #[test]
    fn every_id_is_read_back(device in ".*", channel in ".*", millis: i64, later: i64) {
        let first = id(&device, &channel, millis);
        let key = ReadingKey { device, channel };
        for id in [first.clone(), first.next(&key, DateTime::from_millis(later))] {
            let parsed: BucketId<Reading> = id.as_str().parse().unwrap();
            prop_assert_eq!(parsed.key().unwrap(), key.clone());
            prop_assert_eq!(parsed.opened_at(), id.opened_at());
            prop_assert_eq!(parsed.sequence(), id.sequence());
        }
    }

    #[test]
    fn the_next_id_always_sorts_after(device in ".*", times in prop::collection::vec(any::<i64>(), 1..40)) {
        let key = ReadingKey { device: device.clone(), channel: "c".into() };
        let mut last = id(&device, "c", times[0]);
        for time in times {
            let next = last.next(&key, DateTime::from_millis(time));
            prop_assert!(next.as_str() > last.as_str(), "{} is not after {}", next, last);
            last = next;
        }
    }

    #[test]
    fn reading_any_text_never_panics(text in ".*") {
        if let Ok(id) = text.parse::<BucketId<Reading>>() {
            prop_assert_eq!(id.as_str(), text);
            let _ = id.key();
        }
    }
}
