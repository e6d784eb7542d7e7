//! Keys that are no names of folders.

use std::collections::BTreeSet;

use bucket_arrow::ToArrow;
use bucket_mongo::Bucketed;

use super::{
    exports::{data, files, read},
    program::folder,
    server::{Windowed, database, records, store},
};

#[tokio::test]
async fn hostile_keys_have_folders_of_their_own_below_that_of_the_export() {
    let database = database("export_hostile").await;
    let buckets = Windowed::buckets(&database);
    let (long, longer) = ("x".repeat(300), format!("{}y", "x".repeat(299)));
    let keys = [
        "",
        ".",
        "..",
        "/",
        "../../etc/passwd",
        "a/b",
        "a%2Fb",
        "a b",
        "a\0b",
        "__HIVE_DEFAULT_PARTITION__",
        "ä",
        "=",
        "~",
        "\u{202e}",
        "nul",
        "a\\b",
        &long,
        &longer,
    ];
    let mut all = Vec::new();
    for key in keys {
        all.extend(records::<Windowed>(key, 4));
    }
    store(&buckets, all).await;

    let outer = folder("export_hostile");
    let inner = outer.join("inner");
    let report = buckets.to_arrow().to_folder(&inner).await.unwrap();
    assert_eq!((report.keys, report.records, report.parts), (18, 72, 36));
    let written = files(&outer);
    assert!(written.keys().all(|name| name.starts_with("inner/")));

    // Each folder has the records of one key.
    let written = files(&inner);
    let mut found = BTreeSet::new();
    for name in data(&written) {
        let of: BTreeSet<String> = read(written[name].clone())
            .into_iter()
            .map(|row| row.0)
            .collect();
        assert_eq!(of.len(), 1, "{name}");
        let folder = name.split('/').next().unwrap();
        assert_eq!(name.split('/').count(), 3, "{name}");
        found.insert((folder.to_owned(), of.into_iter().next().unwrap()));
    }
    assert_eq!(found.len(), keys.len());
    let folders: BTreeSet<&str> = found.iter().map(|(folder, _)| folder.as_str()).collect();
    assert_eq!(folders.len(), keys.len());

    let again = buckets.to_arrow().to_folder(&inner).await.unwrap();
    assert_eq!((again.parts, again.skipped), (0, 36));
}
