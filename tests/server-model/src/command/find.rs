//! The command `find`.

use std::{borrow::Cow, sync::Arc};

use bson::{Timestamp, doc};

use super::{Command, write};
use crate::{
    elements::{Element, Elements},
    error::Refusal,
    filter,
    projection::Projection,
    server::{Answer, Server},
    sort::Sort,
    value::{Fields, Value},
};

/// What the first batch holds where the command does not say.
const FIRST_BATCH: usize = 101;

pub(super) fn run(server: &mut Server, command: &Command<'_>) -> Result<Answer, Refusal> {
    command.check_fields(&[
        "filter",
        "sort",
        "projection",
        "skip",
        "limit",
        "batchSize",
        "singleBatch",
        "hint",
        "readConcern",
        "collectionUUID",
        "collation",
    ])?;
    check_collation(command)?;
    let namespace = command.namespace()?;
    let level = Level::of(command)?;
    if let Some(until) = level.waits(server) {
        return Ok(Answer::Postponed { until });
    }
    if let Some(refusal) = write::check_uuid(server, command)? {
        return Err(refusal);
    }
    let document = |name: &str| -> Result<Fields, Refusal> {
        let raw = command.get(name).and_then(Element::as_document);
        raw.map_or(Ok(Fields::default()), Fields::read)
    };
    let filter = filter::parse_fields(&document("filter")?)?;
    let sort = document("sort")?;
    let sort = (!sort.0.is_empty())
        .then(|| Sort::parse(&sort))
        .transpose()?;
    let projection = Projection::parse(&document("projection")?)?;
    let hint = command.value("hint")?;
    let hint = hint.filter(|hint| !matches!(hint, Value::Document(keys) if keys.0.is_empty()));
    let skip = count(command, "skip")?.unwrap_or(0);
    let mut limit = count(command, "limit")?.filter(|limit| *limit > 0);
    let size = count(command, "batchSize")?;
    if command.flag("singleBatch")? == Some(true) {
        let size = size.unwrap_or(FIRST_BATCH);
        limit = Some(limit.map_or(size, |limit| limit.min(size)));
    }
    let view = match level {
        Level::Local { .. } => server.collections.get(&*namespace).map(Cow::Borrowed),
        Level::Majority { .. } => server.majority_view(&namespace),
    };
    let mut batch = Vec::new();
    if let Some(collection) = &view {
        let wanted = limit.filter(|_| sort.is_none());
        let wanted = wanted.map_or(usize::MAX, |limit| limit.saturating_add(skip));
        let found = collection.select(&filter, hint.as_ref(), wanted, wanted < usize::MAX)?;
        let found = found.iter().filter_map(|id| collection.documents.get(id));
        let mut found: Vec<Arc<Fields>> = found.cloned().collect();
        if let Some(sort) = &sort {
            sort.sort(&mut found)?;
        }
        let found = found
            .into_iter()
            .skip(skip)
            .take(limit.unwrap_or(usize::MAX));
        for fields in found {
            batch.push(projection.apply(&fields)?.to_document());
        }
    }
    if batch.len() > size.unwrap_or(FIRST_BATCH) {
        return Err(Refusal::unknown("reads of more than one batch"));
    }
    Ok(Answer::Reply(doc! {
        "cursor": { "firstBatch": batch, "id": 0_i64, "ns": &*namespace },
        "ok": 1.0,
    }))
}

/// Text is compared byte by byte here, and nothing else.
fn check_collation(command: &Command<'_>) -> Result<(), Refusal> {
    let collation = command.get("collation").and_then(Element::as_document);
    let Some(collation) = collation.map(Elements::of).transpose()? else {
        return Ok(());
    };
    match collation.find("locale")?.map(|it| it.as_str()) {
        Some(Some("simple")) => Ok(()),
        locale => Err(Refusal::unknown(format_args!("the collation {locale:?}"))),
    }
}

fn count(command: &Command<'_>, name: &str) -> Result<Option<usize>, Refusal> {
    let Some(value) = command.value(name)? else {
        return Ok(None);
    };
    let whole = value
        .as_whole()
        .and_then(|whole| usize::try_from(whole).ok());
    let message = || format!("BSON field '{name}' is no number of documents");
    whole
        .map(Some)
        .ok_or_else(|| Refusal::new(51_024, message()))
}

/// What a read sees.
enum Level {
    Local { after: Option<Timestamp> },
    Majority { after: Option<Timestamp> },
}

impl Level {
    fn of(command: &Command<'_>) -> Result<Self, Refusal> {
        let concern = command.get("readConcern").and_then(Element::as_document);
        let Some(concern) = concern.map(Elements::of).transpose()? else {
            return Ok(Self::Local { after: None });
        };
        let after = concern.clone().find("afterClusterTime")?;
        let after = match after.map(|it| it.as_timestamp()) {
            Some(None) => return Err(Refusal::new(14, "`afterClusterTime` is a timestamp")),
            after => after.flatten(),
        };
        let level = concern.find("level")?;
        match level.map(|it| it.as_str()) {
            None | Some(Some("local")) => Ok(Self::Local { after }),
            Some(Some("majority")) => Ok(Self::Majority { after }),
            Some(level) => Err(Refusal::unknown(format_args!("the read concern {level:?}"))),
        }
    }

    /// The position to wait for.
    fn waits(&self, server: &Server) -> Option<u64> {
        let (after, has) = match self {
            Self::Local { after } => (after, server.oplog.last()),
            Self::Majority { after } => (after, server.oplog.majority()),
        };
        let until = u64::from((*after)?.increment);
        (until > has).then_some(until)
    }
}
