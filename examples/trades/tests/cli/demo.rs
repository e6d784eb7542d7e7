//! The main job: `trades` without a command.

use crate::app::{command, run, server, uri};

/// What the manual prints after its update, with the ids of its trades.
const MANUAL: &str = "\
[
  {
    _id: '123_1698335223',
    customerId: 123,
    count: 3,
    history: [
      {
        type: 'buy',
        ticker: 'MDB',
        qty: 419,
        date: ISODate(\"2023-10-26T15:47:03.434Z\")
      },
      {
        type: 'sell',
        ticker: 'MDB',
        qty: 29,
        date: ISODate(\"2023-10-30T09:32:57.765Z\")
      },
      {
        type: 'buy',
        ticker: 'MSFT',
        qty: 42,
        date: ISODate(\"2023-11-02T11:43:10.000Z\")
      }
    ]
  },
  {
    _id: '456_1698750962',
    customerId: 456,
    count: 1,
    history: [
      {
        type: 'buy',
        ticker: 'GOOG',
        qty: 50,
        date: ISODate(\"2023-10-31T11:16:02.120Z\")
      }
    ]
  }
]
";

#[tokio::test]
async fn it_shows_records_buckets_pages_and_the_documents_of_the_manual() {
    server().await;
    let ran = run(&[], Some(&uri("")));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{ran:?}");
    let text = ran.stdout;
    assert!(
        text.contains("998 trades of 48 customers -> 125 buckets (10 per bucket)\n"),
        "{text}"
    );
    assert!(
        text.contains("customer 17968 made 85 trades in one second"),
        "{text}"
    );
    assert!(text.contains("17968_1291206180_8"), "{text}");
    assert!(text.ends_with(MANUAL), "{text}");
    assert!(text.lines().all(|line| line.len() <= 100), "{text}");
}

#[tokio::test]
async fn it_leaves_no_database_and_does_not_panic_on_a_closed_pipe() {
    let client = server().await.client().await.unwrap();
    let mut child = command(Some(&uri("")))
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let id = child.id();
    let output = child.wait_with_output().unwrap();
    assert_eq!(String::from_utf8(output.stderr).unwrap(), "");
    assert_eq!(output.status.code(), Some(0));
    let names = client.list_database_names().await.unwrap();
    let left: Vec<_> = names
        .iter()
        .filter(|name| name.starts_with(&format!("trades_{id}_")))
        .collect();
    assert!(left.is_empty(), "{left:?}");
}
