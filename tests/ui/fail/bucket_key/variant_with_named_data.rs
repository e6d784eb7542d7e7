use bucket_mongo::BucketKey;

#[derive(Debug, Clone, PartialEq, Eq, Hash, BucketKey)]
enum Side {
    Buy,
    Sell { qty: i64 },
}

fn main() {}
