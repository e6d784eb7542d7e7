//! The same products in three forms: many fields with an index for each, twice, and attributes.
//!
//! All indexes exist before the first product is stored, as in a collection that grows.

use std::time::Instant;

use bucket_mongo::{
    Attributed as _, Documents,
    bson::doc,
    mongodb::{Collection, Database, IndexModel, options::IndexOptions},
};
use example_kit::{Error, progress::ProgressBar};
use serde::Serialize;

use crate::{examined::number, field, model::Product};

/// The collection of many fields.
pub(crate) const FIELDS: &str = "products_of_many_fields";
/// The same, with indexes that skip products without the field.
const SPARSE: &str = "products_of_many_fields_sparse";
/// The number of products in one batch.
pub(crate) const BATCH: usize = 5_000;
/// The index that every collection has.
const ID: &str = "_id_";
/// The field that was added after the indexes.
pub(crate) const LATE: &str = "warranty_months";

/// A form, with the space and the time that it takes.
#[derive(Debug, Serialize)]
pub(crate) struct Form {
    pub(crate) name: &'static str,
    /// The bytes of the documents themselves.
    pub(crate) document_bytes: u64,
    /// The bytes of the compressed file of documents.
    pub(crate) stored_bytes: u64,
    /// The number of indexes, without that of `_id`.
    pub(crate) indexes: usize,
    /// The bytes of the files of these indexes.
    pub(crate) index_bytes: u64,
    /// How long it took to store the products.
    pub(crate) seconds: f64,
}

/// Stores the products as documents of many fields, with an index for each field, and measures both
/// kinds of indexes, then with attributes.
pub(crate) async fn store_all(
    database: &Database,
    products: &[Product],
    bar: &ProgressBar,
) -> Result<[Form; 3], Error> {
    let fields = store_fields(database, FIELDS, false, products, bar).await?;
    let sparse = store_fields(database, SPARSE, true, products, bar).await?;
    let attributes = store_attributes(database, products, bar).await?;
    // File sizes are those of the last checkpoint, which this command takes.
    let admin = database.client().database("admin");
    admin.run_command(doc! { "fsync": 1 }).await?;
    let collection = Product::documents(database).spec().collection();
    Ok([
        measure(database, "many fields", FIELDS, fields).await?,
        measure(database, "many fields, sparse", SPARSE, sparse).await?,
        measure(database, "attributes", collection, attributes).await?,
    ])
}

/// Stores products in a new collection of many fields; returns the seconds it took.
pub(crate) async fn store_fields(
    database: &Database,
    collection: &str,
    sparse: bool,
    products: &[Product],
    bar: &ProgressBar,
) -> Result<f64, Error> {
    let collection = database.collection::<Product>(collection);
    let fields = field::names().filter(|name| *name != LATE);
    let indexes = fields.map(|name| {
        let options = IndexOptions::builder()
            .sparse(sparse.then_some(true))
            .build();
        IndexModel::builder()
            .keys(doc! { name: 1 })
            .options(options)
            .build()
    });
    collection.create_indexes(indexes).await?;
    let start = Instant::now();
    insert_fields(&collection, products, bar).await?;
    Ok(start.elapsed().as_secs_f64())
}

/// Stores products as documents of many fields; returns their number.
pub(crate) async fn insert_fields(
    collection: &Collection<Product>,
    products: &[Product],
    bar: &ProgressBar,
) -> Result<u64, Error> {
    for batch in products.chunks(BATCH) {
        collection.insert_many(batch).await?;
        bar.inc(batch.len() as u64);
    }
    Ok(products.len() as u64)
}

/// Runs a job; returns the seconds it took.
async fn store_attributes(
    database: &Database,
    products: &[Product],
    bar: &ProgressBar,
) -> Result<f64, Error> {
    let documents = Product::documents(database);
    documents.ensure().await?;
    let start = Instant::now();
    insert(&documents, products, bar).await?;
    Ok(start.elapsed().as_secs_f64())
}

/// Stores products with attributes; returns their number.
pub(crate) async fn insert(
    documents: &Documents<Product>,
    products: &[Product],
    bar: &ProgressBar,
) -> Result<u64, Error> {
    let mut stored = 0;
    for batch in products.chunks(BATCH) {
        let report = documents.insert_many(batch).await?;
        stored += report.stored() as u64;
        bar.inc(report.stored() as u64);
        report.into_result()?;
    }
    Ok(stored)
}

async fn measure(
    database: &Database,
    name: &'static str,
    collection: &str,
    seconds: f64,
) -> Result<Form, Error> {
    let stats = database
        .run_command(doc! { "collStats": collection })
        .await?;
    let sizes = stats.get_document("indexSizes");
    let sizes = sizes.cloned().unwrap_or_default();
    let indexes = || sizes.keys().filter(|index| *index != ID);
    Ok(Form {
        name,
        document_bytes: number(&stats, "size"),
        stored_bytes: number(&stats, "storageSize"),
        indexes: indexes().count(),
        index_bytes: indexes().map(|index| number(&sizes, index)).sum(),
        seconds,
    })
}
