//! The command `update`.

use std::sync::Arc;

use super::{
    Between, Command, insert,
    write::{self, Outcome},
};
use crate::{
    elements::Elements,
    error::Refusal,
    filter::{self, Filter},
    oplog::Change,
    pipeline::Pipeline,
    server::{Answer, Server},
    session::Done,
    update::{self, immutable},
    upsert,
    value::{Fields, Value},
};

/// How often the server tries again after a duplicate key.
const TRIES: usize = 100;

/// One statement.
struct Statement {
    filter: Filter,
    effect: Effect,
    upsert: bool,
    hint: Option<Value>,
}

enum Effect {
    Changes(Vec<update::Change>),
    Pipeline(Pipeline),
}

pub(super) fn run(
    server: &mut Server,
    command: &Command<'_>,
    mut between: Option<Between<'_>>,
) -> Result<Answer, Refusal> {
    command.check_fields(&["updates", "ordered", "collectionUUID", "stmtIds"])?;
    let namespace = command.namespace()?;
    write::run(server, command, "updates", |server, statement| {
        if let Some(refusal) = write::check_uuid(server, command)? {
            return Err(refusal);
        }
        // The server checks this before it reads anything else of the statement.
        let upserts = Elements::of(statement)?.find("upsert")?;
        let upserts = upserts.map(|it| it.value()).transpose()?;
        if matches!(upserts, Some(Value::Boolean(true))) {
            server.ensure_collection(&namespace);
        }
        let statement = Statement::parse(statement)?;
        statement.execute(server, &namespace, &mut between)
    })
}

impl Statement {
    fn parse(raw: &[u8]) -> Result<Self, Refusal> {
        let (mut filter, mut effect, mut upsert, mut hint) = (None, None, false, None);
        let mut fields = Elements::of(raw)?;
        while let Some(field) = fields.next()? {
            match (field.name, field.as_document()) {
                ("q", Some(query)) => filter = Some(filter::parse(query)?),
                ("u", _) => effect = Some(Effect::parse(field.value()?)?),
                ("upsert", _) => upsert = field.value()?.is_truthy(),
                ("hint", _) => hint = Some(field.value()?),
                ("multi", _) if !field.value()?.is_truthy() => {}
                (name, _) => {
                    return Err(Refusal::unknown(format_args!(
                        "the field `{name}` of a statement"
                    )));
                }
            }
        }
        // An empty hint counts as no hint.
        let hint = hint.filter(|hint| !matches!(hint, Value::Document(keys) if keys.0.is_empty()));
        match (filter, effect) {
            (Some(filter), Some(effect)) => Ok(Self {
                filter,
                effect,
                upsert,
                hint,
            }),
            _ => Err(Refusal::unknown("statements without `q` or `u`")),
        }
    }

    fn execute(
        &self,
        server: &mut Server,
        namespace: &Arc<str>,
        between: &mut Option<Between<'_>>,
    ) -> Result<Outcome, Refusal> {
        let mut tries = 0;
        loop {
            if let Some(outcome) = self.change(server, namespace)? {
                return Ok(outcome);
            }
            if !self.upsert {
                return Ok(Outcome::default());
            }
            if let Some(between) = between {
                between(server);
            }
            let refused = match self.insert(server, namespace) {
                Err(refused) if refused.code == 11_000 => refused,
                done => return done,
            };
            tries += 1;
            if tries == TRIES || !self.looks_again(server, namespace, &refused) {
                return Err(refused);
            }
        }
    }

    /// Changes the document that matches, if one does.
    fn change(
        &self,
        server: &mut Server,
        namespace: &Arc<str>,
    ) -> Result<Option<Outcome>, Refusal> {
        let Some(collection) = server.collections.get(&**namespace) else {
            return Ok(None);
        };
        let found = collection.select(&self.filter, self.hint.as_ref(), 1, true)?;
        let Some((id, before)) = found
            .first()
            .and_then(|id| Some((*id, collection.documents.get(id)?.clone())))
        else {
            return Ok(None);
        };
        let mut fields = (*before).clone();
        let changed = self.effect.apply(&mut fields, false)?;
        if !changed {
            return Ok(Some(Outcome {
                n: 1,
                ..Outcome::default()
            }));
        }
        server.check_size(&fields, false)?;
        let after = Arc::new(fields);
        if let Some(collection) = server.collections.get_mut(&**namespace) {
            collection.put(namespace, id, Some(&before), Some(Arc::clone(&after)))?;
        }
        let change = Change::Document {
            namespace: Arc::clone(namespace),
            id,
            before: Some(before),
            after: Some(after),
        };
        Ok(Some(Outcome {
            n: 1,
            modified: 1,
            upserted: None,
            change: Some((change, Done::Updated)),
        }))
    }

    fn insert(&self, server: &mut Server, namespace: &Arc<str>) -> Result<Outcome, Refusal> {
        let mut fields = upsert::document(&self.filter)?;
        self.effect.apply(&mut fields, true)?;
        if fields.get("_id").is_none() {
            let id = Value::ObjectId(server.object_id());
            fields.0.insert(0, ("_id".into(), id));
        }
        if let Some(Value::Array(_)) = fields.get("_id") {
            return Err(self.effect.array_as_id());
        }
        server.check_size(&fields, false)?;
        let id = fields.get("_id").map(Value::to_bson);
        let mut outcome = insert::insert(server, namespace, fields)?;
        outcome.upserted = id;
        Ok(outcome)
    }

    /// The server tries again by itself if the filter consists only of equalities on exactly the
    /// fields of the index that refused.
    fn looks_again(&self, server: &Server, namespace: &str, refused: &Refusal) -> bool {
        let pattern = refused.details.as_ref();
        let pattern = pattern.and_then(|it| it.get_document("keyPattern").ok());
        let values = refused.details.as_ref();
        let values = values.and_then(|it| it.get_document("keyValue").ok());
        let (Some(pattern), Some(values)) = (pattern, values) else {
            return false;
        };
        let same = values.iter().all(|(path, value)| {
            let asked = self.filter.equal_to(path).map(Value::to_bson);
            asked.as_ref() == Some(value)
        });
        server.collections.contains_key(namespace)
            && same
            && upsert::is_equality_on(&self.filter, pattern)
    }
}

impl Effect {
    fn parse(update: Value) -> Result<Self, Refusal> {
        match update {
            Value::Array(stages) => Ok(Self::Pipeline(Pipeline::parse(&stages)?)),
            Value::Document(fields)
                if fields
                    .0
                    .first()
                    .is_some_and(|(name, _)| name.starts_with('$')) =>
            {
                Ok(Self::Changes(update::parse(&fields)?))
            }
            _ => Err(Refusal::unknown("updates that replace a document")),
        }
    }

    /// The refusal of an upsert whose `_id` is an array. It depends on where the array came from.
    fn array_as_id(&self) -> Refusal {
        let is_push = |change: &update::Change| {
            &*change.path == "_id"
                && matches!(&change.operation, update::Operation::Push(items) if !items.is_empty())
        };
        let field = match self {
            Self::Changes(changes) if changes.iter().any(is_push) => "field",
            Self::Changes(_) => {
                return Refusal::new(53, "The '_id' value cannot be of type array");
            }
            Self::Pipeline(_) => "(immutable) field",
        };
        Refusal::new(
            54,
            format!(
                "After applying the update to the document, the {field} '_id' was found to be an array \
                 or array descendant."
            ),
        )
    }

    /// Changes a document. Returns whether it differs from before.
    fn apply(&self, fields: &mut Fields, inserting: bool) -> Result<bool, Refusal> {
        match self {
            Self::Changes(changes) => {
                let id = fields.get("_id").cloned();
                let is_other = update::apply(changes, fields, inserting)?;
                match (id, fields.get("_id")) {
                    (Some(old), Some(new)) if !old.is_same(new) => Err(immutable("_id")),
                    _ => Ok(is_other),
                }
            }
            Self::Pipeline(pipeline) => {
                let new = pipeline.apply(fields)?;
                let changed = !new.is_same(fields);
                *fields = new;
                Ok(changed)
            }
        }
    }
}
