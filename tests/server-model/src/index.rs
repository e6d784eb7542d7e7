//! Indexes: their definitions, the keys of a document, and uniqueness.

use std::{cmp::Ordering, collections::BTreeMap, sync::Arc};

use bson::{Bson, Document, doc};

use crate::{
    error::Refusal,
    filter::{self, Filter},
    order::compare,
    path, text,
    value::{Fields, Value},
};

/// The position of a document in its collection, in order of insertion.
pub(crate) type RecordId = u64;

#[derive(Debug, Clone)]
pub(crate) struct Index {
    pub(crate) name: Box<str>,
    pub(crate) paths: Arc<[Box<str>]>,
    /// Bit `n` is set if the path `n` is descending.
    descending: u32,
    pub(crate) unique: bool,
    pub(crate) partial: Option<Arc<Filter>>,
    /// The server removes documents whose date is older than this many seconds.
    pub(crate) expire_after: Option<i64>,
    pub(crate) definition: Document,
    /// The fields of a document on which its keys depend.
    roots: Vec<Box<str>>,
    /// One of the paths has, or had, an array.
    pub(crate) multikey: bool,
    entries: BTreeMap<Key, Vec<RecordId>>,
}

/// What an index orders a document by.
#[derive(Debug, Clone)]
pub(crate) struct Key {
    values: Box<[Value]>,
    descending: u32,
}

impl Ord for Key {
    fn cmp(&self, other: &Self) -> Ordering {
        for (at, (a, b)) in self.values.iter().zip(&other.values).enumerate() {
            let order = compare(a, b);
            if order.is_ne() {
                let descends = self.descending >> at & 1 == 1;
                return if descends { order.reverse() } else { order };
            }
        }
        self.values.len().cmp(&other.values.len())
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Key {}

/// The keys of one document, and whether an array is the reason for several.
#[derive(Debug, Clone, Default)]
pub(crate) struct Keys {
    pub(crate) keys: Vec<Key>,
    pub(crate) multikey: bool,
}

/// The rest of a path within the current document.
#[derive(Debug, Clone)]
enum State<'a> {
    Path(&'a str),
    Fixed(Value),
}

impl Index {
    /// The index that every collection has.
    pub(crate) fn of_ids() -> Self {
        Self {
            name: "_id_".into(),
            paths: Arc::new(["_id".into()]),
            descending: 0,
            unique: true,
            partial: None,
            expire_after: None,
            definition: doc! { "v": 2, "key": { "_id": 1 }, "name": "_id_" },
            roots: vec!["_id".into()],
            multikey: false,
            entries: BTreeMap::new(),
        }
    }

    /// An index on these fields.
    pub(crate) fn on(keys: &Fields) -> Result<Self, Refusal> {
        let mut index = Self::of_ids();
        index.unique = false;
        let mut paths: Vec<Box<str>> = Vec::new();
        for (at, (path, direction)) in keys.0.iter().enumerate() {
            let Some(direction) = direction.as_whole().filter(|it| *it != 0) else {
                return Err(Refusal::unknown("indexes of a special type"));
            };
            if path
                .split('.')
                .any(|name| name.is_empty() || path::place(name).is_some())
            {
                return Err(Refusal::unknown(format_args!("an index on `{path}`")));
            }
            if direction < 0 {
                index.descending |= 1 << at;
            }
            paths.push((**path).into());
        }
        if paths.is_empty() || paths.len() > 32 {
            return Err(Refusal::unknown("indexes on no fields, or on more than 32"));
        }
        index.roots = paths
            .iter()
            .map(|path| path::split(path).0.into())
            .collect();
        index.paths = paths.into();
        Ok(index)
    }

    /// From a definition as `createIndexes` takes it.
    pub(crate) fn parse(definition: &Fields) -> Result<Self, Refusal> {
        let Some(keys) = definition.get("key").and_then(Value::as_document) else {
            return Err(Refusal::new(
                9,
                "the 'key' field is a required property of an index specification",
            ));
        };
        let mut index = Self::on(keys)?;
        let mut stored = doc! { "v": 2 };
        for (name, value) in &definition.0 {
            match (&**name, value) {
                ("key", _) => {}
                ("name", Value::String(name)) => index.name = (**name).into(),
                ("unique", value) => index.unique = value.is_truthy(),
                ("partialFilterExpression", Value::Document(partial)) => {
                    index.partial = Some(Arc::new(filter::parse_fields(partial)?));
                }
                ("expireAfterSeconds", value) => index.expire_after = value.as_whole(),
                ("v", _) => continue,
                (name, _) => {
                    return Err(Refusal::unknown(format_args!(
                        "the option `{name}` of an index"
                    )));
                }
            }
            if &**name != "unique" || index.unique {
                stored.insert(&**name, value.to_bson());
            }
        }
        if !stored.contains_key("name") {
            return Err(Refusal::new(
                9,
                "the 'name' field is a required property of an index specification",
            ));
        }
        if let Some(partial) = &index.partial {
            partial.each_root(&mut |root| index.roots.push(root.into()));
        }
        index.definition = stored;
        Ok(index)
    }

    /// Whether this index contains a document.
    fn covers(&self, fields: &Fields) -> bool {
        let partial = self.partial.as_deref();
        partial.is_none_or(|partial| partial.matches(fields))
    }

    /// Whether two versions of a document have the same keys, because everything that the keys
    /// depend on is the same.
    pub(crate) fn is_untouched(&self, before: &Fields, after: &Fields) -> bool {
        self.roots
            .iter()
            .all(|root| match (before.get(root), after.get(root)) {
                (Some(before), Some(after)) => before.is_same(after),
                (None, None) => true,
                _ => false,
            })
    }

    /// The keys of a document; none if the index does not contain it.
    pub(crate) fn keys(&self, fields: &Fields) -> Result<Keys, Refusal> {
        let mut found = Keys::default();
        if self.covers(fields) {
            let states = self.paths.iter().map(|path| State::Path(path)).collect();
            self.collect(fields, states, &mut found)?;
            if found.multikey {
                found.keys.sort_unstable();
                found.keys.dedup();
            }
        }
        Ok(found)
    }

    fn collect<'a>(
        &self,
        fields: &Fields,
        mut states: Vec<State<'a>>,
        found: &mut Keys,
    ) -> Result<(), Refusal> {
        // The array at which paths end or continue, and the rest of each path there.
        let mut array: Option<(Arc<Vec<Value>>, &'a str)> = None;
        let mut through: Vec<(usize, Option<&'a str>)> = Vec::new();
        for (at, state) in states.iter_mut().enumerate() {
            let State::Path(path) = *state else { continue };
            match walk(fields, path) {
                Found::Value(value) => *state = State::Fixed(value),
                Found::Array(items, rest) => {
                    match &array {
                        None => array = Some((items, path)),
                        Some((other, _)) if Arc::ptr_eq(other, &items) => {}
                        Some((_, other)) => {
                            let last = |path: &'a str| path::split(path).0;
                            return Err(Refusal::new(
                                171,
                                format!(
                                    "cannot index parallel arrays [{}] [{}]",
                                    last(path),
                                    last(other)
                                ),
                            ));
                        }
                    }
                    through.push((at, rest));
                }
            }
        }
        let Some((items, _)) = array else {
            let values = states.into_iter().map(|state| match state {
                State::Fixed(value) => value,
                State::Path(_) => Value::Null,
            });
            found.keys.push(Key {
                values: values.collect(),
                descending: self.descending,
            });
            return Ok(());
        };
        found.multikey = true;
        let nothing = Fields::default();
        let empty = [Value::Undefined];
        let each = if items.is_empty() {
            &empty[..]
        } else {
            &items[..]
        };
        for item in each {
            let mut inner = states.clone();
            for (at, rest) in &through {
                inner[*at] = match (rest, item) {
                    (None, item) => State::Fixed(item.clone()),
                    (Some(rest), Value::Document(_)) => State::Path(rest),
                    (Some(_), _) => State::Fixed(Value::Null),
                };
            }
            self.collect(item.as_document().unwrap_or(&nothing), inner, found)?;
        }
        Ok(())
    }

    /// The refusal of these keys of a document, if another one has one of them.
    pub(crate) fn check(&self, namespace: &str, keys: &Keys, own: RecordId) -> Result<(), Refusal> {
        if !self.unique {
            return Ok(());
        }
        for key in &keys.keys {
            let holders = self.entries.get(key).map_or(&[][..], Vec::as_slice);
            if holders.iter().any(|other| *other != own) {
                return Err(self.duplicate(namespace, key));
            }
        }
        Ok(())
    }

    fn duplicate(&self, namespace: &str, key: &Key) -> Refusal {
        let pairs = || self.paths.iter().map(|path| &**path).zip(&key.values);
        let mut pattern = Document::new();
        for (at, path) in self.paths.iter().enumerate() {
            let direction = if self.descending >> at & 1 == 1 {
                -1
            } else {
                1
            };
            pattern.insert(&**path, direction);
        }
        let values: Document = pairs()
            .map(|(path, value)| (path.to_owned(), value.to_bson()))
            .collect();
        let message = format!(
            "E11000 duplicate key error collection: {namespace} index: {} dup key: {}",
            self.name,
            text::document(pairs())
        );
        Refusal {
            details: Some(Box::new(doc! { "keyPattern": pattern, "keyValue": values })),
            ..Refusal::new(11_000, message)
        }
    }

    pub(crate) fn add(&mut self, keys: Keys, id: RecordId) {
        self.multikey |= keys.multikey;
        for key in keys.keys {
            let ids = self.entries.entry(key).or_default();
            if let Err(at) = ids.binary_search(&id) {
                ids.insert(at, id);
            }
        }
    }

    pub(crate) fn remove(&mut self, keys: &Keys, id: RecordId) {
        for key in &keys.keys {
            if let Some(ids) = self.entries.get_mut(key) {
                ids.retain(|other| *other != id);
                if ids.is_empty() {
                    self.entries.remove(key);
                }
            }
        }
    }

    /// The documents whose keys start with these values, in index order. A document with several
    /// keys comes once for each.
    pub(crate) fn scan(&self, prefix: Vec<Value>) -> impl Iterator<Item = RecordId> + '_ {
        let from = Key {
            values: prefix.into(),
            descending: self.descending,
        };
        let length = from.values.len();
        let entries = self.entries.range(from.clone()..);
        let within = entries.take_while(move |(key, _)| {
            let mut pairs = key.values.iter().zip(&from.values).take(length);
            pairs.all(|(a, b)| compare(a, b).is_eq())
        });
        within.flat_map(|(_, ids)| ids.iter().copied())
    }

    /// The dates by which the server removes documents, first ones first.
    pub(crate) fn dates(&self) -> impl Iterator<Item = (i64, &[RecordId])> {
        self.entries
            .iter()
            .filter_map(|(key, ids)| match &*key.values {
                [Value::DateTime(date)] => Some((*date, ids.as_slice())),
                _ => None,
            })
    }

    /// Whether the definitions are the same except for the name.
    pub(crate) fn is_alike(&self, other: &Self) -> bool {
        let of = |index: &Self| {
            let mut definition = index.definition.clone();
            definition.remove("name");
            definition.remove("expireAfterSeconds");
            definition.remove("unique");
            plain(Bson::Document(definition))
        };
        of(self) == of(other)
    }

    /// Whether the definitions are the same.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.name == other.name
            && self.unique == other.unique
            && self.expire_after == other.expire_after
            && self.is_alike(other)
    }

    /// Whether a hint names it.
    pub(crate) fn is_hinted(&self, hint: &Value) -> bool {
        match hint {
            Value::String(name) => **name == *self.name,
            Value::Document(keys) => {
                let own = self.paths.iter().enumerate();
                let own = own.map(|(at, path)| (&**path, self.descending >> at & 1 == 1));
                let keys = keys.0.iter();
                keys.map(|(path, direction)| (&**path, direction.as_whole() < Some(0)))
                    .eq(own)
            }
            _ => false,
        }
    }
}

/// A definition with all numbers as one type.
fn plain(value: Bson) -> Bson {
    match value {
        Bson::Int32(number) => Bson::Double(f64::from(number)),
        #[allow(clippy::cast_precision_loss)]
        Bson::Int64(number) => Bson::Double(number as f64),
        Bson::Document(fields) => {
            let fields = fields.into_iter();
            Bson::Document(fields.map(|(name, value)| (name, plain(value))).collect())
        }
        other => other,
    }
}

enum Found<'a> {
    Value(Value),
    Array(Arc<Vec<Value>>, Option<&'a str>),
}

/// Follows a path to its end or to the first array.
fn walk<'a>(fields: &Fields, path: &'a str) -> Found<'a> {
    let (name, rest) = path::split(path);
    match (fields.get(name), rest) {
        (Some(Value::Array(items)), rest) => Found::Array(Arc::clone(items), rest),
        (Some(Value::Document(inner)), Some(rest)) => walk(inner, rest),
        (Some(value), None) => Found::Value(value.clone()),
        (None, _) | (Some(_), Some(_)) => Found::Value(Value::Null),
    }
}
