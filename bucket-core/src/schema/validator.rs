//! The rules that every stored bucket of a model meets, as a validator of the server.
//!
//! They refuse what reads, writes or statistics could not use, and nothing that the library stores: no bucket
//! without records, none from before the model had a field, no place of a removed record. So a field is required
//! only if every bucket has had it from the start, and limits are no part of it, because they may change.

use bson::{Bson, Document, doc};

use crate::{
    bucket::{
        edits::{self, EDITS},
        merged::MERGED,
        sealed,
    },
    model::{
        aggregate::AggregateKind,
        form::OwnField,
        spec::{BucketSpec, ID},
        stored_field::{FieldKind, StoredField},
    },
    write::{SOURCES, Source},
};

/// How the title of a validator of ours begins. The version of the format follows.
pub(super) const TITLE: &str = "bucket-mongo ";

/// The version of the stored format of buckets.
const FORMAT: i32 = 1;

/// Numbers that reads take as whole, whoever has stored them.
const WHOLE: [&str; 3] = ["int", "long", "double"];

/// The validator.
pub(super) fn validator(spec: &BucketSpec) -> Document {
    let names = spec.names();
    let mut fields = Fields::default();
    let id = if spec.object_ids() {
        "objectId"
    } else {
        "string"
    };
    fields.require(ID, of_types(&[id]));
    for key in spec.keys() {
        let mut known = spec.fields().iter().filter(|field| field.is_key);
        let known = known.find(|field| field.name == key.path);
        let kind = known.map_or(FieldKind::Any, |field| field.kind);
        fields.require(key.path, of_types(kind.key_types()));
    }
    fields.require(names.count, at_least(0));
    for own in spec.own_fields() {
        own_field(&mut fields, own, own.name(names));
    }
    for aggregate in spec.aggregates() {
        fields.allow(aggregate.path, of_aggregate(aggregate.kind));
    }
    for array in spec.shared_arrays() {
        fields.allow(array.name, of_types(&["array"]));
    }
    if Source::new(spec, "a").is_ok() {
        fields.allow(SOURCES, counters());
    }
    let edits = doc! {
        "bsonType": "object",
        "required": [edits::NUMBER, edits::REMOVED],
        "properties": { edits::NUMBER: at_least(0), edits::REMOVED: at_least(0) },
    };
    fields.allow(EDITS, edits);
    let mut items = doc! { "bsonType": "array", "items": item(spec) };
    if spec.packs() {
        items.insert("bsonType", ["array", "binData"]);
        let date = of_types(&["date"]);
        let ends = doc! { sealed::FIRST: date.clone(), sealed::LAST: date };
        fields.allow(
            sealed::SEALED,
            doc! { "bsonType": "object", "properties": ends },
        );
    }
    if spec.merge().is_some() {
        fields.allow(MERGED, of_types(&["binData"]));
    }
    fields.require(spec.items(), items);
    let mut schema = doc! { "title": format!("{TITLE}{FORMAT}") };
    schema.extend(fields.into_schema());
    doc! { "$jsonSchema": schema, "$expr": is_counted(spec) }
}

/// Whether the count is the length of the array; a value that is no array never has it. Of packed items the server
/// cannot count.
fn is_counted(spec: &BucketSpec) -> Document {
    let (items, count) = (
        format!("${}", spec.items()),
        format!("${}", spec.names().count),
    );
    let other = if spec.packs() {
        doc! { "$cond": [sealed::is_packed(spec), &count, -1] }.into()
    } else {
        Bson::Int32(-1)
    };
    let length = doc! { "$cond": [{ "$isArray": [&items] }, { "$size": &items }, other] };
    doc! { "$eq": [count, length] }
}

fn own_field(fields: &mut Fields, own: OwnField, name: &str) {
    match own {
        OwnField::Start | OwnField::End => fields.require(name, of_types(&["date"])),
        OwnField::Closed | OwnField::Full => fields.require(name, of_types(&["bool"])),
        OwnField::Number | OwnField::Size => fields.require(name, at_least(1)),
        OwnField::Part => fields.allow(name, at_least(1)),
        OwnField::Late => fields.allow(name, doc! { "enum": [true] }),
        OwnField::Bytes => fields.allow(name, at_least(0)),
        OwnField::CreatedAt | OwnField::ExpireFrom => fields.allow(name, of_types(&["date"])),
        // Every form has it.
        OwnField::Count => {}
    }
}

/// An item, or the place of a removed one.
fn item(spec: &BucketSpec) -> Document {
    let mut fields = Fields::default();
    fields.require(spec.time().name, of_types(&["date"]));
    // An item keeps its time and its record id when it is removed.
    let mut of_records: Vec<&str> = Vec::new();
    for field in spec.fields().iter().filter(|field| !field.is_key) {
        let StoredField {
            name, kind, null, ..
        } = *field;
        if name == spec.time().name {
            continue;
        }
        if field.required {
            of_records.push(name);
        }
        let of_place = (Some(name) == spec.unique()).then_some("object");
        let types = kind.types().iter().copied().chain(null.then_some("null"));
        if !kind.types().is_empty() {
            let types: Vec<&str> = types.chain(of_place).collect();
            fields.allow(name, of_types(&types));
        }
    }
    for array in spec.arrays() {
        fields.allow(array.name, of_types(&["array"]));
    }
    fields.allow(edits::MARK, of_types(&["bool"]));
    let mut schema = fields.into_schema();
    if !of_records.is_empty() {
        schema.insert(
            "anyOf",
            [
                doc! { "required": of_records },
                doc! { "required": [edits::MARK] },
            ]
            .to_vec(),
        );
    }
    schema
}

fn of_aggregate(kind: AggregateKind) -> Document {
    match kind {
        AggregateKind::Min
        | AggregateKind::Max
        | AggregateKind::Sum
        | AggregateKind::SumOfSquares
        | AggregateKind::Avg { .. } => of_types(&WHOLE),
        AggregateKind::Count | AggregateKind::CountIf => at_least(0),
        AggregateKind::Tally => counters(),
        AggregateKind::First | AggregateKind::Last => doc! {
            "bsonType": "object",
            "required": ["t", "v"],
            "properties": { "t": of_types(&["date"]), "v": of_types(&WHOLE) },
        },
        AggregateKind::FirstTime | AggregateKind::LastTime => of_types(&["date"]),
        // One document of counters for each error that the model has used.
        AggregateKind::Percentiles { .. } => {
            doc! { "bsonType": "object", "additionalProperties": counters() }
        }
    }
}

fn counters() -> Document {
    doc! { "bsonType": "object", "additionalProperties": of_types(&WHOLE) }
}

fn of_types(types: &[&str]) -> Document {
    match types {
        [one] => doc! { "bsonType": *one },
        types => doc! { "bsonType": types.to_vec() },
    }
}

fn at_least(least: i32) -> Document {
    let mut number = of_types(&WHOLE);
    number.insert("minimum", least);
    number
}

/// The fields of a document.
#[derive(Default)]
struct Fields {
    required: Vec<String>,
    properties: Document,
}

impl Fields {
    fn require(&mut self, name: &str, schema: Document) {
        self.required.push(name.to_owned());
        self.allow(name, schema);
    }

    /// A path is that of a field in documents.
    fn allow(&mut self, path: &str, schema: Document) {
        allow(&mut self.properties, path, schema);
    }

    fn into_schema(self) -> Document {
        doc! { "bsonType": "object", "required": self.required, "properties": self.properties }
    }
}

fn allow(properties: &mut Document, path: &str, schema: Document) {
    let Some((parent, rest)) = path.split_once('.') else {
        properties.insert(path, schema);
        return;
    };
    let parent = properties
        .entry(parent.to_owned())
        .or_insert_with(|| doc! { "bsonType": "object", "properties": {} }.into());
    if let Some(Bson::Document(inner)) = parent
        .as_document_mut()
        .and_then(|parent| parent.get_mut("properties"))
    {
        allow(inner, rest, schema);
    }
}
