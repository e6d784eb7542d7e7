//! The app as its user sees it: the real binary on a real server.
#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::collections::BTreeMap;

use bucket_mongo::bson::{Bson, Document};
use example_kit::testing::{Program, Readme, documents, server, uri};

static REQUESTS: Program = Program {
    binary: env!("CARGO_BIN_EXE_requests"),
    folder: env!("CARGO_TARGET_TMPDIR"),
};

fn whole(document: &Document, name: &str) -> i64 {
    match document.get(name) {
        Some(Bson::Int32(number)) => (*number).into(),
        Some(Bson::Int64(number)) => *number,
        _ => -1,
    }
}

/// Compares everything that a bucket stores about its requests with the requests themselves.
fn check(bucket: &Document) {
    let requests = bucket.get_array("requests").unwrap();
    let requests = || {
        requests
            .iter()
            .map(|request| request.as_document().unwrap())
    };
    let stats = bucket.get_document("stats").unwrap();
    let count = whole(bucket, "count");
    assert_eq!(count, i64::try_from(requests().count()).unwrap());
    assert_eq!(whole(bucket, "bucket_size"), 100);
    assert_eq!(bucket.get_bool("is_full").unwrap(), count == 100);

    let failed = requests().filter(|request| whole(request, "status_code") >= 500);
    assert_eq!(
        whole(stats, "error_count"),
        i64::try_from(failed.count()).unwrap()
    );
    let mut codes = BTreeMap::<_, i64>::new();
    for request in requests() {
        *codes
            .entry(whole(request, "status_code").to_string())
            .or_default() += 1;
    }
    let stored = stats.get_document("status_codes").unwrap();
    let stored: BTreeMap<_, _> = stored
        .keys()
        .map(|code| (code.clone(), whole(stored, code)))
        .collect();
    assert_eq!(stored, codes);
    assert_eq!(stored.values().sum::<i64>(), count);

    let durations = || requests().map(|request| whole(request, "duration_ms"));
    assert_eq!(whole(stats, "total_duration_ms"), durations().sum::<i64>());
    assert_eq!(Some(whole(stats, "min_duration_ms")), durations().min());
    assert_eq!(Some(whole(stats, "max_duration_ms")), durations().max());
    let times = || requests().map(|request| *request.get_datetime("timestamp").unwrap());
    assert_eq!(
        bucket.get_datetime("first_timestamp").ok().copied(),
        times().min()
    );
    assert_eq!(
        bucket.get_datetime("last_timestamp").ok().copied(),
        times().max()
    );
}

#[tokio::test]
async fn numbers_rise_by_one_and_the_stored_figures_are_those_of_the_requests() {
    let app = REQUESTS.app("record").await;
    for _ in 0..2 {
        let ran = app.run(&["record"]);
        assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    }
    let stored = documents(app.database(), "request_metrics_buckets").await;
    let mut numbers = BTreeMap::<_, Vec<i64>>::new();
    let mut requests = 0;
    for bucket in &stored {
        check(bucket);
        requests += whole(bucket, "count");
        let name = |name| bucket.get_str(name).unwrap().to_owned();
        let key = (name("service_name"), name("endpoint"));
        numbers
            .entry(key)
            .or_default()
            .push(whole(bucket, "bucket_number"));
    }
    assert_eq!(requests, 2 * 8 * 500);
    assert_eq!(numbers.len(), 4);
    for (key, mut numbers) in numbers {
        numbers.sort_unstable();
        let last = i64::try_from(numbers.len()).unwrap();
        assert_eq!(numbers, (1..=last).collect::<Vec<_>>(), "{key:?}");
    }
    let open = stored.iter().filter(|b| !b.get_bool("is_full").unwrap());
    assert!(
        open.count() <= 4,
        "an endpoint has at most one bucket with room"
    );
}

#[tokio::test]
async fn the_main_job_shows_endpoints_and_a_bucket_and_leaves_no_database() {
    let client = server().await.client().await.unwrap();
    let ran = REQUESTS.run(&[], Some(&uri("")));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let text = ran.stdout;
    assert!(text.contains("8 writers, 500 requests each"), "{text}");
    assert!(text.contains("/api/v1/users"), "{text}");
    assert!(text.contains("bucket_number: 1,"), "{text}");
    assert!(text.contains("// ... 98 more\n"), "{text}");
    assert!(text.lines().all(|line| line.len() <= 110), "{text}");
    let names = client.list_database_names().await.unwrap();
    assert!(
        !names.iter().any(|name| name.starts_with("requests_")),
        "{names:?}"
    );
}

#[tokio::test]
async fn a_stopped_run_reports_what_is_recorded() {
    let app = REQUESTS.app("record_stopped").await;
    let mut running = REQUESTS.start(&["record"], &uri(app.database().name()));
    let buckets = app
        .database()
        .collection::<Document>("request_metrics_buckets");
    running
        .until(async || buckets.estimated_document_count().await.unwrap() > 0)
        .await;
    running.signal("TERM");
    let ran = running.end();
    assert_eq!(ran.code, Some(143), "{ran:?}");
    let stored = documents(app.database(), "request_metrics_buckets").await;
    let stored: i64 = stored.iter().map(|bucket| whole(bucket, "count")).sum();
    let expected = format!("{stored} of 4000 requests were recorded and stay; ");
    assert!(ran.stderr.starts_with(&expected), "{ran:?}");
    assert!(
        ran.stderr.ends_with("\nerror: interrupted (SIGTERM)\n"),
        "{ran:?}"
    );
}

#[tokio::test]
async fn the_readme_shows_the_real_output() {
    let readme = Readme {
        text: include_str!("../../README.md"),
        program: &REQUESTS,
        changing: &[],
        changing_from: Some("one bucket as it is stored:"),
        file: None,
    };
    readme.check().await;
}
