//! An edit tries until its deadline whatever it has to do: its reads too, not only its statements.

use std::{fmt::Debug, pin::Pin, time::Duration};

use bucket_mongo::{
    Bucketed, Buckets, Error, RecordOutcome, Which,
    bson::{DateTime, Document, doc},
    mongodb::{Client, Database},
    testing::DevServer,
};
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "payments",
    items = "payments",
    window = "1m",
    capacity = 3
)]
struct Payment {
    #[bucket(key)]
    account: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    #[bucket(sum)]
    cents: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "orders",
    items = "orders",
    capacity = 3,
    on_conflict = "replace"
)]
struct Order {
    #[bucket(key)]
    shop: i64,
    #[bucket(time)]
    at: DateTime,
    #[bucket(unique)]
    id: i64,
    pieces: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, Bucketed)]
#[bucket(
    collection = "readings",
    items = "readings",
    window = "1m",
    seal_after = "1h"
)]
struct Reading {
    #[bucket(key)]
    sensor: i64,
    #[bucket(time)]
    at: DateTime,
    value: i64,
}

/// Record 7 of each account is the one that is edited.
fn payment(account: i64, id: i64) -> Payment {
    Payment {
        account,
        at: DateTime::from_millis(id * 10_000),
        id,
        cents: 1,
    }
}

fn order(shop: i64, pieces: i64) -> Order {
    Order {
        shop,
        at: DateTime::from_millis(0),
        id: 7,
        pieces,
    }
}

struct Handles {
    client: Client,
    payments: Buckets<Payment>,
    orders: Buckets<Order>,
    readings: Buckets<Reading>,
}

type Outcome = Pin<Box<dyn Future<Output = Result<String, Error>> + Send>>;
type Call = fn(&'static Handles, i64) -> Outcome;

/// What a call has done, as a text.
fn shown<R: Debug>(
    result: Result<R, Error>,
    shown: impl Fn(&R) -> String,
) -> Result<String, Error> {
    result.map(|result| shown(&result))
}

macro_rules! calls {
    ($($name:literal, |$handles:ident, $key:ident| $call:expr => $expected:literal;)*) => {
        [$((
            $name,
            (|$handles: &'static Handles, $key: i64| -> Outcome { Box::pin($call) }) as Call,
            $expected,
        ),)*]
    };
}

#[allow(clippy::ref_option, reason = "as `shown` hands it on")]
fn cents(found: &Option<Payment>) -> String {
    format!("{:?}", found.as_ref().map(|payment| payment.cents))
}

fn outcome(outcome: RecordOutcome) -> String {
    format!("{outcome:?}")
}

/// Every call that reads before it changes something.
fn calls() -> Vec<(&'static str, Call, &'static str)> {
    calls! {
        "update", |h, key| async move {
            let update = h.payments.update(key, Which::id(&7_i64), |payment| payment.cents = 5);
            shown(update.await, cents)
        } => "Some(5)";
        "update in a session", |h, key| async move {
            let mut session = h.client.start_session().await.unwrap();
            let update = h.payments.update(key, Which::id(&7_i64), |payment| payment.cents = 5);
            shown(update.session(&mut session).await, cents)
        } => "Some(5)";
        "update of nothing", |h, key| async move {
            let update = h.payments.update(key, Which::id(&8_i64), |payment| payment.cents = 5);
            shown(update.await, cents)
        } => "None";
        "update to another time", |h, key| async move {
            let update = h.payments.update(key, Which::id(&7_i64), |payment| {
                payment.at = DateTime::from_millis(900_000);
            });
            shown(update.await, cents)
        } => "Some(1)";
        "update to another key", |h, key| async move {
            let update = h.payments.update(key, Which::id(&7_i64), |payment| payment.account += 1_000);
            shown(update.await, cents)
        } => "Some(1)";
        "dry update", |h, key| async move {
            let update = h.payments.update(key, Which::id(&7_i64), |payment| payment.cents = 5);
            shown(update.dry_run().await, cents)
        } => "Some(5)";
        "delete", |h, key| async move {
            shown(h.payments.delete(key, Which::id(&7_i64)).await, cents)
        } => "Some(1)";
        "delete, with the id", |h, key| async move {
            shown(h.payments.delete(key, Which::id(&7_i64)).forget_ids().await, cents)
        } => "Some(1)";
        "delete_range", |h, key| async move {
            let removed = h.payments.delete_range(key, DateTime::from_millis(70_000)..).await;
            shown(removed, |removed| removed.records.to_string())
        } => "1";
        "delete_range in a session", |h, key| async move {
            let mut session = h.client.start_session().await.unwrap();
            let removed = h.payments.delete_range(key, DateTime::from_millis(70_000)..);
            shown(removed.session(&mut session).await, |removed| removed.records.to_string())
        } => "1";
        "delete_where", |h, key| async move {
            let removed = h.payments.delete_where(key, PaymentItem::FIELDS.id.eq(7_i64)).await;
            shown(removed, |removed| removed.records.to_string())
        } => "1";
        "delete_key", |h, key| async move {
            let removed = h.payments.delete_key(key).await;
            shown(removed, |removed| removed.records.to_string())
        } => "3";
        "replace", |h, key| async move {
            let new = Payment { cents: 5, ..payment(key, 7) };
            let replaced = h.payments.insert(&new).replace().await;
            shown(replaced, |replaced| outcome(replaced.outcome))
        } => "Replaced";
        "replace at another time", |h, key| async move {
            let new = Payment { at: DateTime::from_millis(900_000), ..payment(key, 7) };
            let replaced = h.payments.insert(&new).replace().await;
            shown(replaced, |replaced| outcome(replaced.outcome))
        } => "Replaced";
        "replace many", |h, key| async move {
            let new = Payment { cents: 5, ..payment(key, 7) };
            let report = h.payments.insert_many([&new, &payment(key, 9)]).replace().await?;
            shown(report.into_result(), |report| format!("{} {}", report.replaced().len(), report.stored()))
        } => "1 1";
        "on_conflict", |h, key| async move {
            let replaced = h.orders.insert(&order(key, 5)).await;
            shown(replaced, |replaced| outcome(replaced.outcome))
        } => "Replaced";
        "dry seal", |h, key| async move {
            shown(h.readings.seal().key(key).dry_run().await, |report| format!("{} {}", report.buckets, report.records))
        } => "2 360";
        "seal", |h, key| async move {
            shown(h.readings.seal().key(key).await, |report| format!("{} {}", report.buckets, report.records))
        } => "2 360";
        "unseal", |h, key| async move {
            h.readings.seal().key(key).await?;
            shown(h.readings.unseal().key(key).await, |report| format!("{} {}", report.buckets, report.records))
        } => "2 360";
    }
    .into()
}

async fn fill(handles: &Handles, key: i64) {
    let payments = [1, 2, 7].map(|id| payment(key, id));
    let stored = handles.payments.insert_many(&payments).await.unwrap();
    stored.into_result().unwrap();
    handles.orders.insert(&order(key, 1)).await.unwrap();
    // Two buckets that each become smaller.
    let readings = (0..360).map(|number| Reading {
        sensor: key,
        at: DateTime::from_millis(number * 333),
        value: number,
    });
    let stored = handles.readings.insert_many(readings).await.unwrap();
    stored.into_result().unwrap();
}

/// How many commands have failed.
async fn set_fault(
    admin: &Database,
    mode: impl Into<bucket_mongo::bson::Bson>,
    data: &Document,
) -> i64 {
    let point = doc! { "configureFailPoint": "failCommand", "mode": mode.into(), "data": data };
    let set = admin.run_command(point).await.unwrap();
    i64::from(set.get_i32("count").unwrap_or_default())
}

#[tokio::test(flavor = "multi_thread")]
async fn every_edit_goes_on_after_reads_that_fail_for_a_while() {
    // The driver makes each read twice.
    const TIMES: i32 = 3;
    let arguments = ["--setParameter", "enableTestCommands=1"];
    let server = DevServer::builder().own().arguments(arguments);
    let server = server.await.unwrap();
    let admin = server.client().await.unwrap().database("admin");
    let client = server.client().await.unwrap();
    let database = client.database("persistent");
    let patience = Duration::from_secs(300);
    let handles: &'static Handles = Box::leak(Box::new(Handles {
        client,
        payments: Payment::buckets(&database).with_deadline(patience),
        orders: Order::buckets(&database).with_deadline(patience),
        readings: Reading::buckets(&database).with_deadline(patience),
    }));
    handles.payments.ensure().await.unwrap();
    handles.orders.ensure().await.unwrap();
    handles.readings.ensure().await.unwrap();
    let faults = [
        ("stepped down", doc! { "errorCode": 11_602 }),
        ("connection closed", doc! { "closeConnection": true }),
    ];
    let commands = ["find", "ping", "hello"];
    let mut failed = Vec::new();
    let mut key = 0;
    for (fault, data) in &faults {
        for command in commands {
            let mut data = data.clone();
            data.insert("failCommands", [command]);
            for (name, call, expected) in calls() {
                let sends = match command {
                    "hello" => name.contains("another"),
                    "ping" => name.starts_with("delete_"),
                    _ => true,
                };
                if !sends {
                    continue;
                }
                key += 1;
                fill(handles, key).await;
                // `times` is counted anew each time.
                set_fault(&admin, doc! { "times": TIMES }, &data).await;
                let done = call(handles, key).await;
                set_fault(&admin, "off", &doc! {}).await;
                match done {
                    Ok(done) if done == expected => {}
                    done => failed.push(format!("{name}, {command} {fault}: {done:?}")),
                }
            }
        }
    }
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}
