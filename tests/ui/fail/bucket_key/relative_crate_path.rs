use bucket_mongo::BucketKey;

#[derive(Debug, Clone, PartialEq, Eq, Hash, BucketKey)]
#[bucket(crate = bucket_mongo)]
enum Side {
    Buy,
    Sell,
}

fn main() {}
