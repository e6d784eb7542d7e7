//! Attributes in buckets without a server: the stored form of a bucket is read back unchanged.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use bson::{DateTime, RawDocumentBuf};
use bucket_core::{
    Record,
    attribute::{AttributeArray, OtherEntries},
    bucket,
};
use bucket_derive::Bucketed;
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

#[allow(clippy::duplicated_attributes, reason = "one for each array")]
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "scans", items = "scans", capacity = 50, crate = ::bucket_core)]
#[bucket(attributes(array = "origin", k = "what", v = "is", store = "bucket"))]
#[bucket(attributes(array = "state", store = "bucket"))]
struct Scan {
    #[bucket(key)]
    machine: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(attribute(array = "specs", k = "volume", u = "ml"))]
    volume_ml: Option<i32>,
    #[bucket(attribute(array = "specs", k = "volume", u = "ounces", text))]
    volume_ounces: Option<f64>,
    #[bucket(attribute(array = "specs", rest))]
    others: OtherEntries,
    #[bucket(attribute(array = "origin", k = "site"))]
    site: String,
    #[bucket(attribute(array = "origin", rest))]
    elsewhere: BTreeMap<String, String>,
    #[bucket(attribute(array = "state", k = "heat", u = "C"))]
    heat: Option<f64>,
    note: Option<String>,
}

/// Few values, so that records share them about half of the time.
fn scans() -> impl Strategy<Value = Vec<Scan>> {
    let scan = (
        any::<i32>(),
        prop::option::of(0..3_i32),
        prop::option::of(-2.0..2.0_f64),
        prop::sample::select(vec!["Ulm", "$site", ""]),
        prop::collection::btree_map("[a$.]{1,2}", "[a-b]?", 0..2),
        prop::option::of(prop::sample::select(vec![1.0, -1.5])),
        prop::option::of("[a-c]"),
    );
    let scan = scan.prop_map(
        |(at, volume_ml, volume_ounces, site, elsewhere, heat, note)| Scan {
            machine: 1,
            at: DateTime::from_millis(at.into()),
            volume_ml,
            volume_ounces,
            others: OtherEntries::default(),
            site: site.to_owned(),
            elsewhere,
            heat,
            note,
        },
    );
    prop::collection::vec(scan, 1..20)
}

proptest! {
    #[test]
    fn a_bucket_of_records_with_attributes_is_read_back_unchanged(records in scans()) {
        let mut bucket = ScanBucket {
            id: "1_0".parse().unwrap(),
            machine: 1,
            count: u32::try_from(records.len()).unwrap(),
            scans: Vec::new(),
        };
        for record in &records {
            let item = bson::serialize_to_document(record).unwrap();
            bucket.scans.push(bson::deserialize_from_document(item).unwrap());
        }
        let stored: RawDocumentBuf = bson::serialize_to_raw_document_buf(&bucket).unwrap();
        // The bucket holds what its first item would have.
        for name in ["origin", "state"] {
            let held = stored.get_array(name).unwrap();
            for item in stored.get_array("scans").unwrap() {
                let item = item.unwrap().as_document().unwrap();
                prop_assert!(item.get("site").unwrap().is_none());
                let own = item.get(name).unwrap().and_then(bson::RawBsonRef::as_array);
                prop_assert!(own.is_none_or(|own| own.as_bytes() != held.as_bytes()));
            }
        }
        let read = bucket::decode::<Scan>(&stored).unwrap();
        prop_assert_eq!(read.into_records(), records);
    }
}

#[test]
fn the_spec_has_the_place_of_each_array() {
    let paths: Vec<Vec<String>> = Scan::SPEC
        .arrays()
        .iter()
        .map(AttributeArray::paths)
        .collect();
    assert_eq!(
        paths,
        [
            vec!["scans.specs".to_owned()],
            vec!["origin".to_owned(), "scans.origin".to_owned()],
            vec!["state".to_owned(), "scans.state".to_owned()],
        ]
    );
    assert_eq!(ScanItem::FIELDS.site.as_str(), "origin");
    assert_eq!(ScanItem::FIELDS.volume_ml.as_str(), "scans.specs");
    assert_eq!(<Scan as Record>::SPEC.arrays().len(), 3);
}
