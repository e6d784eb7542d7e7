//! `show`: a bucket as it is stored.

use bucket_mongo::{
    Bucketed,
    bson::{Bson, Document, doc, oid::ObjectId},
};

use crate::{at::At, error::Error, exit::Outcome, json, out::Format, shell};

/// Which bucket.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    /// The id of the bucket, as `verify` and `watch` show it; an object id in models with such ids. That of a damaged bucket may be
    /// anything: then in extended JSON
    id: String,
}

pub(super) async fn run<T: Bucketed>(at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let ids = ids(&asked.id, T::SPEC.object_ids());
    if ids.is_empty() {
        return Err(Error::Usage(format!(
            "`{}` is neither an object id nor extended JSON",
            asked.id
        )));
    }
    let found = at.buckets.collection::<Document>();
    // One that is a document may look like an operator.
    let found = found.find_one(doc! { "_id": { "$in": ids } }).await;
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

/// What these words may mean: an id of the model, or one in extended JSON.
fn ids(word: &str, object_ids: bool) -> Vec<Bson> {
    let own = if object_ids {
        ObjectId::parse_str(word).ok().map(Bson::from)
    } else {
        Some(word.into())
    };
    let other = serde_json::from_str::<Bson>(word).ok();
    own.into_iter().chain(other).collect()
}

#[cfg(test)]
mod tests {
    use bucket_mongo::bson::DateTime;

    use super::*;

    #[test]
    fn an_id_may_be_any_value_in_extended_json() {
        let id = ObjectId::from_bytes([7; 12]);
        for (word, meant) in [
            ("5", Bson::from(5)),
            ("2.5", 2.5.into()),
            ("null", Bson::Null),
            (r#"{"$oid":"070707070707070707070707"}"#, id.into()),
            (r#"{"a":{"$numberInt":"1"}}"#, doc! { "a": 1 }.into()),
            (
                r#"{"$date":"1970-01-01T00:00:00Z"}"#,
                DateTime::from_millis(0).into(),
            ),
        ] {
            let found = ids(word, false);
            assert_eq!(found.first(), Some(&word.into()));
            assert_eq!(found.get(1), Some(&meant), "{word}");
        }
        assert_eq!(ids("070707070707070707070707", true), [id.into()]);
        assert_eq!(ids("device_1", false), ["device_1".into()]);
        assert!(ids("device_1", true).is_empty());
    }
}
