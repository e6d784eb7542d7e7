//! The subject of a history.

use bucket_mongo::bson::{Bson, Document, doc};
use bucket_tests::faults::random::Random;

use super::draw::Draw;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Operators,
    Filters,
    Upserts,
    Pipelines,
    Indexes,
    Sessions,
    Reads,
    Catalog,
}

impl Subject {
    pub(crate) fn draw(self, random: &mut Random) -> Vec<Document> {
        let draw = &mut Draw(random);
        let mut history =
            vec![doc! { "insert": 1, "documents": documents(draw, 4), "ordered": false }];
        match self {
            Self::Operators => add(&mut history, 12, || {
                updates(draw, |draw| {
                    let q = if draw.chance(4) {
                        draw.filter(1)
                    } else {
                        doc! { "_id": draw.small() }
                    };
                    doc! { "q": q, "u": draw.update() }
                })
            }),
            Self::Filters => {
                history = vec![doc! { "insert": 1, "documents": wide(draw, 25) }];
                add(
                    &mut history,
                    25,
                    || doc! { "find": 1, "filter": draw.filter(2), "sort": { "_id": 1 } },
                );
            }
            Self::Upserts => add(&mut history, 12, || updates(draw, upsert)),
            Self::Pipelines => add(&mut history, 12, || {
                updates(draw, |draw| {
                    let q = doc! { "_id": draw.small() };
                    doc! { "q": q, "u": draw.pipeline(), "upsert": draw.chance(2) }
                })
            }),
            Self::Indexes => indexes(draw, &mut history),
            Self::Sessions => sessions(draw, &mut history),
            Self::Reads => reads(draw, &mut history),
            Self::Catalog => catalog(draw, &mut history),
        }
        history
    }
}

fn add(history: &mut Vec<Document>, commands: usize, mut command: impl FnMut() -> Document) {
    for _ in 0..commands {
        history.push(command());
    }
}

fn documents(draw: &mut Draw<'_>, most: usize) -> Vec<Bson> {
    let length = 1 + draw.below(most);
    (0..length)
        .map(|_| Bson::Document(draw.document()))
        .collect()
}

/// Documents of different ids.
fn wide(draw: &mut Draw<'_>, number: i32) -> Vec<Bson> {
    let of_id = |draw: &mut Draw<'_>, id: i32| {
        let mut document = draw.document();
        document.insert("_id", id);
        Bson::Document(document)
    };
    (0..number).map(|id| of_id(draw, id)).collect()
}

fn updates(draw: &mut Draw<'_>, mut statement: impl FnMut(&mut Draw<'_>) -> Document) -> Document {
    let length = 1 + draw.below(8);
    let statements: Vec<Bson> = (0..length)
        .map(|_| Bson::Document(statement(draw)))
        .collect();
    let mut command = doc! { "update": 1, "updates": statements };
    if draw.chance(2) {
        command.insert("ordered", false);
    }
    command
}

fn upsert(draw: &mut Draw<'_>) -> Document {
    let mut q = doc! {};
    match draw.below(6) {
        0 => {}
        1 => drop(q.insert("_id", doc! { "$gt": draw.small() })),
        _ => drop(q.insert("_id", draw.small())),
    }
    match draw.below(6) {
        0 => q.extend(draw.filter(1)),
        1 => {
            let name = draw.one(&["zeta", "alpha", "a.b"]);
            q.insert(name, draw.scalar());
            q.insert("$and", [doc! { name: draw.scalar() }]);
        }
        2 => {
            q.insert("zeta", draw.value());
            q.insert("alpha", doc! { "$eq": draw.value() });
            q.insert("items.9", doc! { "$exists": false });
        }
        3 => drop(q.insert("count", doc! { "$lt": draw.number() })),
        _ => {}
    }
    let mut u = draw.update();
    if draw.chance(3) {
        let set = u
            .entry("$set".to_owned())
            .or_insert(Bson::Document(doc! {}));
        set.as_document_mut().unwrap().insert("_id", draw.small());
    }
    let mut statement = doc! { "q": q, "u": u, "upsert": true };
    if draw.chance(12) {
        statement.insert("hint", draw.one(&["_id_", "no such index"]));
    }
    statement
}

fn definition(draw: &mut Draw<'_>) -> Document {
    let (keys, name) = draw.one(&[
        (doc! { "a": 1 }, "a"),
        (doc! { "k": 1, "n": -1 }, "kn"),
        (doc! { "k": 1, "items.id": 1 }, "ids"),
        (doc! { "a.b": 1 }, "ab"),
        (doc! { "items.id": 1, "items.v": -1 }, "iv"),
        (doc! { "a": 1, "b": 1 }, "a_b"),
    ]);
    let mut index = doc! { "key": keys, "name": name };
    if !draw.chance(4) {
        index.insert("unique", true);
    }
    if draw.chance(2) {
        let partial = draw.one(&[
            doc! { "n": { "$lt": 3 } },
            doc! { "closed": false },
            doc! { "n": { "$gte": 2 }, "items": { "$exists": true } },
        ]);
        index.insert("partialFilterExpression", partial);
    }
    index
}

fn indexed(draw: &mut Draw<'_>) -> Document {
    let mut document = doc! { "_id": i32::try_from(draw.below(12)).unwrap() };
    for name in ["k", "n", "closed", "a", "b", "items"] {
        if draw.chance(3) {
            continue;
        }
        let value = match name {
            "items" => draw.items(),
            "closed" => Bson::Boolean(draw.chance(2)),
            _ if draw.chance(5) => draw.value(),
            _ => Bson::Int32(draw.small()),
        };
        document.insert(name, value);
    }
    document
}

fn indexes(draw: &mut Draw<'_>, history: &mut Vec<Document>) {
    history.clear();
    for _ in 0..2 {
        history.push(doc! { "createIndexes": 1, "indexes": [definition(draw)] });
    }
    for _ in 0..14 {
        history.push(match draw.below(8) {
            0..=2 => {
                let length = 1 + draw.below(3);
                let documents: Vec<Bson> = (0..length).map(|_| indexed(draw).into()).collect();
                doc! { "insert": 1, "documents": documents, "ordered": draw.chance(2) }
            }
            3..=5 => updates(draw, |draw| {
                let id = i32::try_from(draw.below(12)).unwrap();
                let mut set = indexed(draw);
                set.remove("_id");
                set.insert("z", 1);
                let u = if draw.chance(4) { doc! { "$inc": { "n": 1 }, "$push": { "items": { "id": draw.small(), "v": 1 } } } } else { doc! { "$set": set } };
                let mut statement = doc! { "q": { "_id": id }, "u": u, "upsert": draw.chance(2) };
                if draw.chance(4) {
                    statement.insert("q", doc! { "k": draw.small(), "n": { "$lt": 3 } });
                    statement.insert("hint", draw.one(&["kn", "a", "_id_"]));
                }
                statement
            }),
            6 => {
                let id = i32::try_from(draw.below(12)).unwrap();
                doc! { "delete": 1, "deletes": [{ "q": { "_id": id }, "limit": 1 }] }
            }
            _ => doc! { "find": 1, "filter": { "k": draw.small() }, "hint": draw.one(&["kn", "a", "_id_", "ids"]) },
        });
    }
}

fn sessions(draw: &mut Draw<'_>, history: &mut Vec<Document>) {
    let mut sent: Vec<Document> = Vec::new();
    for _ in 0..16 {
        let mut command = match draw.below(5) {
            // Repeats a command.
            0 | 1 if !sent.is_empty() => draw.one(&sent),
            2 => doc! { "insert": 1, "documents": documents(draw, 3), "ordered": false },
            3 => {
                let id = draw.small();
                doc! { "delete": 1, "deletes": [{ "q": { "_id": id }, "limit": 1 }] }
            }
            _ => updates(draw, |draw| {
                let id = draw.small();
                let u = match draw.below(3) {
                    0 => doc! { "$set": { "a": draw.small() } },
                    1 => doc! { "$push": { "items": draw.small() }, "$inc": { "n": 1 } },
                    _ => draw.update(),
                };
                doc! { "q": { "_id": id }, "u": u, "upsert": draw.chance(2) }
            }),
        };
        if !command.contains_key("lsid") && !draw.chance(6) {
            command.insert("lsid", doc! { "id": i32::try_from(draw.below(2)).unwrap() });
            command.insert(
                "txnNumber",
                1 + i64::try_from(history.len() / 3 + draw.below(2)).unwrap(),
            );
            if draw.chance(3) {
                command.insert("stmtIds", statement_ids(draw, &command));
            }
        }
        sent.push(command.clone());
        history.push(command);
    }
}

/// Numbers for the statements of a command, as where they are a part of another one. Some are too few.
fn statement_ids(draw: &mut Draw<'_>, command: &Document) -> Vec<i32> {
    let lists = ["documents", "updates", "deletes"];
    let statements = lists.iter().find_map(|list| command.get_array(list).ok());
    let count = i32::try_from(statements.unwrap().len()).unwrap();
    let first = draw.small();
    (first..first + count - i32::from(draw.chance(8))).collect()
}

fn reads(draw: &mut Draw<'_>, history: &mut Vec<Document>) {
    *history = vec![
        doc! { "insert": 1, "documents": wide(draw, 20) },
        doc! { "createIndexes": 1, "indexes": [{ "key": { "a": 1, "_id": 1 }, "name": "a" }] },
    ];
    for _ in 0..20 {
        let mut find = doc! { "find": 1, "filter": draw.filter(1) };
        if draw.chance(4) {
            find.insert("collation", doc! { "locale": "simple" });
        }
        if draw.chance(2) {
            let mut sort = Document::new();
            for _ in 0..=draw.below(2) {
                let path = draw.one(&["a", "b", "c", "a.b", "items.id", "items"]);
                sort.insert(path, draw.one(&[1, -1]));
            }
            sort.insert("_id", draw.one(&[1, -1]));
            find.insert("sort", sort);
            if draw.chance(2) {
                find.insert("limit", draw.small());
                find.insert("skip", draw.small());
            }
        }
        if draw.chance(2) {
            let mut projection = Document::new();
            if draw.chance(3) {
                projection.insert("_id", 0);
            }
            for name in ["a", "b", "items.id", "c.a", "a.b"] {
                let meets = projection.contains_key("a") && name == "a.b";
                if draw.chance(3) && !meets {
                    projection.insert(name, 1);
                }
            }
            if draw.chance(3) {
                projection.insert("items", doc! { "$filter": {
                    "input": { "$cond": [{ "$eq": [{ "$type": "$items" }, "array"] }, "$items", []] },
                    "cond": { "$in": ["$$this.id", { "$literal": [draw.scalar(), draw.small()] }] },
                } });
                projection.remove("items.id");
            }
            find.insert("projection", projection);
        }
        match draw.below(4) {
            0 => drop(find.insert("hint", "_id_")),
            1 => drop(find.insert("hint", "a")),
            2 => drop(find.insert(
                "readConcern",
                doc! { "level": draw.one(&["local", "majority"]) },
            )),
            _ => {}
        }
        if draw.chance(20) {
            find.insert("hint", "no such index");
        }
        let size = if find.contains_key("sort") {
            draw.one(&[1, 100])
        } else {
            100
        };
        find.insert("batchSize", size);
        find.insert("singleBatch", true);
        history.push(find);
    }
}

fn catalog(draw: &mut Draw<'_>, history: &mut Vec<Document>) {
    for _ in 0..12 {
        let mut command = match draw.below(10) {
            0 => doc! { "drop": 1 },
            1 => doc! { "create": 1 },
            2 => doc! { "create": 1, "validator": { "a": draw.one(&[
                doc! { "$lt": 3 }.into(), Bson::Document(doc! { "$not": { "$type": "array" } }), 2.into(),
            ]) } },
            3 => doc! { "createIndexes": 1, "indexes": [definition(draw)] },
            4 => doc! { "createIndexes": 1, "indexes": [definition(draw), definition(draw)] },
            5 => doc! { "dropIndexes": 1, "index": draw.one(&["a", "kn", "_id_", "*"]) },
            6 => doc! { "collMod": 1, "validator": { "b": { "$gte": 0 } } },
            7 => doc! { "insert": 1, "documents": documents(draw, 3) },
            8 => doc! { "delete": 1, "deletes": [{ "q": { "_id": draw.small() }, "limit": 1 }] },
            _ => updates(draw, |draw| {
                doc! { "q": { "_id": draw.small() }, "u": draw.update(), "upsert": draw.chance(2) }
            }),
        };
        let takes_uuid = ["insert", "update", "delete"]
            .iter()
            .any(|it| command.contains_key(it));
        if takes_uuid && draw.chance(2) {
            // Null stands for the collection's own.
            let uuid = if draw.chance(2) {
                Bson::Null
            } else {
                super::compare::uuid_of(&[7; 16])
            };
            command.insert("collectionUUID", uuid);
        }
        history.push(command);
        if draw.chance(4) {
            history.push(doc! { "listIndexes": 1, "includeBuildUUIDs": true });
        }
    }
}
