//! Measures how many statements the model executes per second: `cargo test --release -p
//! server-model --test speed -- --ignored --nocapture`.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::cast_precision_loss)]

use std::time::{Duration, Instant};

use bson::{Bson, RawDocumentBuf, doc};
use server_model::Server;

/// The appends of the count form, as the library sends them.
fn append(statements: i32, turn: i32) -> RawDocumentBuf {
    let statement = |key: i32| {
        Bson::Document(doc! {
            "q": {
                "_id": format!("{key}_{}", turn / 10),
                "customerId": i64::from(key),
                "count": { "$lt": 10 },
                "history": { "$type": "array" },
                "history.9": { "$exists": false },
            },
            "u": {
                "$push": { "history": { "type": "buy", "ticker": "MDB", "qty": 1, "date": bson::DateTime::from_millis(0) } },
                "$inc": { "count": 1 },
            },
            "upsert": true,
            "hint": "_id_",
        })
    };
    let statements: Vec<Bson> = (0..statements).map(statement).collect();
    RawDocumentBuf::try_from(&doc! { "update": "trades", "ordered": false, "updates": statements })
        .unwrap()
}

#[test]
#[ignore = "prints a measurement"]
fn statements_a_second() {
    let indexes = doc! { "createIndexes": "trades", "indexes": [
        { "key": { "customerId": 1 }, "name": "open", "unique": true, "partialFilterExpression": { "count": { "$lt": 10 } } },
        { "key": { "customerId": 1, "_id": 1 }, "name": "pages" },
    ] };
    for size in [1, 100] {
        let commands: Vec<RawDocumentBuf> = (0..100).map(|turn| append(size, turn)).collect();
        let begun = Instant::now();
        let mut statements = 0;
        while begun.elapsed() < Duration::from_secs(2) {
            let mut server = Server::new();
            server.run(&RawDocumentBuf::try_from(&indexes).unwrap());
            for command in &commands {
                let reply = server.run(command);
                assert_eq!(reply.get_i32("n").unwrap(), size, "{reply}");
                statements += size;
            }
        }
        let rate = f64::from(statements) / begun.elapsed().as_secs_f64();
        println!("{size} statements in a command: {rate:.0} statements a second");
    }
}
