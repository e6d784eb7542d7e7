//! Keys that are prefixes of one another or full of special characters stay separate.

use bucket_mongo::{
    BucketKey, Bucketed,
    bson::{DateTime, Uuid, doc, oid::ObjectId},
};
use bucket_tests::{database, documents};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(collection = "notes", items = "notes", capacity = 3)]
struct Note {
    #[bucket(key)]
    author: String,
    #[bucket(time)]
    at: DateTime,
    number: usize,
}

fn odd_keys() -> Vec<String> {
    let keys = [
        "12",
        "12_3",
        "12_30",
        "1",
        "_",
        "",
        "(blank)",
        "a.b|c",
        "aXb",
        "a.b",
        "a|b",
        "a",
        "b",
        "^a",
        "a$",
        "a+b",
        "(x",
        "x[",
        ".*",
        "$set",
        "%",
        "%5F",
        "\u{0}",
        "\n",
        "\t\r\u{7f}",
        "\u{1F600}",
        "\u{1F600}_",
        "12_1698335223",
        "null",
        "12 ",
        " 12",
        "\u{e9}",
        "e\u{301}",
    ];
    keys.iter()
        .map(ToString::to_string)
        .chain(["k_".repeat(250)])
        .collect()
}

#[tokio::test]
async fn no_key_sees_another_keys_records() {
    let database = database().await;
    let notes = Note::buckets(&database);
    notes.ensure().await.unwrap();
    let keys = odd_keys();
    let mut records = Vec::new();
    for number in 0..10 {
        let at = DateTime::from_millis(1_698_335_223_000 + number);
        records.extend(keys.iter().map(|author| Note {
            author: author.clone(),
            at,
            number: usize::try_from(number).unwrap(),
        }));
    }
    let (singles, batch) = records.split_at(records.len() / 2);
    for note in singles {
        notes.insert(note).await.unwrap();
    }
    notes
        .insert_many(batch)
        .await
        .unwrap()
        .into_result()
        .unwrap();

    for author in &keys {
        let own: Vec<Note> = notes.records(author.as_str()).collect().await.unwrap();
        let expected: Vec<&Note> = records
            .iter()
            .filter(|note| note.author == *author)
            .collect();
        assert_eq!(
            own.iter().collect::<Vec<_>>(),
            expected,
            "records of {author:?}"
        );
        assert_eq!(
            notes.page_count(author.clone()).await.unwrap(),
            4,
            "pages of {author:?}"
        );
        assert_eq!(
            notes.count(author.clone()).await.unwrap(),
            10,
            "count of {author:?}"
        );
        let page = notes.page(author.as_str(), 2).await.unwrap();
        assert_eq!(page.bucket().unwrap().id.key().unwrap().author, *author);
    }
    assert_eq!(documents(&database, "notes").await.len(), keys.len() * 4);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
#[serde(rename_all = "snake_case")]
enum Kind {
    RoomTemperature,
    Humidity,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
struct Device(String);

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "mixed",
    items = "items",
    capacity = 2,
    id = "m:{kind}/{device}|{flag};{object},{uuid}@{small}_{at:ms}"
)]
struct Mixed {
    #[bucket(key)]
    device: Device,
    #[bucket(key)]
    kind: Kind,
    #[bucket(key)]
    flag: bool,
    #[bucket(key)]
    object: ObjectId,
    #[bucket(key)]
    uuid: Uuid,
    #[bucket(key)]
    small: i8,
    #[bucket(time)]
    at: DateTime,
}

#[tokio::test]
async fn every_key_type_is_stored_as_its_bson_type_and_read_back() {
    let database = database().await;
    let mixed = Mixed::buckets(&database);
    mixed.ensure().await.unwrap();
    let record = Mixed {
        device: Device("d/1|x".into()),
        kind: Kind::RoomTemperature,
        flag: true,
        object: ObjectId::from_bytes([7; 12]),
        uuid: Uuid::from_bytes([9; 16]),
        small: -5,
        at: DateTime::from_millis(-1),
    };
    for _ in 0..3 {
        mixed.insert(&record).await.unwrap();
    }
    let key = bucket_mongo::Record::key(&record);
    let page = mixed.page(key.clone(), 2).await.unwrap();
    assert_eq!(page.records(), std::slice::from_ref(&record));
    assert_eq!(page.bucket().unwrap().id.key().unwrap(), key);
    let stored = documents(&database, "mixed").await;
    let mut first = stored[0].clone();
    let id = first.remove("_id").unwrap();
    let expected = doc! {
        "device": "d/1|x",
        "kind": "room_temperature",
        "flag": true,
        "object": record.object,
        "uuid": record.uuid,
        "small": -5,
        "count": 2,
        "items": [{ "at": record.at }, { "at": record.at }],
    };
    assert_eq!(first, expected);
    assert_eq!(
        id.as_str().unwrap(),
        "m:room_temperature/d/1%7Cx|true;070707070707070707070707,\
         09090909-0909-0909-0909-090909090909@-5_-9999999999999999999",
    );
}
