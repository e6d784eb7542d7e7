//! What an archive may be; its indexes: one that leads to a key's copies, and those by which the collection removes what
//! has expired.

use bucket_core::{
    archive,
    index::{self, Drift, Unmet},
    write::{Listing, collection_uuid},
};
use mongodb::{
    Collection, Database,
    bson::{Bson, DateTime, Document, RawDocumentBuf, doc},
};

use crate::{
    Error, ErrorKind, Result,
    collection::{collection_on_primary, list_indexes},
    error::Context,
    store::Store,
    write_concern::durable,
    writer::faults::code,
};

/// The option that makes the server remove documents.
const EXPIRE_AFTER: &str = "expireAfterSeconds";
/// The longest limit that the server takes, in seconds: 68 years.
const LONGEST: i64 = i32::MAX as i64;
/// What the server answers if there is no such collection.
const NAMESPACE_NOT_FOUND: i32 = 26;

/// The collection of an archive, and that of the buckets.
pub(in crate::action) struct SetUp<'a> {
    store: &'a Store,
    there: Database,
    copies: &'a Collection<RawDocumentBuf>,
    context: &'a Context,
}

/// What may be changed there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::action) enum Change {
    /// Everything that is missing is created, the archive itself as well.
    Create,
    /// An archive that exists gets the collection's limits.
    Mirror,
    /// The same, and it loses those that the collection has no more.
    MirrorAll,
}

impl<'a> SetUp<'a> {
    pub(in crate::action) fn new(
        store: &'a Store,
        copies: &'a Collection<RawDocumentBuf>,
        context: &'a Context,
    ) -> Self {
        Self {
            store,
            there: copies.client().database(&copies.namespace().db),
            copies,
            context,
        }
    }

    /// Looks whether the collection can be the archive. One that does not exist can.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if it is the collection of the buckets itself, is no plain collection, or has other
    /// documents than copies.
    pub(in crate::action) async fn check(&self) -> Result<()> {
        let name = self.copies.name();
        let Some(found) = self.info(&self.there, name).await? else {
            return Ok(());
        };
        let own = self.store.spec().collection();
        let own = self.info(self.store.database(), own).await?;
        let own = own.as_ref().and_then(collection_uuid);
        if own.is_some() && own == collection_uuid(&found) {
            let message = "the archive must be another collection than that of the buckets";
            return Err(self.invalid(message.to_owned()));
        }
        let kind = match unfit(&found) {
            None => self.unique_index(name).await?,
            kind => kind,
        };
        if let Some(kind) = kind {
            return Err(self.invalid(format!(
                "`{name}` cannot be the archive, because it is {kind}: name another collection"
            )));
        }
        let all = collection_on_primary::<RawDocumentBuf>(&self.there, name);
        for sign in [1, -1] {
            // In natural order, so that one document is looked at.
            let one = all.find_one(doc! {}).sort(doc! { "$natural": sign });
            let one = one.projection(doc! { archive::BUCKET: 1 }).await;
            let one = one.map_err(|error| Error::read(error, self.context))?;
            let is_copy = |one: RawDocumentBuf| matches!(one.get(archive::BUCKET), Ok(Some(_)));
            if one.is_some_and(|one| !is_copy(one)) {
                return Err(self.invalid(format!(
                    "`{name}` cannot be the archive, because it has other documents: name a collection of its own, which \
                     need not exist"
                )));
            }
        }
        Ok(())
    }

    /// Whether the collection belongs to another model, and so does its archive.
    ///
    /// # Errors
    ///
    /// Those of the server and of the connection.
    pub(in crate::action) async fn is_of_others(&self) -> Result<bool> {
        let spec = self.store.spec();
        let own = self
            .indexes(self.store.database(), spec.collection())
            .await?;
        let unmet = index::unmet(spec, &own);
        Ok(matches!(unmet, Some(Unmet::Differs(drift)) if drift.belongs_to_others()))
    }

    /// Says of a collection that it has a unique index, which could refuse the copies of a later call.
    async fn unique_index(&self, name: &str) -> Result<Option<String>> {
        let mut indexes = self.indexes(&self.there, name).await?.into_iter();
        let unique = indexes.find(|index| index.get_bool("unique").unwrap_or(false));
        Ok(unique.map(|unique| {
            let unique = unique.get_str("name").unwrap_or_default();
            format!("protected by the unique index `{unique}`")
        }))
    }

    /// Gives the archive its indexes, and the limits by which the collection removes what has expired. Returns those that
    /// stay as they are, because they keep records for longer than the model.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidArgument`] if the archive removes what the collection keeps.
    pub(in crate::action) async fn mirror(&self, change: Change) -> Result<Vec<Drift>> {
        let name = self.copies.name();
        let found = self.indexes(&self.there, name).await?;
        if found.is_empty() && change != Change::Create {
            return Ok(Vec::new());
        }
        let spec = self.store.spec();
        let own = spec.collection();
        let mut own = expiring(&self.indexes(self.store.database(), own).await?);
        // What the archive has are records, whose statistics stay in the collection. No index of the collection has the
        // records' limit, so nobody has agreed to a shorter one.
        let kept = spec.keep_stats().zip(spec.expire_after());
        let needs_consent = kept.is_some() && change != Change::MirrorAll;
        let mut shortest = Vec::new();
        for index in &mut own {
            let of_collection = limit_of(index);
            // It may still have the limit of another model.
            let limit = match kept {
                Some((kept, records)) if of_collection == i64::from(kept) => i64::from(records),
                _ => of_collection,
            };
            shortest.push(longer_than(limit));
            // Copies that nobody has limited so far.
            let has_copies = needs_consent && !found.is_empty();
            let limit = if has_copies { of_collection } else { limit };
            index.insert(EXPIRE_AFTER, longer_than(limit));
        }
        for index in expiring(&found) {
            let keeps_all = limit_of(&index) == LONGEST && change != Change::MirrorAll;
            if same(&own, &index).is_some() || keeps_all {
                continue;
            }
            // The collection's has another condition by now, because its model has another capacity.
            let is_replaced = own.iter().any(|own| own.get("key") == index.get("key"));
            let index = index.get_str("name").unwrap_or_default();
            if is_replaced || change == Change::MirrorAll {
                self.run(doc! { "dropIndexes": name, "index": index })
                    .await?;
                continue;
            }
            return Err(self.invalid(format!(
                "the archive would remove what the collection keeps: its index `{index}` has `{EXPIRE_AFTER}`, and the \
                 collection has no such index"
            )));
        }
        let mut missing = vec![archive::key_index(spec).definition()];
        let mut longer = Vec::new();
        for (mut index, shortest) in own.into_iter().zip(shortest) {
            let limited = expiring(&found).into_iter();
            let mut limited = limited.filter(|other| other.get("key") == index.get("key"));
            let other = same(&found, &index).cloned();
            let found = other.clone().or_else(|| limited.next());
            let limit = match found.as_ref().map(limit_of) {
                Some(found) if needs_consent => found.max(shortest),
                Some(_) => shortest,
                None => limit_of(&index),
            };
            if limit > shortest {
                longer.push(self.longer(&index, shortest, limit));
            }
            match other {
                None => {
                    index.insert(EXPIRE_AFTER, limit);
                    missing.push(index);
                }
                Some(other) if limit_of(&other) != limit => self.set_limit(&other, limit).await?,
                Some(_) => {}
            }
        }
        missing.retain(|index| same(&found, index).is_none());
        if !missing.is_empty() {
            let concern = bson::serialize_to_bson(&durable());
            let concern = concern.map_err(|error| Error::read(driver(error), self.context))?;
            self.run(doc! { "createIndexes": name, "indexes": missing, "writeConcern": concern })
                .await?;
        }
        if change != Change::Mirror {
            self.date_copies().await?;
        }
        Ok(longer)
    }

    /// The limit of an index of the archive that keeps records for longer.
    fn longer(&self, index: &Document, limit: i64, found: i64) -> Drift {
        let name = index.get_str("name").unwrap_or_default();
        let name = format!("{}.{name}", self.copies.namespace());
        let seconds = |limit| u32::try_from(limit).unwrap_or(u32::MAX);
        Drift::__expiry(name, seconds(limit), seconds(found))
    }

    /// Gives copies the date by which their buckets expire, if those have got it since they were archived.
    async fn date_copies(&self) -> Result<()> {
        let Some(mut plan) = index::date_buckets(self.store.spec(), DateTime::now()) else {
            return Ok(());
        };
        let of = archive::copies_in(&self.store.namespace());
        plan.filter.extend(of);
        let copies = collection_on_primary::<Document>(&self.there, self.copies.name());
        let date = copies
            .update_many(plan.filter, plan.pipeline)
            .write_concern(durable());
        date.await
            .map_err(|error| Error::read(error, self.context))?;
        Ok(())
    }

    /// Lets an archive that exists remove nothing, as long as the collection's limits change: a bucket must not outlive its
    /// copy at any moment. Copies get their dates, so that none is left without one whatever ends the call.
    pub(in crate::action) async fn keep_all(&self) -> Result<()> {
        let found = self.indexes(&self.there, self.copies.name()).await?;
        for index in expiring(&found) {
            self.set_limit(&index, LONGEST).await?;
        }
        if found.is_empty() {
            return Ok(());
        }
        self.date_copies().await
    }

    async fn set_limit(&self, index: &Document, limit: i64) -> Result<()> {
        let index = index.get_str("name").unwrap_or_default();
        let change = doc! {
            "collMod": self.copies.name(),
            "index": { "name": index, EXPIRE_AFTER: limit },
        };
        self.run(change).await
    }

    async fn run(&self, command: Document) -> Result<()> {
        let ran = self.there.run_command(command).await;
        ran.map_err(|error| Error::read(error, self.context))?;
        Ok(())
    }

    async fn indexes(&self, database: &Database, name: &str) -> Result<Vec<Document>> {
        match list_indexes(database, name).await {
            Err(error) if code(&error) == Some(NAMESPACE_NOT_FOUND) => Ok(Vec::new()),
            indexes => indexes.map_err(|error| Error::read(error, self.context)),
        }
    }

    /// What the server lists of a collection, if there is one.
    async fn info(&self, database: &Database, name: &str) -> Result<Option<Document>> {
        let list = doc! { "listCollections": 1, "filter": { "name": name } };
        let reply = database.run_command(list).await;
        let reply = reply.map_err(|error| Error::read(error, self.context))?;
        match Listing::of_reply(&reply) {
            Listing::Found(found) => Ok(found.into_iter().next()),
            _ => Ok(None),
        }
    }

    fn invalid(&self, message: String) -> Error {
        Error::new(ErrorKind::InvalidArgument { message }, self.context)
    }
}

fn driver(error: bson::error::Error) -> mongodb::error::Error {
    error.into()
}

/// Why a collection is no place for copies: documents must not vanish from it, and keys must be compared as they are.
fn unfit(info: &Document) -> Option<String> {
    match info.get_str("type") {
        Ok("view") => return Some("a view".to_owned()),
        Ok("timeseries") => return Some("a time series collection".to_owned()),
        _ => {}
    }
    let options = info.get_document("options").ok()?;
    if options.get_bool("capped").unwrap_or(false) {
        return Some("capped".to_owned());
    }
    if options.contains_key("validator") {
        return Some("one with a validator".to_owned());
    }
    let locale = options.get_document("collation").ok()?.get_str("locale");
    Some(format!(
        "one with the collation `{}`",
        locale.unwrap_or("?")
    ))
}

/// The limit of copies whose buckets have this one.
fn longer_than(limit: i64) -> i64 {
    limit.saturating_add(archive::LONGER).min(LONGEST)
}

/// In seconds.
fn limit_of(index: &Document) -> i64 {
    match index.get(EXPIRE_AFTER) {
        Some(Bson::Int32(limit)) => i64::from(*limit),
        Some(Bson::Int64(limit)) => *limit,
        // The server rounds it as well, and takes none that is longer.
        #[expect(
            clippy::cast_possible_truncation,
            reason = "saturating is what is meant"
        )]
        Some(Bson::Double(limit)) => *limit as i64,
        _ => LONGEST,
    }
}

/// The definitions of those that make the server remove documents.
fn expiring(indexes: &[Document]) -> Vec<Document> {
    let expiring = indexes
        .iter()
        .filter(|index| index.contains_key(EXPIRE_AFTER));
    expiring
        .map(|index| {
            let mut definition = Document::new();
            for name in ["name", "key", "partialFilterExpression", EXPIRE_AFTER] {
                if let Some(value) = index.get(name) {
                    definition.insert(name, value.clone());
                }
            }
            definition
        })
        .collect()
}

/// The index with the same key and condition.
fn same<'i>(indexes: &'i [Document], index: &Document) -> Option<&'i Document> {
    let condition = "partialFilterExpression";
    indexes.iter().find(|other| {
        other.get("key") == index.get("key") && other.get(condition) == index.get(condition)
    })
}
