use bucket_mongo::BucketKey;

#[derive(Debug, Clone, PartialEq, BucketKey)]
enum Side {
    Buy,
    Sell,
}

fn main() {}
