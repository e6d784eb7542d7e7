//! `r#type` is stored as `type`, as serde does it.

use bucket_mongo::{Bucketed, bson::DateTime};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "fns",
    items = "match",
    capacity = 10,
    id = "{type}_{in:s}"
)]
struct r#Fn {
    #[bucket(key)]
    r#type: String,
    #[bucket(time)]
    r#in: DateTime,
    r#use: i32,
}

#[test]
fn compiles_and_keeps_its_promises() {
    let key = FnKey {
        r#type: "a".to_owned(),
    };
    assert_eq!(FnKey::from("a"), key);
    assert_eq!(FnBucket::FIELDS.r#type.as_str(), "type");
    // A keyword is not an identifier: the array's field has its plain name.
    assert_eq!(FnBucket::FIELDS.items.as_str(), "match");
    assert_eq!(FnItem::FIELDS.r#use.as_str(), "match.use");
    assert_eq!(Fn::SPEC.keys()[0].field, "type");
    assert_eq!(Fn::SPEC.record(), "Fn");
}
