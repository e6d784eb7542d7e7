//! How a described collection differs from a model, and its description once the model writes to it as well.

use bson::{DateTime, Uuid};

use super::description::{
    AggregateDescription, CollectionDescription, FieldDescription, MERGE, MERGED_AFTER, VERSION,
    field,
};
use crate::{
    index::Drift,
    model::{
        spec::BucketSpec,
        stored_field::{FieldKind, StoredField},
    },
    time::window::Window,
};

impl CollectionDescription {
    /// Whether it is that of the collection with this UUID, and not of one that was dropped or renamed.
    #[doc(hidden)]
    #[must_use]
    pub fn is_of(&self, uuid: Option<Uuid>) -> bool {
        match (self.uuid, uuid) {
            (Some(own), Some(uuid)) => own == uuid,
            _ => true,
        }
    }

    /// What the model cannot read, or would write at another place. Limits may differ.
    ///
    /// ```
    /// # use bucket_core::{BucketSpec, schema::CollectionDescription};
    /// fn fits(described: &CollectionDescription, spec: &BucketSpec) -> bool {
    ///     described.drift(spec).is_empty()
    /// }
    /// ```
    #[must_use]
    pub fn drift(&self, spec: &BucketSpec) -> Vec<Drift> {
        if self.version > VERSION {
            return vec![differs(
                "the version of the description",
                &self.version.to_string(),
                &VERSION.to_string(),
            )];
        }
        let model = Self::of(spec, self.uuid, self.described_at);
        let mut drift = Vec::new();
        let mut compare = |what: &str, described: &str, expected: &str| {
            if described != expected {
                drift.push(differs(what, described, expected));
            }
        };
        let kind = |of: &Self| of.form.get_str("kind").unwrap_or_default().to_owned();
        compare("the form", &kind(self), &kind(&model));
        // Readers look for a merged bucket from the begin of such a span on.
        if let Some(described) = self.merge()
            && !spec.merged_within().is_some_and(|own| own.holds(described))
        {
            let own = spec.merged_within();
            let own = own.map_or("none".to_owned(), Window::described);
            compare(
                "`merge` or `merge_stats` (what readers look for)",
                &described.described(),
                &own,
            );
        }
        // Younger buckets than its own limit it takes for not merged.
        if let (Some(described), Some(_)) = (self.merged_after(), spec.merge())
            && let Some(own) = spec.seal_after().map(i64::from)
            && own > described
        {
            compare(
                "`seal_after` (from when on readers look for merged buckets)",
                &format!("{described} s"),
                &format!("{own} s"),
            );
        }
        compare("the template of ids", &self.id, &model.id);
        compare("the key", &names(&self.keys), &names(&model.keys));
        compare("the array of items", &self.items, &model.items);
        compare("the time of items", &self.time, &model.time);
        if let (Some(described), Some(expected)) = (&self.unique, &model.unique) {
            compare("the record id", described, expected);
        }
        for (name, expected) in &model.names {
            if let Some(described) = self.names.get(name) {
                compare(&format!("the field `{name}`"), described, expected);
            }
        }
        for key in &model.keys {
            let described = self.keys.iter().find(|it| it.name == key.name);
            let reads = |described: &&FieldDescription| kind_of(key).reads(kind_of(described));
            if let Some(described) = described.filter(|it| !reads(it)) {
                drift.push(field_drift(&key.name, Some(described), key));
            }
        }
        let fields = spec.fields().iter().filter(|field| !field.is_key);
        drift.extend(fields.filter_map(|field| self.field_drift(field)));
        for expected in &model.aggregates {
            let described = self.aggregate(&expected.path);
            let differs =
                |it: &&AggregateDescription| it.kind != expected.kind || it.of != expected.of;
            if let Some(described) = described.filter(differs) {
                drift.push(Drift::Aggregate {
                    path: expected.path.clone(),
                    described: shown(described),
                    expected: shown(expected),
                });
            }
        }
        drift
    }

    fn field_drift(&self, model: &StoredField) -> Option<Drift> {
        let described = self.fields.iter().find(|it| it.name == model.name);
        let can_read = match described {
            None => !model.required,
            Some(described) => {
                let kind = model.kind.reads(kind_of(described));
                // The first description may know less of a type than a later version.
                let has_all = described.required || !model.required || described.kind == "any";
                kind && has_all
            }
        };
        (!can_read).then(|| field_drift(model.name, described, &field(model)))
    }

    /// The span in which sealed buckets were merged.
    fn merge(&self) -> Option<Window> {
        Window::of_description(self.form.get_str(MERGE).ok()?)
    }

    /// How old buckets were when they were merged, in seconds.
    fn merged_after(&self) -> Option<i64> {
        let seconds = self.form.get(MERGED_AFTER)?;
        seconds.as_i64().or_else(|| seconds.as_i32().map(i64::from))
    }

    fn aggregate(&self, path: &str) -> Option<&AggregateDescription> {
        self.aggregates.iter().find(|it| it.path == path)
    }

    /// Whether the model has fields or aggregates that were not described before.
    #[doc(hidden)]
    #[must_use]
    pub fn has_new_fields(&self, spec: &BucketSpec) -> bool {
        let mut aggregates = spec.aggregates().iter();
        let mut fields = spec.fields().iter().filter(|field| !field.is_key);
        aggregates.any(|it| self.aggregate(it.path).is_none())
            || fields.any(|it| !self.fields.iter().any(|field| field.name == it.name))
    }

    /// The description once this model writes to the collection as well. It keeps the fields that only earlier
    /// models had. Aggregates of the model that are new are partial if the collection has buckets; those that only
    /// others have are left out, because this model's writers do not maintain them.
    #[doc(hidden)]
    #[must_use]
    pub fn extended(&self, spec: &BucketSpec, has_buckets: bool, now: DateTime) -> Self {
        let mut model = Self::of(spec, self.uuid, self.described_at);
        for field in &mut model.fields {
            let described = self.fields.iter().find(|it| it.name == field.name);
            if let Some(described) = described {
                if field.kind == "any" {
                    field.kind.clone_from(&described.kind);
                }
                field.null |= described.null;
                field.required &= described.required;
            } else if has_buckets {
                field.required = false;
            }
        }
        let is_new = |it: &&FieldDescription| !model.fields.iter().any(|own| own.name == it.name);
        let former: Vec<FieldDescription> = self.fields.iter().filter(is_new).cloned().collect();
        model
            .fields
            .extend(former.into_iter().map(|field| FieldDescription {
                required: false,
                ..field
            }));
        for own in &mut model.aggregates {
            let described = self.aggregate(&own.path);
            let described = described.filter(|it| it.kind == own.kind && it.of == own.of);
            (own.since, own.partial) = match described {
                Some(described) => (described.since, described.partial),
                None => (Some(now), has_buckets),
            };
        }
        for (name, stored) in &self.names {
            let names = &mut model.names;
            names.entry(name.clone()).or_insert_with(|| stored.clone());
        }
        model.revision = self.revision;
        if model != *self {
            model.revision = self.revision.saturating_add(1);
        }
        model
    }
}

fn kind_of(field: &FieldDescription) -> FieldKind {
    FieldKind::named(&field.kind)
}

fn names(fields: &[FieldDescription]) -> String {
    let names: Vec<&str> = fields.iter().map(|field| field.name.as_str()).collect();
    names.join(", ")
}

fn differs(what: &str, described: &str, expected: &str) -> Drift {
    Drift::Described {
        what: what.to_owned(),
        described: described.to_owned(),
        expected: expected.to_owned(),
    }
}

fn field_drift(
    name: &str,
    described: Option<&FieldDescription>,
    expected: &FieldDescription,
) -> Drift {
    let shown = |field: &FieldDescription| {
        let null = if field.null { " or null" } else { "" };
        let missing = if field.required { "" } else { ", or missing" };
        format!("{}{null}{missing}", field.kind)
    };
    Drift::Field {
        name: name.to_owned(),
        described: described.map(shown),
        expected: shown(expected),
    }
}

fn shown(aggregate: &AggregateDescription) -> String {
    match &aggregate.of {
        Some(of) => format!("{} of `{of}`", aggregate.kind),
        None => aggregate.kind.clone(),
    }
}
