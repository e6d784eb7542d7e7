//! Batches of stored records.

use std::sync::Arc;

use bucket_arrow::{
    Error, Format, ToArrow,
    arrow_array::RecordBatch,
    object_store::{ObjectStoreExt, buffered::BufWriter, memory::InMemory, path::Path},
};
use bucket_mongo::{Bucketed, Buckets, bson::DateTime};
use futures_util::TryStreamExt;

use super::{
    cell::{Cell, rows},
    server::{Counted, DAY, Hybrid, Numbered, START, Sample, Windowed, database, records, store},
};

/// The records in the columns.
pub fn of_batches(batches: &[RecordBatch]) -> Vec<(String, i64, Option<u64>)> {
    let of_row = |row| {
        let Cell::Struct(fields) = row else { panic!() };
        let fields: Vec<Cell> = fields.into_iter().map(|(_, cell)| cell).collect();
        let [Cell::Text(sensor), Cell::Date(at), value] = &fields[..] else {
            panic!("{fields:?}");
        };
        let value = match value {
            Cell::Null => None,
            Cell::Float64(bits) => Some(*bits),
            other => panic!("{other:?}"),
        };
        (sensor.clone(), *at, value)
    };
    rows(batches).into_iter().map(of_row).collect()
}

async fn read<T: Sample>(buckets: &Buckets<T>, keys: &[&str]) {
    let mut expected = Vec::new();
    for key in keys {
        let all = buckets.range(T::key_of(key), ..).await.unwrap();
        expected.extend(all.iter().map(T::of));
    }
    assert!(expected.len() > 100);
    let keys = keys.iter().map(|key| T::key_of(key));
    let batches = buckets
        .to_arrow()
        .keys(keys)
        .batch_rows(50)
        .stream()
        .unwrap();
    let schema = batches.schema();
    let batches: Vec<RecordBatch> = batches.try_collect().await.unwrap();
    assert!(batches.iter().all(|batch| batch.schema() == schema));
    let (last, full) = batches.split_last().unwrap();
    assert!(full.iter().all(|batch| batch.num_rows() == 50) && last.num_rows() <= 50);
    assert_eq!(of_batches(&batches), expected);
}

async fn of_form<T: Sample>(name: &str) {
    let database = database(name).await;
    let buckets = T::buckets(&database);
    for sensor in ["b", "a"] {
        store(&buckets, records(sensor, 90)).await;
    }
    read(&buckets, &["b", "a"]).await;

    buckets.seal().await.unwrap();
    read(&buckets, &["b", "a"]).await;

    let archive = format!("{name}_archive");
    let archive = super::server::database(&archive).await;
    buckets.archive_to(archive.database()).await.unwrap();
    let buckets = buckets.with_archive(archive.database());
    read(&buckets, &["b", "a"]).await;
}

#[tokio::test]
async fn batches_of_window_buckets_have_their_records_sealed_merged_and_archived() {
    of_form::<Windowed>("arrow_windowed").await;
    let database = database("arrow_merged").await;
    let buckets = Windowed::buckets(&database);
    store(&buckets, records::<Windowed>("a", 120)).await;
    buckets.seal().await.unwrap();
    buckets.merge().await.unwrap();
    read(&buckets, &["a"]).await;
}

#[tokio::test]
async fn batches_of_count_buckets_have_their_records_sealed_and_archived() {
    of_form::<Counted>("arrow_counted").await;
}

#[tokio::test]
async fn batches_of_hybrid_buckets_have_their_records_sealed_and_archived() {
    of_form::<Hybrid>("arrow_hybrid").await;
}

#[tokio::test]
async fn batches_of_numbered_buckets_have_their_records_sealed_and_archived() {
    of_form::<Numbered>("arrow_numbered").await;
}

#[tokio::test]
async fn a_stream_has_all_keys_or_those_that_are_asked_for_in_a_span_of_time() {
    let database = database("arrow_keys").await;
    let buckets = Windowed::buckets(&database);
    store(&buckets, records::<Windowed>("a", 20)).await;
    store(&buckets, records::<Windowed>("b", 10)).await;

    let all: Vec<RecordBatch> = buckets
        .to_arrow()
        .stream()
        .unwrap()
        .try_collect()
        .await
        .unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].num_rows(), 30);

    let (from, to) = (START + 2 * DAY, START + 4 * DAY);
    let (from, to) = (DateTime::from_millis(from), DateTime::from_millis(to));
    let query = buckets.to_arrow().key("b").key("b").between(from..to);
    let some: Vec<RecordBatch> = query.stream().unwrap().try_collect().await.unwrap();
    let expected = buckets.range("b", from..to).await.unwrap();
    assert_eq!(
        of_batches(&some),
        expected.iter().map(Sample::of).collect::<Vec<_>>()
    );

    let none = buckets.to_arrow().key("c").stream().unwrap();
    assert!(none.try_collect::<Vec<_>>().await.unwrap().is_empty());

    let refused = buckets.to_arrow().between(to..from).stream();
    assert!(matches!(refused, Err(Error::InvalidArgument { .. })));
    assert!(buckets.to_arrow().batch_rows(0).stream().is_err());
}

#[tokio::test]
async fn a_writer_that_uploads_when_it_is_shut_down_is_complete() {
    let database = database("arrow_upload").await;
    let buckets = Counted::buckets(&database);
    store(&buckets, records::<Counted>("a", 20)).await;
    let (store, path) = (Arc::new(InMemory::new()), Path::from("a.parquet"));
    let writer = BufWriter::new(store.clone(), path.clone());
    let written = buckets.to_arrow().write_to(writer).await.unwrap();
    let bytes = store.get(&path).await.unwrap().bytes().await.unwrap();
    assert_eq!((written.records, written.bytes), (20, bytes.len() as u64));
    let expected: Vec<_> = records::<Counted>("a", 20).iter().map(Sample::of).collect();
    assert_eq!(super::exports::read(bytes.to_vec()), expected);
}

#[tokio::test]
async fn a_file_goes_to_any_writer() {
    let database = database("arrow_writer").await;
    let buckets = Counted::buckets(&database);
    store(&buckets, records::<Counted>("a,\"b\"", 6)).await;
    let mut file = Vec::new();
    let query = buckets.to_arrow().batch_rows(4);
    let written = query.write_to(&mut file).format(Format::Csv).await.unwrap();
    assert_eq!((written.records, written.bytes), (6, file.len() as u64));
    let text = String::from_utf8(file).unwrap();
    let expected = "sensor,at,value\n\
        \"a,\"\"b\"\"\",1969-11-22T00:00:00.000Z,\n\
        \"a,\"\"b\"\"\",1969-11-22T00:00:00.001Z,NaN\n\
        \"a,\"\"b\"\"\",1969-11-22T00:00:00.002Z,-0.0\n\
        \"a,\"\"b\"\"\",2024-01-02T12:00:00.000Z,0.375\n\
        \"a,\"\"b\"\"\",2024-01-03T00:00:00.000Z,0.5\n\
        \"a,\"\"b\"\"\",2024-01-03T12:00:00.000Z,\n";
    assert_eq!(text, expected);

    let mut file = Vec::new();
    buckets
        .to_arrow()
        .write_to(&mut file)
        .format(Format::JsonLines)
        .await
        .unwrap();
    let text = String::from_utf8(file).unwrap();
    assert_eq!(
        text.lines().nth(1),
        Some(r#"{"sensor":"a,\"b\"","at":"1969-11-22T00:00:00.001Z","value":"NaN"}"#)
    );
}
