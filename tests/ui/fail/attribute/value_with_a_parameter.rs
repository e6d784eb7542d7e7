use bucket_mongo::AttributeValue;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, AttributeValue)]
struct Length<V>(V);

fn main() {}
