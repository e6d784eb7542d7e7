//! Random values, filters, updates and expressions, including hostile ones.

use bucket_mongo::bson::{Binary, Bson, DateTime, Document, Timestamp, doc, spec::BinarySubtype};
use bucket_tests::faults::random::Random;

pub(crate) struct Draw<'a>(pub(crate) &'a mut Random);

impl Draw<'_> {
    pub(crate) fn below(&mut self, limit: usize) -> usize {
        usize::try_from(self.0.below(limit as u64)).unwrap()
    }

    pub(crate) fn chance(&mut self, one_in: usize) -> bool {
        self.below(one_in) == 0
    }

    pub(crate) fn one<T: Clone>(&mut self, of: &[T]) -> T {
        of[self.below(of.len())].clone()
    }

    pub(crate) fn small(&mut self) -> i32 {
        i32::try_from(self.below(4)).unwrap()
    }

    pub(crate) fn number(&mut self) -> Bson {
        match self.below(12) {
            0..=3 => Bson::Int32(self.small()),
            4 => Bson::Int64(i64::from(self.small())),
            5 => Bson::Double(f64::from(self.small())),
            6 => self.one(&[
                Bson::Int32(i32::MAX),
                Bson::Int32(i32::MIN),
                Bson::Int32(-1),
            ]),
            7 => self.one(&[
                Bson::Int64(i64::MAX),
                Bson::Int64(i64::MIN),
                Bson::Int64(-1),
            ]),
            8 => self.one(&[
                Bson::Double(-0.0),
                Bson::Double(0.5),
                Bson::Double(f64::NAN),
            ]),
            9 => self.one(&[Bson::Double(f64::INFINITY), Bson::Double(f64::NEG_INFINITY)]),
            10 => self.one(&[
                Bson::Int64((1 << 53) + 1),
                Bson::Double(9_007_199_254_740_992.0),
            ]),
            _ => self.one(&[Bson::Double(9.223_372_036_854_776e18), Bson::Double(1e300)]),
        }
    }

    pub(crate) fn scalar(&mut self) -> Bson {
        match self.below(16) {
            0..=7 => self.number(),
            8 => Bson::Null,
            9 => Bson::Boolean(self.chance(2)),
            10 | 11 => Bson::String(self.one(&["", "a", "b", "$a", "1", "é", "a\"b"]).to_owned()),
            12 => Bson::DateTime(DateTime::from_millis(self.one(&[
                0,
                1,
                -1,
                1_700_000_000_000,
            ]))),
            13 => Bson::Binary(Binary {
                subtype: BinarySubtype::Generic,
                bytes: self.one(&[vec![], vec![1], vec![171, 2]]),
            }),
            14 => self.one(&[Bson::MinKey, Bson::MaxKey]),
            _ => Bson::Timestamp(Timestamp {
                time: 1,
                increment: 1 + u32::try_from(self.below(2)).unwrap(),
            }),
        }
    }

    pub(crate) fn value(&mut self) -> Bson {
        self.nested(2)
    }

    fn nested(&mut self, depth: usize) -> Bson {
        if depth == 0 {
            return self.scalar();
        }
        match self.below(10) {
            0..=5 => self.scalar(),
            6 | 7 => {
                let length = self.below(4);
                Bson::Array((0..length).map(|_| self.nested(depth - 1)).collect())
            }
            _ => {
                let mut fields = Document::new();
                for _ in 0..self.below(3) {
                    let name = self.one(&["a", "b", "c", "0"]);
                    fields.insert(name, self.nested(depth - 1));
                }
                Bson::Document(fields)
            }
        }
    }

    /// A document with an `_id`.
    pub(crate) fn document(&mut self) -> Document {
        let mut document = doc! { "_id": self.small() };
        for _ in 0..self.below(5) {
            let name = self.one(&["a", "b", "c", "items"]);
            let value = if name == "items" {
                self.items()
            } else {
                self.value()
            };
            document.insert(name, value);
        }
        if self.chance(4) {
            let id = document.remove("_id").unwrap();
            document.insert("_id", id);
        }
        document
    }

    pub(crate) fn items(&mut self) -> Bson {
        let length = self.below(4);
        let item = |draw: &mut Self| match draw.below(6) {
            0 => draw.scalar(),
            1 => Bson::Document(doc! {}),
            2 => Bson::Document(doc! { "id": draw.scalar(), "v": draw.small() }),
            _ => Bson::Document(doc! { "id": draw.small(), "v": draw.small() }),
        };
        Bson::Array((0..length).map(|_| item(self)).collect())
    }

    pub(crate) fn path(&mut self) -> &'static str {
        self.one(&[
            "a",
            "b",
            "c",
            "a",
            "b",
            "a.b",
            "a.a",
            "b.a",
            "a.0",
            "a.1",
            "a.b.c",
            "a.0.b",
            "items",
            "items.id",
            "items.0.id",
            "items.1",
            "c.x",
            "a.3",
        ])
    }

    /// A condition on one path.
    fn condition(&mut self) -> Bson {
        let mut conditions = Document::new();
        for _ in 0..=usize::from(self.chance(4)) {
            let operator = self.one(&[
                "$eq",
                "$ne",
                "$lt",
                "$lte",
                "$gt",
                "$gte",
                "$in",
                "$nin",
                "$exists",
                "$type",
                "$size",
                "$not",
                "$elemMatch",
            ]);
            let operand = match operator {
                "$in" | "$nin" => {
                    let length = self.below(4);
                    Bson::Array((0..length).map(|_| self.value()).collect())
                }
                "$exists" => Bson::Boolean(self.chance(2)),
                "$type" => self.kind(),
                "$size" => Bson::Int32(self.small()),
                "$not" => match self.condition() {
                    Bson::Document(inner) => Bson::Document(inner),
                    _ => Bson::Document(doc! { "$lt": self.value() }),
                },
                "$elemMatch" if self.chance(2) => Bson::Document(self.filter(1)),
                "$elemMatch" => self.condition(),
                _ => self.value(),
            };
            conditions.insert(operator, operand);
        }
        Bson::Document(conditions)
    }

    fn kind(&mut self) -> Bson {
        let name = self.one(&[
            "double",
            "string",
            "object",
            "array",
            "binData",
            "bool",
            "date",
            "null",
            "int",
            "long",
            "number",
            "timestamp",
            "minKey",
        ]);
        match self.below(4) {
            0 => Bson::Int32(self.one(&[1, 2, 3, 4, 8, 9, 10, 16, 18])),
            1 => Bson::Array(vec![name.into(), "int".into()]),
            _ => name.into(),
        }
    }

    pub(crate) fn filter(&mut self, depth: usize) -> Document {
        let mut filter = Document::new();
        for _ in 0..self.below(3) + usize::from(depth < 2) {
            match self.below(10) {
                0 | 1 if depth > 0 => {
                    let name = self.one(&["$and", "$or", "$nor"]);
                    let length = 1 + self.below(2);
                    let inner = (0..length).map(|_| Bson::Document(self.filter(depth - 1)));
                    let inner: Vec<Bson> = inner.collect();
                    filter.insert(name, inner);
                }
                2..=5 => {
                    filter.insert(self.path(), self.value());
                }
                _ => {
                    filter.insert(self.path(), self.condition());
                }
            }
        }
        filter
    }

    /// Operators on paths, which may conflict.
    pub(crate) fn update(&mut self) -> Document {
        let mut update = Document::new();
        for _ in 0..=self.below(3) {
            let operator = self.one(&[
                "$set",
                "$inc",
                "$push",
                "$min",
                "$max",
                "$setOnInsert",
                "$unset",
            ]);
            if update.contains_key(operator) {
                continue;
            }
            let mut fields = Document::new();
            for _ in 0..=self.below(2) {
                let path = if self.chance(12) { "_id" } else { self.path() };
                let operand = match operator {
                    "$inc" if !self.chance(20) => self.number(),
                    "$push" if self.chance(2) => {
                        let length = self.below(3);
                        let each: Vec<Bson> = (0..length).map(|_| self.value()).collect();
                        Bson::Document(doc! { "$each": each })
                    }
                    "$set" if self.chance(3) => self.items(),
                    _ if path == "_id" => Bson::Int32(self.small()),
                    _ => self.value(),
                };
                fields.insert(path, operand);
            }
            update.insert(operator, fields);
        }
        update
    }

    fn field(&mut self) -> Bson {
        let path = self.one(&[
            "a", "b", "c", "a.b", "items", "items.id", "items.v", "x", "_id",
        ]);
        Bson::String(format!("${path}"))
    }

    /// An expression of a pipeline.
    pub(crate) fn expression(&mut self, depth: usize) -> Bson {
        if depth == 0 {
            return match self.below(4) {
                0 => self.field(),
                1 => Bson::Document(doc! { "$literal": self.value() }),
                2 => self.number(),
                _ => self.scalar_constant(),
            };
        }
        let inner = |draw: &mut Self| draw.expression(depth - 1);
        Bson::Document(match self.below(16) {
            0 | 1 => doc! { "$add": [{ "$ifNull": [self.field(), 0] }, self.number()] },
            2 => doc! { "$toLong": { "$add": [inner(self), inner(self)] } },
            3 => doc! { "$min": [self.field(), inner(self)] },
            4 => doc! { "$max": [self.field(), inner(self)] },
            5 | 6 => doc! { "$concatArrays": [
                { "$ifNull": [self.field(), []] }, { "$literal": self.items() },
            ] },
            7 => doc! { "$cond": [
                { "$eq": [{ "$type": self.field() }, "missing"] }, inner(self), self.field(),
            ] },
            8 => {
                doc! { "$cond": [{ "$gt": [self.field(), 0] }, { "$divide": [self.field(), inner(self)] }, "$$REMOVE"] }
            }
            9 => doc! { "$map": { "input": { "$literal": self.items() }, "in": {
                "$mergeObjects": ["$$this", { "v": inner(self) }, { "$cond": [{ "$eq": [self.field(), inner(self)] }, {}, { "x": 1 }] }],
            } } },
            10 => {
                doc! { "$filter": { "input": self.field(), "cond": { "$in": ["$$this.id", { "$literal": [1, 2] }] } } }
            }
            11 => doc! { "$ifNull": [self.field(), inner(self), inner(self)] },
            12 => doc! { "$cond": [
                { self.one(&["$and", "$or"]): [inner(self), { "$not": [inner(self)] }] }, inner(self), inner(self),
            ] },
            13 => {
                doc! { self.one(&["$lt", "$lte", "$gt", "$gte", "$ne", "$eq"]): [inner(self), inner(self)] }
            }
            14 => return self.field(),
            _ => doc! { "p": inner(self), "q": [inner(self)] },
        })
    }

    fn scalar_constant(&mut self) -> Bson {
        match self.scalar() {
            Bson::String(text) if text.starts_with('$') => Bson::Null,
            other => other,
        }
    }

    pub(crate) fn pipeline(&mut self) -> Vec<Bson> {
        let mut stages = Vec::new();
        for _ in 0..=self.below(2) {
            let mut set = Document::new();
            for _ in 0..=self.below(3) {
                let path = self.one(&["a", "b", "c", "items", "s.min", "s.max", "a.b", "x"]);
                let meets = |other: &String| {
                    other.split('.').next() == path.split('.').next()
                        && (!other.contains('.') || !path.contains('.') || other == path)
                };
                if !set.keys().any(meets) {
                    let depth = self.below(3);
                    set.insert(path, self.expression(depth));
                }
            }
            stages.push(Bson::Document(doc! { "$set": set }));
        }
        stages
    }
}
