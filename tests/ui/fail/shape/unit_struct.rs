use bucket_mongo::Bucketed;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, Bucketed)]
#[bucket(collection = "trades", items = "history", capacity = 10)]
struct Trade;

fn main() {}
