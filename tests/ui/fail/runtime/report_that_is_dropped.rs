#![deny(unused_must_use)]

use bucket_mongo::{Attributed, Bucketed, Buckets, Documents, Ingestor, Result};

async fn store<T: Bucketed>(buckets: &Buckets<T>, records: Vec<T>) -> Result<()> {
    buckets.insert_many(&records).await?;
    buckets.insert_many(&records).await?.into_result()?;
    Ok(())
}

async fn store_documents<T: Attributed>(handle: &Documents<T>, documents: Vec<T>) -> Result<()> {
    handle.insert_many(documents).await?;
    Ok(())
}

async fn settle<T: Bucketed>(ingestor: &Ingestor<T>) {
    ingestor.flush().await;
}

fn main() {}
