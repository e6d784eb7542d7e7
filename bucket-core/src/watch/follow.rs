//! From the events of the server to those of records.

use std::collections::VecDeque;

use bson::{Bson, Document, RawArray, RawBsonRef, RawDocument, Timestamp, doc};

use super::{
    before::{Before, part, records_of},
    delta::{Delta, Items},
    event::{RecordChange, WatchEvent},
    head::{Head, HeadLookup, OfItems},
    known::{Bucket, Known},
    merging::{self, Merging},
    position::{Position, Start},
    raw_change::{Kind, RawChange},
    records::{Changes, appended, decoded, edited, is_longer},
    sealing::unpacked,
    times::{self, Times},
    token::{WatchToken, WatchTokenError},
};
use crate::{
    bucket::{
        self, ItemReader,
        id::{self, BucketId, is_of_key},
        record::Record,
    },
    error::{Damage, DamagedBucket},
    model::spec::ID,
    read::{QUERY, ReadKey, end_of, key_document, query_of},
};

/// Follows the change stream of a collection.
///
/// ```
/// # use bucket_core::{Record, watch::Follow};
/// # use bson::Timestamp;
/// fn of_all<T: Record>(time: Timestamp) -> Follow<T> {
///     Follow::from_time(None, time)
/// }
/// ```
#[derive(Debug)]
pub struct Follow<T: Record> {
    key: Option<OfKey<T::Key>>,
    known: Known,
    merging: Merging,
    position: Position,
    /// When the event happened that the caller had last. What happened at the same time belongs to the same
    /// transaction.
    resumed: Timestamp,
    /// What records were before, if the caller asks for it.
    before: Option<Before>,
}

/// The key of a watch of one key, and how its ids begin.
#[derive(Debug)]
struct OfKey<K> {
    key: K,
    prefix: String,
}

/// What an event of the server means.
#[derive(Debug)]
#[non_exhaustive]
pub enum Taken<T: Record> {
    /// Events of records, in their order; often none.
    Events(VecDeque<Placed<T>>),
    /// Ask the server this, and take the event again with the reply.
    Ask(HeadLookup),
    /// The collection was dropped or renamed: nothing follows.
    Ended,
}

/// An event of a record, or a damaged one, and the place after it.
#[derive(Debug)]
#[non_exhaustive]
pub struct Placed<T: Record> {
    /// The event.
    pub event: Result<WatchEvent<T>, DamagedBucket>,
    /// The place after it.
    pub position: Position,
}

/// The changes of one event of the server, as events that have no place yet.
type Events<T> = Vec<Result<WatchEvent<T>, DamagedBucket>>;

/// Why an event cannot be read as it is.
enum Obstacle {
    /// The head of the bucket is needed, and this of its items.
    Head(OfItems),
    Damage(Damage),
}

impl From<Damage> for Obstacle {
    fn from(damage: Damage) -> Self {
        Self::Damage(damage)
    }
}

impl<T: Record> Follow<T> {
    /// Follows from the first event at this time or later.
    #[must_use]
    pub fn from_time(key: Option<T::Key>, time: Timestamp) -> Self {
        let position = Position {
            query: query::<T>(key.as_ref()),
            start: Start::At(time),
            given: 0,
            time,
        };
        Self::at(key, position)
    }

    /// Follows from the place of this token.
    ///
    /// # Errors
    ///
    /// [`WatchTokenError`] if it is not a token of this model and key.
    pub fn after(key: Option<T::Key>, token: &WatchToken) -> Result<Self, WatchTokenError> {
        let position = token.position(query::<T>(key.as_ref()))?;
        Ok(Self::at(key, position))
    }

    fn at(key: Option<T::Key>, position: Position) -> Self {
        let key = key.map(|key| OfKey {
            prefix: id::prefix(T::SPEC, &key),
            key,
        });
        Self {
            key,
            known: Known::default(),
            merging: Merging::default(),
            resumed: position.last_given(),
            position,
            before: None,
        }
    }

    /// The same, with the records before they were edited or removed.
    #[must_use]
    pub fn with_before(mut self) -> Self {
        self.before = Some(Before::new(self.resumed));
        self
    }

    /// The place after the last event that was taken.
    #[must_use]
    pub fn position(&self) -> &Position {
        &self.position
    }

    /// The stages after `$changeStream`: the events that can concern the key.
    #[must_use]
    pub fn pipeline(&self) -> Vec<Document> {
        let Some(of) = &self.key else {
            return Vec::new();
        };
        let others =
            doc! { "operationType": { "$nin": ["insert", "replace", "update", "delete"] } };
        if T::SPEC.object_ids() {
            // An update and a removal do not say the key.
            let mut equal = Document::new();
            for (name, value) in key_document::<T>(&of.key) {
                equal.insert(format!("fullDocument.{name}"), doc! { "$eq": value });
            }
            let without = doc! { "operationType": { "$nin": ["insert", "replace"] } };
            return vec![doc! { "$match": { "$or": [equal, without] } }];
        }
        let mut bounds = doc! { "$gte": &of.prefix };
        if let Some(end) = end_of(&of.prefix) {
            bounds.insert("$lt", end);
        }
        let path = format!("documentKey.{ID}");
        vec![doc! { "$match": { "$or": [{ path: bounds }, others] } }]
    }

    /// Nothing has happened up to the event with this token of the server.
    pub fn idle(&mut self, token: &RawDocument) {
        // The first time after a merge, more of its transaction may follow.
        let is_held = std::mem::take(&mut self.merging.is_held);
        if self.position.given == 0 && !is_held {
            self.position.rename(token);
        }
    }

    /// Takes the next event of the server, with the head of its bucket if that was asked for.
    #[expect(clippy::needless_pass_by_value, reason = "it answers one question")]
    pub fn take(&mut self, event: &RawDocument, head: Option<Head>) -> Taken<T> {
        let change = match RawChange::read(event) {
            Ok(change) => change,
            Err(damage) => {
                let token = event.get_document(ID).ok();
                let damaged = DamagedBucket::new("of an event", damage);
                return Taken::Events(self.pass(token, vec![Err(damaged)]));
            }
        };
        self.merging.come_to(change.time);
        let events = match change.kind {
            Kind::Ended => return Taken::Ended,
            Kind::Other => Ok(Vec::new()),
            _ => self.events(&change, head.as_ref()),
        };
        match events {
            Ok(_) if self.merging.is_held => Taken::Events(VecDeque::new()),
            Ok(events) => {
                let placed = self.pass(Some(change.token), events);
                self.position.time = change.time;
                Taken::Events(placed)
            }
            Err(lookup) => Taken::Ask(lookup),
        }
    }

    /// Goes on after the event with this token of the server, and gives each of its events of records its place.
    fn pass(&mut self, token: Option<&RawDocument>, events: Events<T>) -> VecDeque<Placed<T>> {
        let before = self.position.clone();
        if let Some(token) = token {
            self.position.rename(token);
        }
        if events.is_empty() {
            // What is already given belongs to a later event.
            return VecDeque::new();
        }
        self.position.given = 0;
        let given = usize::try_from(before.given).unwrap_or(usize::MAX);
        // The bucket may be needed to read the event, and gone since its first records were given: then one says it for all.
        let is_lost = given >= events.len();
        let given = if is_lost { 0 } else { given };
        let last = events.len() - 1;
        let placed = events.into_iter().enumerate().skip(given);
        let placed = placed.map(|(index, mut event)| {
            let position = if index == last {
                self.position.clone()
            } else {
                let given = u32::try_from(index + 1).unwrap_or(u32::MAX);
                Position {
                    given,
                    ..before.clone()
                }
            };
            if let Ok(event) = &mut event {
                event.position = Some(position.clone());
            }
            Placed { event, position }
        });
        placed.collect()
    }

    /// The events of records; the question for the head of the bucket if it is needed.
    #[expect(clippy::result_large_err, reason = "it goes on by value")]
    fn events(
        &mut self,
        change: &RawChange<'_>,
        head: Option<&Head>,
    ) -> Result<Events<T>, HeadLookup> {
        let raw_id = change.id.unwrap_or(RawBsonRef::Null);
        let id = || Bson::try_from(raw_id).unwrap_or(Bson::Null);
        let Some(bucket) = BucketId::<T>::of_stored(raw_id) else {
            // It has no key.
            if self.key.is_some() {
                return Ok(Vec::new());
            }
            let message = "the document is not a bucket of the model".to_owned();
            let damaged = DamagedBucket::new(id().to_string(), Damage::Id { message });
            return Ok(vec![Err(damaged)]);
        };
        if let Some(of) = &self.key
            && !T::SPEC.object_ids()
            && !is_of_key(T::SPEC, bucket.as_str(), &of.prefix)
        {
            return Ok(Vec::new());
        }
        if let Some(before) = &mut self.before {
            before.begin(change.time);
        }
        let mut known = self.known.take(bucket.as_str());
        self.learn(&mut known, change, head);
        let read = self.read(&bucket, change, &mut known, head);
        let origins = merging::origins_of::<T>(&bucket, &known);
        let is_asking = matches!(read, Err(Obstacle::Head(_)));
        if is_asking || !matches!(change.kind, Kind::Deleted) {
            self.known.keep(bucket.as_str(), known);
        }
        let changes = match read {
            Ok(changes) => changes,
            Err(Obstacle::Head(of_items)) => {
                let (id, time) = (id(), change.time);
                return Err(HeadLookup { id, time, of_items });
            }
            Err(Obstacle::Damage(damage)) => vec![Err(damage)],
        };
        let origins = origins.as_ref();
        let event = |(change_of, bucket)| {
            Ok(WatchEvent {
                change: change_of,
                bucket,
                at: change.at,
                position: None,
            })
        };
        let mut events = Vec::with_capacity(changes.len());
        for of_record in changes {
            match of_record {
                Ok(removed @ RecordChange::BucketRemoved { .. }) => {
                    let each = merging::removed_origins(removed, &bucket, origins);
                    events.extend(each.into_iter().map(event));
                }
                Ok(of_record) => {
                    events.push(event(merging::at_origin(of_record, &bucket, origins)));
                }
                Err(damage) => events.push(Err(DamagedBucket::new(id().to_string(), damage))),
            }
        }
        Ok(events)
    }

    fn learn(&self, known: &mut Bucket, change: &RawChange<'_>, head: Option<&Head>) {
        let (mut told, is_before) = match head {
            None | Some(Head::Nothing) => return,
            Some(Head::Before(head)) => (Bucket::of(T::SPEC, head), true),
            Some(Head::Now(head)) => (Bucket::of(T::SPEC, head), false),
        };
        // Of a transaction, the head shows nothing; its first events may be missing.
        let is_then = is_before && change.time != self.resumed;
        // The end of a removed window, and what a removed bucket was made of, was made before.
        let is_made_before = T::SPEC.form().window().is_some() || told.is_merged();
        let is_removed = matches!(change.kind, Kind::Deleted) && is_made_before;
        let knows_span = is_then || (is_before && is_removed);
        if !is_then {
            told.count = None;
        }
        if !knows_span {
            told.times = Times::default();
        }
        // The key of a bucket stays, the attributes that it holds do not.
        let holds = T::SPEC.shared_arrays().next().is_some();
        if holds && (!is_then || known.lost == Some(change.time)) {
            told.fields = None;
        }
        // It may have been merged since.
        if !knows_span && told.is_merged() {
            told.fields = None;
        }
        known.count = known.count.or(told.count);
        known.times = known.times.or(told.times);
        known.fields = known.fields.take().or(told.fields);
    }

    fn read(
        &mut self,
        bucket: &BucketId<T>,
        change: &RawChange<'_>,
        known: &mut Bucket,
        head: Option<&Head>,
    ) -> Result<Changes<T>, Obstacle> {
        let key = if T::SPEC.object_ids() {
            None
        } else {
            Some(bucket.key().map_err(|error| Damage::Key {
                message: error.to_string(),
            })?)
        };
        match change.kind {
            Kind::Inserted(stored) => {
                *known = Bucket::of(T::SPEC, stored);
                let stored = &*bucket::unsealed(T::SPEC, stored)?;
                let key = bucket::key_of::<T>(stored)?;
                self.stored(&key, stored, bucket::items(T::SPEC, stored)?, 0)
            }
            Kind::Replaced(stored) => {
                let before = known.count;
                if before.is_none() && head.is_none() {
                    return Err(Obstacle::Head(OfItems::Nothing));
                }
                self.lose_before();
                *known = Bucket::of(T::SPEC, stored);
                let stored = &*bucket::unsealed(T::SPEC, stored)?;
                let key = bucket::key_of::<T>(stored)?;
                let items = bucket::items(T::SPEC, stored)?;
                match before.filter(|before| is_longer(items, *before)) {
                    Some(before) => self.stored(&key, stored, items, before),
                    None => Ok(self.rewritten(Some(key))),
                }
            }
            Kind::Updated(update) => {
                let unpacked = unpacked(T::SPEC, update)?;
                let delta = Delta::read(T::SPEC, update, &unpacked)?;
                if let Some(bytes) = delta.merged {
                    let fields = known.fields.take();
                    known.fields = fields.map(|fields| merging::with_origins(&fields, bytes));
                    let origins = merging::origins(bucket, bytes).zip(key.as_ref());
                    if let Some((origins, key)) = origins {
                        self.merging.takes::<T>(key, origins.places());
                    }
                }
                let changes_fields = delta.changes_fields;
                let changes = self.updated(bucket, key, delta, known, head);
                let is_asking = matches!(changes, Err(Obstacle::Head(_)));
                if changes_fields && known.fields.is_none() && !is_asking {
                    known.lost = Some(change.time);
                }
                changes
            }
            Kind::Deleted if self.merging.has_removed(bucket.as_str()) => Ok(Vec::new()),
            Kind::Deleted => {
                let key = key.or_else(|| known_key::<T>(known));
                if self.is_other(key.as_ref()) {
                    return Ok(Vec::new());
                }
                // It may have been merged, before anything of it was seen.
                let may_be_merged = T::SPEC.merge().is_some() && known.fields.is_none();
                if (self.before.is_some() || may_be_merged) && head.is_none() {
                    return Err(Obstacle::Head(OfItems::Times));
                }
                let removed = self.before.as_ref();
                let removed = removed.and_then(|before| before.removed(bucket.as_str(), head));
                let times = known.times.or_of_id(bucket);
                let of_items = removed.and_then(times::span_of_items);
                Ok(vec![Ok(RecordChange::BucketRemoved {
                    key,
                    span: times.span(T::SPEC).or(of_items),
                    expired: times.is_expired(T::SPEC, change.until),
                    records: removed.and_then(|removed| records_of(T::SPEC, removed)),
                })])
            }
            Kind::Ended | Kind::Other => Ok(Vec::new()),
        }
    }

    fn updated(
        &mut self,
        bucket: &BucketId<T>,
        key: Option<T::Key>,
        delta: Delta<'_>,
        known: &mut Bucket,
        head: Option<&Head>,
    ) -> Result<Changes<T>, Obstacle> {
        // The record may have come from another bucket.
        let may_be_merged = T::SPEC.merge().is_some() && matches!(delta.items, Items::Edited(..));
        let needs_fields =
            key.is_none() || may_be_merged || T::SPEC.shared_arrays().next().is_some();
        let needs_count = matches!(delta.items, Items::All(_));
        let changes_items = !matches!(delta.items, Items::Same);
        let lacks =
            (needs_fields && known.fields.is_none()) || (needs_count && known.count.is_none());
        let items = match &delta.items {
            Items::Edited(items, _) if self.before.is_some() => {
                let key = key.clone().or_else(|| known_key::<T>(known));
                part(items).filter(|_| !self.is_other(key.as_ref()))
            }
            _ => None,
        };
        if changes_items && (lacks || items.is_some()) && head.is_none() {
            let items = items.map_or(OfItems::Nothing, |(first, number)| {
                OfItems::Part(first, number)
            });
            return Err(Obstacle::Head(items));
        }
        known.times = delta.times.or(known.times);
        let before = known.count;
        if changes_items || delta.count.is_some() {
            known.count = delta.count;
        }
        let fields = known.fields.clone();
        if delta.changes_fields {
            known.fields = fields.as_deref().and_then(|fields| delta.after(fields));
        }
        if !changes_items {
            return Ok(Vec::new());
        }
        let key = match (key, &fields) {
            (Some(key), _) => Some(key),
            (None, Some(fields)) => Some(bucket::key_of::<T>(fields)?),
            (None, None) => None,
        };
        if matches!(delta.items, Items::All(_) | Items::Unclear) {
            self.lose_before();
        }
        let Some(fields) = fields.or_else(|| (!needs_fields).then(Default::default)) else {
            return Ok(self.rewritten(key));
        };
        let Some(key) = key else {
            return Ok(self.rewritten(None));
        };
        if self.is_other(Some(&key)) {
            return Ok(Vec::new());
        }
        match delta.items {
            Items::Same => Ok(Vec::new()),
            Items::Appended(items) => {
                if let Some(before) = &mut self.before {
                    before.set(bucket.as_str(), &items);
                }
                Ok(appended(&ItemReader::new(T::SPEC, &fields)?, &key, items))
            }
            Items::Edited(items, marks) => {
                let reader = ItemReader::new(T::SPEC, &fields)?;
                let mut former = Vec::new();
                if let Some(before) = &mut self.before {
                    former = before.records::<T>(bucket.as_str(), &key, head, &items);
                    before.set(bucket.as_str(), &items);
                }
                Ok(edited(&reader, &key, items, marks, former))
            }
            Items::All(items) => match before.filter(|before| is_longer(items, *before)) {
                Some(before) => self.stored(&key, &fields, items, before),
                None => Ok(self.rewritten(Some(key))),
            },
            Items::Unclear => Ok(self.rewritten(Some(key))),
        }
    }

    /// The items from this index on.
    fn stored(
        &self,
        key: &T::Key,
        fields: &RawDocument,
        items: &RawArray,
        from: u32,
    ) -> Result<Changes<T>, Obstacle> {
        if self.is_other(Some(key)) {
            return Ok(Vec::new());
        }
        let reader = ItemReader::new(T::SPEC, fields)?;
        let mut changes = Vec::new();
        for (index, item) in (0_u32..).zip(items) {
            let item = item.map_err(bucket::bson_damage)?;
            if index < from || reader.is_removed(item) {
                continue;
            }
            let record = decoded::<T>(&reader, key, index, item);
            changes.push(record.map(|record| RecordChange::Stored { record, index }));
        }
        Ok(changes)
    }

    /// A transaction may go on with the same bucket.
    fn lose_before(&mut self) {
        if let Some(before) = &mut self.before {
            before.lose();
        }
    }

    fn rewritten(&self, key: Option<T::Key>) -> Changes<T> {
        if self.is_other(key.as_ref()) {
            return Vec::new();
        }
        vec![Ok(RecordChange::Rewritten { key })]
    }

    /// Whether it is known to be another key than that of the watch.
    fn is_other(&self, key: Option<&T::Key>) -> bool {
        let own = self.key.as_ref().map(|of| &of.key);
        own.zip(key).is_some_and(|(own, key)| own != key)
    }
}

fn query<T: Record>(key: Option<&T::Key>) -> [u8; QUERY] {
    let key = key.map(|key| ReadKey::of::<T>(key));
    query_of(T::SPEC, key.as_ref().map_or(&[], ReadKey::elements))
}

/// The key of a bucket, as far as it is known.
fn known_key<T: Record>(known: &Bucket) -> Option<T::Key> {
    bucket::key_of::<T>(known.fields.as_deref()?).ok()
}
