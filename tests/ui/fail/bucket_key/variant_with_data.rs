use bucket_mongo::BucketKey;

#[derive(Debug, Clone, PartialEq, Eq, Hash, BucketKey)]
enum Side {
    Buy,
    Sell(i64),
}

fn main() {}
