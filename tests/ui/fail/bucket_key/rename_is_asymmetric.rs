use bucket_mongo::BucketKey;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
enum Side {
    #[serde(rename(serialize = "buy", deserialize = "b"))]
    Buy,
    Sell,
}

fn main() {}
