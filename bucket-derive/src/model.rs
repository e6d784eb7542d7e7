//! The model: the checked form of a record struct and the only thing that `expand` may read.
//!
//! [`build`] always gives a model. If it reported an error, the model is the best effort from which
//! the fallback is made, and must not be expanded in full.

pub(crate) mod aggregates;
pub(crate) mod check;
pub(crate) mod field;
pub(crate) mod form;
pub(crate) mod generics;
pub(crate) mod id_template;
pub(crate) mod own_field;
pub(crate) mod own_role;
pub(crate) mod record;
mod record_model;
pub(crate) mod rust_name;
pub(crate) mod serde_attrs;
pub(crate) mod serde_names;
pub(crate) mod types;

use syn::DeriveInput;

use self::record_model::ItemsName;
pub(crate) use self::record_model::Model;
use crate::{
    attribute_arrays::{self, Array, RawField, Taken},
    diagnostics::Diagnostics,
    model::{
        aggregates::Aggregates,
        field::Field,
        form::Form,
        id_template::IdTemplate,
        record::Record,
        serde_names::{SerdeField, SerdeStruct},
    },
    symbol::STATS,
    syntax::{choice::OnConflict, container::ContainerAttrs},
};

/// Reads and checks a record struct.
pub(crate) fn build(cx: &mut Diagnostics, input: &DeriveInput) -> Model {
    let input = &serde_names::without_self(input);
    let record = Record::read(input);
    let example = "#[bucket(key)] customer_id: i64, #[bucket(time)] date: DateTime";
    let Some(named) = record::named_fields(cx, input, "Bucketed", example) else {
        return assemble(
            record,
            &ContainerAttrs::default(),
            Vec::new(),
            SerdeStruct::default(),
        );
    };
    record::check_generics(cx, &input.generics, "a record");
    let attrs = ContainerAttrs::parse(cx, &input.attrs, &input.ident);
    let serde = serde_names::of_struct(cx, input);
    let (fields, roles) = field::read(cx, named, &serde);

    form::check(cx, &attrs);
    check::serde::container(cx, input, &serde);
    let complete = check::key_and_time::check(cx, &record, &fields, &roles);
    check::field_types::check(cx, &fields);
    check::unique::check(cx, &fields);
    check::versions::check(cx, &fields, &attrs);
    check::aggregates::fields(cx, &fields);
    check::serde::fields(cx, &fields, &serde);
    let mut model = assemble(record, &attrs, fields, serde);
    check::names::check(cx, &model, &attrs);
    check::aggregates::names(cx, &model);
    let before = cx.count();
    model.arrays = arrays(cx, &model, &attrs);
    check::attribute_arrays::check(cx, &model, &attrs);
    check::keep_stats::check(cx, &model, &attrs);
    check::seal::check(cx, &model, &attrs);
    check::merge::check(cx, &model, &attrs);
    check::merge_stats::check(cx, &model, &attrs);
    model.arrays_are_sound = cx.count() == before && !roles.unclear;
    check::serde::default_of_generic(cx, input, &model);
    if complete {
        model.id = IdTemplate::read(cx, &model, attrs.id.get());
    }
    model
}

/// The arrays of attributes.
fn arrays(cx: &mut Diagnostics, model: &Model, attrs: &ContainerAttrs) -> Vec<Array> {
    let fields: Vec<RawField<'_>> = model
        .fields
        .iter()
        .enumerate()
        .map(|(index, field)| {
            let stored = model.serde.fields.get(index).cloned();
            RawField {
                ident: &field.ident,
                ty: &field.ty,
                attr: field.attribute.as_ref(),
                serde: field.serde.clone(),
                stored: stored.unwrap_or_else(|| SerdeField::plain(field.name.clone())),
            }
        })
        .collect();
    attribute_arrays::gather(cx, &fields, &attrs.arrays, taken(model))
}

/// The names of a record that attributes could collide with.
fn taken(model: &Model) -> Taken {
    let owned = |(name, what): &(&str, &str)| ((*name).to_owned(), (*what).to_owned());
    let functions = [
        ("buckets", "the handle to its buckets"),
        ("key", "its key"),
        ("time", "its time"),
    ];
    let types = [
        ("Bucket", "its bucket"),
        ("BucketFields", "the paths in its bucket"),
        ("BucketId", "the id of its bucket"),
        ("Item", "its item"),
        ("ItemFields", "the paths in its item"),
        ("Key", "its key"),
        ("Stats", "its aggregates"),
        ("StatsFields", "the paths of its aggregates"),
    ];
    let record = model.record.ident.to_string();
    let aggregated = model.aggregates.views.iter().map(|view| {
        let ty = view.ident.to_string();
        let what = format!("the aggregates of `{}`", view.field);
        (ty.strip_prefix(&record).unwrap_or(&ty).to_owned(), what)
    });
    Taken {
        functions: functions.iter().map(owned).collect(),
        types: types.iter().map(owned).chain(aggregated).collect(),
    }
}

fn assemble(
    record: Record,
    attrs: &ContainerAttrs,
    fields: Vec<Field>,
    serde: SerdeStruct,
) -> Model {
    let items = attrs
        .items
        .get()
        .map_or_else(|| "items".to_owned(), syn::LitStr::value);
    let form = Form::read(attrs);
    let max_bytes = form.max_bytes(attrs);
    let stats = attrs.stats.get().map(syn::LitStr::value);
    let prefix = stats.as_deref().unwrap_or(STATS.as_str());
    let mut model = Model {
        krate: attrs.krate.get().cloned().unwrap_or_default(),
        collection: attrs.collection.get().cloned().unwrap_or_default(),
        items: ItemsName::new(items),
        form,
        max_bytes,
        object_ids: attrs.object_ids.given().is_some(),
        raised_from: attrs.raised_from.get().copied(),
        compression: attrs.compression.get().copied(),
        expire_after: attrs.expire_after.get().copied(),
        keep_stats: attrs.keep_stats.get().copied(),
        seal_after: attrs.seal_after.get().copied(),
        merge: attrs.merge.get().copied(),
        merge_stats: attrs.merge_stats.get().copied(),
        replaces: matches!(attrs.on_conflict.get(), Some(OnConflict::Replace)),
        own_fields: own_field::read(form, max_bytes, attrs),
        aggregates: Aggregates::read(&record.ident, &fields, prefix),
        stats,
        id: IdTemplate::default(),
        record,
        fields,
        serde,
        arrays: Vec::new(),
        arrays_are_sound: false,
    };
    if model
        .taken_by_bucket(&model.items.asked.to_string())
        .is_some()
    {
        model.items.ident = ItemsName::plain();
    }
    model
}
