//! The same questions put to documents of many fields and to documents with attributes.

use bucket_mongo::{
    Attributed as _, Documents,
    bson::{Bson, Document, doc},
    mongodb::Database,
};
use example_kit::{Error, progress::ProgressBar};
use futures_util::TryStreamExt as _;
use serde::Serialize;

use crate::{
    condition::{self, Condition},
    examined::{Examined, explain},
    form::{self, Form},
    model::Product,
};

pub(crate) use crate::form::LATE;

/// The questions, in the syntax of `catalog find`. The last one asks for the field without an
/// index.
const QUESTIONS: [&[&str]; 6] = [
    &["color = teal"],
    &["weight_g >= 58000"],
    &["screen_inches = 13.3", "memory_gb >= 128"],
    &["volume_ml >= 1900", "material = glass"],
    &["pages < 60"],
    &["warranty_months >= 60"],
];
/// The heaviest products.
const HEAVIEST: i64 = 10;

/// What was stored and asked.
#[derive(Debug, Serialize)]
pub(crate) struct Comparison {
    pub(crate) products: usize,
    pub(crate) forms: [Form; 3],
    pub(crate) answers: Vec<Answer>,
}

/// A question with what each form examined for it.
#[derive(Debug, Serialize)]
pub(crate) struct Answer {
    pub(crate) question: String,
    pub(crate) found: usize,
    pub(crate) many_fields: Examined,
    pub(crate) attributes: Examined,
}

/// Stores the products in every form, and asks every question.
pub(crate) async fn run(
    database: &Database,
    products: &[Product],
    bar: &ProgressBar,
) -> Result<Comparison, Error> {
    let forms = form::store_all(database, products, bar).await?;
    let documents = Product::documents(database);
    let mut answers = Vec::new();
    for question in QUESTIONS {
        answers.push(ask(&documents, question).await?);
    }
    answers.push(heaviest(&documents).await?);
    Ok(Comparison {
        products: products.len(),
        forms,
        answers,
    })
}

/// The same product as each form stores it.
pub(crate) async fn one_product(database: &Database) -> Result<Vec<Document>, Error> {
    let mut forms = Vec::new();
    for collection in [
        form::FIELDS,
        Product::documents(database).spec().collection(),
    ] {
        let products = database.collection::<Document>(collection);
        forms.extend(products.find_one(doc! { "_id": 1 }).await?);
    }
    Ok(forms)
}

async fn ask(documents: &Documents<Product>, question: &[&str]) -> Result<Answer, Error> {
    let conditions = question.iter().map(|text| Condition::parse(text));
    let conditions: Vec<Condition> = conditions
        .collect::<Result<_, _>>()
        .map_err(Error::Unexpected)?;
    let find = |collection: &str, filter: Document| doc! { "find": collection, "filter": filter };
    let many_fields = find(form::FIELDS, condition::by_fields(&conditions));
    let attributes = find(
        documents.spec().collection(),
        condition::by_attributes(&conditions),
    );
    let question = condition::said(&conditions);
    both(documents, question, id_of, many_fields, attributes).await
}

/// A field's index gives the order of that field; no index gives the order of an attribute.
async fn heaviest(documents: &Documents<Product>) -> Result<Answer, Error> {
    let many_fields = doc! {
        "find": form::FIELDS, "sort": { "weight_g": -1 }, "limit": HEAVIEST,
    };
    let weight = Product::specs().weight().g();
    let mut stages = vec![doc! { "$match": Document::from(weight.exists()) }];
    stages.extend(weight.sort_stages("by", true));
    stages.push(doc! { "$limit": HEAVIEST });
    let attributes = doc! {
        "aggregate": documents.spec().collection(), "pipeline": stages, "cursor": {},
    };
    let question = format!("the {HEAVIEST} highest weight_g");
    // Products of equal weight may come in any order.
    both(documents, question, weight_of, many_fields, attributes).await
}

/// Runs and explains both commands, which must find the same products.
async fn both(
    documents: &Documents<Product>,
    question: String,
    mark: fn(&Document) -> Option<i32>,
    many_fields: Document,
    attributes: Document,
) -> Result<Answer, Error> {
    let database = documents.database();
    let found = marks(database, many_fields.clone(), mark).await?;
    let by_attributes = marks(database, attributes.clone(), mark).await?;
    if found != by_attributes {
        return Err(Error::Unexpected(format!(
            "{question}: {} products of many fields, but {} with attributes, or other ones",
            found.len(),
            by_attributes.len()
        )));
    }
    Ok(Answer {
        question,
        found: found.len(),
        many_fields: explain(database, many_fields).await?,
        attributes: explain(database, attributes).await?,
    })
}

/// What a command finds: a number for each product, by its place in this list.
async fn marks(
    database: &Database,
    command: Document,
    mark: fn(&Document) -> Option<i32>,
) -> Result<Vec<Option<i32>>, Error> {
    let found = database.run_cursor_command(command).await?;
    let found: Vec<Document> = found.try_collect().await?;
    let mut marks: Vec<_> = found.iter().map(mark).collect();
    marks.sort_unstable();
    Ok(marks)
}

fn id_of(product: &Document) -> Option<i32> {
    product.get_i32("_id").ok()
}

/// The weight of a product in either form.
fn weight_of(product: &Document) -> Option<i32> {
    let specs = product.get_array("specs").into_iter().flatten();
    let mut entries = specs.filter_map(Bson::as_document);
    let entry = entries.find(|entry| entry.get_str("k").is_ok_and(|k| k == "weight"));
    let in_entry = entry.and_then(|entry| entry.get_i32("v").ok());
    in_entry.or_else(|| product.get_i32("weight_g").ok())
}
