//! Documents as stored on the server, including fields that the model does not know.

use bucket_mongo::{
    Buckets,
    bson::{Document, doc},
};
use example_kit::Error;
use futures_util::{Stream, TryStreamExt as _};

use crate::model::{Trade, TradeBucket};

/// The documents of these customers, in the order of their ids.
pub(crate) async fn documents(
    trades: &Buckets<Trade>,
    customers: &[i64],
) -> Result<impl Stream<Item = Result<Document, Error>> + use<>, Error> {
    let fields = TradeBucket::FIELDS;
    let theirs = doc! { fields.customer_id.as_str(): { "$in": customers } };
    let collection = trades.collection::<Document>();
    let found = collection
        .find(theirs)
        .sort(doc! { fields.id.as_str(): 1 })
        .await?;
    Ok(found.map_err(Error::from))
}
