use bucket_mongo::AttributeValue;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, AttributeValue)]
struct Value {
    number: f64,
}

fn main() {}
