use bucket_mongo::BucketKey;

#[derive(Debug, Clone, PartialEq, Eq, Hash, BucketKey)]
#[bucket(collection = "sides")]
enum Side {
    Buy,
    Sell,
}

fn main() {}
