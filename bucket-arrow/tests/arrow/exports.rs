//! Exports into folders and stores: what another one leaves as it is, and what it writes anew.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use bucket_arrow::{
    Compression, Error, ExportReport, Format, Parquet, PartitionBy, ToArrow,
    arrow_array::RecordBatch,
    object_store::{ObjectStore, ObjectStoreExt, memory::InMemory},
};
use bucket_mongo::{Bucketed, Buckets, bson::DateTime};
use futures_util::TryStreamExt;
use parquet::{
    arrow::arrow_reader::ParquetRecordBatchReaderBuilder, file::metadata::RowGroupMetaData,
};

use super::{
    program::folder,
    server::{Counted, DAY, Hybrid, Numbered, START, Sample, Windowed, database, records, store},
    streams::of_batches,
};

/// The files of a folder, by their paths in it.
pub fn files(root: &Path) -> BTreeMap<String, Vec<u8>> {
    fn walk(root: &Path, folder: &Path, to: &mut BTreeMap<String, Vec<u8>>) {
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                walk(root, &path, to);
            } else {
                let name = path
                    .strip_prefix(root)
                    .unwrap()
                    .to_str()
                    .unwrap()
                    .to_owned();
                to.insert(name, fs::read(&path).unwrap());
            }
        }
    }
    let mut found = BTreeMap::new();
    walk(root, root, &mut found);
    found
}

/// The paths of the files with data.
pub fn data(files: &BTreeMap<String, Vec<u8>>) -> Vec<&str> {
    let names = files.keys().map(String::as_str);
    names.filter(|name| !name.starts_with("_export/")).collect()
}

/// The records of a file.
pub fn read(bytes: Vec<u8>) -> Vec<(String, i64, Option<u64>)> {
    let reader = ParquetRecordBatchReaderBuilder::try_new(bytes::Bytes::from(bytes)).unwrap();
    let batches: Vec<RecordBatch> = reader.build().unwrap().map(Result::unwrap).collect();
    of_batches(&batches)
}

/// Each record is in a part, and in that of its month.
pub fn assert_holds<T: Sample>(files: &BTreeMap<String, Vec<u8>>, expected: &[T]) {
    let mut all = Vec::new();
    for name in data(files) {
        let records = read(files[name].clone());
        let (_, month) = name.split_once("month=").unwrap();
        for (_, at, _) in &records {
            let date = DateTime::from_millis(*at).try_to_rfc3339_string().unwrap();
            assert_eq!(month, format!("{}/data.parquet", &date[..7]));
        }
        assert!(records.is_sorted_by_key(|record| record.1));
        all.extend(records);
    }
    let mut expected: Vec<_> = expected.iter().map(T::of).collect();
    all.sort();
    expected.sort();
    assert_eq!(all, expected);
}

async fn of_form<T: Sample>(name: &str) {
    let database = database(name).await;
    let buckets = T::buckets(&database);
    let mut all: Vec<T> = records("a", 100);
    all.extend(records::<T>("b", 40));
    store(&buckets, all.clone()).await;
    let folder = folder(name);
    let export = |buckets: Buckets<T>| {
        let folder = folder.clone();
        async move { buckets.to_arrow().to_folder(folder).await.unwrap() }
    };

    let first = export(buckets.clone()).await;
    assert_eq!(
        (first.keys, first.records, first.parts, first.skipped),
        (2, 140, 5, 0)
    );
    let written = files(&folder);
    assert_eq!(
        data(&written),
        [
            "key_sensor=a/month=1969-11/data.parquet",
            "key_sensor=a/month=2024-01/data.parquet",
            "key_sensor=a/month=2024-02/data.parquet",
            "key_sensor=b/month=1969-11/data.parquet",
            "key_sensor=b/month=2024-01/data.parquet",
        ]
    );
    let names = data(&written);
    let sizes: usize = names.iter().map(|name| written[*name].len()).sum();
    assert_eq!(first.bytes, sizes as u64);
    assert_holds(&written, &all);

    // Nothing has changed.
    let again = export(buckets.clone()).await;
    assert_eq!((again.records, again.parts, again.skipped), (0, 0, 5));
    assert_eq!(files(&folder), written);

    // Sealing changes no record.
    buckets.seal().await.unwrap();
    let sealed = export(buckets.clone()).await;
    assert_eq!((sealed.parts, sealed.skipped), (0, 5));

    // A record of one month.
    let late = T::sample("a", START + 40 * DAY + 1, Some(1.0));
    store(&buckets, vec![late.clone()]).await;
    all.push(late);
    let late = export(buckets.clone()).await;
    assert!((1..5).contains(&late.parts), "{late:?}");
    assert_eq!(late.parts + late.skipped, 5);
    assert_holds(&files(&folder), &all);

    // An edit that changes no count.
    let mut found = buckets.range(T::key_of("b"), ..).with_refs().await.unwrap();
    let edited = found.pop().unwrap();
    buckets
        .delete(T::key_of("b"), &edited.reference)
        .await
        .unwrap();
    all.retain(|record| record.of() != edited.record.of());
    let edited = export(buckets.clone()).await;
    assert!(edited.parts > 0 && edited.skipped > 0, "{edited:?}");
    assert_holds(&files(&folder), &all);

    // A month without records any more.
    let (from, to) = (DateTime::from_millis(-100 * DAY), DateTime::from_millis(0));
    buckets
        .delete_range(T::key_of("a"), from..to)
        .await
        .unwrap();
    all.retain(|record| record.of().1 >= 0 || record.of().0 != "a");
    let removed = export(buckets.clone()).await;
    assert_eq!(removed.removed, 1, "{removed:?}");
    assert_holds(&files(&folder), &all);
    assert_eq!(data(&files(&folder)).len(), 4);
    let last = export(buckets.clone()).await;
    assert_eq!((last.parts, last.skipped, last.removed), (0, 4, 0));
}

#[tokio::test]
async fn another_export_of_window_buckets_writes_only_what_has_changed() {
    of_form::<Windowed>("export_windowed").await;
}

#[tokio::test]
async fn another_export_of_count_buckets_writes_only_what_has_changed() {
    of_form::<Counted>("export_counted").await;
}

#[tokio::test]
async fn another_export_of_hybrid_buckets_writes_only_what_has_changed() {
    of_form::<Hybrid>("export_hybrid").await;
}

#[tokio::test]
async fn another_export_of_numbered_buckets_writes_only_what_has_changed() {
    of_form::<Numbered>("export_numbered").await;
}

#[tokio::test]
async fn a_store_has_the_same_files_as_a_folder() {
    let database = database("export_store").await;
    let buckets = Windowed::buckets(&database);
    for sensor in ["a", "..", "", "x/y", "%2F", "\0"] {
        store(&buckets, records::<Windowed>(sensor, 30)).await;
    }
    let folder = folder("export_store");
    let store = Arc::new(InMemory::new());
    let in_folder = buckets.to_arrow().to_folder(&folder).await.unwrap();
    let in_store = buckets
        .to_arrow()
        .to_store(store.clone(), "deep/down")
        .await
        .unwrap();
    assert_eq!(in_folder, in_store);

    let mut found = BTreeMap::new();
    let listed: Vec<_> = store.list(None).try_collect().await.unwrap();
    for object in listed {
        let bytes = store
            .get(&object.location)
            .await
            .unwrap()
            .bytes()
            .await
            .unwrap();
        let name = object.location.as_ref().strip_prefix("deep/down/").unwrap();
        found.insert(name.to_owned(), bytes.to_vec());
    }
    assert_eq!(found, files(&folder));

    let again = buckets
        .to_arrow()
        .to_store(store, "deep/down")
        .await
        .unwrap();
    assert_eq!((again.parts, again.skipped), (0, in_store.parts));
}

#[tokio::test]
async fn other_columns_settings_and_ranges_are_other_parts() {
    let database = database("export_settings").await;
    let buckets = Windowed::buckets(&database);
    store(&buckets, records::<Windowed>("a", 100)).await;
    let folder = folder("export_settings");
    let parts = |report: &ExportReport| (report.parts, report.skipped);

    let first = buckets.to_arrow().to_folder(&folder).await.unwrap();
    assert_eq!(parts(&first), (3, 0));
    let plain = Parquet::new().compression(Compression::None);
    let other = buckets
        .to_arrow()
        .to_folder(&folder)
        .format(plain)
        .await
        .unwrap();
    assert_eq!(parts(&other), (3, 0));
    let json = buckets
        .to_arrow()
        .json("value")
        .to_folder(&folder)
        .format(plain)
        .await
        .unwrap();
    assert_eq!(parts(&json), (3, 0));
    let back = buckets.to_arrow().to_folder(&folder).await.unwrap();
    assert_eq!(parts(&back), (3, 0));

    // It cuts January, and has nothing of the other months.
    let path = folder.join("key_sensor=a/month=2024-01");
    fs::remove_dir_all(&path).unwrap();
    let half = DateTime::from_millis(START)..DateTime::from_millis(START + 10 * DAY);
    let half = buckets
        .to_arrow()
        .between(half)
        .to_folder(&folder)
        .await
        .unwrap();
    assert_eq!(parts(&half), (1, 0));
    assert_eq!(data(&files(&folder)).len(), 3);
    let whole = buckets.to_arrow().to_folder(&folder).await.unwrap();
    assert_eq!(parts(&whole), (1, 2));
    assert_holds(&files(&folder), &records::<Windowed>("a", 100));

    // A file that is damaged is not complete.
    let path = folder.join("key_sensor=a/month=2024-01/data.parquet");
    fs::write(&path, b"PAR1").unwrap();
    let mended = buckets.to_arrow().to_folder(&folder).await.unwrap();
    assert_eq!(parts(&mended), (1, 2));
    fs::remove_file(&path).unwrap();
    let mended = buckets.to_arrow().to_folder(&folder).await.unwrap();
    assert_eq!(parts(&mended), (1, 2));
    assert_holds(&files(&folder), &records::<Windowed>("a", 100));

    let refused = buckets
        .to_arrow()
        .to_folder(&folder)
        .format(Format::Csv)
        .await;
    let Err(Error::Taken { path, .. }) = refused else {
        panic!("{refused:?}");
    };
    assert_eq!(path, "_export/export.json");
    let refused = buckets
        .to_arrow()
        .to_folder(&folder)
        .partition_by(PartitionBy::Key)
        .await;
    assert!(matches!(refused, Err(Error::Taken { .. })));
}

#[tokio::test]
async fn a_part_may_have_all_records_of_a_key_in_row_groups() {
    let database = database("export_key").await;
    let buckets = Counted::buckets(&database);
    store(&buckets, records::<Counted>("a", 95)).await;
    let folder = folder("export_key");
    let mut seen: Vec<(u64, PathBuf)> = Vec::new();
    let export = buckets.to_arrow().batch_rows(20).to_folder(&folder);
    let export = export
        .partition_by(PartitionBy::Key)
        .format(Parquet::new().row_group_rows(30));
    let export = export.progress(|now| seen.push((now.records, now.path.clone().into())));
    let report = export.await.unwrap();
    assert_eq!((report.records, report.parts), (95, 1));
    let records: Vec<u64> = seen.iter().map(|seen| seen.0).collect();
    assert_eq!(records, [20, 40, 60, 80, 95, 95]);

    let written = files(&folder);
    assert_eq!(data(&written), ["key_sensor=a/data.parquet"]);
    let bytes = bytes::Bytes::from(written["key_sensor=a/data.parquet"].clone());
    let file = ParquetRecordBatchReaderBuilder::try_new(bytes).unwrap();
    let groups = file
        .metadata()
        .row_groups()
        .iter()
        .map(RowGroupMetaData::num_rows);
    assert_eq!(groups.collect::<Vec<_>>(), [30, 30, 30, 5]);

    let export = buckets.to_arrow().batch_rows(20).to_folder(&folder);
    let export = export
        .partition_by(PartitionBy::Key)
        .format(Parquet::new().row_group_rows(30));
    assert_eq!(export.await.unwrap().skipped, 1);
}
