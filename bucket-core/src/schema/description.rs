//! The description of a collection: one document in `bucket_models`, which other services, later versions and tools
//! read without the model.

use std::collections::BTreeMap;

use bson::{DateTime, Document, Uuid};
use serde::{Deserialize, Serialize};

use crate::model::{
    aggregate::{Aggregate, AggregateKind},
    form::OwnField,
    spec::{BucketSpec, IdSegment, Names},
    stored_field::StoredField,
};

/// The collection with the descriptions of all collections of its database.
pub const MODELS: &str = "bucket_models";

/// The version of descriptions that this library writes.
pub(super) const VERSION: i32 = 1;
/// What sealed buckets become, in the description of the form.
pub(super) const MERGE: &str = "merge";
/// How soon they become it, in seconds, in the description of the form.
pub(super) const MERGED_AFTER: &str = "merged_after";

/// What is known about a collection of buckets without its model.
///
/// ```
/// use bucket_core::schema::CollectionDescription;
///
/// fn fields_of_numbers(described: &CollectionDescription) -> Vec<&str> {
///     let numbers = described.fields.iter().filter(|field| field.kind == "int" || field.kind == "float");
///     numbers.map(|field| field.name.as_str()).collect()
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct CollectionDescription {
    /// The name of the collection.
    #[serde(rename = "_id")]
    pub collection: String,
    /// Its UUID when it was described; `None` if the server did not show it. A collection with another one was
    /// dropped or renamed, and is another collection.
    pub uuid: Option<Uuid>,
    /// The version of this description.
    pub version: i32,
    /// How often it has changed.
    pub revision: i64,
    /// The name of the record type that was described last.
    pub record: String,
    /// When the collection was first described, by the clock of the service.
    pub described_at: DateTime,
    /// Its form: `kind` (`count`, `window`, `hybrid` or `numbered`), the limits that were described last, and `merge`, if sealed
    /// buckets become larger ones, with `merged_after`, the seconds before they do.
    pub form: Document,
    /// The template of ids, with stored names; `objectId` if the server makes them.
    pub id: String,
    /// The key fields, at the top of a bucket.
    pub keys: Vec<FieldDescription>,
    /// The stored names of a bucket's own fields, by their names in this documentation: `count`, `bucket_start`.
    pub names: BTreeMap<String, String>,
    /// The name of the array of items.
    pub items: String,
    /// The name of the time in an item.
    pub time: String,
    /// The name of the record id in an item, if records have ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unique: Option<String>,
    /// The fields of items, also those that only earlier versions of the model had.
    pub fields: Vec<FieldDescription>,
    /// The aggregates of each bucket.
    pub aggregates: Vec<AggregateDescription>,
}

/// A field in a [`CollectionDescription`].
///
/// ```
/// use bucket_core::schema::FieldDescription;
///
/// fn is_date(field: &FieldDescription) -> bool {
///     field.kind == "date"
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct FieldDescription {
    /// Its stored name.
    pub name: String,
    /// What its type reads: `bool`, `int`, `float`, `string`, `date`, `objectId`, `array`, `document`; `any` if that
    /// is not known.
    pub kind: String,
    /// Whether it may be null.
    #[serde(default)]
    pub null: bool,
    /// Whether every item has it.
    #[serde(default)]
    pub required: bool,
}

/// An aggregate in a [`CollectionDescription`].
///
/// ```
/// use bucket_core::schema::AggregateDescription;
///
/// fn is_in_all_buckets(aggregate: &AggregateDescription) -> bool {
///     !aggregate.partial
/// }
/// ```
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct AggregateDescription {
    /// Its path in the bucket.
    pub path: String,
    /// What it is: `min`, `max`, `sum`, `sum_of_squares`, `avg`, `count`, `count_if`, `tally`, `first`, `last`,
    /// `first_time`, `last_time` or `percentiles`.
    pub kind: String,
    /// The stored name of the aggregated field; `None` for those of the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub of: Option<String>,
    /// When it was added to a model that did not have it before; `None` if the first described model had it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<DateTime>,
    /// Whether buckets from before may not have it.
    #[serde(default)]
    pub partial: bool,
}

impl CollectionDescription {
    /// The description of a collection with this UUID, at this moment.
    #[doc(hidden)]
    #[must_use]
    pub fn of(spec: &BucketSpec, uuid: Option<Uuid>, now: DateTime) -> Self {
        Self {
            collection: spec.collection().to_owned(),
            uuid,
            version: VERSION,
            revision: 1,
            record: spec.record().to_owned(),
            described_at: now,
            form: form(spec),
            id: id(spec),
            keys: keys(spec),
            names: names(spec),
            items: spec.items().to_owned(),
            time: spec.time().name.to_owned(),
            unique: spec.unique().map(ToOwned::to_owned),
            fields: spec
                .fields()
                .iter()
                .filter(|field| !field.is_key)
                .map(field)
                .collect(),
            aggregates: spec
                .aggregates()
                .iter()
                .map(|it| aggregate(spec, it))
                .collect(),
        }
    }

    /// Reads a stored one.
    ///
    /// # Errors
    ///
    /// A message if it is no description.
    ///
    /// ```
    /// use bucket_core::schema::CollectionDescription;
    ///
    /// assert!(CollectionDescription::parse(bson::doc! { "_id": "trades" }).is_err());
    /// ```
    pub fn parse(stored: Document) -> Result<Self, String> {
        bson::deserialize_from_document(stored).map_err(|error| error.to_string())
    }

    /// In its stored form.
    ///
    /// # Errors
    ///
    /// A message if a text cannot be stored.
    ///
    /// ```
    /// # use bucket_core::schema::CollectionDescription;
    /// fn form(described: &CollectionDescription) -> Result<bson::Document, String> {
    ///     described.to_document()
    /// }
    /// ```
    pub fn to_document(&self) -> Result<Document, String> {
        bson::serialize_to_document(self).map_err(|error| error.to_string())
    }
}

pub(super) fn field(field: &StoredField) -> FieldDescription {
    FieldDescription {
        name: field.name.to_owned(),
        kind: field.kind.name().to_owned(),
        null: field.null,
        required: field.required,
    }
}

pub(super) fn aggregate(spec: &BucketSpec, aggregate: &Aggregate) -> AggregateDescription {
    let input = spec.inputs().get(aggregate.input);
    let of_time = matches!(
        aggregate.kind,
        AggregateKind::FirstTime | AggregateKind::LastTime
    );
    AggregateDescription {
        path: aggregate.path.to_owned(),
        kind: kind(aggregate.kind).to_owned(),
        of: input
            .filter(|_| !of_time)
            .map(|input| input.name.to_owned()),
        since: None,
        partial: false,
    }
}

fn kind(kind: AggregateKind) -> &'static str {
    match kind {
        AggregateKind::Min => "min",
        AggregateKind::Max => "max",
        AggregateKind::Sum => "sum",
        AggregateKind::SumOfSquares => "sum_of_squares",
        AggregateKind::Avg { .. } => "avg",
        AggregateKind::Count => "count",
        AggregateKind::CountIf => "count_if",
        AggregateKind::Tally => "tally",
        AggregateKind::First => "first",
        AggregateKind::Last => "last",
        AggregateKind::FirstTime => "first_time",
        AggregateKind::LastTime => "last_time",
        AggregateKind::Percentiles { .. } => "percentiles",
    }
}

fn keys(spec: &BucketSpec) -> Vec<FieldDescription> {
    let keys = spec.keys().iter().map(|key| {
        let mut known = spec.fields().iter().filter(|field| field.is_key);
        let known = known.find(|field| field.name == key.path);
        FieldDescription {
            name: key.path.to_owned(),
            kind: known.map_or("any", |known| known.kind.name()).to_owned(),
            null: false,
            required: true,
        }
    });
    keys.collect()
}

fn names(spec: &BucketSpec) -> BTreeMap<String, String> {
    let default = Names {
        created_at: Some("created_at"),
        ..Names::DEFAULT
    };
    let own = [OwnField::Count].into_iter().chain(spec.own_fields());
    let own = own.map(|own| {
        let name = own.name(spec.names()).to_owned();
        (own.name(&default).to_owned(), name)
    });
    own.collect()
}

fn form(spec: &BucketSpec) -> Document {
    let mut form = spec.form().described();
    if let Some(merge) = spec.merged_within() {
        form.insert(MERGE, merge.described());
        form.insert(MERGED_AFTER, spec.seal_after().map(i64::from));
    }
    form
}

fn id(spec: &BucketSpec) -> String {
    if spec.object_ids() {
        return "objectId".to_owned();
    }
    let parts = spec.id().iter().map(|segment| match segment {
        IdSegment::Literal(text) => text.replace('{', "{{").replace('}', "}}"),
        IdSegment::Key(at) => {
            let key = spec.keys().get(*at);
            format!("{{{}}}", key.map_or("", |key| key.path))
        }
        IdSegment::Time(unit) => {
            let unit = if unit.millis() == 1 { "ms" } else { "s" };
            format!("{{{}:{unit}}}", spec.time().name)
        }
        IdSegment::Number => format!("{{{}}}", spec.names().number),
    });
    parts.collect()
}
