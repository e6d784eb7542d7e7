//! `show`: a bucket as it is stored.

use bucket_mongo::{
    Bucketed,
    bson::{Bson, Document, doc, oid::ObjectId},
};

use crate::{at::At, error::Error, exit::Outcome, json, out::Format, shell};

/// Which bucket.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    /// The id of the bucket, as `verify` and `watch` show it; an object id in models with such ids
    id: String,
}

pub(super) async fn run<T: Bucketed>(at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let id: Bson = if T::SPEC.object_ids() {
        let id = ObjectId::parse_str(&asked.id);
        let id = id.map_err(|_| Error::Usage(format!("`{}` is no object id", asked.id)))?;
        id.into()
    } else {
        asked.id.as_str().into()
    };
    let found = at.buckets.collection::<Document>();
    let found = found.find_one(doc! { "_id": id }).await;
    let found = found.map_err(Error::driver("reading the bucket"))?;
    let Some(bucket) = found else {
        return Err(Error::Failed(format!(
            "`{}` has no bucket `{}`",
            T::SPEC.collection(),
            asked.id
        )));
    };
    if at.out.format() == Format::Json {
        at.out.json(&json::object(&bucket))?;
    } else {
        at.out.text(&shell::document(&bucket, 0))?;
    }
    if bucket.get_document("_sealed").is_ok() {
        at.out
            .note("the items of this bucket are packed: `records` and `page` show them");
    }
    Ok(Outcome::Done)
}
