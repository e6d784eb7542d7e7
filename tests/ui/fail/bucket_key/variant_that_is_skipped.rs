use bucket_mongo::BucketKey;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
enum Side {
    Buy,
    #[serde(skip)]
    Sell,
}

fn main() {}
