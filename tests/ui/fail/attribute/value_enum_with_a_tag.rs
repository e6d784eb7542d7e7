use bucket_mongo::AttributeValue;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, AttributeValue)]
enum Value {
    Number(f64),
    Text(String),
}

fn main() {}
