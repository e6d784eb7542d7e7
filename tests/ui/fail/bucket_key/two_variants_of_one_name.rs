use bucket_mongo::BucketKey;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, BucketKey)]
#[serde(rename_all = "lowercase")]
enum Side {
    Buy,
    #[serde(rename = "buy")]
    Purchase,
}

fn main() {}
