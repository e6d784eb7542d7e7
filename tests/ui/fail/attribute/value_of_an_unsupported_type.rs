use bucket_mongo::AttributeValue;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, AttributeValue)]
struct Value(Vec<f64>);

fn main() {}
