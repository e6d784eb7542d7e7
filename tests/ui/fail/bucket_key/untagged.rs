use bucket_mongo::BucketKey;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
#[serde(untagged)]
enum Side {
    Buy,
    Sell,
}

fn main() {}
