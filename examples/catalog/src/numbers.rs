//! The numbers of products: each goes to one load only, however many loads run at a time.

use bucket_mongo::{
    Documents,
    bson::{Document, doc},
    mongodb::options::ReturnDocument,
};
use example_kit::Error;

use crate::model::Product;

/// Holds the last number that was assigned.
const COLLECTION: &str = "product_numbers";
const LAST: &str = "last";

/// Reserves this many numbers, above all reserved and stored ones, and returns the first. Unused
/// numbers are not reserved again.
pub(crate) async fn take(documents: &Documents<Product>, number: i32) -> Result<i32, Error> {
    let stored = last_stored(documents).await?;
    let of_products = doc! { "_id": documents.spec().collection() };
    let numbers = documents.database().collection::<Document>(COLLECTION);
    numbers
        .update_one(of_products.clone(), doc! { "$max": { LAST: stored } })
        .upsert(true)
        .await?;
    // One command, which the server runs atomically for concurrent loads.
    let mut with_room = of_products.clone();
    with_room.insert(LAST, doc! { "$lte": i32::MAX - number });
    let taken = numbers
        .find_one_and_update(with_room, doc! { "$inc": { LAST: number } })
        .return_document(ReturnDocument::Before)
        .await?;
    if let Some(before) = taken {
        return Ok(last(&before) + 1);
    }
    let now = numbers.find_one(of_products).await?;
    let left = i32::MAX - now.as_ref().map_or(stored, last);
    Err(Error::Unexpected(format!(
        "there are numbers for {left} more products, not for {number}"
    )))
}

fn last(numbers: &Document) -> i32 {
    numbers.get_i32(LAST).unwrap_or_default()
}

/// The greatest number of a stored product, or 0.
async fn last_stored(documents: &Documents<Product>) -> Result<i32, Error> {
    let collection = documents.collection::<Document>();
    let last = collection
        .find_one(doc! {})
        .sort(doc! { "_id": -1 })
        .projection(doc! { "_id": 1 });
    let last = last.await?;
    let last = last.map_or(0, |last| last.get_i32("_id").unwrap_or_default());
    Ok(last.max(0))
}
