//! The keys that have buckets.

use bucket_mongo::{
    Bucketed, Buckets,
    bson::{Bson, doc},
};
use futures_util::TryStreamExt as _;
use serde::Deserialize;

use crate::error::Error;

#[derive(Deserialize)]
struct Found {
    #[serde(rename = "_id")]
    key: (String, String),
}

/// All keys in order, for models whose keys are two texts.
pub async fn all<T>(buckets: &Buckets<T>) -> Result<Vec<T::Key>, Error>
where
    T: Bucketed<Key: From<(String, String)>>,
{
    let fields = buckets.spec().keys().iter();
    let fields: Vec<Bson> = fields.map(|key| format!("${}", key.path).into()).collect();
    let distinct = [doc! { "$group": { "_id": fields } }];
    let collection = buckets.collection::<Found>();
    let found = collection.aggregate(distinct).with_type().await?;
    let found: Vec<Found> = found.try_collect().await?;
    let mut keys: Vec<_> = found.into_iter().map(|found| found.key).collect();
    keys.sort();
    Ok(keys.into_iter().map(T::Key::from).collect())
}
