use bucket_mongo::AttributeValue;
use serde::{Deserialize, Serialize};

#[derive(Serialize, Deserialize, AttributeValue)]
#[serde(untagged)]
enum Value {
    Number(f64),
    Nothing,
}

fn main() {}
