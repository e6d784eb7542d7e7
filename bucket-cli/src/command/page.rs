//! `page`: the records of one bucket.

use bucket_mongo::Bucketed;
use serde_json::json;

use crate::{
    at::At, error::Error, exit::Outcome, key::KeyWords, out::Format, rows::Rows, text::counted,
};

/// Which page.
#[derive(Debug, Clone, clap::Args)]
pub(crate) struct Asked {
    #[command(flatten)]
    key: KeyWords,
    /// The number of the page: page 1 is the oldest bucket, as in the manual
    #[arg(long, short, value_name = "NUMBER", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..))]
    number: u64,
}

pub(super) async fn run<T: Bucketed>(at: At<'_, T>, asked: Asked) -> Result<Outcome, Error> {
    let key = crate::key::parse::<T>(&asked.key.key)?;
    let pages = at.buckets.page_count(key.clone()).await?;
    let page = at.buckets.page(key, asked.number).await?;
    let rows = Rows::of(&page.into_records())?;
    if at.out.format() == Format::Json {
        at.out.json(&json!({
            "page": asked.number,
            "pages": pages,
            "records": rows.json(),
        }))?;
    } else if rows.is_empty() {
        at.out.note(&format!(
            "page {} has no records: the key has {}",
            asked.number,
            counted(pages, "page")
        ));
    } else {
        at.out.table(&rows.table())?;
        at.out.note(&format!("page {} of {pages}", asked.number));
    }
    Ok(Outcome::Done)
}
