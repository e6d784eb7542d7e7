//! The products of many fields become products with attributes in place, and many fields again.

use std::{io::Write, time::Instant};

use bucket_mongo::{
    Attributed as _, Documents,
    bson::{Document, doc, serialize_to_document},
    mongodb::Database,
};
use example_kit::{Error, progress, text};
use futures_util::TryStreamExt as _;

use crate::{
    cli::Amount,
    comparison::LATE,
    condition::{self, Condition},
    examined::explain,
    form,
    migration::{self, To},
    model::Product,
    products,
};

/// The number of products to migrate: enough to see how it works.
const MOST: i32 = 20_000;

pub(super) async fn tell(
    database: &Database,
    amount: Amount,
    out: &mut impl Write,
) -> Result<(), Error> {
    let documents = Product::documents(database);
    let collection = documents.spec().collection();
    let products = products::numbered(1..=amount.products.min(MOST));
    let bar = progress::records(products.len() as u64);
    database.collection::<Product>(collection).drop().await?;
    let stored = form::store_fields(database, collection, false, &products, &bar).await;
    bar.finish_and_clear();
    stored?;
    let all = text::counted(products.len() as u64, "product");
    writeln!(
        out,
        "\n{all} of many fields go from one form to the other in place, under their 12 indexes;\n\
         `{collection}`: {}\n",
        documents.ensure().await?
    )?;
    for (method, to) in [
        ("migrate_to_attributes", To::Attributes),
        ("migrate_to_fields", To::Fields),
    ] {
        let start = Instant::now();
        let report = migration::run(&documents, to, false).await?;
        let seconds = start.elapsed().as_secs_f64();
        writeln!(out, "{collection}.{method}(), {seconds:.1} s\n  {report}")?;
        if to == To::Attributes {
            ask(&documents, out).await?;
        }
    }
    let same = same(&documents, &products).await?;
    writeln!(out, "  {same} of {all} are what they were, field by field")?;
    Ok(())
}

/// The question that no index of the many fields answers.
async fn ask(documents: &Documents<Product>, out: &mut impl Write) -> Result<(), Error> {
    let question = Condition::parse(&format!("{LATE} >= 60")).map_err(Error::Unexpected)?;
    let filter = condition::by_attributes(std::slice::from_ref(&question));
    let found = documents.find(filter.clone()).await?.len();
    let command = doc! { "find": documents.spec().collection(), "filter": filter };
    let examined = explain(documents.database(), command).await?;
    writeln!(out, "  `{question}` finds {found}; {examined}")?;
    Ok(())
}

/// How many of the products are stored as they were before, without an array.
async fn same(documents: &Documents<Product>, products: &[Product]) -> Result<usize, Error> {
    let stored = documents.collection::<Document>();
    let mut stored = stored.find(doc! {}).sort(doc! { "_id": 1 }).await?;
    let mut same = 0;
    for product in products {
        let Some(stored) = stored.try_next().await? else {
            break;
        };
        let fields = serialize_to_document(product);
        same += usize::from(fields.is_ok_and(|fields| fields == stored));
    }
    Ok(same)
}
