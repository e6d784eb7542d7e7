//! Behaviour that a real server only shows under faults: rollbacks, late replies, lost races,
//! removals.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use bson::{Binary, Bson, DateTime, Document, RawDocumentBuf, doc, spec::BinarySubtype};
use server_model::{Answer, Interruption, Limits, Server};

fn raw(command: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(command).unwrap()
}

fn run(server: &mut Server, command: &Document) -> Document {
    server.run(&raw(command))
}

fn push(id: i32) -> Document {
    doc! { "update": "c", "updates": [{ "q": { "_id": id }, "u": { "$push": { "items": 1 } }, "upsert": true }] }
}

/// The command in a session, under this number.
fn numbered(mut command: Document, number: i64) -> Document {
    let id = Binary {
        subtype: BinarySubtype::Uuid,
        bytes: vec![7; 16],
    };
    command.insert("lsid", doc! { "id": id });
    command.insert("txnNumber", number);
    command
}

fn codes(reply: &Document) -> Vec<i32> {
    let errors = reply.get_array("writeErrors").cloned().unwrap_or_default();
    let errors = errors
        .iter()
        .map(|it| it.as_document().unwrap().get_i32("code").unwrap());
    errors.collect()
}

fn n(reply: &Document) -> i32 {
    reply.get_i32("n").unwrap()
}

#[test]
fn a_failover_rolls_back_unreplicated_writes_and_their_session_records() {
    let mut server = Server::new();
    run(&mut server, &numbered(push(1), 1));
    server.lag(true);
    let kept = server.last_position();
    let Answer::Held { until, reply } = server.execute(&raw(&numbered(push(1), 2))) else {
        panic!("a majority has nothing of it");
    };
    assert!(until > kept && n(&reply) == 1);
    run(&mut server, &push(2));
    assert_eq!(server.documents("test.c").len(), 2);
    assert_eq!(
        server.majority_documents("test.c"),
        [doc! { "_id": 1, "items": [1] }]
    );
    let index = doc! { "createIndexes": "c", "indexes": [{ "key": { "a": 1 }, "name": "a" }] };
    run(&mut server, &index);
    server.fail_over();
    assert_eq!(
        server.documents("test.c"),
        [doc! { "_id": 1, "items": [1] }]
    );
    let indexes = run(&mut server, &doc! { "listIndexes": "c" });
    let indexes = indexes
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    assert_eq!(indexes.len(), 1);
    // This primary does not know that the number was used, but it knows the previous one.
    let again = run(&mut server, &numbered(push(1), 2));
    assert!(n(&again) == 1 && !again.contains_key("retriedStmtIds"));
    let old = run(&mut server, &numbered(push(1), 1));
    assert_eq!(old.get_i32("code").unwrap(), 225);
}

#[test]
fn replicated_writes_stay_and_a_retry_is_answered_from_the_record() {
    let mut server = Server::new();
    server.lag(true);
    let command = numbered(push(1), 1);
    run(&mut server, &command);
    server.replicate(server.last_position());
    server.fail_over();
    let again = run(&mut server, &command);
    assert_eq!(n(&again), 1);
    assert_eq!(
        again.get_array("retriedStmtIds").unwrap(),
        &[Bson::Int32(0)]
    );
    assert_eq!(
        server.documents("test.c"),
        [doc! { "_id": 1, "items": [1] }]
    );
}

#[test]
fn a_number_that_wrote_nothing_is_forgotten_by_the_next_primary() {
    let mut server = Server::new();
    run(&mut server, &numbered(push(1), 1));
    let nothing =
        doc! { "update": "c", "updates": [{ "q": { "_id": 9 }, "u": { "$set": { "a": 1 } } }] };
    run(&mut server, &numbered(nothing, 2));
    let refused = run(&mut server, &numbered(push(1), 1));
    assert_eq!(refused.get_i32("code").unwrap(), 225);
    server.step_down();
    let refused = run(&mut server, &push(1));
    assert_eq!(refused.get_i32("code").unwrap(), 10_107);
    server.step_up();
    let again = run(&mut server, &numbered(push(1), 1));
    assert!(again.contains_key("retriedStmtIds"));
}

#[test]
fn a_write_that_changes_nothing_waits_for_the_writes_before_it() {
    let mut server = Server::new();
    server.lag(true);
    let set = doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": { "$set": { "a": 1 } }, "upsert": true }] };
    run(&mut server, &set);
    let reply = run(&mut server, &set);
    let concern = reply.get_document("writeConcernError").unwrap();
    assert_eq!(concern.get_i32("code").unwrap(), 64);
    let mut weak = set.clone();
    weak.insert("writeConcern", doc! { "w": 1 });
    assert!(!run(&mut server, &weak).contains_key("writeConcernError"));
}

#[test]
fn a_causal_read_waits_for_a_majority() {
    let mut server = Server::new();
    server.lag(true);
    let written = run(&mut server, &push(1));
    let time = written.get_timestamp("operationTime").unwrap();
    let read = doc! {
        "find": "c",
        "readConcern": { "level": "majority", "afterClusterTime": time },
    };
    let Answer::Postponed { until } = server.execute(&raw(&read)) else {
        panic!("a majority has nothing of it");
    };
    server.replicate(until);
    let reply = server.execute(&raw(&read)).reply().unwrap();
    let batch = reply
        .get_document("cursor")
        .unwrap()
        .get_array("firstBatch")
        .unwrap();
    assert_eq!(batch.len(), 1);
}

#[test]
fn an_interruption_fails_the_remaining_statements_or_the_whole_command() {
    let three = doc! { "insert": "c", "ordered": false, "documents": [{ "_id": 1 }, { "_id": 2 }, { "_id": 3 }] };
    for (whole, ordered) in [(true, false), (false, false), (false, true)] {
        let mut server = Server::new();
        let mut command = three.clone();
        command.insert("ordered", ordered);
        server.interrupt(Interruption {
            after: 1,
            code: 189,
            whole,
        });
        let reply = run(&mut server, &command);
        assert_eq!(server.documents("test.c"), [doc! { "_id": 1 }]);
        if whole {
            assert_eq!(reply.get_i32("code").unwrap(), 189);
        } else {
            assert_eq!(codes(&reply), vec![189; if ordered { 1 } else { 2 }]);
        }
        // Only once.
        let reply = run(
            &mut server,
            &doc! { "insert": "c", "documents": [{ "_id": 4 }] },
        );
        assert_eq!(codes(&reply), []);
    }
}

#[test]
fn a_lost_upsert_race_is_retried_only_for_pure_equality() {
    for (filter, retried) in [
        (doc! { "_id": 1 }, true),
        (doc! { "_id": 1, "n": { "$lt": 5 } }, false),
    ] {
        let mut server = Server::new();
        let update = doc! { "$push": { "items": 1 } };
        let command =
            doc! { "update": "c", "updates": [{ "q": filter, "u": update, "upsert": true }] };
        let mut races = 0;
        let answer = server.execute_between(&raw(&command), &mut |server| {
            races += 1;
            if races == 1 {
                run(server, &push(1));
            }
        });
        let reply = answer.reply().unwrap();
        assert_eq!(codes(&reply), if retried { vec![] } else { vec![11_000] });
        let items = if retried {
            doc! { "_id": 1, "items": [1, 1] }
        } else {
            doc! { "_id": 1, "items": [1] }
        };
        assert_eq!(server.documents("test.c"), [items]);
    }
}

#[test]
fn expired_documents_are_removed_one_by_one() {
    let mut server = Server::new();
    let index = doc! {
        "key": { "at": 1 },
        "name": "ttl",
        "expireAfterSeconds": 10,
        "partialFilterExpression": { "full": true },
    };
    run(
        &mut server,
        &doc! { "createIndexes": "c", "indexes": [index] },
    );
    let at = |id: i32, seconds: i64, full: bool| {
        doc! { "_id": id, "at": DateTime::from_millis(seconds * 1_000), "full": full }
    };
    let documents = [
        at(1, 5, true),
        at(2, 3, true),
        at(3, 1, false),
        at(4, 50, true),
    ];
    run(
        &mut server,
        &doc! { "insert": "c", "documents": documents.to_vec() },
    );
    let now = DateTime::from_millis(15_000);
    assert_eq!(server.remove_expired("test.c", now), Some(Bson::Int32(2)));
    assert_eq!(server.remove_expired("test.c", now), Some(Bson::Int32(1)));
    assert_eq!(server.remove_expired("test.c", now), None);
    assert_eq!(server.documents("test.c").len(), 2);
}

#[test]
fn documents_grow_to_the_limit_and_no_further() {
    let mut server = Server::new();
    server.set_limits(Limits::default().with_document_bytes(1_000));
    let text = "x".repeat(900);
    run(
        &mut server,
        &doc! { "insert": "c", "documents": [{ "_id": 1, "a": &text }] },
    );
    let grow = |text: &str| doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": { "$push": { "items": text } } }] };
    assert_eq!(codes(&run(&mut server, &grow("x"))), []);
    assert_eq!(codes(&run(&mut server, &grow(&text))), [17_419]);
    assert_eq!(
        codes(&run(&mut server, &grow(&"x".repeat(20_000)))),
        [10_334]
    );
    let large = doc! { "insert": "c", "documents": [{ "_id": 2, "a": text.repeat(2) }] };
    assert_eq!(codes(&run(&mut server, &large)), [2]);
}

#[test]
fn commands_unknown_to_the_model_are_errors() {
    let mut server = Server::new();
    run(&mut server, &push(1));
    let update = |u: Document| doc! { "update": "c", "updates": [{ "q": { "_id": 1 }, "u": u }] };
    for command in [
        doc! { "aggregate": "c", "pipeline": [], "cursor": {} },
        doc! { "find": "c", "filter": { "a": { "$regex": "x" } } },
        doc! { "find": "c", "collation": { "locale": "de" } },
        update(doc! { "$rename": { "a": "b" } }),
        update(doc! { "a": 1 }),
        doc! { "insert": "c", "documents": [{ "a": Bson::Decimal128("1".parse().unwrap()) }] },
        doc! { "createIndexes": "c", "indexes": [{ "key": { "a": "text" }, "name": "a" }] },
    ] {
        let reply = run(&mut server, &command);
        assert_eq!(
            reply.get_i32("code").unwrap(),
            server_model::UNKNOWN,
            "{command}"
        );
        assert_eq!(
            server.documents("test.c"),
            [doc! { "_id": 1, "items": [1] }]
        );
    }
}
