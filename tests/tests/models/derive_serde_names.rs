//! Generated field paths match the keys of the written documents, whatever serde's attributes say.

use std::collections::{BTreeMap, BTreeSet};

use bucket_core::write::Batch;
use bucket_mongo::{
    BucketId, Bucketed, FieldPath, Record,
    bson::{self, DateTime, Document},
};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// The filter and the item of the statement that appends this record.
fn written<T: Record>(record: &T) -> (Document, Document) {
    let mut batch = Batch::of::<T>();
    batch.push(0, record).unwrap();
    let id = BucketId::<T>::first(&record.key(), record.time());
    batch.guess(|_| Some(id.to_string()));
    let rounds = batch.rounds(None);
    let command = Document::try_from(rounds[0].command().body().to_owned()).unwrap();
    let update = command.get_array("updates").unwrap()[0]
        .as_document()
        .unwrap();
    let pushed = update
        .get_document("u")
        .unwrap()
        .get_document("$push")
        .unwrap();
    let item = pushed.get_document(T::SPEC.items()).unwrap();
    (update.get_document("q").unwrap().clone(), item.clone())
}

/// The names after the array in these paths.
fn below_items<T: Record>(paths: &[FieldPath]) -> BTreeSet<String> {
    let prefix = format!("{}.", T::SPEC.items());
    paths
        .iter()
        .map(|path| path.as_str().strip_prefix(&prefix).unwrap().to_owned())
        .collect()
}

fn keys(document: &Document) -> BTreeSet<String> {
    document.keys().cloned().collect()
}

/// Compares the paths with what core writes, what the typed item writes and reads, and what serde
/// writes for the record itself.
fn paths_are_stored_names<T>(record: &T, key_paths: &[FieldPath], item_paths: &[FieldPath])
where
    T: Record,
    T::Item: Serialize + DeserializeOwned,
{
    let (filter, item) = written(record);
    let items = below_items::<T>(item_paths);
    assert_eq!(keys(&item), items, "the written item");

    let mut in_filter = vec!["_id"];
    in_filter.extend(key_paths.iter().map(|path| path.as_str()));
    let beyond = format!("{}.{}", T::SPEC.items(), T::SPEC.capacity().unwrap() - 1);
    in_filter.extend(["count", T::SPEC.items(), &beyond]);
    assert_eq!(filter.keys().collect::<Vec<_>>(), in_filter, "the filter");

    let typed: T::Item = bson::deserialize_from_document(item.clone()).unwrap();
    assert_eq!(
        bson::serialize_to_document(&typed).unwrap(),
        item,
        "the typed item"
    );

    let whole = bson::serialize_to_document(record).unwrap();
    let mut all = items;
    all.extend(key_paths.iter().map(ToString::to_string));
    assert_eq!(keys(&whole), all, "the record");

    let spec_keys: Vec<&str> = T::SPEC.keys().iter().map(|key| key.path).collect();
    assert_eq!(
        spec_keys,
        key_paths
            .iter()
            .map(|path| path.as_str())
            .collect::<Vec<_>>()
    );
    assert!(item.get_datetime(T::SPEC.time().name).is_ok());
}

/// One struct for each way to rename, each with every field attribute.
macro_rules! renamed {
    ($($test:ident: $record:ident, $item:ident, $bucket:ident, [$(#[$attr:meta])*]);* $(;)?) => {$(
        #[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
        $(#[$attr])*
        #[bucket(collection = "records", items = "the_items", capacity = 10)]
        struct $record {
            #[bucket(key)]
            customer_id: i64,
            #[bucket(key)]
            #[serde(rename = "Venue-Name")]
            venue: String,
            #[bucket(key)]
            r#type: i32,
            #[bucket(time)]
            traded_at: DateTime,
            plain: i32,
            two_words: i32,
            line2_text: i32,
            _leading: i32,
            r#loop: i32,
            #[serde(rename = "other name")]
            renamed: i32,
            #[serde(alias = "once", alias = "twice")]
            aliased: i32,
            #[serde(default)]
            defaulted: i32,
            #[serde(skip_serializing_if = "Option::is_none")]
            present: Option<i32>,
            #[serde(with = "as_text", rename = "as-text")]
            text: i32,
            #[serde(rename(serialize = "both", deserialize = "both"))]
            both_ways: Vec<i32>,
        }

        #[test]
        fn $test() {
            let record = $record {
                customer_id: 1, venue: "x".to_owned(), r#type: 2, traded_at: DateTime::MIN,
                plain: 3, two_words: 4, line2_text: 5, _leading: 6, r#loop: 7, renamed: 8,
                aliased: 9, defaulted: 10, present: Some(11), text: 12, both_ways: vec![13],
            };
            let bucket = $bucket::FIELDS;
            let item = $item::FIELDS;
            paths_are_stored_names(
                &record,
                &[bucket.customer_id, bucket.venue, bucket.r#type],
                &[
                    item.traded_at, item.plain, item.two_words, item.line2_text, item._leading,
                    item.r#loop, item.renamed, item.aliased, item.defaulted, item.present,
                    item.text, item.both_ways,
                ],
            );
        }
    )*};
}

mod as_text {
    use serde::{Deserialize, Deserializer, Serializer, de::Error};

    // Serde fixes the signature.
    #[allow(clippy::trivially_copy_pass_by_ref)]
    pub(super) fn serialize<S: Serializer>(number: &i32, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(number)
    }

    pub(super) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<i32, D::Error> {
        String::deserialize(from)?.parse().map_err(D::Error::custom)
    }
}

renamed! {
    names_as_they_are: Plain, PlainItem, PlainBucket, [];
    names_in_lowercase: Lower, LowerItem, LowerBucket, [#[serde(rename_all = "lowercase")]];
    names_in_uppercase: Upper, UpperItem, UpperBucket, [#[serde(rename_all = "UPPERCASE")]];
    names_in_pascal_case: Pascal, PascalItem, PascalBucket, [#[serde(rename_all = "PascalCase")]];
    names_in_camel_case: Camel, CamelItem, CamelBucket, [#[serde(rename_all = "camelCase")]];
    names_in_snake_case: Snake, SnakeItem, SnakeBucket, [#[serde(rename_all = "snake_case")]];
    names_in_screaming_snake_case: Scream, ScreamItem, ScreamBucket,
        [#[serde(rename_all = "SCREAMING_SNAKE_CASE")]];
    names_in_kebab_case: Kebab, KebabItem, KebabBucket, [#[serde(rename_all = "kebab-case")]];
    names_in_screaming_kebab_case: Loud, LoudItem, LoudBucket,
        [#[serde(rename_all = "SCREAMING-KEBAB-CASE")]];
    names_renamed_both_ways_alike: Both, BothItem, BothBucket,
        [#[serde(rename_all(serialize = "camelCase", deserialize = "camelCase"))]];
    names_of_a_struct_with_more_attributes: More, MoreItem, MoreBucket,
        [#[serde(deny_unknown_fields)] #[serde(rename = "Other", rename_all = "camelCase")]];
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[serde(rename_all = "camelCase")]
#[bucket(collection = "readings", items = "readings", capacity = 10)]
struct Reading {
    #[bucket(key)]
    device_id: String,
    #[bucket(time)]
    #[serde(rename = "ts", with = "bson::serde_helpers::datetime::AsRfc3339String")]
    read_at: DateTime,
    #[serde(skip)]
    cached_value: i32,
    #[serde(skip_serializing)]
    secret_value: Option<i32>,
    #[serde(flatten)]
    more_values: BTreeMap<String, f64>,
}

#[test]
fn skipped_fields_have_no_path_and_flattened_ones_no_path_of_their_own() {
    let record = Reading {
        device_id: "a".to_owned(),
        read_at: DateTime::MIN,
        cached_value: 1,
        secret_value: Some(2),
        more_values: BTreeMap::from([("temperature".to_owned(), 1.5)]),
    };
    let (filter, item) = written(&record);
    assert_eq!(
        filter
            .get_str(ReadingBucket::FIELDS.device_id.as_str())
            .unwrap(),
        "a"
    );
    let ReadingItemFields { read_at } = ReadingItem::FIELDS;
    let mut names = below_items::<Reading>(&[read_at]);
    names.insert("temperature".to_owned());
    assert_eq!(keys(&item), names);
    assert_eq!(item.get_datetime("ts").unwrap(), &DateTime::MIN);

    let typed: ReadingItem = bson::deserialize_from_document(item).unwrap();
    let read = Reading::assemble(record.key(), typed);
    assert_eq!(
        read,
        Reading {
            cached_value: 0,
            secret_value: None,
            ..record
        }
    );
}
